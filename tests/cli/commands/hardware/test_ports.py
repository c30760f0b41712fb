"""`hilgw ports`: what is there, in words and for machines."""

from __future__ import annotations

import json

import pytest

from hilgw.cli.commands.hardware import ports
from hilgw.cli.main import main
from hilgw.transports.serial import port as serial_port
from hilgw.transports.serial.port import PortInfo

INFO = PortInfo("/dev/ttyUSB0", "FT230X Basic UART", 0x0403, 0x6015, "A1B2")


def test_a_port_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serial_port, "list_ports", lambda: [INFO])
    assert main(["ports"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "/dev/ttyUSB0  0403:6015  FT230X Basic UART  A1B2"
    assert "probably: FTDI FT230X" in second


def test_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(serial_port, "list_ports", lambda: [INFO])
    assert main(["ports", "--json"]) == 0
    (port,) = json.loads(capsys.readouterr().out)
    assert port["path"] == "/dev/ttyUSB0"
    assert (port["vid"], port["pid"], port["serial"]) == (0x0403, 0x6015, "A1B2")
    assert port["holders"] == []


def test_no_port_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serial_port, "list_ports", list)
    assert main(["ports"]) == 0
    assert "hilgw mock" in capsys.readouterr().out


def test_the_real_list_is_well_formed() -> None:
    for port in ports.describe_ports():
        assert port["path"].startswith("/dev/")
