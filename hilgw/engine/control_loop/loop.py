"""A control loop: motor commands go from controller to body, sensor values from body to controller.

Each end is a `PeerLink`; the sessions know the protocols. The way of a motor command: session of
the controller, `ControllerEnd.events`, `_command`, `BodyEnd.encode`: `Safety.check` (armed, limits,
whether it can be stopped) and session of the body; then `PeerLink.handle`, which writes. A value of
a sensor takes the way `from_body`, `Readings.report`, session of the controller. `Registration` has
the devices, `ControllerSteps` what is particular to a controller that is stepped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Registered,
    SensorSwitch,
    SensorValue,
    StepRequest,
    Stop,
    StopReason,
    StopSent,
)
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.bodies.mode_switch import ModeSwitch
from hilgw.engine.control_loop.controller_end import ControllerEnd
from hilgw.engine.control_loop.devices.packets import Packets
from hilgw.engine.control_loop.devices.periods import Periods
from hilgw.engine.control_loop.devices.readings import Readings
from hilgw.engine.control_loop.devices.registration import ConfiguredDevices, Registration
from hilgw.engine.control_loop.devices.requests import Requests
from hilgw.engine.control_loop.notices import Notices
from hilgw.engine.control_loop.presence import Presence
from hilgw.engine.control_loop.report import StatusTimer, mode_report, report_of
from hilgw.engine.control_loop.safety import Safety
from hilgw.engine.control_loop.stepping import LATE_STEP, ControllerSteps
from hilgw.engine.statistics import ControlLoopStatistics
from hilgw.errors import HilgwError, SafetyError
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.safety import SafetyState
    from hilgw.controllers.base import PeerSession
    from hilgw.devices.kinds import Refusal, Value
    from hilgw.devices.properties import DeviceFields
    from hilgw.engine.control_loop.bodies.forwarder import Forwarder
    from hilgw.engine.control_loop.controller_end import Handlers
    from hilgw.engine.control_loop.devices.radios import Radios
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.stepping import StepGrid
    from hilgw.engine.observer import Observer
    from hilgw.engine.simulated.pace import Holds
    from hilgw.medium.packet import Copy
    from hilgw.transports.base import Scheduler


class ControlLoop:
    """One robot's control loop. body or controller is None where the configuration has none.

    The two ends connect in any order. A controller that reads too slowly gets the newest value of
    each sensor once it can read again.

    A robot may have a second, remote body. `switch` gives the controller one or the other, and the
    controller stays. As a shadow the second one gets the same commands, and is compared.
    """

    def __init__(
        self,
        name: str,
        body: PeerLink[BodySession] | None,
        controller: PeerLink[PeerSession] | None,
        radios: Radios,
        safety: SafetyState,
        scheduler: Scheduler,
        observer: Observer,
        devices: Mapping[str, DeviceFields] = MappingProxyType({}),
        forwarder: Forwarder | None = None,
    ) -> None:
        """devices: those that the configuration lists, by name. forwarder: of packets between the
        body's radios and the medium."""
        self.name = name
        self.statistics = ControlLoopStatistics()
        self._bodies = BodyEnds(
            name, Safety(name, safety, controller, self.statistics, scheduler, observer)
        )
        self._controller = controller
        self._radios = radios
        self._forwarder = forwarder
        self._scheduler = scheduler
        self._observer = observer
        self._notices = Notices(name, observer)
        self.presence = Presence(self._notices, scheduler)
        self._registration = Registration(
            controller, ConfiguredDevices(devices), radios, self.statistics, scheduler
        )
        self._registration.on_complete = self._completed
        self._registration.on_dismissed = self.presence.dismissed
        self._packets = Packets(
            self._bodies, controller, radios, forwarder, self.statistics, scheduler
        )
        self._steps: ControllerSteps | None = None  # of a controller that is stepped
        self._readings = Readings(controller, self.statistics)
        self._periods = Periods()
        self._requests = Requests(
            name,
            self._bodies,
            controller,
            radios,
            self._periods,
            self.statistics,
            scheduler,
            observer,
        )
        self._modes = ModeSwitch(
            self._bodies,
            self._registration,
            self._readings,
            self._periods,
            self._requests,
            self._carry,
            forwarder,
            self._notices,
            scheduler,
        )
        self._status = StatusTimer(
            name, self.statistics, scheduler, observer, self._bodies, self.presence
        )
        self._body_handlers = self._handlers_of_body()
        self._controller_handlers = self._handlers_of_controller()
        if body is not None:
            end = BodyEnd(body, self.safety, self, scheduler)
            self._bodies.add(end)
            self._modes.take(end)
        if controller is not None:
            handlers = self._controller_handlers
            ControllerEnd(controller, self, handlers, self._bodies, self._readings, self._notices)

    @property
    def safety(self) -> Safety:
        """Of the controller's body."""
        return self._bodies.safety

    @property
    def safeties(self) -> list[Safety]:
        """Of all bodies."""
        return self._bodies.safeties

    @property
    def body_is_up(self) -> bool:
        """Whether the controller's body has answered and is still there."""
        active = self._bodies.active
        return active is not None and active.is_up

    # --- two bodies ---------------------------------------------------------------------------

    def add_remote(self, link: PeerLink[BodySession], safety: SafetyState) -> None:
        """The second body; neither has a connection yet."""
        assert self._bodies.body is not None
        own = Safety(
            self.name,
            safety,
            self._controller,
            self.statistics,
            self._scheduler,
            self._observer,
            link.name,
        )
        own.drops_controller = False
        self._bodies.add(BodyEnd(link, own, self, self._scheduler), remote=True)
        for end in self._bodies:
            end.number()
        self._status.show_modes(self._modes)
        self._modes.take(self._bodies.body)

    def use_deadlines(self, clock: Scheduler) -> None:
        """The clock of the controller's deadlines."""
        self._bodies.use_deadlines(clock)
        self.presence.clock = clock

    def demand_no_fault(self) -> None:
        """SafetyError where a body that gets commands in this mode reports a hardware fault, which
        keeps it from being armed."""
        for safety in self._bodies.commanded:
            if faults := safety.faults():
                fix = "correct it, then arm; `safety: {on_fault: report}` arms in spite of it"
                raise SafetyError(f"not armed: {'; '.join(faults)}", where=self.name, fix=fix)

    def arm(self) -> None:
        """Lets the motors of the bodies that get commands in this mode move. SafetyError as
        `demand_no_fault`."""
        self.demand_no_fault()
        for safety in self._bodies.commanded:
            safety.arm()
        if text := self.presence.absence():
            self._notices.add(text)

    def disarm(self, now: int) -> list[str]:
        """Stops all bodies; no motor moves until `arm`. Returns the names of the links to bodies
        that get commands in this mode and were lost: no stop could be sent, and they may move."""
        commanded = self._bodies.commanded
        down = [end for end in self._bodies if end.safety in commanded and end.was_lost]
        for safety in self.safeties:
            safety.disarm(now)
        return [end.link.name for end in down]

    @property
    def modes(self) -> ModeSwitch:
        """Which body the controller has."""
        return self._modes

    # --- a controller that is stepped ---------------------------------------------------------

    def step_on(self, grid: StepGrid, *, synchronization: bool, holds: Holds | None = None) -> None:
        """The controller asks for steps, which end on this grid. holds: where it makes simulated
        time wait; None: nowhere."""
        assert self._controller is not None
        self._steps = steps = ControllerSteps(
            self._controller,
            self._bodies,
            grid,
            self._scheduler,
            self.statistics,
            lambda text: self._notices.add(text, LATE_STEP),
            synchronization=synchronization,
            holds=holds,
        )
        self._controller_handlers[StepRequest] = steps.request

    @property
    def is_stepped(self) -> bool:
        """Whether the controller asks for steps."""
        return self._steps is not None

    @property
    def steps(self) -> ControllerSteps:
        """HilgwError when the robot has no such controller."""
        if self._steps is None:
            fix = "give it a controller of kind webots or python"
            raise HilgwError("the robot has no Webots controller", where=self.name, fix=fix)
        return self._steps

    @property
    def is_complete(self) -> bool:
        """Whether all devices are known: a controller may learn of them once only."""
        return self._registration.is_complete

    # --- start and end ------------------------------------------------------------------------

    def start(self) -> None:
        if self._bodies.link is None:
            self._registration.complete(self._scheduler.now())
        self._status.start()

    def end(self) -> None:
        """Stops the motors for good, and has a stepped controller end. The connections are closed
        later, by their supervisors."""
        controller: PeerLink[Any] | None = self._controller
        now = self._scheduler.now()
        self._bodies.end(now)
        if self._steps is not None and controller is not None:
            self._steps.reset()
            controller.call(controller.session.quit, now)

    def has_drained(self) -> bool:
        """Whether the body's connection has taken all that its session has for it, and a stepped
        controller has left."""
        controller = self._controller
        if self._steps is not None and controller is not None and controller.transport:
            return False
        links = [end.link for end in self._bodies]
        return all(link.session.is_idle() and link.has_drained() for link in links)

    def close(self) -> None:
        self._status.stop()
        self.presence.close()
        self._registration.cancel()
        for safety in self.safeties:
            safety.emergency_stop.detach()

    # --- controller to body: motors -----------------------------------------------------------

    def _handlers_of_controller(self) -> Handlers:
        return {
            Connected: self._controller_connected,
            Disconnected: self._controller_fell_silent,
            Stop: lambda event, now: self._bodies.stop(event.reason, now),
            MotorCommand: self._command,
            MotorSettings: self._command,
            MotorPid: self._command,
            SensorSwitch: self._requests.switch,
            FeedbackSwitch: self._requests.switch,
            LedValue: self._requests.set_value,
            BrakeDamping: self._requests.set_value,
            PacketOut: self._requests.send,
            EmitterSettings: self._requests.tune,
            ReceiverSettings: self._requests.tune,
        }

    def _command(self, command: Command, now: int) -> None:
        """One motor command of the controller."""
        self.statistics.counts["commands_in"] += 1
        if not self._give(command, now):
            self._requests.report_fault(command.index)

    def _carry(self, command: Command, now: int) -> None:
        """A command of the body that was left, which the controller does not give now: it learns
        of no refusal."""
        self.statistics.counts["commands_in"] += 1
        self._give(command, now)

    def _give(self, command: Command, now: int) -> bool:
        """One motor command, for the controller's body and its shadow. False: refused, counted and
        shown."""
        end = self._bodies.active
        if self.safety.ending:
            self.statistics.refused[RequestRefused.ENDED] += 1
            return True
        if end is None:
            self._requests.count(RequestRefused.NO_BODY, "this robot has no body")
            return False
        accepted = end.command(command, now)
        if accepted and self._bodies.shadow is not None:
            self._bodies.shadow.command(command, now)
        return accepted

    # --- what became of a command -------------------------------------------------------------

    def refused(self, end: BodyEnd, refusal: Refusal) -> None:
        """The safety refused a command to a body."""
        if end is self._bodies.active:
            self._requests.count(refusal.reason, refusal.text)
        elif self._bodies.shadow is not None:
            self._bodies.shadow.refused[refusal.reason] += 1

    def commanded(self, end: BodyEnd, command: Command) -> None:
        """A command to a body was written."""
        if end is self._bodies.active:
            self.statistics.commanded(command, self._scheduler.now())
        elif self._bodies.shadow is not None:
            self._bodies.shadow.commands_out += 1

    def not_commanded(self, end: BodyEnd, count: str) -> None:
        """A command to a body was accepted, and not written."""
        if end is self._bodies.active:
            self.statistics.counts[count] += 1

    def report_fault(self, end: BodyEnd, command: Command) -> None:
        """A command that was accepted, and waited, is refused after all."""
        if end is self._bodies.active:
            self._requests.report_fault(command.index)

    def motor_stopped(self, end: BodyEnd, index: int, stops: Sequence[Command], now: int) -> None:
        """A command to a motor was refused; its shadow stops, too."""
        if end is not self._bodies.active:
            return
        if stops:
            self.statistics.counts["motor_stops"] += 1
            self.statistics.stopped(stops)
            name = self.statistics.name_of(index)
            self._notices.add(f"'{name}' stopped: a command to it was refused")
        if self._bodies.shadow is not None:
            self._bodies.shadow.stop_motor(index, now)

    # --- body to controller: devices ----------------------------------------------------------

    def _handlers_of_body(self) -> Handlers:
        return {
            Connected: self._body_connected,
            Disconnected: lambda event, now: self._body_lost(event.reason, now),
            Registered: self._registered,
            MotorFeedback: self._readings.report_feedback,
            PacketIn: self._packets.from_body,
            StopSent: lambda event, now: self.safety.stop_sent(event),
            DeviceFault: lambda event, now: self._requests.report_fault(event.index),
            MotorHeld: self._motor_held,
            HardwareFault: self._hardware_fault,
            ProtocolFailure: self._body_failed,
        }

    def from_body(self, end: BodyEnd, events: list[Event], now: int) -> None:
        """Events of the session of a body."""
        if end is not self._bodies.active:
            self._modes.from_other(end, events, now)
            return
        values: list[tuple[int, Value]] = []
        for event in events:
            if type(event) is SensorValue:
                values.append((event.index, event.value))
            elif (handle := self._body_handlers.get(type(event))) is not None:
                handle(event, now)
            else:
                self._notices.show(end.link.name, event)
        if values:
            if self._registration.under_way:
                self._registration.complete(now)
            self._readings.report(values, now)
            if self._bodies.shadow is not None:
                self._bodies.shadow.first(values, self._registration.devices, now)

    def _registered(self, event: Registered, now: int) -> None:
        if self._forwarder is not None and self._bodies.active is self._bodies.body:
            self._forwarder.adopt(event.device)
        self._registration.add(event.device, now)

    def _completed(self) -> None:
        """All devices are known."""
        if self._steps is not None:
            self._steps.expect()
        self.presence.body_up()

    # --- body to controller: faults and packets -----------------------------------------------

    def packet(self, receiver: str, copy: Copy) -> None:
        """A packet that a Receiver of the gateway's own has read."""
        self._packets.from_medium(receiver, copy)

    def _motor_held(self, event: MotorHeld, now: int) -> None:
        """The robot refused a command to a motor."""
        if self._bodies.active is not None:
            self._bodies.active.note(event, now)
        self._requests.report_fault(event.index)

    def _hardware_fault(self, event: HardwareFault, now: int) -> None:
        """The robot reports a fault of its hardware."""
        self.safety.stop_after_hardware_fault(now)
        if self.safety.state.stops_on_fault and self._bodies.shadow is not None:
            # It gets no command any more, as the first body refuses all.
            self._bodies.shadow.end.safety.stop(StopReason.HARDWARE, now, latch=False)
        if event.index is not None:
            self._requests.report_fault(event.index)

    # --- connections --------------------------------------------------------------------------

    def _body_connected(self, event: Connected, now: int) -> None:
        end = self._bodies.active
        assert end is not None
        end.note(event, now)
        if self._forwarder is not None and end is self._bodies.body:
            self._forwarder.open(now)
        for device in end.link.session.devices:  # of a serial line that was silent for a while
            self._registered(Registered(device), now)

    def _body_failed(self, event: ProtocolFailure, now: int) -> None:
        """The body's stream cannot be decoded; its connection will be closed."""
        self.safety.stop(StopReason.BODY, now)
        if self._bodies.link is not None:
            self._notices.show(self._bodies.link.name, event)

    def body_detached(self, end: BodyEnd, now: int) -> None:
        """The connection to a body is gone."""
        reason = "the connection is closed"
        if end is self._bodies.active:
            self._body_lost(reason, now)
            return
        if self._bodies.shadow is not None:
            self._bodies.shadow.stop(now)
        end.lost(reason)

    def _body_lost(self, reason: str, now: int) -> None:
        """The body is gone: its devices are unknown, and its controller has to connect anew."""
        end = self._bodies.active
        if end is None or not end.is_up:
            return
        if self._forwarder is not None and end is self._bodies.body:
            self._forwarder.close()
        self.safety.stop(StopReason.BODY, now)
        self._registration.lost()
        if self._bodies.shadow is not None:
            self._bodies.shadow.realign()
        end.lost(reason)
        self.presence.body_lost()
        if not self.safety.ending:
            self._registration.dismiss_controller("the body is gone")
            self._disarm_shadow(now)

    def _disarm_shadow(self, now: int) -> None:
        """A program that starts again when the first body is back moves no real shadow, either."""
        shadow = self._bodies.shadow
        if shadow is not None and shadow.end.safety.state.latch:
            shadow.end.safety.disarm(now)

    def _controller_connected(self, event: Connected, now: int) -> None:
        self.presence.is_connected = True
        if self._controller is not None:
            self._controller.ready(event.identity)

    def _controller_fell_silent(self, event: Disconnected, now: int) -> None:
        self.presence.is_connected = False
        if self._controller is not None:
            self._controller.not_ready(event.reason)
        self._restore_settings(now)

    def controller_detached(self, now: int) -> None:
        """The connection to the controller is gone."""
        self.presence.is_connected = False
        self._bodies.stop(StopReason.DISCONNECTED, now)
        self._restore_settings(now)
        self._readings.forget()
        self._registration.controller_left()

    def _restore_settings(self, now: int) -> None:
        """Undoes what the controller changed, for the next one."""
        if self._steps is not None:
            self._steps.reset()
            self._bodies.resume_deadlines(now)
        self._radios.restore()
        for end in self._bodies:
            if end.is_up:
                self._periods.restore(end, now)
        self._periods.forget()
        self._requests.forget()

    # --- for the user -------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """The control loop for `--report`."""
        report = report_of(
            self._bodies.link, self._controller, self.statistics, self.safety, self._forwarder
        )
        if self._steps is not None:
            report["robot"] = self._steps.report()
        return report | mode_report(self._bodies, self._modes.comparison)
