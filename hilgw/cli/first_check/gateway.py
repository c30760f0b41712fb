"""The robot of the first check, driven by a gateway of the user's file.

The gateway is a child of this process, which takes the place of its controller. So safety, limits
and the session of the body are those of every other run.
"""

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO

from hilgw.api import Robot
from hilgw.api.connection import Closed, Connection
from hilgw.api.session import Session
from hilgw.cli.first_check.motors import CheckedMotor
from hilgw.client import Gateway as Running
from hilgw.client.arming import arm, disarm
from hilgw.client.control_paths import live_sockets
from hilgw.devices.kinds import NO_LIMITS, MotorLimits
from hilgw.engine.processes.processes import LAUNCHER
from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.gateway.requests import Identify
from hilgw.protocols.webots.wire import ProtocolError

START_S, READY_S, END_S = 20.0, 15.0, 5.0
ANSWER_S = 2.0
LOOK_S = 0.05
LISTENING = "listening on "


def start_child(command: Sequence[str], output: BinaryIO) -> subprocess.Popen[bytes]:
    """Start a program that gets SIGTERM when this process ends, however that is.

    In a process group of its own, Ctrl-C does not reach it, and the kernel wakes it when it is
    frozen then (POSIX: a process group that becomes orphaned gets SIGHUP and SIGCONT).
    """
    launcher = [sys.executable, "-IS", str(LAUNCHER), str(os.getpid()), str(int(signal.SIGTERM))]
    return subprocess.Popen(
        [*launcher, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )


class GatewayRobot:
    """A robot, with its gateway.

    Its motors are known once it is `ready`. Its methods raise HilgwError when it is not there, or
    the gateway does not confirm.
    """

    motors: Sequence[CheckedMotor] = ()

    def __init__(self, name: str, settings: Any, command: Sequence[str]) -> None:
        """Create it with the settings of its body.

        `command` runs the gateway, whose controller of this robot is `webots` with `ipc`.
        """
        self.name = name
        self.port = str(getattr(settings, "port", None) or getattr(settings, "connect", ""))
        self.is_mock = self.has_watchdog = False
        self._settings, self._command = settings, command
        self._api: Robot | None = None
        self._path = Path()

    # --- the gateway --------------------------------------------------------------------------

    def start(self, output: BinaryIO) -> None:
        """Start the gateway, and wait until it answers."""
        self._child = start_child(self._command, output)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self._child.poll() is not None:
                raise PeerError("the gateway has ended", where=self.name)
            for path in live_sockets():
                with suppress(PeerError):
                    if Running(path).ask(Identify(), timeout_s=ANSWER_S).pid == self._child.pid:
                        self._path = path
                        return
            time.sleep(LOOK_S)
        raise PeerError("the gateway does not start", where=self.name)

    def close(self) -> None:
        """End the gateway, which stops the robot."""
        with redirect_stderr(StringIO()):
            self._leave()
        self._child.terminate()
        self.thaw()
        try:
            self._child.wait(END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def freeze(self) -> None:
        """Freeze the gateway, which drives the robot."""
        self._child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def report(self) -> dict[str, Any]:
        """Return the report of the gateway so far."""
        return Running(self._path).report()

    def link(self) -> tuple[int, str]:
        """Return how often the robot was connected, and the state of its port; "" while up."""
        port = self.report()["ports"][f"{self.name}.body"]
        return port["ups"], "" if port["state"] == "up" else f"{port['state']}: {port['reason']}"

    def refusals(self) -> dict[str, int]:
        """Return the refused commands so far, by reason."""
        return dict(self.report()["control_loops"][self.name]["refused"])

    def is_armed(self) -> bool:
        return bool(self.report()["control_loops"][self.name]["armed"])

    def arm(self) -> None:
        arm(self.name, control=str(self._path))

    def disarm(self) -> float:
        """Stop and disarm; the time to the confirmation in s."""
        began = self.now()
        disarm(self.name, control=str(self._path))
        seconds = self.now() - began
        if self.is_armed():
            raise PeerError("armed after `disarm`", where=self.name, fix="stop it by hand")
        return seconds

    # --- its controller -----------------------------------------------------------------------

    now = staticmethod(time.monotonic)
    pause = staticmethod(time.sleep)

    def ready(self) -> None:
        """Wait for the robot, and connect as its controller where it is not."""
        end, link = self.now() + READY_S, ""
        while self.now() < end:
            link = self.link()[1]
            if not link and self.step():
                return
            if not link:
                self._connect()
            else:
                self.pause(LOOK_S)
        raise PeerError(link or "no connection", where=f"{self.name}.body")

    def step(self) -> bool:
        """Run one control step; False: the controller was disconnected."""
        if self._api is None:
            return False
        self._connection.limit(ANSWER_S)
        with redirect_stderr(StringIO()):
            return self._api.step() >= 0

    def drive(self, motor: CheckedMotor, velocity: float, position: float = math.inf) -> None:
        """Drive the motor with the next step."""
        assert self._api is not None
        device = self._api.devices[motor.name]
        device.setPosition(position)
        device.setVelocity(velocity)

    def position(self, motor: CheckedMotor) -> float | None:
        """Return what its sensor reports; None: nothing."""
        assert self._api is not None
        value = self._api.devices[motor.sensor].getValue() if motor.sensor else math.nan
        return value if math.isfinite(value) else None

    def _connect(self) -> None:
        where = self.report()["ports"][f"{self.name}.controller"]["reason"]
        if LISTENING not in where:
            return self.pause(LOOK_S)
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(where.rpartition(LISTENING)[2])
            self._connection = Connection(link, local=True)
            self._connection.limit(READY_S)
            with redirect_stderr(StringIO()):
                self._leave()
                self._api = Robot(Session(self._connection))
        except (OSError, Closed, ProtocolError):  # disconnected at once: it is tried again
            return link.close()
        devices = self._api.devices.values()
        self.motors = [self._motor(each) for each in devices if hasattr(each, "setPosition")]
        if not self.motors:
            raise HilgwError("the robot has no motors", where=self.name)
        self.step()
        return None

    def _leave(self) -> None:
        if self._api is not None:
            self._api.close()
            self._api = None

    def _motor(self, device: Any) -> CheckedMotor:
        """Return the motor with the lesser of the limits of the gateway and of the file."""
        limits: MotorLimits = self._settings.limits.get(device.name, NO_LIMITS)
        low, high = limits.bounds("position")
        if math.isinf(high - low) and device.min_position != device.max_position:
            low, high = device.min_position, device.max_position
        declared = getattr(self._settings, "motors", {}).get(device.name)
        by_position = (low, high) != (-math.inf, math.inf) or device.type == device.LINEAR
        by_position |= getattr(declared, "mode", "") == "position"
        slowest, fastest = limits.bounds("velocity")
        sensor = device.position_sensor
        if sensor is not None:
            sensor.enable(int(self._api.basic_time_step) if self._api else 0)
        return CheckedMotor(
            device.name,
            "m" if device.type == device.LINEAR else "rad",
            max(slowest, -device.max_velocity),
            min(fastest, device.max_velocity),
            (low, high) if by_position else None,
            "" if sensor is None else sensor.name,
        )
