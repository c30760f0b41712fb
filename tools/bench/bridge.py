#!/usr/bin/env python3
"""Compares `hilgw bridge` with socat, and its pacing with asyncio's call_at, in one run.

The load is a C program (load.c, compiled at the start) that holds both ends of the bridge and
checks every byte. Each round starts every program again, in random order; each ratio is the median
of the ratios within one round, because the machine changes between rounds. Program and load have a
CPU each, and no CPU goes idle.

    python3 tools/bench/bridge.py [--rounds 7] [--seconds 0.3] [--only TEXT]

Exit 1 when a goal is missed. Needs socat and a C compiler.
"""

import argparse
import os
import random
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bridge_tests import GOALS, PROGRAMS, RATE_ERROR_PERCENT, WATCHED, Goal, Test, all_tests
from table import Row, show_all
from watching import watching

HERE = Path(__file__).resolve().parent
START_S = 10.0
SETTLE_S = 0.15
LOAD_S = 60.0
CPUS = sorted(os.sched_getaffinity(0))


# --- one measurement ------------------------------------------------------------------------------


class Lost(Exception):
    """The load missed bytes, received wrong ones, or could not start."""


def compile_load(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("this benchmark needs a C compiler: apt-get install gcc")
    program = folder / "load"
    source = str(HERE / "load.c")
    subprocess.run([compiler, "-O2", "-o", program, source, "-lpthread"], check=True)
    return program


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def connect(port: int, program: subprocess.Popen[bytes]) -> socket.socket:
    end = time.monotonic() + START_S
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), 1)
            break
        except OSError:
            if time.monotonic() > end or program.poll() is not None:
                raise Lost("the program does not listen") from None
            time.sleep(0.02)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def measure(name: str, test: Test, load: Path) -> dict[str, float]:
    """Measure one new process of a program, under one load; raise Lost."""
    master, slave = os.openpty()
    tty.setraw(slave)
    tty.setraw(master)
    port = free_port()
    words = [
        word.format(tty=os.ttyname(slave), port=port, baud=test.baud) for word in PROGRAMS[name]
    ]
    stack = ExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    program = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XDG_RUNTIME_DIR": folder},
    )
    try:
        with connect(port, program) as connection:
            if name == WATCHED:
                (look,) = Path(folder).glob("hilgw/*")
                stack.enter_context(watching(look))
            select.select([], [], [], SETTLE_S)
            pin(program.pid)
            return test.figures(run_load(load, test, master, connection.fileno()))
    finally:
        program.terminate()
        program.wait()
        stack.close()
        os.close(master)
        os.close(slave)


def run_load(load: Path, test: Test, serial: int, tcp: int) -> list[int]:
    done = subprocess.run(
        [str(load), str(serial), str(tcp), *test.words, test.packet.hex(), *test.more],
        pass_fds=(serial, tcp),
        capture_output=True,
        text=True,
        timeout=LOAD_S,
        preexec_fn=lambda: os.sched_setaffinity(0, {CPUS[-1]}),
    )
    if done.returncode:
        raise Lost(done.stderr.strip())
    return [int(word) for word in done.stdout.split()]


def pin(pid: int) -> None:
    """Move all threads of a process to a CPU that the load does not use."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {CPUS[0]})


@contextmanager
def awake() -> Iterator[None]:
    """Keep every CPU busy: waking one up takes longer than the measured times."""
    spin = (
        "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
        "parent = os.getppid()\nwhile os.getppid() == parent:\n  for _ in range(10**6): pass"
    )
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


# --- all tests ------------------------------------------------------------------------------------

Figures = dict[tuple[str, str], list[dict[str, float]]]  # (test, program) -> one per round


def measure_all(tests: list[Test], goals: list[Goal], rounds: int) -> Figures:
    """Measure every program that a goal names, once per round, in random order."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder, awake():
        load = compile_load(Path(folder))
        for number in range(rounds):
            for test in tests:
                names = {
                    name for goal in goals if goal.test == test.name
                    for name in (goal.ours, goal.other)
                }  # fmt: skip
                for name in random.sample(sorted(names), len(names)):
                    try:
                        figure = measure(name, test, load)
                    except Lost as error:
                        raise SystemExit(f"{name}, {test.name}: {error}") from None
                    figures.setdefault((test.name, name), []).append(figure)
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return figures


def rows(figures: Figures, goals: list[Goal]) -> Iterator[Row]:
    for goal in goals:
        ours, other = figures[goal.test, goal.ours], figures[goal.test, goal.other]
        ratio = statistics.median(
            a[goal.figure] / b[goal.figure] for a, b in zip(ours, other, strict=True)
        )
        yield Row(
            f"{goal.test}, {goal.figure}",
            f"{goal.ours} {middle(ours, goal.figure):.4g}",
            f"{goal.other} {middle(other, goal.figure):.4g}",
            ratio,
            goal.bound,
            goal.at_least,
        )
        if goal.figure == "p99 us" and "rate error %" in ours[0]:
            yield Row(
                f"{goal.test}, rate error %", goal.ours, "the line",
                middle(ours, "rate error %"), RATE_ERROR_PERCENT,
            )  # fmt: skip


def middle(rounds: list[dict[str, float]], figure: str) -> float:
    return statistics.median(each[figure] for each in rounds)


def bench(rounds: int, seconds: float, only: str = "") -> list[Row]:
    """Return the rows of the tests whose name contains `only`."""
    tests = [test for test in all_tests(seconds) if only in test.name]
    goals = [goal for goal in GOALS if any(goal.test == test.name for test in tests)]
    return list(rows(measure_all(tests, goals, rounds), goals))


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares hilgw bridge with socat and call_at.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="duration of each measurement")
    parser.add_argument("--only", default="", help="run the tests whose name contains this text")
    args = parser.parse_args()
    return 0 if show_all(bench(args.rounds, args.seconds, args.only)) else 1


if __name__ == "__main__":
    sys.exit(main())
