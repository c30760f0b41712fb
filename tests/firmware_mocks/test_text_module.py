"""The text module mock: it does what its parameters request, and nothing else."""

from __future__ import annotations

from typing import Any

from firmware_mocks import text_module
from tests.firmware_mocks.bench import AirBench

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
