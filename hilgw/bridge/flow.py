"""What a bridge counts, and the framing of one of its streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hilgw.errors import FrameError

if TYPE_CHECKING:
    from hilgw.framing.base import Framing
    from hilgw.transports.base import Handle, Scheduler

# Reasons in `dropped` beside those of the framings; each counts bytes.
PORT_DOWN = "port_down_bytes"  # for the port, while it was away or when it went
NOT_WRITER = "not_writer_bytes"  # from a client that is not the one that writes
NO_CLIENT = "no_client_bytes"  # from the port, while nobody listened
CLIENT_SLOW = "client_slow_bytes"  # waiting for a client that was disconnected for it
CLIENT_GONE = "client_gone_bytes"  # waiting for a client that left
FULL = "full_bytes"
CANNOT_CARRY = "cannot_carry"  # frames, as those of the framings

Feed = Callable[[bytes], None]


@dataclass(slots=True)
class Flow:
    """One direction of a bridge. received: what came in; sent: what was passed on, per listener."""

    received_bytes: int = 0
    sent_bytes: int = 0
    frames: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def take_back(self, size: int, reason: str) -> None:
        """So many bytes were passed on, and never left."""
        if size:
            self.sent_bytes -= size
            self.dropped[reason] += size

    def as_dict(self) -> dict[str, Any]:
        return {
            "received_bytes": self.received_bytes,
            "sent_bytes": self.sent_bytes,
            "frames": self.frames,
            "dropped": {reason: count for reason, count in self.dropped.items() if count},
        }


class Reframer:
    """Takes a framed stream apart and puts its good frames together again.

    deliver gets whole frames, ready for the wire. Bad ones are counted in `flow`.
    """

    def __init__(
        self,
        framing: Framing,
        scheduler: Scheduler,
        flow: Flow,
        deliver: Feed,
    ) -> None:
        self._framing = framing
        self._scheduler = scheduler
        self._flow = flow
        self._deliver = deliver
        self._alarm: Handle | None = None
        # All streams of one direction count together.
        framing.dropped = flow.dropped

    def feed(self, data: bytes) -> None:
        framing = self._framing
        payloads = framing.feed(data, self._scheduler.now())
        if payloads:
            self._pass_on(payloads)
        if self._alarm is None and (deadline := framing.next_deadline()) is not None:
            self._alarm = self._scheduler.call_at(deadline, self._expire)

    def reset(self) -> None:
        """The stream was interrupted; an unfinished frame is dropped and counted."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._framing.reset()

    def _expire(self) -> None:
        self._alarm = None
        payloads = self._framing.expire(self._scheduler.now())
        if payloads:
            self._pass_on(payloads)
        if self._alarm is None and (deadline := self._framing.next_deadline()) is not None:
            self._alarm = self._scheduler.call_at(deadline, self._expire)

    def _pass_on(self, payloads: list[bytes]) -> None:
        encode = self._framing.encode
        try:
            data = b"".join(map(encode, payloads))
        except FrameError:
            payloads = self._those_that_fit(payloads)
            data = b"".join(map(encode, payloads))
        self._flow.frames += len(payloads)
        if data:
            self._deliver(data)

    def _those_that_fit(self, payloads: list[bytes]) -> list[bytes]:
        fit = []
        for payload in payloads:
            try:
                self._framing.encode(payload)
                fit.append(payload)
            except FrameError:
                self._flow.dropped[CANNOT_CARRY] += 1
        return fit
