#!/usr/bin/env python3
"""Time from each cause of a stop to the stop on the wire of the robot.

The mock of the robot runs here, behind a virtual serial port or a TCP port; the gateway is a
process of its own, with a real back end; a controller on TCP moves the motors. The stop is on the
wire when the bytes that the body declares have come. `echo` is the p99 of a byte to a process that
only sends it back, once in each run: what the machine itself takes. Exit 1 when a goal is missed.

    python3 tools/bench/stop_times.py [--runs 200] [--body create2] [--cause FIN] ...
"""

import argparse
import json
import os
import pty
import random
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from firmware_mocks import create2, dynamixel, epuck, feetech, khepera, wc2ec_robot  # noqa: E402
from firmware_mocks.air import Air  # noqa: E402
from hilgw import plugins  # noqa: E402
from hilgw.cli.main import main as hilgw_main  # noqa: E402
from hilgw.controllers.wc2ec.session import Wc2ecControllerSession  # noqa: E402
from hilgw.testing.conformance.bodies import pattern  # noqa: E402
from tests.e2e.control_loop_peers import Peer, controller_process, port_in, set_value  # noqa: E402
from tests.engine.control_loop.on_mocks import declared  # noqa: E402

GOAL_MS = 50
TIMEOUT_MS = 500  # safety.command_timeout_s of a real body
LATE_MS = 250  # safety.late_s of these gateways
SAFETY = f"{{armed: true, latch: false, late_s: {LATE_MS / 1000}}}"
HANG_S = 0.45
GUARDIAN_MS = 300  # guardian_ms, its default
LIMIT_S = 10.0
PAUSE_S = 0.03
DEFECT, HANG = set_value(99, 66.0), set_value(98, 66.0)
"""At these commands the controller's session raises, and the event loop hangs for HANG_S."""


class Kind(NamedTuple):
    """A kind of body. motors: the indices of its two motors."""

    settings: str
    motors: tuple[int, int]
    mock: Callable[[], Any]
    moves: Callable[[Any], bool]


def declared_lines(file: Path) -> str:
    """Return the settings of the body of this file, on a line of their own."""
    (robot,) = yaml.safe_load(file.read_text(encoding="utf-8"))["robots"].values()
    left_out = ("kind", "port", "mock", "limits", "always_on")
    lines = {name: value for name, value in robot["body"].items() if name not in left_out}
    return ", ".join(f"{name}: {json.dumps(value)}" for name, value in lines.items())


KINDS = {
    "wc2ec": Kind(
        "simulated: false",
        (3, 4),
        lambda: wc2ec_robot.create("robot", Air(), {"webots": "R2020a"}),
        lambda mock: mock.body.moving,
    ),
    "create2": Kind(
        "silence_s: 5",
        (0, 2),
        lambda: create2.create("robot", Air(), {}),
        lambda mock: mock.drive != (0, 0),
    ),
    "dynamixel": Kind(
        "baudRate: 1000000, watchdog_ms: 2000, silence_s: 5, answer_ms: 500",
        (0, 2),
        lambda: dynamixel.create("robot", Air(), {"ids": "1, 2", "baud_rate": 1_000_000}),
        lambda mock: any(servo.moves for servo in mock.servos.values()),
    ),
    "feetech": Kind(
        "silence_s: 5, answer_ms: 500",
        (0, 2),
        lambda: feetech.create("robot", Air(), {}),
        lambda mock: any(servo.moves for servo in mock.servos.values()),
    ),
    "epuck": Kind(
        "silence_s: 5, answer_ms: 500",
        (0, 2),
        lambda: epuck.create("robot", Air(), {"width": "20", "depth": "20"}),
        lambda mock: mock.speeds != (0, 0),
    ),
    "text": Kind(  # the Khepera of its shipped configuration
        declared_lines(ROOT / "configs" / "khepera.yaml"),
        (0, 1),
        lambda: khepera.create("robot", Air(), {"width": "20", "depth": "20"}),
        lambda mock: mock.speed != (0, 0),
    ),
}


