#!/usr/bin/env python3
"""Lateness of packets and steps, compared with the usual alternatives in the same run.

Pacing: an Emitter with 64-byte packets always waiting, on hilgw's timer and on asyncio's call_at.
Steps: a clock on hilgw's timer, and a C program that sleeps by clock_nanosleep (if cc exists).
Rounds take turns; the figures are medians over the rounds, and of the ratios of neighbours. The
machine must be idle: other programs determine most of a p99. Exit 1 when a limit is missed.

    python3 tools/bench/timer.py [--rounds 5] [--seconds 2]
"""

import argparse
import asyncio
import gc
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ticks import gateway_loop

from hilgw.devices.fields import EmitterFields
from hilgw.devices.radios import Emitter
from hilgw.devices.steps import StepClock
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.robot.ports import EmitterPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.medium.ledger import Ledger
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Mount
from hilgw.transports.base import Scheduler

NS = 1_000_000_000
PACKET = 64
BITS = 10
WAITING = 64  # packets in the queue: enough for a pause of the machine
RATES = (9600, 115_200, 921_600)
PERIODS_MS = (32, 8)
TICKS = Path(__file__).with_name("ticks.py")
P99_OF_CALL_AT = 0.5
P99_OF_C = 3.0
RATE_ERROR_PERCENT = 0.05

