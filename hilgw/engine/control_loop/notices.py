"""What the peers of a control loop report that concerns only the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import Notice, ProtocolFailure, Refused
from hilgw.engine.statistics import NoticeFilter

if TYPE_CHECKING:
    from hilgw.control.events import Event
    from hilgw.engine.observer import Observer

LOGGED_BYTES = 64


class Notices:
    """Of one control loop; a notice that repeats is shown once."""

    def __init__(self, name: str, observer: Observer) -> None:
        """name: of the robot."""
        self._name = name
        self._observer = observer
        self._filter = NoticeFilter()

    def add(self, text: str, key: str = "") -> None:
        """Shows this text about the robot. key: shown once with it."""
        if self._filter.is_due(key, once=bool(key)):
            self._observer.notice(self._name, text)

    def show(self, name: str, event: Event) -> None:
        """An event of the link of this name. Only refusals, notices and failures are shown."""
        match event:
            case Refused(_, reason, text):
                self._observer.refused(name, reason, text)
            case Notice(text, once):
                if self._filter.is_due(text, once):
                    self._observer.notice(name, text)
            case ProtocolFailure(error, tail) if tail:
                more = "..." if len(tail) > LOGGED_BYTES else ""
                text = f"{error.what}: {tail[:LOGGED_BYTES].hex(' ')}{more}"
                self._observer.notice(name, text)
