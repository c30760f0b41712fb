#!/usr/bin/env python3
"""Times of a control loop: its share of an exchange, stops after a disconnect, 250 devices.

A minimal robot and a minimal controller communicate through a gateway, and, for the exchange, also
through socat (nodelay) and directly. An exchange is one sensor value to the controller and one
command back; a relay adds the difference between its round trip and the direct one; "watched" is a
gateway with a subscriber that reads all events. The paths take turns. Exit 1 when a goal is missed.
Needs socat.

    python3 tools/bench/control_loop.py [--exchanges 10000] [--disconnects 1000] [--seconds 20]
"""

import argparse
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from watching import watching

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.control_loop_peers import (  # noqa: E402
    CAB,
    DISTANCE,
    ROTATIONAL,
    Devices,
    Peer,
    RobotServer,
    configuration,
    connect,
    controller_process,
    port_in,
    sensor_data,
    set_value,
    write_configuration,
)

ROUNDS = 40
STEP_S = 0.02
DEVICES = 250
STOP = set_value(1, 0.0)
GO = set_value(1, 5.0)


@contextmanager
def steady() -> Iterator[None]:
    """Keep relays on one CPU and this process on another, never idle: wake-ups cost the same."""
    cpus = sorted(os.sched_getaffinity(0))
    spin = (
        "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
        "p = os.getppid()\nwhile os.getppid() == p:\n for i in range(10**6): pass"
    )
    spinners = [
        subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", spin]) for cpu in cpus
    ]
    os.sched_setaffinity(0, cpus[1:] or cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def on_first_cpu() -> None:
    """Move a relay, a child process, to the first CPU."""
    os.sched_setaffinity(0, {0})


class Goals:
    """Prints each figure with its goal."""

    def __init__(self) -> None:
        self.missed = 0

    def check(self, name: str, value: float, unit: str, limit: float) -> None:
        good = value <= limit
        self.missed += not good
        print(f"  {name:<58} {value:9.3f} {unit:<3} goal {limit:g}  {'ok' if good else 'MISSED'}")


HILGW = ("-m", "hilgw")  # arguments of Python


@contextmanager
def gateway(robot: RobotServer, folder: Path, program: Sequence[str] = HILGW) -> Iterator[int]:
    """Run a gateway between this robot and the port that it yields."""
    config = write_configuration(folder, configuration(robot.port))
    output = folder / "output.txt"
    with output.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, *program, "--config", config],
            cwd=ROOT,
            stdout=stream,
            stderr=stream,
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
            preexec_fn=on_first_cpu,
        )
    try:
        while not (port := port_in(output.read_text())):
            assert process.poll() is None, output.read_text()
            time.sleep(0.01)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(5)


@contextmanager
def socat(robot: RobotServer) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    listen = f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,nodelay"
    command = ["socat", listen, f"TCP:127.0.0.1:{robot.port},nodelay"]
    process = subprocess.Popen(command, preexec_fn=on_first_cpu)
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def pair(
    path: str, stack: ExitStack, devices: Devices = CAB, program: Sequence[str] = HILGW
) -> tuple[Peer, Peer]:
    """Robot and controller, joined by this path. program: of the path "hilgw"."""
    robot_server = RobotServer()
    stack.callback(robot_server.close)
    if path in ("hilgw", "watched"):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(gateway(robot_server, folder, program))
        robot = robot_server.accept(devices)
        controller = connect(port, devices)
        if path == "watched":
            (control,) = folder.glob("hilgw/*.sock")
            stack.enter_context(watching(control))
    else:
        port = robot_server.port if path == "direct" else stack.enter_context(socat(robot_server))
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        robot = robot_server.accept(devices)
        controller = Peer(connection)
        controller.wait_for(b"right")
    stack.callback(robot.finish)
    stack.callback(controller.finish)
    return robot, controller


def exchanges(robot: Peer, controller: Peer, count: int, period_s: float = 0.0) -> list[float]:
    """Round trips in microseconds; each begins this long after the one before it."""
    value, size = sensor_data(0, 123.5), len(GO)
    send, answer = robot.connection.send, controller.connection.send
    receive, read = controller.connection.recv, robot.connection.recv
    trips = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        send(value)
        receive(size)
        answer(GO)
        read(size)
        trips.append((time.perf_counter_ns() - begin) / 1e3)
        if period_s:
            time.sleep(max(0.0, period_s - trips[-1] / 1e6))
    return trips


