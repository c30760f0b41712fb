"""A control loop as the listener of the link to its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hilgw.control.events import StopReason
from hilgw.engine.control_loop.peer_link import PeerListener

if TYPE_CHECKING:
    from hilgw.control.events import Event
    from hilgw.engine.control_loop.body_ends import BodyEnds
    from hilgw.engine.control_loop.readings import Readings


class ControllerOwner(Protocol):
    """What a control loop does with its controller."""

    def from_controller(self, events: list[Event], now: int) -> None:
        """Events of the controller's session."""

    def controller_detached(self, now: int) -> None:
        """The connection to the controller is gone."""


class ControllerListener(PeerListener):
    """Of the link to the controller."""

    def __init__(self, loop: ControllerOwner, bodies: BodyEnds, readings: Readings) -> None:
        self._loop = loop
        self._bodies = bodies
        self._readings = readings

    def events(self, events: list[Event], now: int) -> None:
        self._loop.from_controller(events, now)

    def detached(self, now: int) -> None:
        self._loop.controller_detached(now)

    def faulted(self, now: int) -> None:
        self._bodies.stop(StopReason.FAULT, now)

    def drained(self, now: int) -> None:
        self._readings.report_held(now)

    def swamped(self, now: int) -> bool:
        self._bodies.stop(StopReason.SWAMPED, now)
        return self._bodies.safety.stop_swamping_controller(now)
