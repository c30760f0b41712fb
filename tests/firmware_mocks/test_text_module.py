"""The text module mock: it does what its parameters request, and nothing else."""

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


def test_the_wrong_rate_and_too_long_a_line_are_lost() -> None:
    bench = AirBench(text_module.create, {"address": 1, **SPEECH})
    bench.run(100)
    bench.taken()
    bench.modules[0].host_baud = 9600
    assert bench.ask(0, b"AT\r\n", 300) != b"OK\r\n"
    bench.modules[0].host_baud = 115_200
    bench.run(1000)
    bench.taken()
    bench.ask(0, b"x" * 3000, 300)
    assert bench.modules[0].overruns == 3000 - 2048
    bench.run(1000)
    assert bench.ask(0, b"AT\r\n", 300) == b"OK\r\n"
