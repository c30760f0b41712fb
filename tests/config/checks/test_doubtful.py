"""Warnings of what is legal and probably not meant: devices that reach nothing, ports and rates."""

from collections.abc import Callable
from pathlib import Path

import pytest

Lines = Callable[..., list[str]]
SERIAL = "adapters: {arduino: {kind: uart, port: /dev/ttyS8}}"
RADIO = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12}}"
HEADER = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12, mapping: {by: header}}}"


def file(*robots: str, more: str = "") -> str:
    """robots: the fields of the one device of each."""
    lines = [f"  r{number}: {{devices: {{d: {{{text}}}}}}}" for number, text in enumerate(robots)]
    return "\n".join(["version: 1", "robots:", *lines, more, ""])


@pytest.mark.parametrize(
    ("robots", "more", "expected"),
    [
        (
            ["node: Emitter"],
            SERIAL,
            "radio, channel 0: reaches no hardware and no other robot; "
            "arduino is serial; write type: serial",
        ),
        (["node: Receiver, type: infra-red"], SERIAL, "infra-red, channel 0: reaches no hardware"),
        (["node: Emitter, type: serial"], SERIAL, ""),
        (["node: Emitter, channel: 13"], RADIO, "'xb' of this type: other channels"),
        (["node: Emitter, channel: 12"], RADIO, ""),
        (["node: Emitter, channel: -1"], RADIO, "broadcasts"),
        (["node: Receiver, channel: -1"], RADIO, ""),
        (["node: Emitter, channel: 99"], HEADER, ""),
        (
            ["node: Emitter"],
            "",
            "add an adapter, or a robot with a device of this type and channel",
        ),
        (["node: Emitter", "node: Receiver"], "", ""),
        (
            ["node: Emitter", "node: Receiver, channel: 1"],
            "",
            "channel 0: reaches no|channel 1: rea",
        ),
        (["node: Emitter", "node: Emitter"], "", "channel 0: reaches no"),
        (["node: Emitter, channel: 5", "node: Receiver, channel: -1"], "", ""),
        (["node: Emitter, type: serial", "node: Receiver"], "", "serial, channel 0: rea|radio, "),
    ],
)
def test_a_device_that_reaches_nothing(
    warnings: Lines, robots: list[str], more: str, expected: str
) -> None:
    found = [line for line in warnings(file(*robots, more=more)) if "f:" in line]
    if not expected:
        assert found == []
    else:
        assert found and all(any(part in line for part in expected.split("|")) for line in found)
        assert all(line.startswith(("f:3:", "f:4:")) for line in found)


def test_the_devices_of_one_robot_do_not_reach_each_other(warnings: Lines) -> None:
    text = "version: 1\nrobots: {r: {devices: {tx: {node: Emitter}, rx: {node: Receiver}}}}\n"
    assert len(warnings(text)) == 2


@pytest.mark.parametrize("kind", ["uart", "xbee"])
def test_a_mistyped_rate_is_questioned(warnings: Lines, kind: str) -> None:
    def at(rate: int) -> list[str]:
        line = f"a: {{kind: {kind}, channel: 12, port: /dev/ttyS8, baudRate: {rate}}}"
        return warnings(f"version: 1\nadapters:\n  {line}\n")

    (found,) = at(9601)
    assert found.endswith("adapters.a.baudRate: 9601 is not a usual rate; did you mean 9600?")
    assert at(9600) == at(250000) == at(74880) == []


@pytest.mark.parametrize(
    ("kind", "rate", "message"),
    [
        ("xbee", 100, "does not support 100 baud; use 1200, 2400"),
        ("xbee", 1000000, "does not support 1000000 baud"),
        ("hc12", 9601, "does not support 9601 baud; did you mean 9600?"),
        ("hc12", 100000, "does not support 100000 baud; use 1200"),
        ("rylr998", 9601, "did you mean 9600?"),
        ("irda_sir", 9601, "did you mean 9600?"),
    ],
)
def test_a_rate_that_the_module_does_not_have(
    errors: Lines, kind: str, rate: int, message: str
) -> None:
    channel = {"xbee": 12, "hc12": 1, "rylr998": 3}.get(kind, 0)
    line = f"a: {{kind: {kind}, channel: {channel}, port: /dev/ttyS8, baudRate: {rate}}}"
    (found,) = errors(f"version: 1\nadapters:\n  {line}\n")
    assert message in found


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("com3", "'com3' is the name of a port on Windows; `hilgw ports`"),
        (r"\\.\COM10", "is the name of a port on Windows; `hilgw ports`"),
        ("/dev/tty.usbmodem1101", "is the name of a port on macOS; `hilgw ports`"),
        ("/dev/cu.usbserial-A5", "is the name of a port on macOS; `hilgw ports`"),
        ("ttyACM99", "did you mean /dev/ttyACM99?"),
        ("serial/by-id/usb-x", "did you mean /dev/serial/by-id/usb-x?"),
        ("192.168.1.5:8080", "did you mean socket://192.168.1.5:8080?"),
        ("~/port", "write the whole path"),
        ("${PORT}", "'${PORT}' has ${PORT}, which only a shell expands; write the whole path"),
        ("$(cat port)", "has $(cat port), which only a shell expands; write the whole path"),
        ("%PORT%", "has %PORT%, which only a shell expands; write the whole path"),
        ("$HOME/port", "has $HOME, which only a shell expands; write the whole path"),
        ("/dev/ttyACM99", ""),
        ("./xbee-a", ""),
        ("comport", ""),
    ],
)
def test_the_port_of_another_machine_is_questioned(
    warnings: Lines, port: str, message: str
) -> None:
    """Of hardware, and of a robot."""
    for place in (
        f"adapters: {{a: {{kind: uart, port: '{port}'}}}}",
        f"robots: {{a: {{body: {{kind: create2, port: '{port}'}}}}}}",
    ):
        found = [line for line in warnings(f"version: 1\n{place}\n") if ".port: " in line]
        assert [message in line and line.startswith("f:2:") for line in found] == [True] * bool(
            message
        )


def test_a_port_in_this_folder_is_not_questioned(
    warnings: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ttyA").touch()
    assert not warnings("version: 1\nadapters: {a: {kind: uart, port: ttyA}}\n")


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


def test_a_port_with_a_long_name_is_checked_as_any_other(warnings: Lines) -> None:
    name = "tty" + 300 * "x"
    found = warnings(f"version: 1\nadapters: {{a: {{kind: uart, port: {name}}}}}\n")
    assert any("did you mean /dev/tty" in line for line in found)


def test_a_port_in_typographic_quotes_is_doubted(warnings: Lines) -> None:
    found = warnings("version: 1\nadapters: {a: {kind: uart, port: \u201c/dev/ttyUSB0\u201d}}\n")
    assert any("has a U+201C; write a plain quote, or none" in line for line in found)
