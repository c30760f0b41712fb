"""What a body reports, on its way to the controller: values of sensors and feedback of motors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import MotorFeedback

if TYPE_CHECKING:
    from hilgw.controllers.base import PeerSession
    from hilgw.devices.kinds import Value
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.statistics import ControlLoopStatistics


class Readings:
    """A controller that reads too slowly gets the newest of each once it can read again."""

    def __init__(
        self, controller: PeerLink[PeerSession] | None, statistics: ControlLoopStatistics
    ) -> None:
        self._controller = controller
        self._statistics = statistics
        self._held_values: dict[int, Value] = {}
        self._held_feedback: dict[int, float] = {}

    def report(self, values: list[tuple[int, Value]], now: int) -> None:
        """Values of sensors, of one input."""
        controller, held = self._controller, self._held_values
        if controller is None or controller.transport is None:
            pass
        elif controller.congested(now):
            before = len(held)
            held.update(values)
            superseded = before + len(values) - len(held)
            self._statistics.counts["values_superseded"] += superseded
        else:
            try:
                events = controller.session.report(values, now)
            except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
                controller.fault(error)
            else:
                controller.handle(events, now)
        self._statistics.received(values, now)  # counting can wait, the controller cannot

    def report_feedback(self, event: MotorFeedback, now: int) -> None:
        controller, held = self._controller, self._held_feedback
        if controller is None or controller.transport is None:
            return
        if controller.congested(now):
            self._statistics.counts["values_superseded"] += event.index in held
            held[event.index] = event.value
            return
        controller.call(lambda: controller.session.feedback(event.index, event.value, now), now)

    def report_held(self, now: int) -> None:
        """The controller can read again."""
        values, self._held_values = list(self._held_values.items()), {}
        feedback, self._held_feedback = self._held_feedback, {}
        controller = self._controller
        if values and controller is not None:
            controller.call(lambda: controller.session.report(values, now), now)
        for index, value in feedback.items():
            self.report_feedback(MotorFeedback(index, value), now)

    def forget(self) -> None:
        """What is held belongs to a body or a controller that is gone."""
        self._held_values.clear()
        self._held_feedback.clear()

    def forget_all(self) -> None:
        """The body is exchanged: the controller's session has values of the old one, too."""
        self.forget()
        controller = self._controller
        if controller is not None:
            controller.session.forget_values()
        self._statistics.forget_values()
