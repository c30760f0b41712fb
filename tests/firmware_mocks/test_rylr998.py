"""The RYLR998 mock against the AT command guide: commands, errors, air, sleep."""

from typing import Any

import pytest

from firmware_mocks import rylr998
from firmware_mocks.air import Air
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000


def powered(*parameters: dict[str, Any]) -> AirBench:
    """Modules 1 m apart, powered up."""
    bench = AirBench(rylr998.create, *parameters)
    bench.run(100)
    assert [bench.taken(each) for each in bench.modules] == [b"+READY\r\n"] * len(parameters)
    return bench


def ask(bench: AirBench, command: bytes, index: int = 0, ms: float = 50) -> Any:
    return bench.ask(index, command + b"\r\n", ms)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"AT", b"+OK"),
        (b"AT+ADDRESS=50", b"+OK"),
        (b"AT+ADDRESS=65536", b"+ERR=15"),
        (b"AT+PARAMETER?", b"+PARAMETER=9,7,1,12"),
        (b"AT+PARAMETER=10,7,1,12", b"+ERR=15"),
        (b"AT+BAND=868500000,M", b"+OK"),
        (b"AT+CPIN?", b"+CPIN=No Password!"),
        (b"AT+MODE=2,10,3000", b"+ERR=20"),
        (b"AT+NONSENSE?", b"+ERR=4"),
        (b"HELLO", b"+ERR=2"),
        (b"AT+SEND=x,1,y", b"+ERR=5"),
        (b"AT+SEND=0,5,HELL", b"+ERR=5"),
        (b"AT+SEND=0,241," + b"x" * 241, b"+ERR=13"),
        (b"AT+FACTORY", b"+FACTORY"),
    ],
)
def test_commands(command: bytes, answer: bytes) -> None:
    bench = powered({})
    output = ask(bench, command, ms=600)
    assert output == answer + b"\r\n"


@pytest.mark.parametrize(
    ("parameter", "data_sheet_ms"),
    [("5,8,1,12", 13), ("9,8,1,12", 98), ("9,7,1,12", 190), ("11,9,1,24", 220)],
)
def test_air_time_is_the_data_sheets(parameter: str, data_sheet_ms: float) -> None:
    module = rylr998.create("m", Air(), {"PARAMETER": parameter})
    assert data_sheet_ms - 12 <= module.radio.air_ns(8) / MS <= data_sheet_ms


def test_the_last_transmission_must_be_finished_and_a_sleeper_is_deaf() -> None:
    bench = powered({}, {})
    bench.modules[0].receive(b"AT+SEND=0,2,hi\r\nAT+SEND=0,2,ho\r\n", bench.now)
    bench.run(1000)
    assert bench.taken(0) == b"+ERR=17\r\n+OK\r\n"
    assert bench.taken(1) == b"+RCV=0,2,hi,-40,12\r\n"
    assert ask(bench, b"AT+MODE=1", 1) == b"+OK\r\n"
    ask(bench, b"AT+SEND=0,2,hi", ms=1000)
    assert bench.taken(1) == b""


def test_another_preamble_needs_network_18() -> None:
    bench = powered({"NETWORKID": 6})
    assert ask(bench, b"AT+PARAMETER=8,7,2,10") == b"+ERR=18\r\n"


def test_what_is_too_long_for_the_buffer_is_lost() -> None:
    bench = powered({})
    assert ask(bench, b"x" * 600) == b"+ERR=13\r\n"
    assert bench.modules[0].overruns == 90
    assert ask(bench, b"AT") == b"+OK\r\n"


def test_in_mode_2_it_sleeps_by_turns_until_a_packet_reaches_it() -> None:
    bench = powered({}, {})
    assert ask(bench, b"AT+MODE=2,2000,2000", 1) == b"+OK\r\n"
    bench.run(2500)
    ask(bench, b"AT+SEND=0,2,hi", ms=1000)
    assert bench.taken(1) == b""
    bench.run(700)
    ask(bench, b"AT+SEND=0,2,ho", ms=1000)
    assert bench.taken(1) == b"+MODE=0\r\n+RCV=0,2,ho,-40,12\r\n"


def test_a_reset_forgets_the_band_but_not_the_address_and_the_rate_matters() -> None:
    bench = powered({})
    ask(bench, b"AT+ADDRESS=7")
    ask(bench, b"AT+BAND=868500000")
    assert ask(bench, b"AT+RESET", ms=300) == b"+RESET\r\n+READY\r\n"
    assert ask(bench, b"AT+BAND?") == b"+BAND=915000000\r\n"
    assert ask(bench, b"AT+ADDRESS?") == b"+ADDRESS=7\r\n"
    assert ask(bench, b"AT+IPR=9600") == b"+IPR=9600\r\n"
    bench.modules[0].host_baud = 115_200
    assert ask(bench, b"AT", ms=1000) != b"+OK\r\n"
    bench.modules[0].host_baud = 9600
    bench.taken(0)
    assert ask(bench, b"AT") == b"+OK\r\n"
