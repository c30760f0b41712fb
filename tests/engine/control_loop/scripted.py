"""A control loop between two sessions that a test scripts: `data_received(name)` returns the events
under that name. All calls of the loop are recorded in one list, in order."""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from hilgw.control import events as control
from hilgw.control.modes import RobotMode
from hilgw.control.safety import MotorMode, SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.control.stop import StopPlan
from hilgw.devices.kinds import Device, Devices, Refusal
from hilgw.devices.properties import DeviceFields
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import LoopBody, LoopController, RemoteBody, no_body
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.testing.sim import FakeTransport
from tests.engine.control_loop.fakes import MS, LoopInTime

Calls = list[tuple[Any, ...]]


class ScriptedSession:
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

    def record(self, *call: Any) -> list[control.Event]:
        self._calls.append((self._name, *call))
        return [control.Write(f"{call[0]} ".encode())]


class ScriptedBody(ScriptedSession):
    """A robot with these devices. Motors stop by velocity 0; a force has no stop command where
    `stops_force` is false. hardware_faults: those that it has now."""

    stops_force = True
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
            return Refusal("unknown_device", "?"), []
        if isinstance(command, self.lacks):
            return control.Accepted.DROPPED, []
        self.commanded.add(command.index)
        return control.Accepted.SENT, self.record("command", command)

    def own_period(self, index: int) -> float | None:
        return None

    def switch(self, index: int, period_ms: float | None, now: int) -> list[control.Event]:
        return self.record("switch", index, period_ms)

    def send(self, packet: Any, now: int) -> list[control.Event]:
        return self.record("send", packet)

    def tune(self, settings: Any, now: int) -> list[control.Event]:
        if settings.index not in self.devices:
            return [control.RefusedRequest(settings.index, "unknown_device", "?")]
        return self.record("tune", settings)

    def can_stop(self, index: int, mode: MotorMode) -> bool:
        return mode is not MotorMode.FORCE or self.stops_force

    def leave(self, now: int) -> list[control.Event]:
        return []

    def stop_again(self, motors: Any, now: int) -> list[control.Event]:
        return self.record("stop_again", motors)

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
    def robot_report(self) -> dict[str, Any]:
        return {}

    def register(self, device: Device) -> list[control.Event]:
        if device.index not in self.devices:
            self.devices.add(device)
            self.record("register", device)
        return []

    def forget(self) -> None:
        self.devices.clear()

    def forget_values(self) -> None:
        self.record("forget_values")

    def report(self, values: Iterable[tuple[int, Any]], now: int) -> list[control.Event]:
        return self.record("report", *values)

    def feedback(self, index: int, value: float, now: int) -> list[control.Event]:
        return self.record("feedback", index, value)

    def deliver(self, packet: Any) -> list[control.Event]:
        return self.record("deliver", packet)

    def fault(self, index: int) -> list[control.Event]:
        return self.record("fault", index)

    def answer(self, time_ns: int, delay_ms: int) -> list[control.Event]:
        return self.record("answer", time_ns, delay_ms)

    def quit(self) -> list[control.Event]:
        return self.record("quit")


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
