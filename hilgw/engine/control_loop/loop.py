"""A control loop: motor commands go from controller to body, sensor values from body to controller.

Each end is a `PeerLink` with the session of its protocol. A motor command descends from the session
of the controller by `ControlLoop.events`, `BodyEnds.command` and `BodyEnd.command`. There
`Safety.check` (armed, limits, whether it can be stopped) and the session of the body decide, and
their answer is the result of the call. The value of a sensor goes by `from_body` and
`Readings.report` to the session of the controller. `Registration` has the devices, and
`ControllerSteps` what is particular to a controller that is stepped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hilgw.control.events import (
    BrakeDamping,
    Command,
    Connected,
    DeviceFault,
    Disconnected,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    HardwareFault,
    LedValue,
    MotorCommand,
    MotorFeedback,
    MotorHeld,
    MotorPid,
    MotorSettings,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    RefusedRequest,
    Registered,
    SensorSwitch,
    SensorValue,
    StepRequest,
    Stop,
    StopReason,
    StopSent,
)
from hilgw.control.forwarding import Forwarding
from hilgw.devices.kinds import Refusal
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.bodies.mode_switch import ModeSwitch
from hilgw.engine.control_loop.controller_steps import steps_of
from hilgw.engine.control_loop.devices.radios import Forwarder, Packets
from hilgw.engine.control_loop.devices.readings import Readings
from hilgw.engine.control_loop.devices.registration import Registration
from hilgw.engine.control_loop.devices.requests import Requests
from hilgw.engine.control_loop.peer_link import PeerListener
from hilgw.engine.control_loop.presence import Presence
from hilgw.engine.control_loop.report import StatusTimer, mode_report, report_of, state_of
from hilgw.engine.observer import CommandEvent, ValueEvent
from hilgw.engine.reporting.parts import whole
from hilgw.errors import PeerError, SafetyError
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hilgw.devices.kinds import Value
    from hilgw.devices.properties import DeviceFields
    from hilgw.engine.control_loop.bodies.body_end import BodyEnd
    from hilgw.engine.control_loop.devices.radios import Radios
    from hilgw.engine.control_loop.parts import LoopBody, LoopContext, LoopController, RemoteBody
    from hilgw.engine.control_loop.safety import Safety
    from hilgw.engine.observer import State

    Handlers = Mapping[type[Any], Callable[[Any, int], None]]

# These events of a controller are no signs of life.
_SHOW_NO_LIFE = frozenset((Connected, Disconnected, RefusedRequest, Stop))


class ControlLoop(PeerListener):
    """Control loop of a robot.

    `hilgw.engine.control_loop.parts` has what takes the place of an end that the robot lacks.

    The two ends connect in any order. A controller that reads too slowly gets the newest value of
    each sensor once it can read again.

    A robot may have a second, remote body. `modes` gives the controller one or the other, and the
    controller stays. As a shadow the second one gets the same commands, and is compared.

    devices: those that the configuration lists, by name. forwarder: of packets between the body's
    radios and the medium. safeties: of all bodies. packets: takes those of the gateway's own
    Receivers. steps: of a controller that is stepped. presence: whether a controller runs. modes:
    which body the controller moves.
    """

    def __init__(
        self,
        context: LoopContext,
        body: LoopBody,
        controller: LoopController,
        radios: Radios,
        devices: Mapping[str, DeviceFields] = MappingProxyType({}),
        forwarder: Forwarder | None = None,
        remote: RemoteBody | None = None,
    ) -> None:
        self.name, self.statistics = context.name, context.statistics
        self._context = context
        self._controller = link = controller.link
        self._radios = radios
        self._forwarder = forwarder = forwarder or Forwarder({}, Forwarding())
        self._bodies = bodies = BodyEnds(context, body, remote, controller, self)
        self.safeties = bodies.safeties
        self.presence = Presence(context, controller)
        self.steps = steps = steps_of(context, controller, bodies)
        self._registration = registration = Registration(
            context, bodies, link, devices, radios, self.presence, steps
        )
        self.packets = Packets(context, link, radios, forwarder)
        self._readings = readings = Readings(context, link)
        self._requests = requests = Requests(context, bodies, link, radios)
        self.modes = ModeSwitch(context, bodies, registration, readings, requests, forwarder)
        self._status = StatusTimer(context, bodies, self.modes, self.presence)
        self._controller_handlers = self._handlers_of_controller()
        self._body_handlers = self._handlers_of_body()
        link.listener = self

    @property
    def safety(self) -> Safety:
        """The safety of the controller's body."""
        return self._bodies.safety

    @property
    def is_complete(self) -> bool:
        return self._registration.is_complete

    # --- start and end ------------------------------------------------------------------------

    def devices(self) -> Iterable[str]:
        """Return the names of its devices, as far as a body or a controller has registered them."""
        return self._registration.table

    def start(self) -> None:
        if self._bodies.link.is_absent:
            self._registration.complete(self._context.scheduler.now())
        self._status.start()

    def end(self, *, by_hand: bool = False) -> None:
        """Stop the motors for good, and have a stepped controller end.

        The connections are closed later, by their supervisors. by_hand: a person ends the run.
        """
        now = self._context.scheduler.now()
        for safety in self.safeties:
            safety.end(now, by_hand=by_hand)
        self.steps.end(now)

    def has_drained(self) -> bool:
        """Return whether the bodies' connections have taken all that their sessions have for them.

        With all copies of the last stop; and a stepped controller has left.
        """
        return self.steps.has_left() and all(safety.has_drained() for safety in self.safeties)

    def close(self) -> None:
        self._status.stop()
        self.presence.close()
        self._registration.cancel()
        for safety in self.safeties:
            safety.emergency_stop.detach()

    def state(self) -> dict[str, Any]:
        """Return the present state, for `hilgw status`."""
        return state_of(self._bodies, self.presence) | {"messages": self.messages()}

    def messages(self) -> dict[str, tuple[int, int]]:
        """Return the values and commands that each of its links has received and sent."""
        counts = self.safety.statistics.counts
        values = counts["values_in"] - counts["values_superseded"]
        return {
            self._bodies.link.name: (counts["values_in"], counts["commands_out"]),
            self._controller.name: (counts["commands_in"], values),
        }

    def newest(self) -> Iterator[CommandEvent | ValueEvent]:
        """Yield the newest command of each motor of each body, and the newest value of each sensor.

        A command has what is applied now; values are those of both bodies, of a robot whose shadow
        follows.
        """
        for end in self._bodies:
            yield from (end.event_of(name, *end.newest[name]) for name in list(end.newest))
        for name in list(values := self._readings.newest):
            yield ValueEvent(self.name, name, *values[name])
        if (shadow := self._bodies.shadow) is not None:
            yield from (shadow.newest[key] for key in list(shadow.newest))

    def clocks_s(self) -> dict[str, float]:
        """Return the times of the simulations of its bodies, by the names of their ports."""
        times = {
            end.link.name: end.link.ask(None, end.link.session.simulated_s) for end in self._bodies
        }
        return {name: seconds for name, seconds in times.items() if seconds is not None}

    # --- armed --------------------------------------------------------------------------------

    @property
    def away(self) -> list[State]:
        """The states of the ports of real bodies that get commands in this mode and are not up."""
        return [safety.away for safety in self._bodies.commanded if safety.away]

    def demand_armable(self, accepted: Collection[str] = ()) -> None:
        """Raise the reason why the robot may not be armed.

        SafetyError where a body that gets commands in this mode reports a hardware fault, which
        keeps it from being armed, a position outside its limits, or a lost zero of a motor that is
        not accepted; or where another program has its port. PeerError where a real one is not up:
        it would move at once when it comes.
        """
        for safety in self._bodies.commanded:
            if safety.released:
                raise SafetyError(
                    f"not armed: the port of its body is released {safety.released}",
                    where=self.name,
                    fix="arm it when the port is back",
                )
            if faults := safety.faults():
                raise SafetyError(
                    f"not armed: {'; '.join(faults)}",
                    where=self.name,
                    fix="correct it, then arm; `safety: {on_fault: report}` arms in spite of it",
                )
            if text := safety.misplaced(accepted):
                raise SafetyError(
                    f"not armed: {text}",
                    where=self.name,
                    fix="move it into its limits by hand, or correct `limits`; --accept-positions "
                    "MOTOR arms in spite of a lost zero",
                )
        if self.away:
            raise PeerError(
                "not armed: its body is down", where=self.name, fix="connect it, then arm"
            )

    def arm(self, accepted: Collection[str] = ()) -> None:
        """Let the motors of the bodies that get commands in this mode move.

        Raises what `demand_armable` raises.
        """
        self.demand_armable(accepted)
        for safety in self._bodies.commanded:
            safety.arm(accepted)
        if text := self.presence.absence():
            self._context.notices.add(text)

    @property
    def disarms(self) -> int:
        """Number of times a body was disarmed."""
        return sum(safety.state.disarms for safety in self.safeties)

    def disarm(self, now: int, reason: StopReason = StopReason.DISARMED) -> list[str]:
        """Stop all bodies; no motor moves until `arm`.

        Returns the names of the links to bodies that get commands in this mode and took no stop:
        they may move.
        """
        for safety in self.safeties:
            safety.disarm(now, reason)
        return self.unstopped

    @property
    def unconfirmed(self) -> dict[str, str]:
        """Reasons why the last stop is not known to have left, by the names of the links."""
        whys = {end.link.name: end.safety.stops.unconfirmed for end in self._bodies}
        return {name: why for name, why in whys.items() if why}

    @property
    def unstopped(self) -> list[str]:
        """Return the links to bodies that get commands in this mode and did not take the last stop.

        They were lost, or their connection did not take it.
        """
        ends = [end for end in self._bodies if end.safety in self._bodies.commanded]
        return [
            end.link.name
            for end in ends
            if end.was_lost or (end.is_up and not end.safety.stops.took)
        ]

    # --- the controller -----------------------------------------------------------------------

    def _handlers_of_controller(self) -> Handlers:
        requests = self._requests
        return {
            Connected: self._controller_connected,
            Disconnected: self._controller_fell_silent,
            Stop: lambda event, now: self._bodies.stop(event.reason, now),
            MotorCommand: self._command,
            MotorSettings: self._command,
            MotorPid: self._command,
            RefusedRequest: self._refused,
            SensorSwitch: requests.switch,
            FeedbackSwitch: requests.switch,
            LedValue: requests.set_value,
            BrakeDamping: requests.set_value,
            PacketOut: requests.send,
            EmitterSettings: requests.tune,
            ReceiverSettings: requests.tune,
            StepRequest: self.steps.request,
        }

    def events(self, events: list[Event], now: int) -> None:
        for event in events:
            kind = type(event)
            handle = self._controller_handlers.get(kind)
            if handle is None:
                self._context.notices.show(self._controller.name, event)
                continue
            if kind not in _SHOW_NO_LIFE:
                self._controller.peer_confirmed = True
                if kind is not StepRequest:  # its answer is one
                    self._bodies.alive(now)
            handle(event, now)

    def _command(self, command: Command, now: int) -> None:
        outcome = self._bodies.command(command, now)
        if isinstance(outcome, Refusal) and outcome.reason != RequestRefused.ENDED:
            self._requests.report_fault(command.index)

    def _refused(self, event: RefusedRequest, now: int) -> None:
        self._context.notices.show(self._controller.name, event)
        if event.moves and event.index is not None:
            self._bodies.active.refuse_motion(event.index, event.reason, now)

    def refused_late(self, index: int) -> None:
        self._requests.report_fault(index)

    def motor_stopped(self, index: int, now: int) -> None:
        if self._bodies.shadow is not None:
            self._bodies.shadow.stop_motor(index, now)

    def _controller_connected(self, event: Connected, now: int) -> None:
        self.presence.is_connected = True
        self._context.statistics.begin_connection()
        self._radios.begin_connection()
        self._controller.ready(event.identity)

    def _controller_fell_silent(self, event: Disconnected, now: int) -> None:
        self.presence.is_connected = False
        self._controller.not_ready(event.reason)
        self._restore_settings(now)

    def detached(self, now: int) -> None:
        self.presence.is_connected = False
        self._bodies.stop(StopReason.DISCONNECTED, now)
        self._restore_settings(now)
        self._readings.forget()
        self._registration.controller_left()

    def _restore_settings(self, now: int) -> None:
        self.steps.reset(now)
        self._radios.restore()
        for end in self._bodies:
            end.safety.records.forget_lacking()
            if end.is_up:
                self._requests.restore(end, now)
        self._requests.forget()

    def faulted(self, now: int) -> None:
        self._bodies.stop(StopReason.FAULT, now)

    def drained(self, now: int) -> None:
        self._readings.report_held(now)

    def swamped(self, now: int) -> bool:
        self._bodies.stop(StopReason.SWAMPED, now)
        self._controller.dismiss("sends commands too fast")
        return True

    # --- the bodies ---------------------------------------------------------------------------

    def _handlers_of_body(self) -> Handlers:
        return {
            Connected: self._body_connected,
            Disconnected: lambda event, now: self._body_lost(event.reason, now),
            Registered: lambda event, now: self._registration.add(event.device, now),
            MotorFeedback: self._readings.report_feedback,
            PacketIn: self.packets.from_body,
            StopSent: lambda event, now: self._bodies.active.note(event, now),
            DeviceFault: self._failed_or_held,
            MotorHeld: self._failed_or_held,
            HardwareFault: self._hardware_fault,
            ProtocolFailure: self._body_failed,
        }

    def from_body(self, end: BodyEnd, events: list[Event], now: int) -> None:
        if end is not self._bodies.active:
            self.modes.from_other(end, events, now)
            return
        values: list[tuple[int, Value]] = []
        for event in events:
            if type(event) is SensorValue:
                values.append((event.index, event.value))
            elif (handle := self._body_handlers.get(type(event))) is not None:
                handle(event, now)
            else:
                self._context.notices.show(end.link.name, event)
        if values:
            if self._registration.under_way:
                self._registration.complete(now)
            self._readings.report(values, now)
            if self._bodies.shadow is not None:
                self._bodies.shadow.first(values, self._registration.devices, now)

    def _body_connected(self, event: Connected, now: int) -> None:
        end = self._bodies.active
        end.note(event, now)
        self._context.statistics.begin_connection()
        if end is self._bodies.body:
            self._forwarder.open(end.link, now)
        for device in end.link.session.devices:  # of a serial line that was silent for a while
            self._registration.add(device, now)

    def _failed_or_held(self, event: DeviceFault | MotorHeld, now: int) -> None:
        self._bodies.active.note(event, now)
        self._requests.report_fault(event.index)

    def _hardware_fault(self, event: HardwareFault, now: int) -> None:
        self.safety.stop_after_hardware_fault(now)
        if self.safety.state.stops_on_fault and self._bodies.shadow is not None:
            # It gets no command any more, as the first body refuses all.
            self._bodies.shadow.end.safety.stop(StopReason.HARDWARE, now, latch=False)
        if event.index is not None:
            self._requests.report_fault(event.index)

    def _body_failed(self, event: ProtocolFailure, now: int) -> None:
        self.safety.stop(StopReason.BODY, now)
        self._context.notices.show(self._bodies.link.name, event)

    def body_detached(self, end: BodyEnd, now: int) -> None:
        reason = "the connection is closed"
        if end is self._bodies.active:
            self._body_lost(reason, now)
            return
        if self._bodies.shadow is not None:
            self._bodies.shadow.stop(now)
        end.lost(reason)

    def _body_lost(self, reason: str, now: int) -> None:
        end, shadow = self._bodies.active, self._bodies.shadow
        if not end.is_up:
            return
        if end is self._bodies.body:
            self._forwarder.close()
        self.safety.stop(StopReason.BODY, now)
        self.statistics.lost()
        self._registration.lost()
        if shadow is not None:
            shadow.realign()
        end.lost(reason)
        self.presence.body_lost()
        if self.safety.ending:
            return
        self._registration.dismiss_controller("the body is gone")
        if shadow is not None and shadow.end.safety.state.latch:
            # A program that starts again when the first body is back moves no real shadow, either.
            shadow.end.safety.disarm(now)

    # --- for the user -------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Return the control loop for `--report`."""
        return whole(self.report_parts().items())

    def report_parts(self) -> dict[str, Any]:
        """Return the same, with `Parts`."""
        report = report_of(
            self._bodies.link, self._controller, self.statistics, self.safety, self._forwarder
        )
        return report | self.steps.report() | mode_report(self._bodies, self.modes.comparison)
