"""Ends of a link whose rates differ are named, once each."""

import json
from pathlib import Path

from hilgw.config.line_rates import notices
from hilgw.config.load import load_config

XBEE = str(Path(__file__).parents[2] / "configs" / "xbee.yaml")
TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"


def reported(*overrides: str) -> list[str]:
    return list(notices(load_config(XBEE, overrides).config))


def test_an_emitter_faster_than_the_line_is_named_with_both_rates() -> None:
    (line,) = reported(f"{TX}.baudRate=115200")
    assert "rover.tx sends at 115200 bit/s" in line
    assert "xbee0 carries 9600 bit/s" in line


def test_an_emitter_without_a_rate_is_faster_than_any_line() -> None:
    (line,) = reported(f"{TX}.baudRate=-1")
    assert "an unlimited rate" in line


def test_slower_or_on_another_channel_is_not_worth_a_word() -> None:
    assert reported(f"{TX}.baudRate=4800") == []
    assert reported(f"{TX}.baudRate=115200", f"{TX}.channel=3") == []


def test_a_receiver_that_expects_another_rate_is_named() -> None:
    (line,) = [line for line in reported(f"{RX}.baudRate=4800") if "rover.rx" in line]
    assert "expects 4800" in line
    assert "9600" in line


def test_an_emitter_and_a_receiver_set_differently_are_named_with_what_differs() -> None:
    other = {"node": "Receiver", "channel": 12, "baudRate": 4800, "byteSize": 9}
    (line,) = [
        line
        for line in reported(f"robots.other={{devices: {{rx: {json.dumps(other)}}}}}")
        if "rover.tx to other.rx" in line
    ]
    assert "baudRate 9600 at the emitter but 4800 at the receiver" in line
    assert "byteSize 8 at the emitter but 9 at the receiver" in line