class Robot(threading.Thread):
    """The mock with its end of the wire, in a thread.

    `stopped_ns` is when the stop came, after `mark`; 0 before.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(daemon=True)
        self._kind = KINDS[kind]
        self.mock = self._kind.mock()
        settings = declared(kind).settings_with()
        self._stop_form: re.Pattern[bytes] = pattern(
            plugins.load(plugins.BODIES, kind).stop_frame(settings)
        )
        self._seen = b""
        self.stopped_ns = 0
        self.changed = threading.Condition()
        self._over = False
        self._line = self._slave = -1
        self._server: socket.socket | None = None
        if kind == "wc2ec":
            self._server = socket.create_server(("127.0.0.1", 0))
            self.address = f'connect: "tcp://127.0.0.1:{self._server.getsockname()[1]}"'
        else:
            self._line, self._slave = pty.openpty()
            tty.setraw(self._slave)
            self.address = f"port: {os.ttyname(self._slave)}"
            self.mock.reset(time.monotonic_ns())

    def run(self) -> None:
        while not self._over:
            now, due = time.monotonic_ns(), self.mock.next_deadline()
            wait = 0.02 if due is None else min(0.02, max(0.0, (due - now) / 1e9))
            ends = [end for end in (self._line, self._server) if end not in (-1, None)]
            ready = select.select(ends, [], [], wait)[0]
            now = time.monotonic_ns()
            with self.changed:
                if self._server in ready and self._server is not None:
                    self._accept(self._server, now)
                elif self._line in ready:
                    self._read(now)
                self.mock.advance(now)
                self._write(self.mock.take(now))
                self.changed.notify_all()

    def _accept(self, server: socket.socket, now: int) -> None:
        if self._line >= 0:
            os.close(self._line)
        connection = server.accept()[0]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._line = connection.detach()
        self.mock.connect(now)

    def _read(self, now: int) -> None:
        try:
            data = os.read(self._line, 4096)
        except OSError:
            data = b""
        if not data:
            if self._server is not None:
                os.close(self._line)
                self._line = -1
                self.stopped_ns = self.stopped_ns or now  # the end of its stream is a stop, too
                self.mock.disconnect(now)
            return
        self._seen = (self._seen + data)[-4096:]
        if not self.stopped_ns and self._stop_form.search(self._seen):
            self.stopped_ns = now
        self.mock.receive(data, now)

    def _write(self, data: bytes) -> None:
        if data and self._line >= 0:
            try:
                os.write(self._line, data)
            except OSError:
                pass  # the gateway has gone

    def mark(self) -> bool:
        """Count a stop that comes from now on; return whether a motor moves."""
        with self.changed:
            self._seen, self.stopped_ns = b"", 0
            return self.moves()

    def moves(self) -> bool:
        return self._kind.moves(self.mock)

    def wait_for(self, condition: Callable[[], Any], limit_s: float = LIMIT_S) -> bool:
        with self.changed:
            return bool(self.changed.wait_for(condition, limit_s))

    def close(self) -> None:
        self._over = True
        self.join()
        for end in {self._line, self._slave} - {-1}:
            os.close(end)
        if self._server is not None:
            self._server.close()


def serve(config: str) -> int:
    """Run a gateway whose controller session has the two defects."""
    receive = Wc2ecControllerSession.receive

    def broken(session: Wc2ecControllerSession, data: bytes, now: int) -> Any:
        if DEFECT in data:
            raise RuntimeError("a defect")
        if HANG in data:
            time.sleep(HANG_S)
        return receive(session, data, now)

    Wc2ecControllerSession.receive = broken  # type: ignore[method-assign]
    return hilgw_main(["--config", config])


class Gateway:
    """A gateway in a process of its own, which is this script with `--serve`."""

    def __init__(self, kind: str, robot: Robot, folder: Path, *, safety: str = SAFETY) -> None:
        self.robot = robot
        self.motors = KINDS[kind].motors
        config, self.output = folder / "stop.yaml", folder / "output.txt"
        settings = ", ".join(part for part in (robot.address, KINDS[kind].settings) if part)
        config.write_text(
            "version: 1\nbackend: real\nwebots: R2020a\nrobots:\n  cab:\n"
            f"    body: {{kind: {kind}, {settings}}}\n"
            '    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}\n'
            f"    safety: {safety}\n"
        )
        with self.output.open("w") as out:
            self._process = subprocess.Popen(
                (sys.executable, __file__, "--serve", str(config)),
                env=os.environ | {"XDG_RUNTIME_DIR": str(folder)},
                stdout=out,
                stderr=out,
            )
        end = time.monotonic() + LIMIT_S
        while not (port := port_in(self.output.read_text())):
            assert time.monotonic() < end, self.output.read_text()
            time.sleep(0.002)
        self.port = port

    @property
    def go(self) -> bytes:
        return b"".join(set_value(index, 2.0) for index in self.motors)

    def drive(self) -> Peer:
        """Run a controller that moves the motors; it tries until the robot is up."""
        self.robot.wait_for(lambda: not self.robot.moves(), 1.0)  # from the run before
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            controller = Peer(socket.create_connection(("127.0.0.1", self.port), LIMIT_S))
            try:
                controller.read(time.monotonic() + 2.0)  # devices: the robot is up
                controller.send(self.go)
            except (AssertionError, OSError):
                controller.finish()
                continue
            if self.robot.wait_for(self.robot.moves, 0.3):
                return controller
            controller.finish()
        raise AssertionError(self.output.read_text())

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


# --- the causes -----------------------------------------------------------------------------------

Cause = Callable[[Gateway, Peer], int]
"""Makes it happen; returns when, in ns."""


def by(action: Callable[[Gateway, Peer], Any]) -> Cause:
    def cause(gateway: Gateway, controller: Peer) -> int:
        begin = time.monotonic_ns()
        action(gateway, controller)
        return begin

    return cause


def frozen(gateway: Gateway, controller: Peer) -> int:
    """SIGSTOP of the gateway, which stays: its guardian stops the motors."""
    begin = time.monotonic_ns()
    gateway.signal(signal.SIGSTOP)
    return begin


def suspended(gateway: Gateway, controller: Peer) -> int:
    """SIGSTOP of the gateway: it stops the motors first when it continues."""
    gateway.signal(signal.SIGSTOP)
    time.sleep(HANG_S)
    begin = time.monotonic_ns()
    gateway.signal(signal.SIGCONT)
    return begin


CAUSES: dict[str, tuple[Cause | None, int]] = {
    "FIN": (by(lambda gateway, controller: controller.finish()), 0),
    "RST": (by(lambda gateway, controller: controller.reset()), 0),
    "kill -9 of the controller": (None, 0),
    "freeze of the controller": (None, TIMEOUT_MS),
    "exception in its session": (by(lambda gateway, controller: controller.send(DEFECT)), 0),
    "kill -9 of the gateway": (by(lambda gateway, controller: gateway.signal(signal.SIGKILL)), 0),
    "freeze of the gateway": (frozen, GUARDIAN_MS),
    "gateway suspended, from SIGCONT": (suspended, 0),
    "event loop hangs": (by(lambda gateway, controller: controller.send(HANG)), LATE_MS),
    "Ctrl-C": (by(lambda gateway, controller: gateway.signal(signal.SIGINT)), 0),
    "SIGTERM": (by(lambda gateway, controller: gateway.signal(signal.SIGTERM)), 0),
}
"""With the time that the cause itself may take, in ms. None: of a controller in its own process."""
ENDING = ("kill -9 of the gateway", "freeze of the gateway", "Ctrl-C", "SIGTERM")


def in_process(gateway: Gateway, number: int) -> int:
    """Signal a controller in a process of its own; 0: the robot did not move."""
    with controller_process(gateway.port, gateway.go) as pid:
        if not gateway.robot.wait_for(gateway.robot.moves, 0.5):
            return 0
        time.sleep(random.uniform(0, PAUSE_S))
        if not gateway.robot.mark():
            return 0
        begin = time.monotonic_ns()
        os.kill(pid, number)
        gateway.robot.wait_for(lambda: gateway.robot.stopped_ns)
        return begin


def measure(gateway: Gateway, name: str) -> float | None:
    """Return the milliseconds from the cause to the stop, infinite where none came.

    Returns None when a busy machine had stopped the robot before.
    """
    robot, (cause, _) = gateway.robot, CAUSES[name]
    if cause is None:
        gateway.drive().finish()
        robot.wait_for(lambda: not robot.moves())
        number = signal.SIGKILL if name.startswith("kill") else signal.SIGSTOP
        begin = in_process(gateway, number)
        if not begin:
            return None
    else:
        controller = gateway.drive()
        time.sleep(random.uniform(0, PAUSE_S))  # at any phase of the gateway's timers
        if not robot.mark():
            return None
        begin = cause(gateway, controller)
        robot.wait_for(lambda: robot.stopped_ns)
        controller.connection.close()
    if not robot.stopped_ns:
        return float("inf")
    if robot.stopped_ns < begin:
        return None
    return (robot.stopped_ns - begin) / 1e6


class Echo:
    """A process that sends each byte back."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            while data := theirs.recv(1):
                theirs.send(data)
            os._exit(0)
        theirs.close()
        self.times: list[float] = []

    def measure(self) -> None:
        begin = time.monotonic_ns()
        self._ours.send(b"x")
        self._ours.recv(1)
        self.times.append((time.monotonic_ns() - begin) / 1e6)

    def close(self) -> None:
        self._ours.close()
        os.waitpid(self._pid, 0)


