"""Warnings of what is legal and probably not meant: devices that reach nothing, ports and rates."""

from pathlib import Path

import pytest

from hilgw.config.line_rates import notices
from hilgw.config.load import load_config, load_text
from tests.config.cases import Lines, faults

SERIAL = "adapters: {arduino: {kind: uart, port: /dev/ttyS8}}"
RADIO = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12}}"
HEADER = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12, mapping: {by: header}}}"


def file(*robots: str, more: str = "") -> str:
    """robots: the fields of the one device of each."""
    lines = [f"  r{number}: {{devices: {{d: {{{text}}}}}}}" for number, text in enumerate(robots)]
    return "\n".join(["version: 1", "robots:", *lines, more, ""])


ONE_ROBOT = "node: Emitter}, e: {node: Receiver"


@pytest.mark.parametrize(
    ("robots", "more", "expected"),
    [
        (["node: Emitter"], SERIAL, "robot; arduino is serial; write type: serial"),
        (["node: Receiver, type: infra-red"], SERIAL, "infra-red, channel 0: reaches no hardware"),
        (["node: Emitter, type: serial"], SERIAL, ""),
        (["node: Emitter, channel: 13"], RADIO, "'xb' of this type: other channels"),
        (["node: Emitter, channel: 12"], RADIO, ""),
        (["node: Receiver, channel: -1"], RADIO, ""),
        (["node: Emitter, channel: 99"], HEADER, ""),
        (["node: Emitter"], "", "add an adapter, or a robot with a device of this type and cha"),
        (["node: Emitter", "node: Receiver"], "", ""),
        (["node: Emitter", "node: Receiver, channel: 1"], "", "nel 0: reaches no|nel 1: rea"),
        (["node: Emitter", "node: Emitter"], "", "channel 0: reaches no"),
        ([ONE_ROBOT], "", "channel 0: reaches no"),
        (["node: Emitter, channel: 5", "node: Receiver, channel: -1"], "", ""),
        (["node: Emitter, type: serial", "node: Receiver"], "", "serial, channel 0: rea|radio, "),
    ],
)
def test_it_reaches_nothing(warnings: Lines, robots: list[str], more: str, expected: str) -> None:
    found = warnings(file(*robots, more=more))
    assert bool(found) == bool(expected)
    assert all(any(part in line for part in expected.split("|")) for line in found)
    assert all(line.startswith(("f:3:", "f:4:")) for line in found)


