"""A control loop: motor commands go from controller to body, sensor values from body to controller.

Each end is a `PeerLink`; the sessions know the protocols. The way of a motor command: session of
the controller, `_from_controller`, `_command`, `Safety.check` (armed, limits, whether it can be
stopped), session of the body, `PeerLink.handle`, which writes. A value of a sensor takes the way
`_from_body`, `Readings.report`, session of the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hilgw.bodies.base import DeferringSession
from hilgw.control.events import (
    BrakeDamping,
    Command,
    Connected,
    DeviceFault,
    Disconnected,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    LedValue,
    MotorCommand,
    MotorFeedback,
    MotorPid,
    MotorSettings,
    Notice,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    Refused,
    Registered,
    SensorSwitch,
    SensorValue,
    StepRequest,
    Stop,
    StopReason,
    StopSent,
    Write,
)
from hilgw.engine.control_loop.configured import ConfiguredDevices
from hilgw.engine.control_loop.peer_link import PeerListener
from hilgw.engine.control_loop.periods import Periods
from hilgw.engine.control_loop.readings import Readings
from hilgw.engine.control_loop.repeater import Repeater
from hilgw.engine.control_loop.report import report_of
from hilgw.engine.control_loop.safety import Safety
from hilgw.engine.control_loop.stepping import Stepper
from hilgw.engine.simulated.pace import Hold
from hilgw.engine.statistics import ControlLoopStatistics, NoticeFilter
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_MS, NS_PER_S, ns_to_s

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.safety import SafetyState
    from hilgw.controllers.base import PeerSession
    from hilgw.devices.kinds import Device, Value
    from hilgw.devices.properties import DeviceFields
    from hilgw.engine.control_loop.forwarder import Forwarder
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.radios import Radios
    from hilgw.engine.control_loop.stepping import StepGrid
    from hilgw.engine.observer import Observer
    from hilgw.engine.simulated.pace import Holds
    from hilgw.medium.packet import Copy
    from hilgw.transports.base import Handle, Scheduler, Transport

STATUS_NS = NS_PER_S  # between two reports to the observer
# A body registers its devices one by one; after this pause the registration is complete.
REGISTRATION_PAUSE_NS = 100 * NS_PER_MS
LOGGED_BYTES = 64
LATE_STEP = "the controller asked too late for its next step; the report counts late_steps"

_NO_SIGN_OF_LIFE = frozenset((Connected, Disconnected, Stop))

Handlers = dict[type[Any], Callable[[Any, int], None]]


class ControlLoop:
    """One robot's control loop. body or controller is None where the configuration has none.

    The two ends connect in any order. A controller that reads too slowly gets the newest value of
    each sensor once it can read again.

    `detach_body` and `attach_body` exchange the body while the controller stays. Everything that
    belongs to one body is its link with its listener, so a second body (a shadow) is another link
    whose listener compares instead of reporting.
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
        self.safety = Safety(name, safety, controller, self.statistics, scheduler, observer)
        self._body: PeerLink[BodySession] | None = None
        self._controller = controller
        self._radios = radios
        self._forwarder = forwarder
        self._configured = ConfiguredDevices(devices)
        self._scheduler = scheduler
        self._observer = observer
        self._notices = NoticeFilter()
        self._body_is_up = False
        self._is_exchanged = False  # the controller still has the devices of an earlier body
        self._present: dict[int, tuple[str, str]] = {}  # name and kind of the announced devices
        self._registration_timer: Handle | None = None
        self._is_complete = False
        self._stepper: Stepper | None = None  # of a controller that is stepped
        self._repeater: Repeater | None = None
        self._announced: dict[int, Device] = {}  # what a controller may mean by an index
        self._devices_are_stale = False  # the controller knows devices of a body that is gone
        self._readings = Readings(controller, self.statistics)
        self._periods = Periods()
        self._status_timer: Handle | None = None
        self._status_ns = 0
        self._body_handlers = self._handlers_of_body()
        self._controller_handlers = self._handlers_of_controller()
        if body is not None:
            self.attach_body(body)
        if controller is not None:
            controller.listener = _ControllerListener(self)

    # --- the body -----------------------------------------------------------------------------

    def attach_body(self, body: PeerLink[BodySession]) -> None:
        """The link to the body from now on; it has no connection yet, and an earlier body was
        detached. A controller stays connected when the new body has the devices of the earlier one
        (index, name, kind); else it has to connect anew. The sensor periods that it set hold."""
        assert self._body is None and body.transport is None
        self._body = body
        self.safety.attach(body)
        body.listener = _BodyListener(self)

    @property
    def body_is_up(self) -> bool:
        """Whether the body has answered and is still there."""
        return self._body_is_up

    def detach_body(self) -> PeerLink[BodySession] | None:
        """Lets the body go, for the caller to close its link; None without one. Its motors are
        stopped first, and nothing that it reports counts any more. Limits and a latch hold."""
        body, now = self._body, self._scheduler.now()
        if body is None:
            return None
        self.safety.stop(StopReason.EXCHANGED, now, latch=False)
        if self._registration_timer is not None:
            self._body_lost("it was detached", now)
        if self._body_is_up:
            self._periods.restore(body, now)
            self._body_is_up, self._is_exchanged = False, True
        self.safety.detach()
        self._readings.forget()
        self.statistics.forget_values()
        body.listener = _DetachedListener()
        self._body = None
        return body

    # --- a controller that is stepped ---------------------------------------------------------

    def step_on(self, grid: StepGrid, *, synchronization: bool, holds: Holds | None = None) -> None:
        """The controller asks for steps, which end on this grid. holds: where it makes simulated
        time wait; None: nowhere."""
        self.statistics.counts["late_steps"] = 0
        name, longest_ns = f"{self.name}.controller", self.safety.state.timeout_ns
        self._stepper = Stepper(
            grid,
            self._answer_step,
            self._step_is_late,
            synchronization=synchronization,
            hold=None if holds is None else Hold(holds, name, longest_ns),
        )
        self._controller_handlers[StepRequest] = self._step
        self._repeater = Repeater()

    @property
    def is_complete(self) -> bool:
        """Whether all devices are known: a controller may learn of them once only."""
        return self._is_complete

    def _step(self, event: StepRequest, now: int) -> None:
        assert self._stepper is not None
        if self.safety.state.moving:
            self._repeat_commands(now)
        self.safety.suspend_deadline()
        self._stepper.request(event.duration_ms)

    def _repeat_commands(self, now: int) -> None:
        """Motors in Webots keep a command; robots with a watchdog need it again and again."""
        body, repeater = self._body, self._repeater
        if body is None or repeater is None:
            return
        for command in repeater.due(now):
            try:
                refusal = self.safety.check(body, command, now)
                events = [] if refusal else body.session.command(command, now)
            except Exception as error:  # noqa: BLE001 - as in PeerLink.call
                body.fault(error)
                return
            body.handle([event for event in events if type(event) is Write], now)

    def _answer_step(self, time_ns: int, delay_ms: int) -> None:
        controller: PeerLink[Any] | None = self._controller
        assert controller is not None
        now = self._scheduler.now()
        controller.session.armed = self.safety.state.armed
        try:
            events = controller.session.answer(time_ns, delay_ms)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            controller.fault(error)
        else:
            controller.handle(events, now)
        self.safety.resume_deadline(now)

    def _step_is_late(self, delay_ms: int) -> None:
        self.statistics.counts["late_steps"] += 1
        if self._notices.is_due(LATE_STEP, once=True):
            self._observer.notice(self.name, f"a step ended {delay_ms} ms late: {LATE_STEP}")

    # --- start and end ------------------------------------------------------------------------

    def start(self) -> None:
        now = self._status_ns = self._scheduler.now()
        if self._body is None:
            self._complete_registration(now)
        self._status_timer = self._scheduler.call_at(now + STATUS_NS, self._show_status)

    def end(self) -> None:
        """Stops the motors for good, and has a stepped controller end. The connections are closed
        later, by their supervisors."""
        controller: PeerLink[Any] | None = self._controller
        now = self._scheduler.now()
        self.safety.end(now)
        if self._stepper is not None and controller is not None:
            self._stepper.reset()
            controller.call(controller.session.quit, now)

    def has_drained(self) -> bool:
        """Whether the body's connection has taken all that its session has for it, and a stepped
        controller has left."""
        controller, body = self._controller, self._body
        if self._stepper is not None and controller is not None and controller.transport:
            return False
        if body is not None and isinstance(body.session, DeferringSession):
            return body.session.is_idle() and body.has_drained()
        return body is None or body.has_drained()

    def close(self) -> None:
        if self._status_timer is not None:
            self._status_timer.cancel()
        self._cancel_registration_timer()
        self.safety.emergency_stop.detach()

    # --- controller to body: motors -----------------------------------------------------------

    def _handlers_of_controller(self) -> Handlers:
        return {
            Connected: self._controller_connected,
            Disconnected: self._controller_fell_silent,
            Stop: lambda event, now: self.safety.stop(event.reason, now),
            MotorCommand: self._command,
            MotorSettings: self._command,
            MotorPid: self._command,
            SensorSwitch: self._switch,
            FeedbackSwitch: self._switch,
            LedValue: self._set_value,
            BrakeDamping: self._set_value,
            PacketOut: self._send,
            EmitterSettings: self._tune,
            ReceiverSettings: self._tune,
        }

    def _from_controller(self, events: list[Event], now: int) -> None:
        """Events of the controller's session."""
        controller = self._controller
        assert controller is not None
        for event in events:
            kind = type(event)
            handle = self._controller_handlers.get(kind)
            if handle is None:
                self._show_event(controller, event)
                continue
            if kind not in _NO_SIGN_OF_LIFE:
                controller.peer_confirmed = True
                if kind is not StepRequest:  # its answer is one
                    self.safety.alive(now)
            handle(event, now)

    def _command(self, command: Command, now: int) -> None:
        """One motor command: checked, turned into bytes by the body's session, and written."""
        statistics, body = self.statistics, self._body
        statistics.counts["commands_in"] += 1
        if self.safety.ending:
            statistics.refused[RequestRefused.ENDED] += 1
            return
        if body is None:
            self._refuse(command.index, RequestRefused.NO_BODY, "this robot has no body")
            return
        try:
            refusal = self.safety.check(body, command, now)
            events = [] if refusal else body.session.command(command, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            body.fault(error)
            return
        if refusal:
            self._refuse(command.index, refusal.reason, refusal.text)
            return
        self._handle_answer(body, command.index, events, now)
        if events and type(events[0]) is Write:
            if self._repeater is not None:
                self._repeater.keep(command, now, first=not self.safety.state.moving)
            statistics.commanded(command, self._scheduler.now())
            self.safety.commanded(command, now)

    def _set_value(self, command: LedValue | BrakeDamping, now: int) -> None:
        """A value for an LED or a brake: checked, then set by the body's session."""
        body = self._body
        if self.safety.ending:
            self.statistics.refused[RequestRefused.ENDED] += 1
            return
        refusal = None if body is None else self.safety.check_value(body, command)
        if refusal:
            self._refuse(command.index, refusal.reason, refusal.text)
        else:
            self._request(command.index, lambda session: session.tune(command, now), now)

    # --- controller to body: sensors and radios -----------------------------------------------

    def _switch(self, event: SensorSwitch | FeedbackSwitch, now: int) -> None:
        """The period of a sensor, a Receiver, or a motor's feedback."""
        if type(event) is SensorSwitch and event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.switch(event.index, event.period_ms))
        else:
            self._periods.switch(self._body, event, now)

    def _send(self, event: PacketOut, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.send(event))
        else:
            self._request(event.index, lambda session: session.send(event, now), now)

    def _tune(self, event: EmitterSettings | ReceiverSettings, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.tune(event))
        else:
            self._request(event.index, lambda session: session.tune(event, now), now)

    def _request(self, index: int, call: Callable[[BodySession], list[Event]], now: int) -> None:
        """A request of the controller that moves no motor."""
        body = self._body
        if body is None:
            self._refuse(index, RequestRefused.NO_BODY, "this robot has no body")
            return
        try:
            events = call(body.session)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call
            body.fault(error)
        else:
            self._handle_answer(body, index, events, now)

    def _handle_answer(
        self, body: PeerLink[BodySession], index: int, events: list[Event], now: int
    ) -> None:
        """Events of the body's session in answer to a request of the controller."""
        body.handle(events, now)
        if any(type(event) is Refused for event in events):
            self._report_fault(index)

    def _answer_for_radio(self, index: int, reason: str | None) -> None:
        """The answer of one of the gateway's own radios."""
        if reason is not None:
            name = self.statistics.name_of(index)
            self._refuse(index, reason, f"'{name}' does not allow it")

    def _refuse(self, index: int, reason: str, text: str) -> None:
        """A request of the controller is refused: counted, shown, and reported to it. text: empty
        where an earlier refusal had the words."""
        self.statistics.refused[reason] += 1
        if text:
            self._observer.refused(self.name, reason, text)
        self._report_fault(index)

    # --- body to controller: devices ----------------------------------------------------------

    def _handlers_of_body(self) -> Handlers:
        return {
            Connected: self._body_connected,
            Disconnected: lambda event, now: self._body_lost(event.reason, now),
            Registered: lambda event, now: self._register(event.device, now),
            MotorFeedback: self._readings.report_feedback,
            PacketIn: self._packet_from_body,
            StopSent: lambda event, now: self.safety.stop_sent(event),
            DeviceFault: lambda event, now: self._report_fault(event.index),
            ProtocolFailure: self._body_failed,
        }

    def _from_body(self, events: list[Event], now: int) -> None:
        """Events of the body's session."""
        values: list[tuple[int, Value]] = []
        for event in events:
            if type(event) is SensorValue:
                values.append((event.index, event.value))
            elif (handle := self._body_handlers.get(type(event))) is not None:
                handle(event, now)
            elif self._body is not None:
                self._show_event(self._body, event)
        if values:
            if self._registration_timer is not None:
                self._complete_registration(now)
            self._readings.report(values, now)

    def _register(self, device: Device, now: int) -> None:
        if self._forwarder is not None:
            self._forwarder.adopt(device)
        if not self._is_exchanged:
            self._announce(self._configured.complete(device), now)
        self._cancel_registration_timer()
        self._registration_timer = self._scheduler.call_at(
            now + REGISTRATION_PAUSE_NS,
            lambda: self._complete_registration(self._scheduler.now()),
        )

    def _complete_registration(self, now: int) -> None:
        """The body has registered all its devices: the others of the configuration follow."""
        self._cancel_registration_timer()
        if self._is_exchanged:
            self._take_over_devices(now)
        devices = () if self._body is None else self._body.session.devices
        self.statistics.keep(devices)
        first = max((device.index for device in devices), default=-1) + 1
        for device in self._configured.missing(first):
            self._announce(device, now)
        self._is_complete = True
        if self._stepper is not None:
            self._stepper.expect()

    def _take_over_devices(self, now: int) -> None:
        """Another body has registered its devices: the controller stays if it knows them all."""
        assert self._body is not None
        self._is_exchanged = False
        known, self._present = self._present, {}
        self._configured.forget()
        devices = [self._configured.complete(device) for device in self._body.session.devices]
        first = max((device.index for device in devices), default=-1) + 1
        every = devices + self._configured.missing(first)
        if {device.index: (device.name, device.kind) for device in every} == known:
            self._present = known
            self._periods.apply(self._body, now)
            return
        self._dismiss_controller("the body was exchanged")
        self._configured.forget()
        self._radios.forget()
        for device in self._body.session.devices:
            self._announce(self._configured.complete(device), now)

    def _cancel_registration_timer(self) -> None:
        if self._registration_timer is not None:
            self._registration_timer.cancel()
            self._registration_timer = None

    def _announce(self, device: Device, now: int) -> None:
        """Registers a device with the controller."""
        self._radios.adopt(device)
        self._present[device.index] = (device.name, device.kind)
        self.statistics.add(device)
        controller = self._controller
        if controller is not None:
            controller.call(lambda: controller.session.register(device), now)
            if self._announced.get(device.index, device) != device:
                controller.discard_stale_input(now)
            self._announced[device.index] = device

    # --- body to controller: faults and packets -----------------------------------------------

    def _report_fault(self, index: int) -> None:
        """Reports to the controller that a device failed or refused a request."""
        controller = self._controller
        if controller is not None and controller.transport is not None:
            controller.call(lambda: controller.session.fault(index), self._scheduler.now())

    def _packet_from_body(self, event: PacketIn, now: int) -> None:
        if self._forwarder is not None and self._forwarder.takes(event.index):
            self._forwarder.to_medium(event)  # the Emitter counts a rejected packet
        elif event.index not in self._radios:
            self._deliver(event, now)
        elif (reason := self._radios.carry(event)) is not None:
            self.statistics.refused[reason] += 1

    def packet(self, receiver: str, copy: Copy) -> None:
        """A packet that a Receiver of the gateway's own has read."""
        if self._forwarder is not None and self._forwarder.is_from_medium(receiver):
            for packet in self._forwarder.to_body(receiver, copy):
                self._packet_to_body(self._forwarder, packet)
            return
        event = self._radios.packet_in(receiver, copy)
        if event is not None:
            self._deliver(event, self._scheduler.now())

    def _packet_to_body(self, forwarder: Forwarder, packet: PacketOut | str) -> None:
        """packet: the reason, when the body does not get it."""
        body, now = self._body, self._scheduler.now()
        if body is None or isinstance(packet, str):
            reason = packet if isinstance(packet, str) else RequestRefused.NO_BODY
            self.statistics.refused[reason] += 1
            return
        forwarder.counts["to_body"] += 1
        body.call(lambda: body.session.send(packet, now), now)

    def _deliver(self, event: PacketIn, now: int) -> None:
        controller = self._controller
        if controller is None:
            self.statistics.refused[RequestRefused.NO_CONTROLLER] += 1
        else:
            controller.call(lambda: controller.session.deliver(event), now)

    # --- connections --------------------------------------------------------------------------

    def _body_connected(self, event: Connected, now: int) -> None:
        body = self._body
        assert body is not None
        self._body_is_up = True
        if self._forwarder is not None:
            self._forwarder.open(now)
        body.ready(event.identity)
        for device in body.session.devices:  # of a serial line that was silent for a while
            self._register(device, now)

    def _body_failed(self, event: ProtocolFailure, now: int) -> None:
        """The body's stream cannot be decoded; its connection will be closed."""
        self.safety.stop(StopReason.BODY, now)
        if self._body is not None:
            self._show_event(self._body, event)

    def _body_detached(self, now: int) -> None:
        self.safety.emergency_stop.detach()
        self._body_lost("the connection is closed", now)

    def _body_lost(self, reason: str, now: int) -> None:
        """The body is gone: its devices are unknown, and its controller has to connect anew."""
        if not self._body_is_up:
            return
        self._body_is_up = self._is_complete = False
        if self._forwarder is not None:
            self._forwarder.close()
        self.safety.stop(StopReason.BODY, now)
        self._cancel_registration_timer()
        self._radios.forget()
        self._configured.forget()
        self._present.clear()
        self._is_exchanged = False
        if self._body is not None:
            self._body.not_ready(reason)
        if not self.safety.ending:
            self._dismiss_controller("the body is gone")

    def _dismiss_controller(self, text: str) -> None:
        """The devices that the controller knows are void: it has to connect anew."""
        controller = self._controller
        if controller is not None:
            self._devices_are_stale = True
            controller.dismiss(text)
            if controller.transport is None:
                self._forget_devices()

    def _controller_connected(self, event: Connected, now: int) -> None:
        if self._controller is not None:
            self._controller.ready(event.identity)

    def _controller_fell_silent(self, event: Disconnected, now: int) -> None:
        if self._controller is not None:
            self._controller.not_ready(event.reason)
        self._restore_settings(now)

    def _controller_detached(self, now: int) -> None:
        self.safety.stop(StopReason.DISCONNECTED, now)
        self._restore_settings(now)
        self._forget_devices()

    def _restore_settings(self, now: int) -> None:
        """Undoes what the controller changed, for the next one."""
        if self._stepper is not None:
            self._stepper.reset()
            self.safety.resume_deadline(now)
        self._radios.restore()
        self._periods.restore(self._body, now)
        self._periods.forget()

    def _forget_devices(self) -> None:
        """Between two controllers: the next one gets the devices of the present body only."""
        self._readings.forget()
        if self._devices_are_stale and self._controller is not None:
            self._devices_are_stale = False
            self._controller.session.forget()

    # --- for the user -------------------------------------------------------------------------

    def _show_event(self, link: PeerLink[Any], event: Event) -> None:
        """Events that concern only the user."""
        match event:
            case Refused(_, reason, text):
                self._observer.refused(link.name, reason, text)
            case Notice(text, once):
                if self._notices.is_due(text, once):
                    self._observer.notice(link.name, text)
            case ProtocolFailure(error, tail) if tail:
                more = "..." if len(tail) > LOGGED_BYTES else ""
                text = f"{error.what}: {tail[:LOGGED_BYTES].hex(' ')}{more}"
                self._observer.notice(link.name, text)

    def _show_status(self) -> None:
        """Once a second, for observers."""
        now = self._scheduler.now()
        seconds, self._status_ns = ns_to_s(now - self._status_ns), now
        status = self.statistics.status(seconds, armed=self.safety.state.armed)
        self._observer.control_loop(self.name, status)
        self._status_timer = self._scheduler.call_at(now + STATUS_NS, self._show_status)

    def report(self) -> dict[str, Any]:
        """The control loop for `--report`."""
        return report_of(
            self._body, self._controller, self.statistics, self.safety, self._forwarder
        )


class _BodyListener(PeerListener):
    """The control loop as the listener of its body's link."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._safety = loop.safety

    def events(self, events: list[Event], now: int) -> None:
        self._loop._from_body(events, now)

    def attached(self, transport: Transport) -> None:
        self._safety.emergency_stop.attach(transport)

    def detached(self, now: int) -> None:
        self._loop._body_detached(now)

    def faulted(self, now: int) -> None:
        self._safety.stop_after_body_fault(now)


class _DetachedListener(PeerListener):
    """Of the link to a body that was detached: nothing it reports counts."""


class _ControllerListener(PeerListener):
    """The control loop as the listener of its controller's link."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._safety = loop.safety
        self._readings = loop._readings

    def events(self, events: list[Event], now: int) -> None:
        self._loop._from_controller(events, now)

    def detached(self, now: int) -> None:
        self._loop._controller_detached(now)

    def faulted(self, now: int) -> None:
        self._safety.stop(StopReason.FAULT, now)

    def drained(self, now: int) -> None:
        self._readings.report_held(now)

    def swamped(self, now: int) -> bool:
        return self._safety.stop_swamping_controller(now)
