"""Ends of a link whose rates differ are named, once each."""

from pathlib import Path

import pytest

from hilgw.config.line_rates import notices
from hilgw.config.load import load_config, load_text
from hilgw.errors import ConfigError

XBEE = str(Path(__file__).parents[2] / "configs" / "xbee.yaml")


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


# --- data bits: seven where the hardware has them -------------------------------------------------


SEVEN = "version: 1\nadapters:\n  a: {{kind: {kind}, port: /dev/x, data_bits: 7, {more}}}\n"


@pytest.mark.parametrize("kind", ["xbee", "rylr998", "hc12"])
def test_a_module_has_eight(kind: str) -> None:
    more = "channel: 12, baudRate: 9600, mapping: {by: header}"
    with pytest.raises(ConfigError) as caught:
        load_text(SEVEN.format(kind=kind, more=more), "f")
    assert f"the line of kind {kind} has no 7 data bits" in str(caught.value)