@contextmanager
def running(kind: str) -> Iterator[tuple[Robot, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        robot = Robot(kind)
        robot.start()
        try:
            yield robot, Path(folder)
        finally:
            robot.close()


def times_of(kind: str, name: str, runs: int) -> tuple[list[float], int, list[float]]:
    """Return the times of the runs, the number of repeated runs, and the times of echoes."""
    times: list[float] = []
    echo = Echo()
    repeated = 0
    with running(kind) as (robot, folder):
        gateway: Gateway | None = None
        while len(times) < runs:
            gateway = gateway or Gateway(kind, robot, folder)
            try:
                took = measure(gateway, name)
            finally:
                if name in ENDING:
                    gateway.close()
                    gateway = None
            if took is None:
                repeated += 1
                assert repeated < 10 * runs + 10
            else:
                times.append(took)
                echo.measure()
        if gateway is not None:
            gateway.close()
    echo.close()
    return times, repeated, echo.times


def p99_of(ordered: list[float]) -> float:
    return ordered[max(0, -(-99 * len(ordered) // 100) - 1)]


def show(kind: str, name: str, times: list[float], repeated: int, echoes: list[float]) -> bool:
    """Print one row; return whether the goal is met."""
    ordered = sorted(times)
    p50, p99 = statistics.median(ordered), p99_of(ordered)
    deadline = CAUSES[name][1]
    good = p99 <= deadline + GOAL_MS
    print(
        f"| {kind} | {name} | {len(times)} | {deadline} | {p50:.1f} | {p99:.1f} | "
        f"{ordered[-1]:.1f} | {deadline + GOAL_MS} | {'met' if good else 'MISSED'} | {repeated} | "
        f"{p99_of(sorted(echoes)):.1f} |",
        flush=True,
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--body", choices=KINDS, action="append")
    parser.add_argument("--cause", choices=CAUSES, action="append")
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"from the cause to the stop on the wire, ms; load of this machine {load}\n")
    print("| body | cause | runs | deadline | p50 | p99 | max | goal | | repeated | echo |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    good = True
    for kind in args.body or KINDS:
        for name in args.cause or CAUSES:
            good &= show(kind, name, *times_of(kind, name, args.runs))
        print(f"| {kind} | loss of its link | - | - | n/a: nothing carries a stop | | | | | | |")
    print(f"\nload at the end {', '.join(f'{each:.1f}' for each in os.getloadavg())}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
