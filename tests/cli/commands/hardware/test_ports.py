"""`hilgw ports`: what is there, in words and for machines."""

import json
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.adapters.base import UsbId
from hilgw.adapters.xbee import ADAPTER
from hilgw.cli.commands.hardware import ports
from hilgw.discovery.ports import resolve_port, stable_name
from hilgw.errors import ConfigError, PortError
from hilgw.transports.serial import port as serial_port
from hilgw.transports.serial.port import PortInfo
from tests.cli.conftest import Command

INFO = PortInfo("/dev/ttyUSB0", "FT230X Basic UART", 0x0403, 0x6015, "A1B2")


def test_the_list_for_people_and_machines(monkeypatch: pytest.MonkeyPatch, hilgw: Command) -> None:
    assert all(port["path"].startswith("/dev/") for port in ports.describe_ports())
    monkeypatch.setattr(serial_port, "list_ports", lambda: [INFO])
    code, out, _ = hilgw("ports")
    first, second = out.splitlines()
    assert (code, first) == (0, "/dev/ttyUSB0  0403:6015  FT230X Basic UART  A1B2")
    assert "probably: FTDI FT230X" in second
    (port,) = json.loads(hilgw("ports", "--json")[1])
    expected = [*("/dev/ttyUSB0", 0x0403, 0x6015, "A1B2"), []]
    assert [port[key] for key in ("path", "vid", "pid", "serial", "holders")] == expected
    monkeypatch.setattr(serial_port, "list_ports", list)
    code, out, _ = hilgw("ports")
    assert code == 0 and "hilgw mock" in out


def test_twins_have_names_of_their_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    """Without serial numbers udev gives two devices one by-id name, which is that of either."""
    twins = [
        PortInfo(str(tmp_path / f"ttyUSB{at}"), "USB Serial", 0x1A86, 0x7523, "", f"1-1.{at}")
        for at in range(2)
    ]
    for at, info in enumerate(twins):
        Path(info.path).touch()
        for folder, name in (("by-id", "usb-1a86"), ("by-path", f"usb-0:1.{at}")):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / name).unlink(missing_ok=True)
            (tmp_path / folder / name).symlink_to(info.path)
    monkeypatch.setattr(serial_port, "list_ports", lambda: twins)
    text = hilgw("ports")[1]
    assert "USB Serial  1-1.0" in text and "USB Serial  1-1.1" in text
    names = [stable_name(info.path, "path", tmp_path) for info in twins]
    assert names == [str(tmp_path / f"by-path/usb-0:1.{at}") for at in range(2)]
    assert [stable_name(info.path, "id", tmp_path) for info in twins].count("") == 1
    for location, expected in (("1-1.1", twins[1].path), ("1-1.0", twins[0].path)):
        assert resolve_port(UsbId(location=location)) == expected
        assert str(UsbId(location=location)) == f"USB {location}"
    with pytest.raises(PortError) as caught:
        resolve_port(UsbId(vid=0x1A86, pid=0x7523))
    assert "at location 1-1.0" in caught.value.what and "by-path" in str(caught.value.fix)


def test_an_interface_of_a_device_with_several_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [
        PortInfo(f"/dev/ttyUSB{at}", "", 0x0403, 0x6011, "", f"1-1.3:1.{at}") for at in range(4)
    ]
    monkeypatch.setattr(serial_port, "list_ports", lambda: ports)
    assert resolve_port(UsbId(location="1-1.3:1.2")) == "/dev/ttyUSB2"
    with pytest.raises(PortError, match="several devices match"):
        resolve_port(UsbId(location="1-1.3"))


def test_the_list_of_adapters(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters")
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines] == list(plugins.find(plugins.ADAPTERS))
    assert any(ADAPTER.summary in line and " radio " in line for line in lines)
    code, _, err = hilgw("adapters", "xbbe")
    assert code == 2 and "unknown adapter 'xbbe'; did you mean 'xbee'?" in err


def test_one_adapter(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters", "xbee")
    assert code == 0 and out.startswith(f"xbee: {ADAPTER.summary}\n")
    assert ADAPTER.limits.mapping
    for mapped in ADAPTER.limits.mapping:
        assert f"  {mapped.field} " in out and f"{mapped.maps}: " in out
    assert f"up to {ADAPTER.limits.payload} bytes" in out and "pan_id" in out
    assert max(map(len, out.splitlines())) <= 100


def test_adapters_as_json(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters", "--json")
    xbee = {entry["kind"]: entry for entry in json.loads(out)}["xbee"]
    assert (code, xbee["type"], xbee["limits"]["payload"]) == (0, "radio", ADAPTER.limits.payload)
    assert xbee["limits"]["mapping"][0].keys() == {"field", "maps", "how"}
    pan_id = next(row for row in xbee["settings"] if row["key"] == "pan_id")
    assert (pan_id["limits"], pan_id["default"]) == ("0 to 65535", "not set")
    assert any(row["key"] == "port" for row in xbee["common_settings"])
    assert json.loads(hilgw("adapters", "xbee", "--json")[1]) == [xbee]


def test_an_adapter_that_does_not_load_is_reported_and_left_out(
    hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ConfigError("kind 'foo' of bar does not load", fix="repair bar")

    monkeypatch.setattr(plugins, "find", lambda group: {"foo": broken, "xbee": lambda: ADAPTER})
    code, out, err = hilgw("adapters")
    assert code == 0 and out.startswith("xbee ")
    assert err == "hilgw: kind 'foo' of bar does not load; repair bar\n"