@pytest.mark.parametrize(
    ("kind", "rate", "message"),
    [
        ("uart", 9601, "9601 is not a usual rate; did you mean 9600?"),
        ("xbee", 100, "does not support 100 baud; use 1200, 2400"),
        ("xbee", 1000000, "does not support 1000000 baud"),
        ("hc12", 9601, "does not support 9601 baud; did you mean 9600?"),
        ("rylr998", 9601, "did you mean 9600?"),
        ("irda_sir", 9601, "did you mean 9600?"),
        ("uart", 250000, ""),
        ("uart", 74880, ""),
        ("xbee", 9600, ""),
    ],
)
def test_a_rate_that_is_unusual_or_not_of_the_module(kind: str, rate: int, message: str) -> None:
    channel = {"xbee": 12, "hc12": 1, "rylr998": 3}.get(kind, 0)
    line = f"a: {{kind: {kind}, channel: {channel}, port: /dev/ttyS8, baudRate: {rate}}}"
    text = f"version: 1\nadapters:\n  {line}\n"
    found = faults(text) or load_text(text, "f").warnings
    assert len(found) == bool(message) and message in "".join(map(str, found))


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("com3", "'com3' is the name of a port on Windows; `hilgw ports`"),
        (r"\\.\COM10", "is the name of a port on Windows; `hilgw ports`"),
        ("/dev/tty.usbmodem1101", "is the name of a port on macOS; `hilgw ports`"),
        ("ttyACM99", "did you mean /dev/ttyACM99?"),
        ("tty" + 300 * "x", "did you mean /dev/tty"),
        ("serial/by-id/usb-x", "did you mean /dev/serial/by-id/usb-x?"),
        ("192.168.1.5:8080", "did you mean socket://192.168.1.5:8080?"),
        ("~/port", "write the whole path"),
        ("${PORT}", "'${PORT}' has ${PORT}, which only a shell expands; write the whole path"),
        ("$(cat port)", "has $(cat port), which only a shell expands; write the whole path"),
        ("%PORT%", "has %PORT%, which only a shell expands; write the whole path"),
        ("\u201c/dev/ttyUSB0\u201d", "has a U+201C; write a plain quote, or none"),
        ("/dev/ttyACM99", ""),
        ("./xbee-a", ""),
        ("comport", ""),
        ("ttyA", ""),  # which is in this folder
    ],
)
def test_the_port_of_another_machine_is_questioned(
    warnings: Lines, port: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of hardware, and of a robot."""
    monkeypatch.chdir(tmp_path)
    Path("ttyA").touch()
    for place in (
        f"adapters: {{a: {{kind: uart, port: '{port}'}}}}",
        f"robots: {{a: {{body: {{kind: create2, port: '{port}'}}}}}}",
    ):
        found = [line for line in warnings(f"version: 1\n{place}\n") if ".port: " in line]
        assert len(found) == bool(message)
        assert all(message in line and line.startswith("f:2:") for line in found)


@pytest.mark.parametrize(
    "text",
    [
        "adapters:\n  a:\n    kind: uart\n    baudRate:9600\n    port: x\n",
        "adapters:\n  a:\n    kind: uart\n    port: x\n    baudRate:9600\n",
        "adapters:\n  a: {kind: uart, port: x, baudRate:9600}\n",
        "adapters:\n  a:\n    baudRate:9600\n",
    ],
)
def test_a_colon_without_a_space(errors: Lines, text: str) -> None:
    (found,) = errors(f"version: 1\n{text}")
    assert found.endswith("a key without ':'; write a space after the colon: `baudRate: 9600`")


# Ends of a link whose rates differ are named, once each.
XBEE = str(Path(__file__).parents[3] / "configs" / "xbee.yaml")


def reported(*overrides: str) -> list[str]:
    return list(notices(load_config(XBEE, overrides).config))


TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"
OTHER = "robots.other={devices: {rx: {node: Receiver, channel: 12, baudRate: 4800, byteSize: 9}}}"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([f"{TX}.baudRate=115200"], "rover.tx sends at 115200 bit/s"),
        ([f"{TX}.baudRate=115200"], "xbee0 carries 9600 bit/s"),
        ([f"{TX}.baudRate=-1"], "an unlimited rate"),
        ([f"{RX}.baudRate=4800"], "rover.rx expects 4800"),
        ([OTHER], "rover.tx to other.rx: baudRate 9600 at the emitter but 4800 at the receiver"),
        ([OTHER], "byteSize 8 at the emitter but 9 at the receiver"),
        ([f"{TX}.baudRate=4800"], ""),
        ([f"{TX}.baudRate=115200", f"{TX}.channel=3"], ""),
    ],
)
def test_rates_that_differ_are_named_with_both_rates(overrides: list[str], words: str) -> None:
    found = reported(*overrides)
    assert any(words in line for line in found) if words else not found


SEVEN = "version: 1\nadapters:\n  a: {{kind: {kind}, port: /dev/x, data_bits: 7, {more}}}\n"


@pytest.mark.parametrize("kind", ["xbee", "rylr998", "hc12"])
def test_a_module_has_eight(kind: str) -> None:
    more = "channel: 12, baudRate: 9600, mapping: {by: header}"
    found = "".join(faults(SEVEN.format(kind=kind, more=more)))
    assert f"the line of kind {kind} has no 7 data bits" in found
