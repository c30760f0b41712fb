"""Control loops in simulated time: on connections that are lists of bytes, or scripted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from firmware_mocks.wc2ec import wire
from hilgw.bodies.wc2ec import BODY, Wc2ecBodySettings
from hilgw.control import events as control
from hilgw.control.events import StopPlan
from hilgw.control.modes import RobotMode
from hilgw.control.safety import MotorMode, SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.controllers.wc2ec import CONTROLLER, Wc2ecControllerSettings
from hilgw.devices.kinds import Device, Devices, Refusal
from hilgw.devices.properties import DeviceFields
from hilgw.devices.steps import StepClock
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import (
    LoopBody,
    LoopContext,
    LoopController,
    RemoteBody,
    no_body,
)
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.stepping import StepGrid, Stepping
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.station.line import LinePacer
from hilgw.engine.supervisor import PortListener
from hilgw.errors import HilgwError
from hilgw.framing import create
from hilgw.testing.sim import Clock, FakeTransport, Recorder
from tests.e2e.control_loop_peers import CAB, Devices as Declared, registrations

TYPES = wire.types_of("R2020a")
MS = 1_000_000


class Wire(FakeTransport):
    """The connection of one end, in messages."""

    def messages(self) -> list[bytes]:
        """What was written, cut into messages."""
        data = self.data()
        messages = wire.whole_messages(data, TYPES, extended=True)
        assert messages is not None, data.hex(" ")
        return messages


class FakeSupervisor(PortListener):
    """Of one end of a `FakeLoop`. serial: its port stays open when the peer is dismissed."""

    def __init__(self, loop: FakeLoop, name: str, *, serial: bool) -> None:
        self._loop = loop
        self._name = name
        self._serial = serial

    def on_failed(self, error: HilgwError) -> None:
        self._loop.failures.append((self._name, error))

    def disconnect(self, error: HilgwError) -> bool:
        if self._serial or self._name != "cab.controller":
            return False
        self._loop.controller_leaves()
        return True


class FakeGuardian:
    """Records what the process would get. kept: the stop of each connection that it has. lines:
    which of them are lines. works: whether it takes anything."""

    def __init__(self) -> None:
        self.flag = bytearray(1)
        self.guarded: list[Any] = []
        self.kept: dict[str, bytes] = {}
        self.lines: set[str] = set()
        self.works = True
        self.on_keep: Callable[[bytes], None] = lambda stop_bytes: None

    def take(self, name: str, fd: int, *, is_line: bool = False) -> bool:
        self.kept[name] = b""
        self.lines |= {name} if is_line else set()
        return self.works

    def keep(self, name: str, stop_bytes: bytes) -> bool:
        if self.works:
            self.kept[name] = stop_bytes
            self.on_keep(stop_bytes)
        return self.works

    async def drop(self, name: str) -> None:
        del self.kept[name]

    def beat(self, now: int) -> None: ...


class LoopInTime:
    """A control loop whose time the test has."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.scheduler = clock or Clock()
        self.watchdog = Watchdog(self.scheduler)
        self.observer = Recorder()
        self.context = LoopContext("cab", self.scheduler, self.observer, self.watchdog)

    def stepping(self, step_ms: int) -> Stepping | None:
        """The steps of a controller that is stepped; 0 ms: of none."""
        if not step_ms:
            return None
        steps = StepClock(self.scheduler.now(), step_ms * MS)
        grid = StepGrid(Schedule(self.scheduler, steps), steps)
        return Stepping(grid, synchronization=True)

    def link(self, name: str, session: Any, pacer: LinePacer | None = None) -> PeerLink[Any]:
        return PeerLink(name, session, self.scheduler, self.watchdog, pacer)


