"""Data bits of a line: seven where the hardware has them."""

import pytest

from hilgw.config.load import load_text
from hilgw.errors import ConfigError

SEVEN = "version: 1\nadapters:\n  a: {{kind: {kind}, port: /dev/x, data_bits: 7, {more}}}\n"


def test_seven_data_bits_of_an_instrument() -> None:
    load_text(SEVEN.format(kind="uart", more="framing: lines, parity: even"), "f")


@pytest.mark.parametrize("kind", ["xbee", "rylr998", "hc12"])
def test_a_module_has_eight(kind: str) -> None:
    more = "channel: 12, baudRate: 9600, mapping: {by: header}"
    with pytest.raises(ConfigError) as caught:
        load_text(SEVEN.format(kind=kind, more=more), "f")
    assert f"the line of kind {kind} has no 7 data bits" in str(caught.value)