def bench_exchanges(total: int, goals: Goals) -> None:
    paths = ["direct", "socat", "hilgw"]
    count = max(50, total // ROUNDS)
    trips: dict[str, list[float]] = {path: [] for path in paths}
    ratios = []
    with ExitStack() as stack:
        pairs = {path: pair(path, stack) for path in paths}
        for ends in pairs.values():
            exchanges(*ends, 200)
        for _ in range(ROUNDS):
            random.shuffle(paths)
            now = {path: exchanges(*pairs[path], count) for path in paths}
            p50 = {path: statistics.median(now[path]) for path in paths}
            ratios.append((p50["hilgw"] - p50["direct"]) / (p50["socat"] - p50["direct"]))
            for path in paths:
                trips[path] += now[path]
    print(f"{count * ROUNDS} sensor/command exchanges on each path, in {ROUNDS} turns")
    for path in ("direct", "socat", "hilgw"):
        ordered = sorted(trips[path])
        p99 = ordered[len(ordered) * 99 // 100]
        print(f"  {path:<8} round trip p50 {statistics.median(ordered):7.1f} us, p99 {p99:7.1f} us")
    goals.check("time that hilgw adds, p50, relative to socat", statistics.median(ratios), "x", 2)


def bench_watched(total: int) -> None:
    """1,000 exchanges a second, which are 2,000 messages, without and with a subscriber."""
    trips: dict[str, list[float]] = {"hilgw": [], "watched": []}
    with ExitStack() as stack:
        pairs = {path: pair(path, stack) for path in trips}
        for _ in range(ROUNDS):
            for path, ends in pairs.items():
                trips[path] += exchanges(*ends, max(20, total // ROUNDS // 2), 0.001)
    print("1,000 exchanges a second, in turns without and with a subscriber that reads all events")
    for path, times in trips.items():
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"  {path:<8} round trip p50 {statistics.median(times):7.1f} us, p99 {p99:7.1f} us")


# --- disconnects --------------------------------------------------------------------------------


def by_kill(port: int, robot: Peer) -> int:
    with controller_process(port, GO) as pid:
        robot.wait_for(GO)
        begin = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        return robot.wait_for(STOP) - begin


def by(end: Callable[[Peer], None]) -> Callable[[int, Peer], int]:
    def measure(port: int, robot: Peer) -> int:
        controller = connect(port)
        controller.send(GO)
        robot.wait_for(GO)
        begin = time.monotonic_ns()
        end(controller)
        return robot.wait_for(STOP) - begin

    return measure


WAYS = {"FIN": by(Peer.finish), "RST": by(Peer.reset), "kill -9": by_kill}


def bench_disconnects(total: int, goals: Goals) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = RobotServer()
        stack.callback(server.close)
        port = stack.enter_context(gateway(server, Path(folder)))
        robot = server.accept()
        print(f"{total} disconnects: time until the motor's default is on the wire")
        for way, measure in WAYS.items():
            times = sorted(measure(port, robot) / 1e6 for _ in range(max(1, total // len(WAYS))))
            goals.check(
                f"{way}: p99 (p50 {statistics.median(times):.2f} ms, max {times[-1]:.2f} ms)",
                times[len(times) * 99 // 100],
                "ms",
                50,
            )


# --- many devices -------------------------------------------------------------------------------


def bench_steps(seconds: float, goals: Goals) -> None:
    devices: Devices = [(DISTANCE, f"ds{n}") for n in range(DEVICES - 2)] + [
        (ROTATIONAL, "left"),
        (ROTATIONAL, "right"),
    ]
    left, right = DEVICES - 2, DEVICES - 1
    step = b"".join(sensor_data(index, float(index)) for index in range(left))
    commands = set_value(left, 1.0) + set_value(right, 2.0)
    delays: dict[str, list[float]] = {"socat": [], "hilgw": []}
    with ExitStack() as stack:
        pairs = {path: pair(path, stack, devices) for path in delays}
        start = time.monotonic()
        for number in range(round(seconds / STEP_S)):
            time.sleep(max(0.0, start + number * STEP_S - time.monotonic()))
            for path, (robot, controller) in pairs.items():
                begin = time.monotonic_ns()
                robot.send(step)
                controller.wait_for(step)
                controller.send(commands)
                delays[path].append((robot.wait_for(commands) - begin) / 1e6)
    print(f"{DEVICES} devices at {1 / STEP_S:g} steps/s for {seconds:g} s: from step to commands")
    late = {}
    for path, times in delays.items():
        late[path] = sum(each > STEP_S * 1e3 for each in times)
        times.sort()
        print(
            f"  {path:<8} p50 {statistics.median(times):.2f} ms, "
            f"p99 {times[len(times) * 99 // 100]:.2f} ms, max {times[-1]:.2f} ms, "
            f"{late[path]} after the next step"
        )
    # A step that is late on a plain relay too is the machine's fault.
    goals.check(
        "late steps of hilgw in excess of those of socat", late["hilgw"] - late["socat"], "", 0
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--exchanges", type=int, default=10_000)
    parser.add_argument("--disconnects", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    args = parser.parse_args()
    if shutil.which("socat") is None:
        print("this benchmark needs socat: apt-get install socat", file=sys.stderr)
        return 2
    goals = Goals()
    with steady():
        bench_exchanges(args.exchanges, goals)
        bench_watched(args.exchanges)
    bench_disconnects(args.disconnects, goals)
    bench_steps(args.seconds, goals)
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