class FakeLoop(LoopInTime):
    """`robot` and `pilot` are the connections of the two ends. serial: both are lines. body:
    settings of the body besides its connection. session: of another body, on a line. deadlines:
    the clock of the controller's deadline. advice: how to get a controller.
    guardian: of its body. has_watchdog: of the robot. simulated: the body is. pilot: the session of
    another controller. step_ms: of a controller that is stepped."""

    def __init__(
        self,
        devices: Declared = CAB,
        *,
        serial: bool = False,
        baud_rate: int = 115_200,
        body: dict[str, Any] | None = None,
        clock: Clock | None = None,
        session: Any = None,
        deadlines: Clock | None = None,
        advice: str = "",
        guardian: FakeGuardian | None = None,
        has_watchdog: bool = False,
        simulated: bool = True,
        pilot: Any = None,
        step_ms: int = 0,
        **safety: Any,
    ) -> None:
        super().__init__(clock)
        self.devices = devices
        if guardian is not None:
            self.watchdog.guardian = guardian  # type: ignore[assignment]
        self.failures: list[tuple[str, HilgwError]] = []
        place: dict[str, Any] = {"port": "/dev/x"} if serial else {}
        framing, pilot_framing = create("cobs-crc16"), create("cobs-crc16")
        on_line = serial or session is not None
        self.body: PeerLink[Any] = self._link(
            "cab.body",
            session
            or BODY.session(
                Wc2ecBodySettings(**(place or {"connect": "tcp://127.0.0.1:1"}), **(body or {})),
                "R2020a",
                framing if serial else None,
            ),
            baud_rate if on_line else 0,
        )
        self.controller: PeerLink[Any] = self._link(
            "cab.controller",
            pilot
            or CONTROLLER.session(
                Wc2ecControllerSettings(**(place or {"listen": "tcp://127.0.0.1:1"})),
                "R2020a",
                pilot_framing if serial else None,
            ),
            baud_rate if serial else 0,
        )
        self.controller.dropped = pilot_framing.dropped if serial else {}
        self.safety = SafetyState(SafetySettings(**safety), simulated=simulated)
        self.loop = ControlLoop(
            self.context,
            LoopBody(
                self.body, self.safety, is_guarded=guardian is not None, has_watchdog=has_watchdog
            ),
            LoopController(
                self.controller,
                deadlines or self.scheduler,
                advice,
                stepping=self.stepping(step_ms),
            ),
            Radios(None),
        )
        self.statistics = self.loop.statistics
        self.watchdog.watch(self.loop.safety)
        self.robot = Wire()
        self.pilot = Wire()

    def _link(self, name: str, session: Any, baud_rate: int) -> PeerLink[Any]:
        pacer = LinePacer(baud_rate, 10) if baud_rate else None
        link = self.link(name, session, pacer)
        link.supervisor = FakeSupervisor(self, name, serial=bool(baud_rate))
        return link

    def connected(self) -> FakeLoop:
        self.robot_comes()
        self.controller_comes()
        return self

    def robot_comes(self, devices: Declared | None = None) -> None:
        self.robot = Wire()
        self.body.attach(self.robot)
        if devices is not None:
            self.devices = devices
        self.body.data_received(b"".join(registrations(self.devices)))

    def robot_leaves(self) -> None:
        self.body.detach()

    def controller_comes(self) -> None:
        self.pilot = Wire()
        self.controller.attach(self.pilot)

    def controller_leaves(self) -> None:
        if self.controller.transport is not None:
            self.controller.detach()

    def settle(self) -> bool:
        """What a supervisor or a TCP server does about failures; whether there were any."""
        failed, self.failures[:] = list(self.failures), []
        for name, _ in failed:
            if name == "cab.body" and self.body.transport is not None:
                self.robot_leaves()
            else:
                self.controller_leaves()
        return bool(failed)

    def run(self, milliseconds: int) -> None:
        """Time passes, and the watchdog checks."""
        for _ in range(milliseconds // 10):
            self.scheduler.run(10 * MS)
            self.watchdog.check(self.scheduler.time)


class SharedClock(Clock):
    """A clock that the thread of the watchdog sees, too."""

    def now(self) -> int:
        return self.time


class Connection(SimpleNamespace):
    """A transport on this descriptor."""

    def fileno(self) -> int:
        return int(self.fd)


Calls = list[tuple[Any, ...]]


class ScriptedSession:
    """recorded: requests that are recorded, and how many of their arguments: without the time."""

    recorded: Mapping[str, int] = {}

    def __init__(self, name: str, calls: Calls, devices: Iterable[Device] = ()) -> None:
        self.devices = Devices()
        self.counts: dict[str, int] = Counter()
        self.own = list(devices)
        self._name = name
        self._calls = calls
        self._events: list[control.Event] = []

    def open(self, now: int) -> list[control.Event]:
        for device in self.own:
            self.devices.add(device)
        return [control.Connected(self._name), *map(control.Registered, self.own)]

    def close(self) -> list[control.Event]:
        return [control.Disconnected("closed")]

    def script(self, *events: control.Event) -> None:
        """The events of the next bytes."""
        self._events += events

    def receive(self, data: bytes, now: int) -> list[control.Event]:
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> int | None:
        return None

    def expire(self, now: int) -> list[control.Event]:
        return []

    def describe(self, data: bytes, *, received: bool) -> str:
        return ""

    def __getattr__(self, name: str) -> Callable[..., list[control.Event]]:
        if name not in self.recorded:
            raise AttributeError(name)
        return lambda *given: self.record(name, *given[: self.recorded[name]])

    def record(self, *call: Any) -> list[control.Event]:
        self._calls.append((self._name, *call))
        return [control.Write(f"{call[0]} ".encode())]


class ScriptedBody(ScriptedSession):
    """A robot with these devices. Motors stop by velocity 0; a force has no stop command where
    `stops_force` is false. hardware_faults: those that it has now."""

    recorded = {"switch": 2, "send": 1, "stop_again": 1}
    stops_force = True
    missing: tuple[str, ...] = ()
    lacks: tuple[type, ...] = ()  # the commands of which the robot has nothing
    hardware_faults: list[str] = []

    @cached_property
    def commanded(self) -> set[int]:
        """Since the last stop."""
        return set()

    def close(self) -> list[control.Event]:
        self.devices.clear()
        return super().close()

    def command(
        self, command: control.Command, now: int
    ) -> tuple[control.Outcome, list[control.Event]]:
        if command.index not in self.devices:
            self.counts["refused_unknown_device"] += 1
            return Refusal("unknown_device", "?"), []
        if isinstance(command, self.lacks):
            return control.Accepted.DROPPED, []
        self.commanded.add(command.index)
        return control.Accepted.SENT, self.record("command", command)

    def own_period(self, index: int) -> float | None:
        return None

    def tune(self, settings: Any, now: int) -> list[control.Event]:
        if settings.index not in self.devices:
            return [control.RefusedRequest(settings.index, "unknown_device", "?")]
        return self.record("tune", settings)

    def can_stop(self, index: int, mode: MotorMode) -> bool:
        return mode is not MotorMode.FORCE or self.stops_force

    def leave(self, now: int) -> list[control.Event]:
        return []

    def stop(self, reason: str, now: int) -> StopPlan:
        self.commanded.clear()
        motors = self.devices.of_role("motor")
        zeros = (control.MotorCommand(each.index, "velocity", 0.0) for each in motors)
        return StopPlan(self.record("stop", reason), tuple(zeros))

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        if index not in self.commanded:
            return None
        zero = control.MotorCommand(index, "velocity", 0.0)
        return StopPlan(self.record("stop_motor", index), (zero,))

    def faults(self) -> list[str]:
        return self.hardware_faults

    def emergency(self) -> bytes:
        return b"stop "

    def is_idle(self) -> bool:
        return True

    def simulated_s(self) -> float | None:
        return None


class ScriptedController(ScriptedSession):
    recorded = {"forget_values": 0, "feedback": 2, "deliver": 1, "fault": 1, "answer": 2, "quit": 0}

    def robot_report(self) -> dict[str, Any]:
        return {}

    def register(self, device: Device) -> list[control.Event]:
        if device.index not in self.devices:
            self.devices.add(device)
            self.record("register", device)
        return []

    def forget(self) -> None:
        self.devices.clear()

    def report(self, values: Iterable[tuple[int, Any]], now: int) -> list[control.Event]:
        return self.record("report", *values)


class ScriptedLoop(LoopInTime):
    """devices: of the body. remote: those of a second one. configured: those of the configuration,
    by name. step_ms: of a controller that is stepped."""

    def __init__(
        self,
        devices: Iterable[Device] = (),
        configured: dict[str, DeviceFields] | None = None,
        *,
        body: bool = True,
        remote: Iterable[Device] | None = None,
        mode: RobotMode = RobotMode.SIMULATION,
        step_ms: int = 0,
        **safety: Any,
    ) -> None:
        super().__init__()
        self.calls: Calls = []
        self.sessions: dict[PeerLink[Any], ScriptedSession] = {}
        self.controller_session = ScriptedController("controller", self.calls)
        self.controller: PeerLink[Any] = self.link("controller", self.controller_session)
        self.body = self.new_body(devices)
        self.remote = self.new_body(remote or (), "remote")
        state = SafetyState(SafetySettings(**safety), simulated=True)
        remote_state = SafetyState(SafetySettings(**{"latch": False} | safety), simulated=False)
        remote_state.arm()
        self.loop = ControlLoop(
            self.context,
            LoopBody(self.body, state) if body else no_body(self.context, state),
            LoopController(self.controller, self.scheduler, stepping=self.stepping(step_ms)),
            Radios(None),
            configured or {},
            remote=None if remote is None else RemoteBody(self.remote, remote_state, mode),
        )
        self.loop.start()
        self.pilot = FakeTransport()
        self.controller.attach(self.pilot)
        if body:
            self.connect(self.body)
        if remote is not None:
            self.connect(self.remote)

    def link(self, name: str, session: Any, pacer: Any = None) -> PeerLink[Any]:
        link = super().link(name, session, pacer)
        self.sessions[link] = session
        return link

    def new_body(self, devices: Iterable[Device], name: str = "body") -> PeerLink[Any]:
        return self.link(name, ScriptedBody(name, self.calls, devices))

    def connect(self, body: PeerLink[Any]) -> FakeTransport:
        """The body connects, and its registration is complete."""
        connection = FakeTransport()
        body.attach(connection)
        self.pass_ms(200)
        return connection

    def pass_ms(self, milliseconds: int) -> None:
        self.scheduler.run(milliseconds * MS)

    def body_reports(self, *events: control.Event) -> Calls:
        """What the loop does about events of the body."""
        return self._happens(self.body, events)

    def remote_reports(self, *events: control.Event) -> Calls:
        return self._happens(self.remote, events)

    def controller_sends(self, *events: control.Event) -> Calls:
        return self._happens(self.controller, events)

    def _happens(self, link: PeerLink[Any], events: tuple[control.Event, ...]) -> Calls:
        self.calls.clear()
        self.sessions[link].script(*events)
        link.data_received(b"?")
        return list(self.calls)
