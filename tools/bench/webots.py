#!/usr/bin/env python3
"""Steps of Webots controllers without Webots: unpaced, and many robots in real time.

Unpaced: a C client and hilgw's Python API, one sensor and one motor each, on a gateway with
`speed: max`, on a bare blocking server that answers empty steps, and on an asyncio.Protocol that
does the same; they take turns, each client on a core of its own (see cores.py). Real time: many
robots at 32 ms on one gateway, and their late steps. Exit 1 when a goal is missed. Needs cc.

    python3 tools/bench/webots.py [--steps 20000] [--rounds 5] [--robots 100 ...] [--seconds 20]
"""

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

from cores import on_own_core, other_cores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOAL = 0.7  # of the steps/s of the bare server
DEVICES = "{ds: {node: DistanceSensor}, left: {node: RotationalMotor}}"
API_CLIENT = """
import sys, time
from controller import Robot
robot = Robot()
ds, left = robot.getDevice("ds"), robot.getDevice("left")
ds.enable(32)
robot.step(32)
begin = time.perf_counter()
for step in range(int(sys.argv[1])):
    left.setVelocity(step % 10)
    robot.step(32)
    ds.getValue()
print(time.perf_counter() - begin)
"""


def configuration(robots: int, speed: str) -> str:
    lines = ["version: 1", "medium: {step_ms: 32}", *([f"speed: {speed}"] if speed else [])]
    controller = '{kind: webots, listen: "tcp://127.0.0.1:0"}'
    lines += ["robots:"]
    lines += [f"  r{n}: {{controller: {controller}, devices: {DEVICES}}}" for n in range(robots)]
    return "\n".join([*lines, ""])


@contextmanager
def gateway(folder: Path, robots: int, speed: str = "") -> Iterator[tuple[int, Path, int]]:
    """Run a gateway in a process of its own; yield its port, its later report, its process."""
    file, report = folder / "bench.yaml", folder / "report.json"
    file.write_text(configuration(robots, speed))
    words = ["--config", str(file), "--report", str(report)]
    program = [sys.executable, "-m", "hilgw", *words]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = 0
    for line in process.stdout:
        if match := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
            port = int(match[1])
        if line.strip() == "ready":
            break
    try:
        yield port, report, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def framed(data: bytes) -> bytes:
    data = struct.pack("<i", 0) + data
    return struct.pack("<HiiB", 1, len(data), len(data), 0) + data


def robot() -> bytes:
    """Return the first answer: a robot with the devices of the clients."""
    devices = struct.pack("<H", 42) + b"ds\0\0" + struct.pack("<H", 57) + b"left\0\0"
    made = b"\0\0\0r0\0R2025a\0\0\1" + struct.pack("<HHd", 3, 34, 0.0) + devices
    made += struct.pack("<d", 32.0) + 9 * b"\0" + struct.pack("<i", 1)
    made += struct.pack("<HBidddi", 1, 0, 0, 0.0, 1000.0, 1.5, 0)
    made += struct.pack("<HBi11di", 2, 0, 0, 0.0, 0.0, 10.0, -1.0, 10.0, *5 * (0.0,), 1.0, 0)
    return framed(made)


def empty_step(time_ms: int) -> bytes:
    return framed(b"\0\0\4" + struct.pack("<d", time_ms / 1000))


