"""The tests of the bridge, the programs to compare with, and the goals."""

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hilgw.framing import create

HERE = Path(__file__).resolve().parent
GW = (sys.executable, "-m", "hilgw", "bridge", "{tty}", "--listen", "127.0.0.1:{port}", "-q")
PACED = "1,000 round trips/s of 64 B"
WATCHED = "hilgw watched"  # by a subscriber that reads all bytes
PROGRAMS = {
    "hilgw": GW,
    WATCHED: GW,
    "hilgw framed": (*GW, "--frame", "cobs-crc16"),
    "hilgw paced": (*GW, "--pace", "--baud", "{baud}"),
    "socat": ("socat", "TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr", "{tty},rawer"),
    "socat nodelay": (
        "socat",
        *("-b", "65536", "TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,nodelay", "{tty},rawer"),
    ),
    "call_at": (sys.executable, str(HERE / "call_at_bridge.py"), "{tty}", "{port}", "{baud}"),
}


def pattern(size: int) -> bytes:
    return bytes(1 + at % 250 for at in range(size))


FRAMED = create("cobs-crc16").encode(pattern(60))


@dataclass(frozen=True)
class Test:
    """A measurement: the arguments of the load, and the function that evaluates its numbers.

    `more` are the arguments after the packet.
    """

    name: str
    words: tuple[str, ...]  # {seconds} is filled in
    packet: bytes
    figures: Callable[[list[int]], dict[str, float]]
    baud: int = 115200
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Goal:
    """The ratio of a figure of hilgw to that of another program, and its bound, or None.

    `at_least` marks a lower bound.
    """

    test: str
    figure: str
    ours: str
    other: str
    bound: float | None
    at_least: bool = False


def times(numbers: list[int]) -> dict[str, float]:
    """Return microseconds."""
    ordered = sorted(numbers)
    p99 = ordered[len(ordered) * 99 // 100]
    return {"p50 us": statistics.median(ordered) / 1e3, "p99 us": p99 / 1e3}


def rate(numbers: list[int]) -> dict[str, float]:
    size, took_ns = numbers
    return {"MB/s": size / took_ns * 1e3}


def pacing(baud: int, size: int) -> Callable[[list[int]], dict[str, float]]:
    """Lateness against the earliest schedule that fits; error of the long-term rate."""

    def figures(arrived: list[int]) -> dict[str, float]:
        period_ns = size * 10 * 1e9 / baud
        late = [at - index * period_ns for index, at in enumerate(arrived)]
        first = min(late)
        quarter = len(late) // 4
        gained = statistics.median(late[-quarter:]) - statistics.median(late[:quarter])
        span_ns = (len(late) - quarter) * period_ns
        spread = times([round(each - first) for each in late])
        return {**spread, "rate error %": abs(gained) / span_ns * 100}

    return figures


def paced_test(baud: int, seconds: float) -> Test:
    count = str(max(24, round(seconds * baud / 640)))
    words = ("arrivals", count)
    return Test(f"64 B at {baud}", words, pattern(64), pacing(baud, 64), baud)


def all_tests(seconds: float) -> list[Test]:
    seconds_each = str(seconds)
    return [
        Test("round trip 16 B", ("echo", seconds_each), pattern(16), times),
        Test("round trip 64 B", ("echo", seconds_each), pattern(64), times),
        Test("round trip of a frame", ("echo", seconds_each), FRAMED, times),
        Test("4 KiB to serial", ("down", seconds_each), pattern(4096), rate),
        Test("4 KiB to TCP", ("up", seconds_each), pattern(4096), rate),
        Test(
            "sensor and command",
            ("exchange", seconds_each),
            pattern(16),
            times,
            more=("4", "10000"),
        ),
        Test(PACED, ("echo", str(10 * seconds)), pattern(64), times, more=("1000",)),
        # Longer than the others: a disturbance of a second must not determine the long-term rate.
        *(paced_test(baud, 14 * seconds) for baud in (9600, 115200, 921600)),
    ]


GOALS = (
    *(
        Goal(f"round trip {size} B", figure, "hilgw", "socat", bound)
        for size in (16, 64)
        for figure, bound in (("p50 us", 1.15), ("p99 us", 2.0))
    ),
    *(Goal(PACED, figure, WATCHED, "hilgw", None) for figure in ("p50 us", "p99 us")),
    Goal("round trip of a frame", "p50 us", "hilgw framed", "socat", 1.4),
    Goal("4 KiB to serial", "MB/s", "hilgw", "socat", 0.85, at_least=True),
    Goal("4 KiB to TCP", "MB/s", "hilgw", "socat", 0.85, at_least=True),
    Goal("sensor and command", "p50 us", "hilgw", "socat nodelay", 1.3),
    *(
        Goal(f"64 B at {baud}", figure, "hilgw paced", "call_at", bound)
        for baud in (9600, 115200, 921600)
        for figure, bound in (("p50 us", None), ("p99 us", 0.5))
    ),
)
RATE_ERROR_PERCENT = 0.05
