"""The controller of a control loop: listens to its link, and passes each event to its handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hilgw.control.events import Connected, Disconnected, StepRequest, Stop, StopReason
from hilgw.engine.control_loop.peer_link import PeerListener

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.control.events import Event
    from hilgw.controllers.base import PeerSession
    from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
    from hilgw.engine.control_loop.devices.readings import Readings
    from hilgw.engine.control_loop.notices import Notices
    from hilgw.engine.control_loop.peer_link import PeerLink

Handlers = dict[type[Any], "Callable[[Any, int], None]"]

_NO_SIGN_OF_LIFE = frozenset((Connected, Disconnected, Stop))


class ControllerOwner(Protocol):
    """What a control loop does with its controller."""

    def controller_detached(self, now: int) -> None:
        """The connection to the controller is gone."""


class ControllerEnd(PeerListener):
    """handlers: of the events by their types; one without is shown to the user."""

    def __init__(
        self,
        link: PeerLink[PeerSession],
        owner: ControllerOwner,
        handlers: Handlers,
        bodies: BodyEnds,
        readings: Readings,
        notices: Notices,
    ) -> None:
        self.handlers = handlers
        self._link = link
        self._owner = owner
        self._bodies = bodies
        self._readings = readings
        self._notices = notices
        link.listener = self

    def events(self, events: list[Event], now: int) -> None:
        for event in events:
            kind = type(event)
            handle = self.handlers.get(kind)
            if handle is None:
                self._notices.show(self._link.name, event)
                continue
            if kind not in _NO_SIGN_OF_LIFE:
                self._link.peer_confirmed = True
                if kind is not StepRequest:  # its answer is one
                    self._bodies.alive(now)
            handle(event, now)

    def detached(self, now: int) -> None:
        self._owner.controller_detached(now)

    def faulted(self, now: int) -> None:
        self._bodies.stop(StopReason.FAULT, now)

    def drained(self, now: int) -> None:
        self._readings.report_held(now)

    def swamped(self, now: int) -> bool:
        self._bodies.stop(StopReason.SWAMPED, now)
        return self._bodies.safety.stop_swamping_controller(now)