def serve_bare(listening: socket.socket) -> None:
    """Serve one controller after the other: blocking, no codec; never return."""

    def take(size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    while True:
        connection, _ = listening.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.recv(200)
            connection.sendall(b"CONNECTED")
            time_ms, answer = 0, robot()
            try:
                while size := struct.unpack("<i", take(4))[0]:
                    (step_ms,) = struct.unpack_from("<I", take(size - 4))
                    connection.sendall(answer)
                    time_ms += step_ms
                    answer = empty_step(time_ms)
            except EOFError:
                pass


class EmptySteps(asyncio.Protocol):
    """The same server on asyncio, for comparison."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._time_ms, self._answer, self._unread = 0, b"", b""

    def data_received(self, data: bytes) -> None:
        if not self._answer:
            self._transport.write(b"CONNECTED")
            self._answer = robot()
            return
        self._unread += data
        while len(self._unread) >= 8:
            size, step_ms = struct.unpack_from("<iI", self._unread)
            if len(self._unread) < size:
                return
            self._unread = self._unread[size:]
            self._transport.write(self._answer)
            self._time_ms += step_ms
            self._answer = empty_step(self._time_ms)


def serve_asyncio(listening: socket.socket) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(EmptySteps, sock=listening)
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Run a server in a process of its own; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        child = os.fork()
        if child == 0:
            serve(listening)
        try:
            yield listening.getsockname()[1]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def steps_per_s(client: list[str], port: int, steps: int) -> float:
    url = f"tcp://127.0.0.1:{port}/r0"
    path = str(ROOT / "hilgw" / "api" / "path")
    environment = {**os.environ, "WEBOTS_CONTROLLER_URL": url, "PYTHONPATH": path}
    words = [word.format(port=port, steps=steps) for word in client]
    return steps / float(on_own_core(words, environment).stdout)


def unpaced(folder: Path, client: str, steps: int, rounds: int) -> bool:
    script = folder / "client.py"
    script.write_text(API_CLIENT)
    clients = {
        "C": [client, "{port}", "r0", "{steps}"],
        "API": [sys.executable, str(script), "{steps}"],
    }
    good = True
    with ExitStack() as stack:
        with other_cores():
            bare = stack.enter_context(server(serve_bare))
            plain = stack.enter_context(server(serve_asyncio))
            port, _, _ = stack.enter_context(gateway(folder, 1, "max"))
        for name, words in clients.items():
            runs = [
                [steps_per_s(words, each, steps) for each in (bare, plain, port)]
                for _ in range(rounds)
            ]
            theirs, other, ours = (statistics.median(each) for each in zip(*runs, strict=True))
            of_asyncio = statistics.median(run[1] / run[0] for run in runs)
            ratio = statistics.median(run[2] / run[0] for run in runs)
            print(
                f"{name:<4} bare server {theirs:7.0f} steps/s; asyncio.Protocol {other:7.0f}, "
                f"{of_asyncio:.2f} x; gateway {ours:7.0f}, {ratio:.2f} x (goal {GOAL})"
            )
            good &= ratio >= GOAL
    return good


def on_core_s(pid: int) -> tuple[float, float]:
    """Return how long a process has run, and waited for a core that others had (Linux)."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


def many(folder: Path, client: str, robots: int, seconds: float) -> bool:
    steps = str(round(seconds / 0.032))
    with gateway(folder, robots) as (port, report, pid):
        before = on_core_s(pid)
        clients = [
            subprocess.Popen([client, str(port), f"r{n}", steps], stdout=subprocess.DEVNULL)
            for n in range(robots)
        ]
        ended = [each.wait() for each in clients]
        ran_s, waited_s = (now - then for now, then in zip(on_core_s(pid), before, strict=True))
    loops = json.loads(report.read_text())["control_loops"].values()
    late = sum(loop["late_steps"] for loop in loops)
    made = sum(loop["counts"]["controller"]["steps"] for loop in loops)
    print(
        f"{robots} robots at 32 ms: {made} steps in {seconds:g} s, {late} late (goal 0); "
        f"the gateway ran for {ran_s:.1f} s and waited {waited_s:.1f} s for a core"
    )
    return not late and not any(ended)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--robots", type=int, nargs="+", default=[100])
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        client = str(folder / "client")
        subprocess.run(["cc", "-O2", "-o", client, str(HERE / "webots_client.c")], check=True)
        good = True
        for robots in args.robots:
            good &= many(folder, client, robots, args.seconds)
        good &= unpaced(folder, client, args.steps, args.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
