"""`hilgw scan`, `hilgw scan --network` and `hilgw ports`: what they ask, show and leave out."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial.tools import list_ports as library

from hilgw import plugins
from hilgw.adapters.base import SearchableAdapter, UsbId
from hilgw.adapters.xbee import ADAPTER
from hilgw.cli.commands.clients import status
from hilgw.cli.commands.hardware import ports
from hilgw.discovery import scan
from hilgw.discovery.ports import resolve_port, stable_name
from hilgw.discovery.scan import FoundDevice, Try
from hilgw.errors import ConfigError, PortError
from hilgw.federation import survey
from hilgw.federation.command import lines
from hilgw.plugins import ADAPTERS, find
from hilgw.transports.serial import port as serial_port
from hilgw.transports.serial.port import PortInfo
from tests.cli.conftest import Command
from tests.cli.output.test_federation import EVIL, gateway


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


def test_the_progress_counts_ports_and_tries(
    asked: list[str], tmp_path: Path, hilgw: Command
) -> None:
    a, b = files(tmp_path, "a", "b")
    code, out, err = hilgw("scan", a, b)
    assert code == 0 and err.splitlines() == [
        f"{a} (port 1 of 2): xbee at 9600? try 1 of 3",
        f"{a} (port 1 of 2): xbee, API mode 2, at 9600? try 2 of 3",
        f"{b} (port 2 of 2): xbee at 9600? try 1 of 3",
        f"{b} (port 2 of 2): xbee, API mode 2, at 9600? try 2 of 3",
    ]
    assert out.splitlines() == [f"{a}: xbee at 9600: XBee 3", f"{b}: xbee at 9600: XBee 3"]


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
    devices = [SimpleNamespace(device=f"/dev/{name}", **unknown) for name in names]
    monkeypatch.setattr(library, "comports", lambda: devices)
    monkeypatch.setattr(serial_port, "SYSFS", tmp_path)
    assert [info.path for info in serial_port.list_ports()] == listed


ENDPOINT = "tcp/127.0.0.1:7447"


def own(name: str, **gateways: Any) -> dict[str, Any]:
    """The status of a gateway of this machine."""
    listeners = {f"{name}.rx": {"type": "radio", "channels": [5]}}
    about = {"network": "lab", "name": name, "id": name * 2, "version": 1}
    federation = {**about, "robots": {name: ["rx"]}, "listeners": listeners, "gateways": gateways}
    return {"version": "0.2.0", "federation": federation}


def test_without_an_endpoint_the_gateways_of_this_machine_are_asked(
    monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    """One that runs here shows itself, with the way that others see; one of another version has
    both numbers."""
    refused = {"state": "failed", "reason": "speaks version 2 of the federation, this gateway 1"}
    new = gateway(version=2, hilgw="", robots={}, listeners={}, id="n", **refused)
    answers = [own("a", b=gateway(id="bb"), new=new), own("b"), {"error": "no answer"}]
    monkeypatch.setattr(status, "statuses", lambda args: answers)
    assert hilgw("scan", "--network") == (
        0,
        "a in the network lab: hilgw 0.2.0; protocol version 1; up\n"
        "    robots: a (rx)\n"
        "    listeners: a.rx (radio, channel 5)\n"
        "b in the network lab: hilgw 0.2.0; protocol version 1; up; one way p50 0.212 ms, "
        "p99 1.5 ms, round trip 0.4 ms, clock offset -12.500 s, as seen by a\n"
        "    robots: b (rx)\n"
        "    listeners: b.rx (radio, channel 5)\n"
        "new in the network lab: protocol version 2; "
        "failed: speaks version 2 of the federation, this gateway 1; "
        "one way p50 0.212 ms, p99 1.5 ms, round trip 0.4 ms, clock offset -12.500 s, "
        "as seen by a\n"
        "    it speaks version 2 of the federation, this hilgw 1: they refuse each other\n",
        "",
    )
    code, out, _ = hilgw("scan", "--network", "lab", "--json")
    assert [each["name"] for each in json.loads(out)] == ["a", "b", "new"]
    code, _, err = hilgw("scan", "--network", "other")
    assert (code, err) == (5, "hilgw: no gateway of yours is in the network 'other'\n")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("--network", 5, "no gateway of yours is in a federation; name an endpoint with --connect"),
        (f"--network a* --connect {ENDPOINT}", 2, "'a*' is not the name of a network"),
        ("--network --connect nonsense", 2, "'nonsense' is not an endpoint of Zenoh; write PROTO"),
        ("--network --config uart", 2, "uart has no federation"),
        ("--network lab /dev/ttyUSB0", 2, "--network is of gateways, not of ports"),
        (f"--connect {ENDPOINT}", 2, "hilgw scan --network --connect ENDPOINT"),
    ],
)
def test_what_is_wrong_is_named(
    words: str, code: int, text: str, monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    monkeypatch.setattr(status, "statuses", lambda args: [{"version": "0.2.0"}])
    returned, out, err = hilgw("scan", *words.split())
    assert (returned, out) == (code, "") and text in err


def test_without_zenoh_the_error_has_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    for name in ("hilgw.federation.survey", "hilgw.federation.session"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(sys.modules, "hilgw.federation.settings", raising=False)
    monkeypatch.setitem(sys.modules, "zenoh", None)
    code, _, err = hilgw("scan", "--network", "--connect", ENDPOINT)
    text = "hilgw scan --network: needs Eclipse Zenoh; pip install 'hilgw[zenoh]'\n"
    assert (code, err) == (3, text)


def test_a_file_has_its_endpoints_its_network_and_its_settings_of_zenoh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hilgw: Command
) -> None:
    text = (
        "version: 1\nfederation:\n  name: bench\n  network: hall\n"
        "  listen: [tcp/127.0.0.1:7400]\n  connect: [tcp/127.0.0.1:7447]\n"
        "  zenoh: {transport: {link: {tls: {root_ca_certificate: ca.pem}}}}\n"
    )
    (tmp_path / "bench.yaml").write_text(text)
    asked: list[Any] = []

    def answer(*given: Any) -> Any:
        asked.append(given)
        return [], {"tcp/127.0.0.1:7447": f"{EVIL} is not there"}

    monkeypatch.setattr(survey, "survey", answer)
    code, _, err = hilgw("scan", "--network", "--config", str(tmp_path / "bench.yaml"))
    ((config, endpoints, network),) = asked
    assert (endpoints, network) == (["tcp/127.0.0.1:7400", ENDPOINT], "hall")
    tls = config.zenoh["transport"]["link"]["tls"]
    assert tls == {"root_ca_certificate": str(tmp_path / "ca.pem")}
    assert code == 5
    assert "no gateway found: tcp/127.0.0.1:7447: " in err
    assert err.removesuffix("\n").isprintable()


def test_texts_of_the_network_are_printable() -> None:
    listeners = {EVIL: {"type": EVIL, "air": EVIL}}
    hostile = gateway(robots={EVIL: [EVIL]}, listeners=listeners, hilgw=EVIL, version=7)
    shown = [*lines({**hostile, "name": EVIL, "network": EVIL, "reason": EVIL, "state": "lost"})]
    assert len(shown) == 4
    assert all(line.isprintable() for line in shown)


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
    for number, info in enumerate(twins):
        Path(info.path).touch()
        for folder, name in (("by-id", "usb-1a86"), ("by-path", f"usb-0:1.{number}")):
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
