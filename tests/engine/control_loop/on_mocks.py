"""Any kind of body on its mock, as a shipped configuration has it, in a control loop in simulated
time."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_mocks.wc2ec import wire
from hilgw import plugins
from hilgw.bodies.base import Body
from hilgw.config.load import load_config
from hilgw.control.stop_frame import StopFrame
from hilgw.devices.kinds import LINEAR_MOTOR, MOTOR, Device
from hilgw.engine.mock_host import create_mock
from hilgw.framing import create
from tests.engine.control_loop.fakes import MS, TYPES, FakeLoop

CONFIGS = Path(__file__).parents[3] / "configs"
PACKETS_ONLY = {"webots"}
"""Kinds whose shipped robot has no motor; that of the mock's defaults has."""


SHOWN_IN = {"text": "khepera"}
"""The file that shows a kind, where it does not have its name."""


def kinds() -> list[str]:
    """All kinds of bodies, also those of other distributions."""
    return plugins.names(plugins.BODIES)


def shipped(kind: str) -> tuple[Any, str]:
    """The settings of a body of this kind in a shipped configuration, and the Webots version. The
    file with the name of the kind comes first."""
    first = SHOWN_IN.get(kind, kind)
    files = sorted(CONFIGS.glob("*.yaml"), key=lambda file: (file.stem != first, file.stem))
    for file in files:
        config = load_config(str(file), [], "mock").config
        for robot in config.robots.values():
            if robot.body is not None and robot.body.kind == kind:
                settings = robot.body.settings
                if kind in PACKETS_ONLY:
                    settings = replace(settings, mock={})
                return settings, config.webots
    raise AssertionError(f"no file of configs/ has a body of kind {kind}")


def pattern(frame: StopFrame) -> re.Pattern[bytes]:
    """Matches the bytes of the declared form."""

    def token(word: str) -> bytes:
        if word in ("??", "..."):
            return b"." if word == "??" else b".*?"
        return re.escape(bytes.fromhex(word))

    form = b"".join(map(token, frame.form.split()))
    return re.compile(b"(?:" + form + b")+" if frame.each_motor else form, re.DOTALL)


class OnMock:
    """The robot is up, and a controller is there. written: what the body's session wrote."""

    def __init__(self, kind: str, settings: Any = None, **safety: Any) -> None:
        given, self.version = shipped(kind)
        self.settings = given if settings is None else settings
        self.body: Body = plugins.load(plugins.BODIES, kind)
        self.stop_frame = self.body.stop_frame(self.settings)
        self.stop = pattern(self.stop_frame)
        self.on_line = self.settings.port is not None
        framed = self.on_line and self.body.framing
        framing = create(self.body.framing) if framed else None
        session = self.body.session(self.settings, self.version, framing)
        rate = self.settings.baudRate if self.on_line else 0
        self.loop = FakeLoop(session=session, baud_rate=rate, **safety)
        spec = self.body.mock(self.settings, self.version)
        self.mock: Any = create_mock(spec.name, "robot", plugins.new_air(), spec.parameters)
        self.written = b""
        self.is_cut = False

    # --- connections --------------------------------------------------------------------------

    def start(self) -> OnMock:
        """Connects both ends. Fails when the robot is not up after 3 s."""
        self.plug()
        self.run(1, until=lambda: self.is_up, limit_ms=3_000)
        self.run(500)
        self.loop.controller_comes()
        return self

    def plug(self) -> None:
        now = self.loop.scheduler.now()
        if self.on_line:
            self.mock.reset(now)
        else:
            self.mock.connect(now)
        self.loop.body.attach(self.loop.robot)  # type: ignore[arg-type]

    @property
    def is_up(self) -> bool:
        return self.loop.loop.modes.states() == {"body": "up"}

    def run(self, milliseconds: int, until: Any = None, limit_ms: int = 0) -> None:
        """Time passes; bytes take no time. until: and on, until this holds."""
        for _ in range(milliseconds + limit_ms):
            if until is not None and until():
                return
            self.carry()
            self.loop.scheduler.run(MS)
            self.loop.watchdog.check(self.loop.scheduler.now())
            self.loop.settle()
        self.carry()
        assert until is None or until(), f"not within {milliseconds + limit_ms} ms"

    def carry(self) -> None:
        """Both ends get what the other wrote."""
        now, loop = self.loop.scheduler.now(), self.loop
        fresh = loop.robot.take()
        self.written += fresh
        if fresh and not self.is_cut:
            self.mock.receive(fresh, now)
        self.mock.advance(now)
        while data := self.mock.take(now):
            if not self.is_cut and loop.body.transport is not None:
                loop.body.data_received(data)

    # --- driving ------------------------------------------------------------------------------

    @property
    def motors(self) -> list[Device]:
        devices = self.loop.body.session.devices
        return [device for device in devices if device.role == MOTOR]

    def command(self, *values: float) -> None:
        """Each motor gets a command: a velocity, or a position of a linear one."""
        for device, value in zip(self.motors, values or (0.1,) * len(self.motors), strict=False):
            linear = device.kind == LINEAR_MOTOR
            number = TYPES.linear_motor if linear else TYPES.rotational_motor
            message = wire.value(wire.SET_VALUE, number, device.index, value)
            self.loop.controller.data_received(message)

    def drive(self) -> None:
        """The motors move, by commands that have left."""
        self.command()
        self.run(100)
        assert self.loop.safety.moving
        assert not self.loop.loop.report()["refused"]
        assert math.isfinite(self.loop.scheduler.now())
        self.written = b""

    def ms_to_stop(self, limit_ms: int) -> int:
        """Milliseconds until a stop is on the wire; -1: none was within the limit."""
        for milliseconds in range(limit_ms):
            self.carry()
            if self.stop.search(self.written):
                return milliseconds
            self.run(1)
        return -1
