"""The requests of a controller that are no motor commands: for sensors, LEDs, brakes and radios.

The controller's session leaves out values that it does not want, anyway; a body that can switch its
devices also saves the bytes.
"""

from collections.abc import Callable
from typing import Any

from hilgw.control.events import (
    BrakeDamping,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    LedValue,
    PacketOut,
    ReceiverSettings,
    RefusedRequest,
    SensorSwitch,
)
from hilgw.controllers.base import PeerSession
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.reasons import RequestRefused


class Requests:
    """Each goes to the controller's body, or to a radio of the gateway.

    One that is refused is counted, shown, and reported to the controller. Keeps LEDs and periods,
    for a body that takes another's place and for the end of a controller.
    """

    def __init__(
        self,
        context: LoopContext,
        bodies: BodyEnds,
        controller: PeerLink[PeerSession],
        radios: Radios,
    ) -> None:
        self._context = context
        self._bodies = bodies
        self._controller = controller
        self._radios = radios
        self._leds: dict[int, LedValue] = {}  # as the controller set them
        self._periods: dict[tuple[type, int], SensorSwitch | FeedbackSwitch] = {}

    def set_value(self, command: LedValue | BrakeDamping, now: int) -> None:
        """Check a value for an LED or a brake, and have the body's session set it."""
        end = self._bodies.active
        if self._bodies.safety.ending:
            self._context.refuse(RequestRefused.ENDED, "")
            return

        def set_now(now: int) -> None:
            if refusal := end.safety.check_value(command):
                self._refuse(command.index, refusal.reason, refusal.text)
                return
            if isinstance(command, LedValue):
                self._leds[command.index] = command
            self._request(command.index, now, self._bodies.link.session.tune, command)

        end.deferred.put(command.index, type(command).__name__, set_now)
        if self._bodies.shadow is not None:
            self._bodies.shadow.tune(command, now)

    def light(self, end: BodyEnd, now: int) -> None:
        """Set the LEDs of a body that takes another one's place.

        What it does not have stays dark: the controller did nothing wrong.
        """
        session = end.link.session
        for led in self._leds.values():
            known = session.devices.by_index(led.index) is not None
            if known and not end.safety.check_value(led):
                end.link.call(now, session.tune, led, now)

    def forget(self) -> None:
        """Forget the controller, which is gone."""
        self._leds.clear()
        self._periods.clear()

    # --- periods ------------------------------------------------------------------------------

    def switch(self, event: SensorSwitch | FeedbackSwitch, now: int) -> None:
        """Set the period of a sensor, a Receiver, or a motor's feedback."""
        if isinstance(event, SensorSwitch) and event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.switch(event.index, event.period_ms))
            return
        key = type(event), event.index
        if event.period_ms is None:
            self._periods.pop(key, None)
        else:
            self._periods[key] = event
        self._bodies.active.switch(event, now)
        if self._bodies.shadow is not None:
            self._bodies.shadow.switch(event, now)

    def apply(self, end: BodyEnd, now: int) -> None:
        """Give this body the periods."""
        for switch in self._periods.values():
            end.switch(switch, now)

    def restore(self, end: BodyEnd, now: int) -> None:
        """Give this body its own periods again."""
        for kind, index in self._periods:
            own = end.link.ask(0.0, end.link.session.own_period, index)
            is_feedback = kind is FeedbackSwitch
            end.switch(FeedbackSwitch(index, 0) if is_feedback else SensorSwitch(index, own), now)

    # --- radios -------------------------------------------------------------------------------

    def send(self, event: PacketOut, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.send(event))
        else:
            self._request(event.index, now, self._bodies.link.session.send, event)

    def tune(self, event: EmitterSettings | ReceiverSettings, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.tune(event))
        else:
            self._request(event.index, now, self._bodies.link.session.tune, event)

    def _request(
        self, index: int, now: int, method: Callable[[Any, int], list[Event]], request: Any
    ) -> None:
        body = self._bodies.link
        events = body.ask(None, method, request, now)
        if events is None:
            return
        body.handle(events, now)
        if any(type(event) is RefusedRequest for event in events):
            self.report_fault(index)

    def _answer_for_radio(self, index: int, reason: str | None) -> None:
        if reason is not None:
            self._refuse(
                index, reason, f"'{self._context.statistics.name_of(index)}' does not allow it"
            )

    def _refuse(self, index: int, reason: str, text: str) -> None:
        self._context.refuse(reason, text)
        self.report_fault(index)

    def report_fault(self, index: int) -> None:
        """Report to the controller that a device failed or refused a request."""
        controller = self._controller
        if controller.transport is not None:
            controller.call(self._context.scheduler.now(), controller.session.fault, index)
