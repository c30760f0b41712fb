"""`hilgw scan`: its progress, each port once, and the ports that it leaves out."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial.tools import list_ports as library

from hilgw.adapters.base import SearchableAdapter
from hilgw.discovery import scan
from hilgw.discovery.scan import FoundDevice, Try
from hilgw.plugins import ADAPTERS, find
from hilgw.transports.serial import port as serial_port
from hilgw.transports.serial.port import PortInfo
from tests.cli.conftest import Command


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ports asked, in order; an XBee answers the second try on each."""
    ports: list[str] = []

    async def answer(port: str, *_: Any, **__: Any) -> AsyncIterator[Try | FoundDevice]:
        ports.append(port)
        yield Try(port, "xbee", 9600, 1, 3)
        yield Try(port, "xbee", 9600, 2, 3, "API mode 2")
        yield FoundDevice(port, "xbee", 9600, "XBee 3")

    monkeypatch.setattr(scan, "scan_port", answer)
    return ports


def files(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).touch()
    return [str(folder / name) for name in names]


def test_one_device_under_several_names_is_asked_once(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    (device,) = files(tmp_path, "ttyUSB0")
    link = tmp_path / "by-id"
    link.symlink_to(device)
    assert hilgw("scan", str(link), device, str(link))[0] == 0
    assert asked == [str(link)]
    infos = [PortInfo(path, "", None, None, "") for path in (device, str(link))]
    monkeypatch.setattr(serial_port, "list_ports", lambda: infos)
    assert hilgw("scan")[0] == 0
    assert len(asked) == 2


def test_the_same_question_is_asked_once_at_each_rate() -> None:
    """No two tries of a scan read alike: each has its kind, variant and rate."""
    for loader in find(ADAPTERS).values():
        adapter = loader()
        probes = adapter.probes if isinstance(adapter, SearchableAdapter) else ()
        tries = [(probe.variant, rate) for probe in probes for rate in probe.rates]
        assert len(tries) == len(set(tries)), adapter.kind


@pytest.mark.parametrize(
    ("kernel", "listed"),
    [
        ({"ttyS0": "4", "ttyS1": "0"}, ["/dev/ttyS0", "/dev/ttyUSB0"]),
        ({"ttyS0": "0", "ttyS1": "0\n"}, ["/dev/ttyUSB0"]),
        ({}, ["/dev/ttyS0", "/dev/ttyS1", "/dev/ttyUSB0"]),
    ],
)
def test_a_uart_without_hardware_is_not_a_port(
    kernel: dict[str, str], listed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel lists ttyS ports for UARTs that are not there; their type is 0."""
    for name, number in kernel.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(number)
    unknown = {"description": "n/a", "vid": None, "pid": None, "serial_number": None}
    names = ("ttyS0", "ttyS1", "ttyUSB0")
    found = [SimpleNamespace(device=f"/dev/{name}", **unknown) for name in names]
    monkeypatch.setattr(library, "comports", lambda: found)
    monkeypatch.setattr(serial_port, "SYSFS", tmp_path)
    assert [info.path for info in serial_port.list_ports()] == listed
