"""The way of sensor values and motor feedback from the body to the controller."""

from hilgw.control.events import MotorFeedback
from hilgw.controllers.base import PeerSession
from hilgw.devices.kinds import Value
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.observer import ValueEvent


class Readings:
    """A controller that reads too slowly gets the newest of each once it can read again.

    newest: by device, the value that was passed on last, and when.
    """

    def __init__(self, context: LoopContext, controller: PeerLink[PeerSession]) -> None:
        self._name, self._observer = context.name, context.observer
        self._controller = controller
        self._statistics = context.statistics
        self.newest: dict[str, tuple[Value, int]] = {}
        self._held_values: dict[int, Value] = {}
        self._held_feedback: dict[int, float] = {}

    def report(self, values: list[tuple[int, Value]], now: int) -> None:
        """Pass on the values of sensors of one input."""
        controller, held = self._controller, self._held_values
        if controller.transport is None:
            pass
        elif controller.congested(now):
            before = len(held)
            held.update(values)
            self._statistics.counts["values_superseded"] += before + len(values) - len(held)
        elif controller.call(now, controller.session.report, values, now):
            self._show(values, now)
        self._statistics.received(values, now)  # counting can wait, the controller cannot

    def _show(self, values: list[tuple[int, Value]], now: int) -> None:
        name_of = self._statistics.name_of
        self.newest |= {name_of(index): (value, now) for index, value in values}
        if (report := self._observer.sensor_value) is not None:
            for index, value in values:
                report(ValueEvent(self._name, name_of(index), value, now))

    def report_feedback(self, event: MotorFeedback, now: int) -> None:
        controller, held = self._controller, self._held_feedback
        if controller.transport is None:
            return
        if controller.congested(now):
            self._statistics.counts["values_superseded"] += event.index in held
            held[event.index] = event.value
            return
        controller.call(now, controller.session.feedback, event.index, event.value, now)

    def report_held(self, now: int) -> None:
        """Pass on what waited: the controller can read again."""
        values, self._held_values = list(self._held_values.items()), {}
        feedback, self._held_feedback = self._held_feedback, {}
        controller = self._controller
        if values and controller.call(now, controller.session.report, values, now):
            self._show(values, now)
        for index, value in feedback.items():
            self.report_feedback(MotorFeedback(index, value), now)

    def forget(self) -> None:
        """Forget what waits: its body or its controller is gone."""
        self._held_values.clear()
        self._held_feedback.clear()

    def forget_all(self) -> None:
        """Forget all, also what the controller's session has: the body is exchanged."""
        self.forget()
        self.newest = {}
        self._controller.ask(None, self._controller.session.forget_values)
        self._statistics.forget_values()
