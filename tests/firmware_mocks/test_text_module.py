"""The text module mock: it does what its parameters request, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_mocks import text_module
from firmware_mocks.air import Air
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000
SPEECH = {
    "banner": "READY",
    "answers": {"AT": "OK", "VER=.": "1.0"},
    "transmit": r"SEND (?P<destination>\d+) (?P<length>\d+) ",
    "accepted": "QUEUED",
    "sent": "SENT",
    "refused": "BUSY",
    "receive": "GOT {source} {length} {data} {hex} {rssi}",
}


class Bench(AirBench):
    def __init__(self, *parameters: dict[str, Any]) -> None:
        super().__init__()
        for at, parameter in enumerate(parameters):
            given = {"address": at + 1} | parameter
            self.join(text_module.create(f"m{at}", self.air, given, (float(at), 0, 0)))

    def ask(self, text: bytes, ms: float = 300, at: int = 0) -> bytes:
        self.modules[0].receive(text, self.now)
        self.run(ms)
        return self.taken(at)


def test_it_boots_with_its_banner_and_answers_what_it_supports() -> None:
    bench = Bench(SPEECH)
    assert bench.ask(b"AT\r\n") == b"READY\r\n"  # it was starting
    assert bench.ask(b"AT\r\nVER=2\r\nVER\r\n") == b"OK\r\n1.0\r\nERROR\r\n"
    bench.modules[0].reset(bench.now)
    bench.run(100)
    assert bench.taken() == b"READY\r\n"


def test_data_by_length_hold_any_byte_and_reach_their_destination_alone() -> None:
    bench = Bench(SPEECH, SPEECH, SPEECH)
    bench.run(100)
    for at in range(3):
        bench.taken(at)
    assert bench.ask(b"SEND 2 4 a\r\n\xff\r\nSEND 0 1 x\r\n") == b"QUEUED\r\nBUSY\r\nSENT\r\n"
    assert bench.taken(1) == b"GOT 1 4 a\r\n\xff 610D0AFF -40\r\n"
    assert bench.taken(2) == b""
    bench.ask(b"SEND 0 5 {hex}\r\n")
    assert bench.taken(2) == b"GOT 1 5 {hex} 7B6865787D -46\r\n"


def test_one_that_waits_for_a_command_receives_one_packet() -> None:
    hearer = SPEECH | {"listen": "LISTEN", "deaf": "STOP", "banner": ""}
    bench = Bench(SPEECH, hearer)
    bench.run(100)
    for notified, received in ((b"", 0), (b"LISTEN\r\n", 1), (b"", 0), (b"LISTEN\r\nSTOP\r\n", 0)):
        if notified:
            bench.modules[1].receive(notified, bench.now)
        bench.run(50)
        bench.taken(1)
        bench.ask(b"SEND 0 1 x\r\n")
        assert bench.taken(1).count(b"GOT") == received


def test_replies_go_to_the_sender() -> None:
    bench = Bench(SPEECH, {"replies": "ping:pong"})
    bench.run(100)
    bench.taken()
    assert bench.ask(b"SEND 2 6 ping 1\r\n") == (
        b"QUEUED\r\nSENT\r\nGOT 2 6 pong 1 706F6E672031 -40\r\n"
    )


def test_the_wrong_rate_and_too_long_a_line_are_lost() -> None:
    bench = Bench(SPEECH)
    bench.run(100)
    bench.taken()
    bench.modules[0].host_baud = 9600
    assert bench.ask(b"AT\r\n") != b"OK\r\n"
    bench.modules[0].host_baud = 115_200
    bench.run(1000)
    bench.taken()
    bench.ask(b"x" * 3000)
    assert bench.modules[0].overruns == 3000 - 2048
    bench.run(1000)
    assert bench.ask(b"AT\r\n") == b"OK\r\n"


@pytest.mark.parametrize(
    ("name", "value"), [("transmit", "("), ("answers", 1), ("baudRate", 1), ("nonsense", 1)]
)
def test_a_parameter_that_does_not_fit_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        text_module.create("m", Air(), {name: value})
