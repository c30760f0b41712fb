"""What a controller asks of a control loop beside motor commands: sensors, LEDs, brakes, radios."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hilgw.control.events import BrakeDamping, LedValue, Refused, SensorSwitch
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.bodies.base import BodySession
    from hilgw.control.events import (
        EmitterSettings,
        Event,
        FeedbackSwitch,
        PacketOut,
        ReceiverSettings,
    )
    from hilgw.controllers.base import PeerSession
    from hilgw.engine.control_loop.bodies.body_end import BodyEnd
    from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
    from hilgw.engine.control_loop.devices.periods import Periods
    from hilgw.engine.control_loop.devices.radios import Radios
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.observer import Observer
    from hilgw.engine.statistics import ControlLoopStatistics
    from hilgw.transports.base import Scheduler


class Requests:
    """Each goes to the controller's body, or to a radio of the gateway. One that is refused is
    counted, shown, and reported to the controller."""

    def __init__(
        self,
        name: str,
        bodies: BodyEnds,
        controller: PeerLink[PeerSession] | None,
        radios: Radios,
        periods: Periods,
        statistics: ControlLoopStatistics,
        scheduler: Scheduler,
        observer: Observer,
    ) -> None:
        self._name = name
        self._bodies = bodies
        self._controller = controller
        self._radios = radios
        self._periods = periods
        self._statistics = statistics
        self._scheduler = scheduler
        self._observer = observer
        self._leds: dict[int, LedValue] = {}  # as the controller set them

    def set_value(self, command: LedValue | BrakeDamping, now: int) -> None:
        """A value for an LED or a brake: checked, then set by the body's session."""
        end = self._bodies.active
        if self._bodies.safety.ending:
            self._statistics.refused[RequestRefused.ENDED] += 1
            return

        def set_now(now: int) -> None:
            refusal = None if end is None else end.safety.check_value(end.link, command)
            if refusal:
                self.refuse(command.index, refusal.reason, refusal.text)
                return
            if isinstance(command, LedValue):
                self._leds[command.index] = command
            self._request(command.index, lambda session: session.tune(command, now), now)

        if end is None:
            set_now(now)
        else:
            end.when_free(command.index, type(command).__name__, set_now, now)
        if self._bodies.shadow is not None:
            self._bodies.shadow.tune(command, now)

    def light(self, end: BodyEnd, now: int) -> None:
        """Sets the LEDs of a body that takes another one's place. What it does not have stays
        dark: the controller did nothing wrong."""
        for led in self._leds.values():
            known = end.link.session.devices.by_index(led.index) is not None
            if known and not end.safety.check_value(end.link, led):
                end.link.call(partial(end.link.session.tune, led, now), now)

    def forget(self) -> None:
        """The controller is gone."""
        self._leds.clear()

    def switch(self, event: SensorSwitch | FeedbackSwitch, now: int) -> None:
        """The period of a sensor, a Receiver, or a motor's feedback."""
        if type(event) is SensorSwitch and event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.switch(event.index, event.period_ms))
        else:
            self._periods.switch(self._bodies.active, event, now)
            if self._bodies.shadow is not None:
                self._bodies.shadow.switch(event, now)

    def send(self, event: PacketOut, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.send(event))
        else:
            self._request(event.index, lambda session: session.send(event, now), now)

    def tune(self, event: EmitterSettings | ReceiverSettings, now: int) -> None:
        if event.index in self._radios:
            self._answer_for_radio(event.index, self._radios.tune(event))
        else:
            self._request(event.index, lambda session: session.tune(event, now), now)

    def _request(self, index: int, call: Callable[[BodySession], list[Event]], now: int) -> None:
        """A request of the controller that moves no motor."""
        body = self._bodies.link
        if body is None:
            self.refuse(index, RequestRefused.NO_BODY, "this robot has no body")
            return
        try:
            events = call(body.session)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call
            body.fault(error)
        else:
            self.handle_answer(body, index, events, now)

    def handle_answer(
        self, body: PeerLink[BodySession], index: int, events: list[Event], now: int
    ) -> None:
        """Events of the body's session in answer to a request of the controller."""
        body.handle(events, now)
        if any(type(event) is Refused for event in events):
            self.report_fault(index)

    def _answer_for_radio(self, index: int, reason: str | None) -> None:
        """The answer of one of the gateway's own radios."""
        if reason is not None:
            name = self._statistics.name_of(index)
            self.refuse(index, reason, f"'{name}' does not allow it")

    def refuse(self, index: int, reason: str, text: str) -> None:
        """A request of the controller is refused: counted, shown, and reported to it."""
        self.count(reason, text)
        self.report_fault(index)

    def count(self, reason: str, text: str) -> None:
        """A request is refused: counted and shown. text: empty where an earlier refusal had the
        words."""
        self._statistics.refused[reason] += 1
        if text:
            self._observer.refused(self._name, reason, text)

    def report_fault(self, index: int) -> None:
        """Reports to the controller that a device failed or refused a request."""
        controller = self._controller
        if controller is not None and controller.transport is not None:
            controller.call(lambda: controller.session.fault(index), self._scheduler.now())
