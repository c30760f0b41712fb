"""Any kind of body on its mock, as its test declares them, in a control loop in simulated time."""

from __future__ import annotations

from typing import Any

from firmware_mocks.wc2ec import wire
from hilgw import plugins
from hilgw.config.queries import is_on_line
from hilgw.control.events import Event, StepRequest, StopReason
from hilgw.devices.kinds import LINEAR_MOTOR, MOTOR, Device
from hilgw.framing import create
from hilgw.testing import BodyConformance
from hilgw.testing.co_simulation import CoSimulation, Side
from hilgw.testing.conformance.bodies import pattern
from hilgw.units import NS_PER_MS as MS
from tests.bodies import test_every_body
from tests.engine.control_loop.fakes import TYPES, FakeLoop, ScriptedController


def kinds() -> list[str]:
    """All kinds of bodies, also those of other distributions."""
    return plugins.names(plugins.BODIES)


AXES = "axes"
"""A machine with axes, which control positions: of the kind `text`, too."""


def declared(kind: str) -> BodyConformance:
    """What the tests of the bodies declare of this kind: settings, mock, whether it moves."""
    if kind == AXES:
        return test_every_body.TestTextWithPositions()
    subjects = {each.body.kind: each for each in reversed(BodyConformance.__subclasses__())}
    return subjects[kind]()


class OnMock(Side):
    """The robot is up, and a controller is there. written: what the body's session wrote. With
    step_ms, the controller is one that the test scripts, and that asks for steps."""

    def __init__(self, kind: str, settings: Any = None, **safety: Any) -> None:
        self.subject = declared(kind)
        self.settings = self.subject.settings_with() if settings is None else settings
        self.body = self.subject.body
        self.stop_frame = self.body.stop_frame(self.settings)
        self.stop = pattern(self.stop_frame)
        self.on_line = is_on_line(self.settings)
        framed = self.on_line and self.body.framing
        framing = create(self.body.framing) if framed else None
        session = self.body.session(self.settings, self.subject.version, framing)
        rate = self.settings.baudRate if self.on_line else 0
        if safety.get("step_ms"):
            safety["pilot"] = ScriptedController("controller", [])
        world = CoSimulation()
        self.loop = FakeLoop(session=session, baud_rate=rate, clock=world.clock, **safety)
        spec = self.body.mock(self.settings, self.subject.version)
        super().__init__(world, mock=self.subject.make_mock(spec))
        world.sides.append(self)

    def start(self) -> OnMock:
        """Connects both ends. Fails when the robot is not up after 3 s."""
        self.plug()
        self.run(1, until=lambda: self.is_up, limit_ms=3_000)
        self.run(500)
        self.loop.controller_comes()
        return self

    def plug(self) -> None:
        (self.mock.reset if self.on_line else self.mock.connect)(self.now)
        self.loop.body.attach(self.loop.robot)  # type: ignore[arg-type]

    @property
    def is_up(self) -> bool:
        return self.loop.loop.modes.states() == {"body": "up"}

    def run(self, milliseconds: int, until: Any = None, limit_ms: int = 0) -> None:
        """Time passes; bytes take no time. until: and on, until this holds."""
        passed, limit = 0, milliseconds + limit_ms
        while passed < limit:
            if until is not None and until():
                return
            self.step()
            idle = min(self._idle_ms(), limit - passed)
            self.world.run(idle / 1000)
            self.loop.watchdog.check(self.now)
            self.loop.settle()
            passed += idle
        self.step()
        assert until is None or until(), f"not within {limit} ms"

    def _idle_ms(self) -> int:
        """Return after how many milliseconds something is due; no watchdog takes these for late."""
        if self.loop.robot.written:
            return 1  # the session's answer to what was carried to it
        dues = [self.world.clock.next(), self.mock.next_deadline()]
        due = min((each for each in dues if each is not None), default=self.now + 10 * MS)
        waits_ns, watched_ns = due - self.now, self.loop.watchdog.shortest_ns
        return max(1, -(-(min(waits_ns, watched_ns // 2) if watched_ns else waits_ns) // MS))

    def step(self) -> None:
        """Both ends get what the other wrote."""
        if fresh := self.loop.robot.take():
            self.put(fresh)
        super().step()

    def collected(self, data: bytes) -> None:
        if self.loop.body.transport is not None:
            self.loop.body.data_received(data)

    @property
    def moves(self) -> bool:
        return self.subject.moves(self.mock)

    def sends(self, *events: Event) -> None:
        """The scripted controller sends these."""
        self.loop.controller.session.script(*events)
        self.loop.controller.data_received(b"?")

    def give(self, command: Event) -> None:
        """The control loop gets this of the controller."""
        self.loop.loop.events([command], self.loop.scheduler.now())

    def disarm(self, reason: StopReason = StopReason.DISARMED) -> None:
        self.loop.loop.disarm(self.loop.scheduler.now(), reason)

    def steps(self, count: int, step_ms: int = 32) -> None:
        """The scripted controller asks for this many steps, and gets them."""
        for _ in range(count):
            self.sends(StepRequest(step_ms))
            self.run(step_ms)

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
        self.written.clear()

    def ms_to_stop(self, limit_ms: int) -> int:
        """Milliseconds until a stop is on the wire; -1: none was within the limit."""
        for milliseconds in range(limit_ms):
            self.step()
            if self.stop.search(self.written):
                return milliseconds
            self.run(1)
        return -1
