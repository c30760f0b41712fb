"""The HC-12 mock against the manuals: SET timing, commands, modes, the air."""

from typing import Any

import pytest

from firmware_mocks import hc12
from firmware_mocks.air import Air
from tests.firmware_mocks.bench import AirBench


def powered(*parameters: dict[str, Any]) -> AirBench:
    """Modules 1 m apart, powered up. DTR on pulls SET of the first one low."""
    bench = AirBench(hc12.create, *({"set_by": "dtr"} | each for each in parameters))
    bench.run(300)
    return bench


def set_low(bench: AirBench, low: bool, ms: float) -> None:
    bench.modules[0].set_modem_line("dtr", low, bench.now)
    bench.run(ms)


def send(bench: AirBench, data: bytes, ms: float = 2000) -> bytes:
    """The output of the second module after bytes for the first one."""
    bench.put(0, data)
    bench.run(ms)
    return bench.taken(1)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"AT", b"OK\r\n"),
        (b"AT+B19200", b"OK+B19200\r\n"),
        (b"AT+C127", b"OK+C127\r\n"),
        (b"AT+C128", b""),
        (b"AT+U8E1", b"OK+U8E1\r\n"),
        (b"AT+RX", b"OK+FU3\r\nOK+B9600\r\nOK+C001\r\nOK+RP:+20dBm\r\n"),
        (b"AT+V", b"HC-12_V2.4\r\n"),
        (b"AT+DEFAULT", b"OK+DEFAULT\r\n"),
        (b"AT+SLEEP", b"OK+SLEEP\r\n"),
        (b"nonsense", b""),
    ],
)
def test_commands(command: bytes, answer: bytes) -> None:
    bench = powered({})
    set_low(bench, True, 60)
    assert bench.ask(0, command) == answer


SPELLINGS = {
    # As public drivers in C++ and Rust parse them.
    "2.3B": ("OK+B9600 OK+RC001 OK+FU3 OK+RP:+08dBm", "OK+FU3 OK+B9600 OK+RC001 OK+RP:+08dBm"),
    # As a public driver in MicroPython parses them, after the log of a module.
    "module": ("OK+B9600 OK+RC001 OK+FU3 OK+RP:+08dBm", "OK+B9600 OK+RC001 OK+RP:+08dBm OK+FU3"),
    "plain": ("OK+B9600 OK+C001 OK+FU3 OK+RP:+8dBm", "OK+FU3 OK+B9600 OK+C001 OK+RP:+8dBm"),
    "long": ("OK+RB9600 OK+RC001 OK+RFU3 OK+RP:+8dBm", "OK+FU3 OK+B9600 OK+C001 OK+RP:+8dBm"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_the_manuals_and_of_public_drivers(spelling: str) -> None:
    bench = powered({"spelling": spelling, "P": 4})
    set_low(bench, True, 60)
    single, every = SPELLINGS[spelling]
    answers = [bench.ask(0, b"AT+" + each) for each in (b"RB", b"RC", b"RF", b"RP")]
    assert [answer.decode() for answer in answers] == [f"{line}\r\n" for line in single.split()]
    assert bench.ask(0, b"AT+RX").decode() == "".join(f"{line}\r\n" for line in every.split())
    bench.ask(0, b"AT+P1")
    padded = spelling in ("2.3B", "module")
    assert bench.ask(0, b"AT+RP") == (b"OK+RP:-01dBm\r\n" if padded else b"OK+RP:-1dBm\r\n")


def test_a_short_low_is_not_seen_and_no_command_without_it() -> None:
    bench = powered({}, {})
    set_low(bench, True, 30)
    set_low(bench, False, 300)
    assert bench.ask(0, b"AT") == b""
    assert bench.taken(1) == b"AT"  # it went through the air


@pytest.mark.parametrize(
    ("one", "other", "receives"),
    [
        ({"B": 9600}, {"B": 4800}, True),  # one bucket: 15 kbit/s
        ({"B": 9600}, {"B": 19200}, False),
        ({"FU": 1, "B": 9600}, {"FU": 1, "B": 115200}, True),
        ({"FU": 1}, {"FU": 3}, False),
        ({"C": 1}, {"C": 2}, False),
        ({"rssi_at_1m_dbm": -112}, {}, False),  # 15 kbit/s: -111 dBm
        ({"rssi_at_1m_dbm": -112, "B": 1200}, {"B": 1200}, True),  # 5 kbit/s: -116 dBm
    ],
)
def test_reception_needs_the_same_channel_mode_and_rate(
    one: dict[str, Any], other: dict[str, Any], receives: bool
) -> None:
    bench = powered(one, other)
    assert send(bench, b"hello") == (b"hello" if receives else b"")


def test_half_duplex_a_sender_is_deaf() -> None:
    bench = powered({}, {})
    bench.modules[0].receive(b"x" * 64, bench.now)
    assert bench.modules[0].band is None
    bench.run(2000)
    assert bench.modules[0].band is not None


def test_fu2_lowers_the_rate_and_fu4_loses_what_comes_too_soon() -> None:
    assert hc12.create("m", Air(), {"B": 9600, "FU": 2}).baud_rate == 4800
    bench = powered({"FU": 4}, {"FU": 4})
    assert bench.modules[0].baud_rate == 1200
    assert send(bench, b"a" * 70, 1900) == b""
    assert bench.modules[0].overruns == 10
    send(bench, b"b", 100)
    bench.run(4000)
    assert bench.taken(1) == b"a" * 60
    assert bench.modules[0].overruns == 11


def test_the_parameter_set_without_power_is_the_level_at_power_up() -> None:
    bench = powered({"B": 19200}, {"B": 19200})
    module = bench.modules[0]
    module.switch_off()
    assert send(bench, b"off") == b""
    module.set("set", "low")
    bench.run(100)
    module.reset(bench.now)
    assert module.baud_rate == 9600
    module.set("set", "high")
    module.reset(bench.now)
    assert module.baud_rate == 19200


def test_the_parameter_set_does_what_the_pin_does() -> None:
    bench = powered({"B": 19200}, {"B": 19200})
    module = bench.modules[0]
    module.set("set", "low")
    bench.run(30)
    module.set("set", "high")
    assert send(bench, b"short") == b"short"
    module.set("set", "low")
    bench.run(60)
    assert bench.ask(0, b"AT+C005") == b"OK+C005\r\n"
    module.set("set", "high")
    bench.run(70)
    assert module.overruns == 0
    assert send(bench, b"early", 20) == b""
    assert module.overruns == 5
    bench.modules[1].set("C", "5")
    assert send(bench, b"late") == b"late"
    module.set("set", "low")
    bench.run(60)
    module.set("set", "high")
    bench.run(100)
    module.set("set", "low")  # within 200 ms
    bench.run(60)
    assert module.baud_rate == 9600
