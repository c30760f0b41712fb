"""The last events of a gateway, in memory, until they are wanted as a recording."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.engine.recording.recorder import RECORDED, PlainEvents
from hilgw.record.events import CLOCK
from hilgw.record.writer import Event, Files, Report, Settings

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway

MOST = 20_000


class KeptEvents(PlainEvents):
    """The last events of this gateway from now on. head: that of the recording."""

    def __init__(self, gateway: Gateway, head: dict[str, Any]) -> None:
        self._kept: deque[Event] = deque(maxlen=MOST)
        self._head, self._parts = head, gateway.supervisors
        super().__init__(gateway.timer.now, gateway.device_of, self._kept.append)
        for state in gateway.states():
            self.emit(True, state)
        gateway.observer.add(self, RECORDED)

    def write(self, path: Path) -> Report:
        """Writes them to a file; what became of it."""
        reports: list[Report] = []
        now, wall_ns = self._now(), time.time_ns()
        settings = Settings(str(path), self._head, [*self._parts], wall_ns - now)
        files = Files(settings, reports.append)
        files.write([*self._kept, (CLOCK, now, time.monotonic_ns(), wall_ns / 1e9)])
        files.close()
        return reports[-1]
