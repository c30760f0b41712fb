"""The air that radio mocks share: which radio receives which signal, how strong, and when.

One band (a channel at an air rate) carries one transmission at a time, in the order of the
calls. Signals weaken by 20 dB per decade of distance. Only loss is random, and the numbers that
radios draw from `random`: one seeded generator, so a run can be repeated.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

NEAREST_M = 0.1  # the distance of antennas that are closer


class Radio(Protocol):
    """A radio in the air."""

    name: str

    @property
    def position(self) -> tuple[float, float, float]: ...

    @property
    def sensitivity_dbm(self) -> float:
        """Weakest signal that it receives."""

    @property
    def band(self) -> Hashable:
        """The channel; radios with equal bands receive each other. None: off or asleep."""

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        """Take a whole frame; return true when this radio acknowledges it."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A frame on the air.

    power_at_1m_dbm: RSSI one metre away. The band stays busy for `answer_ns` after the frame, the
    time of an acknowledgement.
    """

    sender: Radio
    band: Hashable
    frame: object
    power_at_1m_dbm: float
    duration_ns: int
    answer_ns: int = 0


Sent = Callable[[list[Radio], int], None]


class Air:
    """Radios and the signals between them. loss: the chance that one radio misses one frame."""

    def __init__(self, seed: int = 0, loss: float = 0.0) -> None:
        if not 0.0 <= loss <= 1.0:
            raise ValueError(f"loss is {loss}; a chance is between 0 and 1")
        self.seed = seed
        self.loss = loss
        self.random = random.Random(seed)
        self.radios: list[Radio] = []
        self._free_at: dict[Hashable, int] = {}
        self._events: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = count()

    def join(self, radio: Radio) -> None:
        self.radios.append(radio)

    def leave(self, radio: Radio) -> None:
        self.radios.remove(radio)

    def call_at(self, when: int, action: Callable[[int], None]) -> None:
        """Run `action` at `when`."""
        heapq.heappush(self._events, (when, next(self._order), action))

    def next_deadline(self) -> int | None:
        return self._events[0][0] if self._events else None

    def advance(self, now: int) -> None:
        """Run the actions due by `now`; each gets the time it was due."""
        while self._events and self._events[0][0] <= now:
            when, _, action = heapq.heappop(self._events)
            action(when)

    def transmit(self, signal: Signal, sent: Sent, now: int) -> None:
        """Send `signal` as soon as its band is free; `sent` gets the radios that acknowledge it."""
        start = max(now, self._free_at.get(signal.band, 0))
        end = start + signal.duration_ns
        self._free_at[signal.band] = end + signal.answer_ns
        self.call_at(end, lambda when: self._arrive(signal, sent, when))

    def _arrive(self, signal: Signal, sent: Sent, now: int) -> None:
        acknowledged = []
        for radio in tuple(self.radios):
            if radio is signal.sender or radio.band is None or radio.band != signal.band:
                continue
            rssi = self.loudness_dbm(signal.sender, signal.power_at_1m_dbm, radio)
            if rssi < radio.sensitivity_dbm or self._lost():
                continue
            if radio.signal_received(signal, rssi, now) and not self._lost():
                acknowledged.append(radio)
        self.call_at(now + signal.answer_ns, lambda when: sent(acknowledged, when))

    def _lost(self) -> bool:
        return self.loss > 0.0 and self.random.random() < self.loss

    def loudness_dbm(self, sender: Radio, power_at_1m_dbm: float, radio: Radio) -> float:
        """Return the RSSI of `sender` at `radio`."""
        distance = max(math.dist(sender.position, radio.position), NEAREST_M)
        return power_at_1m_dbm - 20.0 * math.log10(distance)
