"""History of the ports of a gateway: since when one is in its state, its last loss, its rates.

Ports and control loops keep counters, which are sampled once a second: a rate is the difference
between now and a sample that is one to two seconds old, so nothing is computed for each byte.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from hilgw.engine.observer import Observer, State
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_S, ns_to_s

COUNTED = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")
Sample = dict[str, tuple[int, ...]]  # the counters of each port: those of COUNTED


class PortHistory(Observer):
    """The history of all ports.

    clock: of real time. sample: reads the counters. began_ns: when the gateway was made.
    """

    def __init__(self, clock: Scheduler, sample: Callable[[], Sample]) -> None:
        self._clock, self._now, self._sample = clock, clock.now, sample
        self.began_ns = self._now()
        self._since: dict[str, tuple[State, int]] = {}
        self._losses: dict[str, tuple[int, str, str]] = {}
        self._samples: deque[tuple[int, Sample]] = deque(maxlen=2)
        self._timer: Handle | None = None

    def start(self) -> None:
        """Sample the counters now, and then once a second."""
        now = self._now()
        self._samples.append((now, self._sample()))
        self._timer = self._clock.call_at(now + NS_PER_S, self.start)

    def close(self) -> None:
        """Stop sampling."""
        if self._timer is not None:
            self._timer.cancel()

    def state(self, station: str, state: State, reason: str) -> None:
        before, _ = self._since.get(station, (State.CLOSED, 0))
        if state is not before:
            self._since[station] = state, self._now()
        if before is State.UP and state not in (State.UP, State.RELEASED, State.CLOSED):
            self._losses[station] = self._now(), "port", reason

    def refused(self, station: str, reason: str, text: str) -> None:
        self._losses[station] = self._now(), "packet", reason

    def of(self, port: str, counts: tuple[int, ...]) -> dict[str, Any]:
        """Return what the status shows of a port. counts: of the port, now."""
        _, since_ns = self._since.get(port, (State.CLOSED, self.began_ns))
        loss_ns, loss, reason = self._losses.get(port, (0, "", ""))
        then_ns, then = self._samples[0] if self._samples else (self._now(), {})
        seconds, before = ns_to_s(self._now() - then_ns), then.get(port, (0,) * len(COUNTED))
        return {
            "since_s": self.age_s(since_ns),
            **dict(zip(COUNTED, counts, strict=True)),
            **{
                f"{name}_per_s": round((new - old) / seconds, 1) if seconds else 0.0
                for name, new, old in zip(COUNTED, counts, before, strict=True)
            },
            "last_loss": {"what": loss, "reason": reason, "age_s": self.age_s(loss_ns)}
            if loss
            else None,
        }

    def age_s(self, begin_ns: int) -> float:
        return round(ns_to_s(self._now() - begin_ns), 3)
