"""What happened in a gateway under test, kept for whoever asks, in whatever thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hilgw.engine.observer import Missed, Observer, State, nobody
from hilgw.medium.packet import Packet

KEPT = 10_000  # packets a test may still ask for
SAID = 50  # states and notices in the report of a failure


@dataclass(frozen=True, slots=True)
class Passed:
    """A packet that passed the medium: from `source` to `listeners`, or to none because of
    `unheard`. at_s: since the gateway was made."""

    at_s: float
    source: str
    data: bytes
    channel: int
    listeners: tuple[str, ...]
    unheard: str | None
    rssi_dbm: float | None
    address: str | None


class Watcher(Observer):
    """Keeps what happened, and wakes who waits for it. count: how much has happened so far."""

    def __init__(self) -> None:
        self.count = 0
        self.states: dict[str, State] = {}
        self._began = time.monotonic()
        self._news = threading.Condition()
        self._packets: deque[Passed] = deque(maxlen=KEPT)
        self._said: deque[str] = deque(maxlen=SAID)

    # --- in the loop ------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something happened."""
        with self._news:
            self.count += 1
            self._news.notify_all()

    def state(self, station: str, state: State, reason: str) -> None:
        self.states[station] = state
        self._tell(f"{station}: {state}: {reason}")

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        unheard: str | None,
        missed: Missed = nobody,
    ) -> None:
        passed = Passed(
            time.monotonic() - self._began,
            packet.source,
            packet.data,
            packet.channel,
            tuple(listeners),
            unheard,
            packet.rssi_dbm,
            packet.address,
        )
        with self._news:
            self._packets.append(passed)
        self.wake()

    def refused(self, station: str, reason: str, text: str) -> None:
        self._tell(f"{station}: {reason}: {text}")

    def notice(self, source: str, text: str) -> None:
        self._tell(f"{source}: {text}")

    def _tell(self, line: str) -> None:
        with self._news:
            self._said.append(f"{time.monotonic() - self._began:9.3f} {line}")
        self.wake()

    # --- in the test ------------------------------------------------------------------------------

    def wait(self, seen: int, timeout_s: float) -> None:
        """Until more than `seen` has happened."""
        with self._news:
            if self.count == seen:
                self._news.wait(timeout_s)

    def take(self, fits: Callable[[Passed], bool]) -> Passed | None:
        """The first packet that fits; it is not found again."""
        with self._news:
            for passed in self._packets:
                if fits(passed):
                    self._packets.remove(passed)
                    return passed
        return None

    def last_packets(self, count: int) -> list[Passed]:
        with self._news:
            return list(self._packets)[-count:]

    def last_said(self) -> list[str]:
        with self._news:
            return list(self._said)
