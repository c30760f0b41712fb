"""The hc12 adapter: conformance as a stream, and command mode against the mock."""

from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.hc12 import ADAPTER as HC12
from hilgw.errors import MismatchError, PeerError
from hilgw.medium.packet import Packet
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.bench import Side, Variant, World

SECOND = 1_000_000_000


class TestHc12(AdapterConformance):
    adapter = HC12
    settings = {"set_line": "manual", "framing": "slip-crc16"}
    common = {"baudRate": 9600, "channel": 12}
    arrival_s = 20.0
    vectors = (Vector(data=b"123456789", wire=b"\xc0123456789\x29\xb1\xc0"),)


class TestOtherSerialMode(Variant, TestHc12):
    """The module is in AT+U8E1, and in FU1."""

    common = {**TestHc12.common, "parity": "even"}
    mock = {"U": "8E1", "FU": 1}
    far_mock = {"U": "8E1", "FU": 1}


class TestSetByALine(Variant, TestHc12):
    """DTR pulls SET low: mode and power, which the file does not have, stay those of the module."""

    settings = {"set_line": "dtr", "framing": "slip-crc16"}
    mock = {"FU": 1, "P": 3, "U": "8N1"}
    far_mock = mock


def after(seconds: float, mock: dict[str, Any], **settings: Any) -> Side:
    """Return a session and a mock at both ends of a wire without delay, after this time."""
    side = World(HC12, baudRate=9600).add(mock, **{"set_line": "dtr", **settings})
    side.world.run(seconds)
    return side


def test_what_the_file_does_not_ask_for_is_not_written() -> None:
    """All settings of a module survive its power-off."""
    bench = after(5, {"C": 12, "FU": 1, "P": 3})
    (ready,) = bench.of(base.Ready)
    assert "FU1, 9600 baud, +5 dBm" in ready.identity
    assert [text for _, text in bench.writes] == [
        b"AT",
        b"AT+V",
        b"AT+RB",
        b"AT+RC",
        b"AT+RF",
        b"AT+RP",
    ]


@pytest.mark.parametrize("spelling", ["plain", "2.3B", "module", "long"])
def test_what_differs_is_set_and_read_back(spelling: str) -> None:
    bench = after(5, {"spelling": spelling}, mode="FU1", power_dbm=8)
    (ready,) = bench.of(base.Ready)
    assert "channel 012 (437.8 MHz), FU1, 9600 baud, +8 dBm" in ready.identity
    written = [text for _, text in bench.writes if text[3:4] in (b"C", b"P", b"F")]
    assert written == [b"AT+C012", b"AT+P4"]
    assert [event.on for event in bench.of(base.SetLine)] == [False, True, False]
    assert (bench.mock.settings.channel, bench.mock.settings.power) == (12, 4)


def test_range_becomes_the_least_power_that_reaches_it() -> None:
    near, far = after(5, {}, range_m=300.0), after(5, {}, range_m=3000.0)
    assert (near.mock.settings.power, far.mock.settings.power) == (1, 8)


def test_without_command_mode_nothing_is_sent_and_that_is_reported() -> None:
    bench = after(2, {}, set_line="manual")
    assert bench.of(base.Ready)
    assert not bench.writes
    (notice,) = bench.of(base.Notice)
    assert "settings cannot be verified" in notice.text
    assert "(set_line is manual)" in notice.text
    assert "AT+B9600, AT+C012, AT+FU3, AT+U8N1" in notice.text
    silent = after(10, {"set": "high", "C": 12}, set_line="held")
    assert "(set_line is held)" in silent.of(base.Notice)[0].text


def test_held_by_hand_it_only_verifies() -> None:
    bench = after(3, {"set": "low", "C": 12}, set_line="held")
    assert not bench.of(base.Ready)
    assert "release SET" in bench.of(base.Notice)[-1].text
    assert not [text for _, text in bench.writes if text[3:4] not in (b"", b"R", b"V")]
    bench.mock.set("set", "high")
    bench.mock.reset(bench.world.now)
    bench.world.run(4)
    assert bench.of(base.Ready)
    (failed,) = after(3, {"set": "low", "C": 13}, set_line="held").of(base.Failed)
    assert isinstance(failed.error, MismatchError) and "AT+C012" in str(failed.error)


@pytest.mark.parametrize(
    ("mock", "settings", "words"),
    [
        ({"B": 4800}, {"parity": "even"}, "its serial mode (AT+U)"),  # no command reads it
        ({"set_by": "rts"}, {}, "DTR pulls SET low"),
    ],
)
def test_a_module_that_does_not_answer_is_reported(
    mock: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    bench = after(0, mock, **settings)
    bench.mock.host_baud = 9600
    bench.world.run(10)
    (failed,) = bench.of(base.Failed)
    assert isinstance(failed.error, PeerError) and words in failed.error.fix


def test_fu4_sends_little_and_seldom() -> None:
    bench = after(8, {"FU": 4, "B": 1200}, mode="FU4", baudRate=1200, framing="slip")
    assert bench.of(base.Ready), bench.events
    assert "the limit in FU4 is 50" in bench.send(bytes(51)).text
    assert "the limit in FU4 is 60" in bench.send(b"\xc0" * 50).text  # as a frame
    packet = b"\xc0" * 5 + bytes(45)
    assert isinstance(bench.send(packet), base.Transmission)
    sent = bench.world.now
    assert bench.send(packet) is None
    due = bench.session.next_deadline()
    assert due is not None and 2 * SECOND < due - sent < 3 * SECOND
    bench.session.expire(due)
    assert bench.session.send(Packet(packet, 12, "radio", "t"), due)


@pytest.mark.parametrize(
    ("settings", "common", "place"),
    [
        ({}, {"channel": 0}, "channel"),
        ({}, {"channel": 128}, "channel"),
        ({}, {"channel": 1, "baudRate": 14400}, "baudRate"),
        ({"mode": "FU2"}, {"channel": 1}, "baudRate"),
        ({"mode": "FU4"}, {"channel": 1, "baudRate": 2400}, "baudRate"),
        (
            {"command_rate": "9600", "set_line": "dtr"},
            {"channel": 1, "baudRate": 19200},
            "command_rate",
        ),
        ({"power_dbm": 8, "range_m": 10.0}, {"channel": 1}, "range_m"),
        ({"range_m": 1e5}, {"channel": 12}, "range_m"),
        ({"set_line": "rts"}, {"channel": 1, "rtscts": True}, "rtscts"),
        ({"framing": "nonsense"}, {"channel": 1}, "framing"),
    ],
)
def test_mistakes_are_placed(settings: dict[str, Any], common: dict[str, Any], place: str) -> None:
    problems = HC12.check(HC12.Settings(**settings), base.StationSettings(port="x", **common))
    assert [problem[0] for problem in problems] == [place]
