"""What a loop is made of. Its halves share it: what the body shows, what the controller wants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hilgw.control.events import Event, Notice, ProtocolFailure, Refused
from hilgw.engine.statistics import NoticeFilter

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.controllers.base import PeerSession
    from hilgw.engine.control_loop.figures import LoopStatistics
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.radios import Radios
    from hilgw.engine.observer import Observer
    from hilgw.transports.base import Scheduler

LOGGED_BYTES = 64


@dataclass(eq=False, slots=True)
class Parts:
    """body or controller is None where the configuration has none."""

    name: str
    body: PeerLink[BodySession] | None
    controller: PeerLink[PeerSession] | None
    figures: LoopStatistics
    radios: Radios
    scheduler: Scheduler
    observer: Observer
    _said: NoticeFilter = field(default_factory=NoticeFilter)

    def say(self, side: PeerLink[Any], event: Event) -> None:
        """What is for the user alone."""
        match event:
            case Refused(_, reason, text):
                self.observer.refused(side.name, reason, text)
            case Notice(text, once):
                if self._said.is_due(text, once):
                    self.observer.notice(side.name, text)
            case ProtocolFailure(error, tail) if tail:
                more = "..." if len(tail) > LOGGED_BYTES else ""
                text = f"{error.what}: {tail[:LOGGED_BYTES].hex(' ')}{more}"
                self.observer.notice(side.name, text)

    def refuse(self, index: int, reason: str, text: str) -> None:
        """What the controller asked for is not done: counted, said, and it is told."""
        self.figures.refused[reason] += 1
        self.observer.refused(self.name, reason, text)
        self.tell(index)

    def tell(self, index: int) -> None:
        """The controller learns that the device failed, or did not do what was asked."""
        controller = self.controller
        if controller is not None and controller.transport is not None:
            controller.call(lambda: controller.session.fault(index), self.scheduler.now())

    def ask_body(self, index: int, events: list[Event], now: int) -> None:
        """The body's answer to what the controller asked of a device."""
        body = self.body
        assert body is not None  # it has answered
        body.run(events, now)
        if any(type(event) is Refused for event in events):
            self.tell(index)
