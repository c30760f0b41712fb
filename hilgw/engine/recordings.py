"""The recordings of a running gateway: begun and ended at will, each by a process of its own."""

from __future__ import annotations

import platform
import sys
import time
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw import __version__
from hilgw.engine.event_stream import EventStream
from hilgw.engine.observer import Direction
from hilgw.engine.recorder import RecordingProcess
from hilgw.errors import HilgwError, UsageError, suggest
from hilgw.protocols.gateway import events
from hilgw.record.writer import Settings
from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hilgw.engine.observer import LineEvent, Observers
    from hilgw.record.writer import Report
    from hilgw.transports.base import Handle, Scheduler

MOST = 8
"""Recordings at the same time."""
SUFFIX = ".pcapng"
_FIELDS = {kind: attrgetter(*kind.__slots__) for kind in events.EVENTS}


class Recorder(EventStream):
    """One recording: all events of a gateway, none left out, go to its process.

    clock: of real time; scheduler: of the gateway's. Where these are two, simulated time waits for
    the process.
    """

    def __init__(
        self,
        settings: Settings,
        scheduler: Scheduler,
        clock: Scheduler,
        device: Any,
        on_report: Callable[[Report], None],
    ) -> None:
        super().__init__(device)
        self._now, self._clock, self._scheduler = scheduler.now, clock, scheduler
        waits = scheduler is not clock
        self.process = RecordingProcess(settings, clock, on_report, waits=waits)
        self._tick: Handle | None = None
        self._begin_clock()

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> bool:
        return True

    def emit(self, takers: Any, event: Any) -> None:
        kind = type(event)
        self.process.put(("event", self._now(), events.NAMES[kind], _FIELDS[kind](event)))

    def line_bytes(self, event: LineEvent) -> None:
        sent = event.direction is Direction.SENT
        self.process.put(("bytes", event.now, event.part, event.data, sent))

    async def stop(self) -> None:
        """Ends it, when all is written; raises nothing."""
        if self._tick is not None:
            self._tick.cancel()
        await self.process.stop()

    def _begin_clock(self) -> None:
        """Every second, the other times of an instant."""
        now = self._clock.now()
        times = {"event": "clock", "mono_ns": now, "wall_s": time.time()}
        self.process.put(("clock", self._now(), times))
        self._tick = self._clock.call_at(now + NS_PER_S, self._begin_clock)
