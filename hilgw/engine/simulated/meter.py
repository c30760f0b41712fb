"""The speed that a run in simulated time achieved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hilgw.units import ns_to_s


class SpeedMeter:
    """From start() to stop(). speed: the one that was set, a factor or "max". now: of the simulated
    clock, ns."""

    def __init__(
        self,
        speed: float | str,
        now: Callable[[], int],
        real_now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._speed = speed
        self._now = now
        self._real_now = real_now
        self._began = self._ended = (0, 0)
        self._running = False

    def start(self) -> None:
        self._began, self._running = (self._now(), self._real_now()), True

    def stop(self) -> None:
        self._ended, self._running = (self._now(), self._real_now()), False

    def report(self) -> dict[str, Any]:
        """achieved: simulated time per real time; None before any has passed."""
        now, real_now = (self._now(), self._real_now()) if self._running else self._ended
        simulated_ns, real_ns = now - self._began[0], real_now - self._began[1]
        return {
            "set": self._speed,
            "achieved": round(simulated_ns / real_ns, 3) if real_ns else None,
            "real_s": round(ns_to_s(real_ns), 3),
        }
