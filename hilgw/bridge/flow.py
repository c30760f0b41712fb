"""Statistics of a bridge, and the framing of its streams."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hilgw.errors import FrameError
from hilgw.framing.base import Framing
from hilgw.reasons import DroppedReason
from hilgw.transports.base import Scheduler, Wakeup


class BridgeDropped(DroppedReason):
    """Reasons of the bridge. Each counts bytes, except cannot_carry, which counts frames."""

    PORT_DOWN = "port_down_bytes", "for the port, while it was down or when it was lost"
    NOT_WRITER = "not_writer_bytes", "from a client that is not a writer"
    NO_CLIENT = "no_client_bytes", "from the port, while no client was connected"
    CLIENT_SLOW = "client_slow_bytes", "for a client that was disconnected as it read too little"
    CLIENT_GONE = "client_gone_bytes", "for a client that disconnected or reset its connection"
    WRITER_GONE = "writer_gone_bytes", "for the port, from a client that is gone"
    PURGED = "purged_bytes", "for the port, purged by an RFC 2217 client"
    TELNET = "telnet_bytes", "for the port, from a raw client that uses telnet"
    SWALLOWED = (
        "swallowed_bytes",
        "for the port, taken for telnet from a raw client at the RFC 2217 address",
    )
    FULL = "full_bytes", "for the port, whose write buffer had no room"
    CANNOT_CARRY = "cannot_carry", "a frame that the framing cannot carry"


Feed = Callable[[bytes], None]


@dataclass(slots=True)
class Flow:
    """A direction of a bridge, or of one client of it.

    received: bytes in; sent: bytes out, to all clients together. `sent` has those that wait in a
    transport: see `as_dict`.
    """

    received_bytes: int = 0
    sent_bytes: int = 0
    frames: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def drop(self, reason: str, count: int) -> None:
        """Count bytes or frames as lost, for a reason that is declared as a DroppedReason."""
        self.dropped[DroppedReason.check(reason)] += count

    def take_back(self, size: int, reason: str) -> None:
        """Move bytes that were never sent from `sent` to `dropped`."""
        if size:
            self.sent_bytes -= size
            self.drop(reason, size)

    def ledger(self, waiting: int, queued: int, accepted: int | None = None) -> dict[str, Any]:
        """Return the ledger: without a framing, accepted = sent + queued + all that was dropped.

        Args:
          waiting: bytes counted as sent that the kernel has not accepted.
          queued: these, and those that wait to be sent.
          accepted: by default the bytes received.
        """
        return {
            "accepted_bytes": self.received_bytes if accepted is None else accepted,
            "sent_bytes": self.sent_bytes - waiting,
            "queued_bytes": queued,
            "dropped": {reason: count for reason, count in self.dropped.items() if count},
        }

    def as_dict(self, waiting: int, queued: int, accepted: int | None = None) -> dict[str, Any]:
        """Return the ledger of a direction and its frames, for the report."""
        ledger = self.ledger(waiting, queued, accepted)
        return {"received_bytes": self.received_bytes, "frames": self.frames, **ledger}


class Reframer:
    """Decoder of a framed stream, which encodes its valid frames again.

    Each stream has a framing of its own, as it has its own unfinished frame. deliver: receives
    whole frames as on the wire. Invalid ones are counted in `flow`.
    """

    def __init__(
        self,
        new_framing: Callable[[], Framing],
        scheduler: Scheduler,
        flow: Flow,
        deliver: Feed,
    ) -> None:
        self._framing = new_framing()
        self._scheduler = scheduler
        self._flow = flow
        self._deliver = deliver
        self._wakeup = Wakeup(scheduler, lambda _: self._expire())
        # All streams of one direction share their counts.
        self._framing.dropped = flow.dropped

    def feed(self, data: bytes) -> None:
        payloads = self._framing.feed(data, self._scheduler.now())
        if payloads:
            self._pass_on(payloads)
        self._set_alarm()

    def reset(self) -> None:
        """Drop and count an unfinished frame: the stream was interrupted."""
        self._wakeup.set(None)
        self._framing.reset()

    def _expire(self) -> None:
        payloads = self._framing.expire(self._scheduler.now())
        if payloads:
            self._pass_on(payloads)
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Keep an earlier alarm, which sets itself again; replace a later one."""
        deadline, alarm = self._framing.next_deadline(), self._wakeup.at
        if deadline is not None and (alarm is None or deadline < alarm):
            self._wakeup.set(deadline)

    def _pass_on(self, payloads: list[bytes]) -> None:
        encode = self._framing.encode
        try:
            data = b"".join(map(encode, payloads))
        except FrameError:
            payloads = self._encodable(payloads)
            data = b"".join(map(encode, payloads))
        self._flow.frames += len(payloads)
        if data:
            self._deliver(data)

    def _encodable(self, payloads: list[bytes]) -> list[bytes]:
        fit = []
        for payload in payloads:
            try:
                self._framing.encode(payload)
                fit.append(payload)
            except FrameError:
                self._flow.drop(BridgeDropped.CANNOT_CARRY, 1)
        return fit


NewReframer = Callable[[Flow, Feed], Reframer]