SLEEPER = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
int main(int count, char **words) {
    long period = atol(words[1]) * 1000, n = atol(words[2]), first = now() + 20000000;
    long *ran = malloc(n * sizeof *ran);
    prctl(PR_SET_TIMERSLACK, 1);
    for (long k = 0; k < n; k++) {
        long due = first + k * period;
        struct timespec t = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        ran[k] = now();
    }
    printf("%ld\n", first);
    for (long k = 0; k < n; k++) printf("%ld\n", ran[k]);
    return 0;
}
"""


@dataclass(frozen=True)
class Lateness:
    """Lateness of one round, in ns; rate_error_percent over the whole round."""

    least: int
    p50: float
    p99: float
    rate_error_percent: float = 0.0


class CallAt:
    """asyncio's own timer as a Scheduler."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ahead_s = time.monotonic_ns() / NS - loop.time()
        self.now = time.monotonic_ns

    def call_at(self, when: int, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_at(when / NS - self._ahead_s, callback)

    def close(self) -> None:
        """Release nothing."""


def lateness(late: list[int], rate_error_percent: float = 0.0) -> Lateness:
    late = sorted(late)
    return Lateness(
        late[0], statistics.median(late), late[int(len(late) * 0.99)], rate_error_percent
    )


# --- pacing -----------------------------------------------------------------------------------


def pace(
    rate: int,
    seconds: float,
    make: Callable[[asyncio.AbstractEventLoop], object],
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> Lateness:
    """Run one round at this rate; `make` makes the scheduler."""

    async def main() -> list[tuple[int, int]]:
        scheduler = make(asyncio.get_running_loop())
        left: list[tuple[int, int]] = []
        done = asyncio.Event()
        wanted = max(20, round(seconds * rate / BITS / PACKET))

        def transmit(packet: Packet, mount: Mount) -> None:
            left.append((packet.sent_ns, time.monotonic_ns()))
            if len(left) < wanted:
                port.send(bytes(PACKET))  # the line is never idle
            else:
                done.set()

        emitter = Emitter(EmitterFields(baudRate=rate, byteSize=BITS))
        port = EmitterPort(
            "tx",
            emitter,
            Mount("bench"),
            Schedule(cast("Scheduler", scheduler), StepClock(0)),
            Ledger(),
            transmit,
        )
        for _ in range(WAITING):
            port.send(bytes(PACKET))
        await done.wait()
        port.close()
        scheduler.close()  # type: ignore[attr-defined]
        return left

    with asyncio.Runner(loop_factory=loop) as runner:
        left = runner.run(main())
    return lateness([at - due for due, at in left], rate_error_percent(left, rate))


def rate_error_percent(left: list[tuple[int, int]], rate: int) -> float:
    """Error of the packets' spacing against the line's, from the first quarter to the last."""
    quarter = len(left) // 4
    takes = Fraction(PACKET * BITS * NS, rate)
    late = [at - left[0][0] - float(k * takes) for k, (_, at) in enumerate(left)]
    gained = statistics.median(late[-quarter:]) - statistics.median(late[:quarter])
    return gained / float((len(left) - quarter) * takes) * 100


# --- steps ------------------------------------------------------------------------------------


def steps(command: list[str], period_ms: int, seconds: float) -> Lateness:
    """Run one round of a program that prints its first deadline, then the instant of each step."""
    count = max(20, round(seconds * 1000 / period_ms))
    words = [*command, str(period_ms * 1000), str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    first, *ran = map(int, done.stdout.split())
    return lateness([at - first - k * period_ms * 1_000_000 for k, at in enumerate(ran)])


def sleeper(folder: str) -> list[str] | None:
    """Compile the C program; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, program = Path(folder, "sleeper.c"), Path(folder, "sleeper")
    source.write_text(SLEEPER)
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return [str(program)]


# --- the table --------------------------------------------------------------------------------


def row(name: str, rounds: list[Lateness], limit: str = "", missed: bool = False) -> None:
    least = min(each.least for each in rounds) / 1e3
    p50, p99 = (
        statistics.median(getattr(each, figure) for each in rounds) / 1e3
        for figure in ("p50", "p99")
    )
    error = statistics.median(abs(each.rate_error_percent) for each in rounds)
    print(
        f"{name:34}{least:9.1f}{p50:9.1f}{p99:9.1f}{error:9.4f}  {limit}"
        f"{'  missed' if missed else ''}"
    )


def p99_ratio(ours: list[Lateness], theirs: list[Lateness]) -> float:
    """Return the median ratio of rounds that ran in turn, under the same conditions."""
    return statistics.median(one.p99 / other.p99 for one, other in zip(ours, theirs, strict=True))


def compare_pacing(rate: int, rounds: int, seconds: float) -> bool:
    ours: list[Lateness] = []
    theirs: list[Lateness] = []
    for _ in range(rounds):
        ours.append(pace(rate, seconds, Timer, gateway_loop))
        theirs.append(pace(rate, seconds, CallAt, asyncio.new_event_loop))
    ratio = p99_ratio(ours, theirs)
    error = statistics.median(abs(each.rate_error_percent) for each in ours)
    early = min(each.least for each in ours) < 0
    missed = ratio > P99_OF_CALL_AT or error > RATE_ERROR_PERCENT or early
    limit = f"p99 {ratio:.2f} x call_at's, at most {P99_OF_CALL_AT:g}"
    row(f"pace {PACKET} B at {rate}, hilgw", ours, limit, missed)
    row(f"pace {PACKET} B at {rate}, call_at", theirs)
    return missed


def compare_steps(period_ms: int, rounds: int, seconds: float, program: list[str] | None) -> bool:
    ours: list[Lateness] = []
    theirs: list[Lateness] = []
    for _ in range(rounds):
        ours.append(steps([sys.executable, str(TICKS), "--first"], period_ms, seconds))
        if program is not None:
            theirs.append(steps(program, period_ms, seconds))
    early = min(each.least for each in ours) < 0
    ratio = p99_ratio(ours, theirs) if theirs else 0.0
    missed = early or ratio > P99_OF_C
    limit = f"p99 {ratio:.2f} x C's, at most {P99_OF_C:g}; never early" if theirs else "never early"
    row(f"steps of {period_ms} ms, hilgw", ours, limit, missed)
    if theirs:
        row(f"steps of {period_ms} ms, C", theirs)
    return missed


def main() -> int:
    """Measure and print the table; return 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each round")
    args = parser.parse_args()
    gc.freeze()
    print(f"{'late, µs':34}{'least':>9}{'p50':>9}{'p99':>9}{'rate %':>9}")
    missed = [compare_pacing(rate, args.rounds, args.seconds) for rate in RATES]
    with tempfile.TemporaryDirectory() as folder:
        program = sleeper(folder)
        missed += [compare_steps(ms, args.rounds, args.seconds, program) for ms in PERIODS_MS]
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main())
