"""Context that all parts of one control loop share."""

from dataclasses import dataclass, field

from hilgw.control.events import Event, Notice, ProtocolFailure, RefusedRequest
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import ControlLoopStatistics, NoticeFilter
from hilgw.transports.base import Scheduler

LOGGED_BYTES = 64


class Notices:
    """The notices of one control loop for the user. A notice that repeats is shown once."""

    def __init__(self, name: str, observer: Observer) -> None:
        self._name = name
        self._observer = observer
        self._filter = NoticeFilter()

    def add(self, text: str, key: str = "") -> None:
        """Show this text about the robot. key: texts with the same key are shown once."""
        if self._filter.is_due(key, once=bool(key)):
            self._observer.notice(self._name, text)

    def show(self, name: str, event: Event) -> None:
        """Show an event of the link of this name: refusals, notices and failures, no others."""
        match event:
            case RefusedRequest(_, reason, text):
                self._observer.refused(name, reason, text)
            case Notice(text, once):
                if self._filter.is_due(text, once):
                    self._observer.notice(name, text)
            case ProtocolFailure(error, tail) if tail:
                more = "..." if len(tail) > LOGGED_BYTES else ""
                text = f"{error.what}: {tail[:LOGGED_BYTES].hex(' ')}{more}"
                self._observer.notice(name, text)


@dataclass(frozen=True, slots=True)
class LoopContext:
    """name: of the robot. scheduler: of the gateway's time, which may be simulated."""

    name: str
    scheduler: Scheduler
    observer: Observer
    watchdog: Watchdog
    statistics: ControlLoopStatistics = field(default_factory=ControlLoopStatistics)
    notices: Notices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notices", Notices(self.name, self.observer))

    def refuse(self, reason: str, text: str) -> None:
        """Count and show a refused request of the controller.

        text: empty where the text of an earlier refusal was shown.
        """
        self.statistics.refused[reason] += 1
        if text:
            self.observer.refused(self.name, reason, text)
