"""The last events of a gateway, in memory, until they are wanted as a recording."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.engine.recording.recorder import RECORDED, PlainEvents, make
from hilgw.record.writer import Event, Files, Report, Settings

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway

MOST = 20_000


class KeptEvents(PlainEvents):
    """The last events of this gateway from now on. head: makes that of the recording."""

    def __init__(self, gateway: Gateway, head: Callable[[], dict[str, Any]]) -> None:
        self._begin: list[Event] = []
        self._kept: deque[Event] = deque(maxlen=MOST)
        self._head, self._gateway = head, gateway
        super().__init__(gateway.timer.now, gateway.device_of, self._begin.append)
        for state in gateway.states():
            self.emit(True, state)
        self._put = self._kept.append
        gateway.observer.add(self, RECORDED)

    def write(self, path: Path) -> Report:
        """Writes them to a new file; what became of it. HilgwError where it cannot be made."""
        reports: list[Report] = []
        make(path)
        parts, epoch_ns = list(self._gateway.supervisors), time.time_ns() - self._now()
        files = Files(Settings(str(path), self._head(), parts, epoch_ns), reports.append)
        files.write([*self._begin, *self._kept])
        files.close()
        return reports[-1]
