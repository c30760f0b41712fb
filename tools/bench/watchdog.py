#!/usr/bin/env python3
"""Time from kill -9 of the gateway to motor 0, on our own robot firmware (the WC2EC mock).

The firmware runs here, behind a virtual serial port or a TCP port; the gateway is a process of its
own; a controller on TCP commands a motor every 20 ms. On TCP the kernel closes a killed gateway's
connection, so there the gateway is stopped (SIGSTOP): what remains is the watchdog of the firmware.
Exit 1 when the goal is missed.

    python3 tools/bench/watchdog.py [--runs 200] [--only serial|tcp]
"""

import argparse
import os
import pty
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from firmware_mocks.air import Air  # noqa: E402
from firmware_mocks.wc2ec_robot import Robot, create  # noqa: E402
from tests.e2e.control_loop_peers import port_in, set_value  # noqa: E402

GOAL_MS = 350
COMMAND_S = 0.02
DEADLINE_S = 30
WHEEL = 3  # index of the left wheel
GO = set_value(WHEEL, 5.0)


class Firmware:
    """The robot's firmware on a serial port or a TCP port; `run` moves its bytes and its time."""

    def __init__(self, kind: str) -> None:
        framed = {"frame": "cobs-crc16"} if kind == "serial" else {}
        self.robot: Robot = create("robot", Air(), framed)
        self._server: socket.socket | None = None
        self._slave = self._line = -1
        if kind == "serial":
            self._line, self._slave = pty.openpty()
            tty.setraw(self._slave)
            self.address = f"port: {os.ttyname(self._slave)}"
        else:
            self._server = socket.create_server(("127.0.0.1", 0))
            self.address = f'connect: "tcp://127.0.0.1:{self._server.getsockname()[1]}"'

    def accept(self) -> None:
        """Accept a gateway on TCP; on a line there is nothing to accept."""
        if self._server is not None:
            self._line = self._server.accept()[0].detach()
            self.robot.connect(time.monotonic_ns())

    def run(self, seconds: float) -> None:
        """Run for this long, or until its next deadline, or until the gateway sends bytes."""
        now, due = time.monotonic_ns(), self.robot.next_deadline()
        if due is not None:
            seconds = min(seconds, max(0.0, (due - now) / 1e9))
        readable = select.select([self._line], [], [], seconds)[0]
        now = time.monotonic_ns()
        if readable:
            data = os.read(self._line, 4096)
            self.robot.receive(data, now) if data else self.robot.disconnect(now)
        self.robot.advance(now)
        if output := self.robot.take(now):
            os.write(self._line, output)

    def close(self) -> None:
        for descriptor in {self._line, self._slave} - {-1}:
            os.close(descriptor)
        if self._server is not None:
            self._server.close()


def measure(kind: str, folder: Path) -> float:
    """Measure one run: milliseconds from the signal to motor 0."""
    firmware = Firmware(kind)
    config, output = folder / "watchdog.yaml", folder / "output.txt"
    config.write_text(
        "version: 1\nbackend: real\nwebots: R2020a\nrobots:\n  cab:\n"
        f"    body: {{kind: wc2ec, {firmware.address}}}\n"
        '    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}\n'
    )
    with output.open("w") as stream:
        gateway = subprocess.Popen(
            [sys.executable, "-m", "hilgw", "--config", str(config), "--arm"],
            cwd=ROOT,
            stdout=stream,
            stderr=stream,
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
        )
    try:
        firmware.accept()
        controller = drive(firmware, output)
        os.kill(gateway.pid, signal.SIGKILL if kind == "serial" else signal.SIGSTOP)
        return until_stopped(firmware, controller)
    finally:
        gateway.kill()
        gateway.wait()
        firmware.close()


def drive(firmware: Firmware, output: Path) -> socket.socket:
    """Run a controller that commands the motor until it has turned for a few commands."""
    deadline, controller, next_s, commands = time.monotonic() + DEADLINE_S, None, 0.0, 0
    while commands < 5:
        assert time.monotonic() < deadline, output.read_text()
        firmware.run(0.005)
        if controller is None and (port := port_in(output.read_text())):
            controller = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
        if controller is not None and time.monotonic() >= next_s:
            controller.sendall(GO)
            next_s = time.monotonic() + COMMAND_S
            commands += firmware.robot.body.moving
    assert controller is not None
    return controller


def until_stopped(firmware: Firmware, controller: socket.socket) -> float:
    """Return the milliseconds until the motor is at 0."""
    killed = time.monotonic()
    with controller:
        while firmware.robot.body.moving:
            assert time.monotonic() < killed + DEADLINE_S, "the motor turns"
            firmware.run(0.05)
    return (time.monotonic() - killed) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", choices=("serial", "tcp"))
    args = parser.parse_args()
    missed = False
    print(f"goal: p99 at most {GOAL_MS} ms\n")
    for kind, event in (("serial", "kill -9"), ("tcp", "SIGSTOP")):
        if args.only not in (None, kind):
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = sorted(measure(kind, Path(folder)) for _ in range(args.runs))
        p50, p99 = statistics.median(times), times[max(0, -(-99 * len(times) // 100) - 1)]
        missed |= p99 > GOAL_MS
        word = "MISSED" if p99 > GOAL_MS else "ok"
        print(
            f"{kind}, {event} to motor 0, {len(times)} runs: p50 {p50:.0f} p99 {p99:.0f} ms {word}"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
