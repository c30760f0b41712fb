"""Emitter and Receiver: a queue of whole packets before a line, and arrivals on the sampling grid.

The line is a server with head-of-line order: a packet starts when it reaches the head (or at
`send`, when the line is idle) and leaves len * byteSize / baudRate seconds later, whole. The
instant is fixed at `send` in exact rational arithmetic.

In a stepped world the controller has no time but steps: a `send` belongs to the whole step in
which it happens (one on a step end to the next step), so the line starts where that step began, and
packets leave, and free their buffer, at step ends only. This is Webots' credit, which grants each
step its bytes and is lost when the queue empties.

As in Webots: the simulator holds arrivals until the sampling period is due, then passes them on
together; each is then queued or, when it does not fit, dropped whole. Reading (`nextPacket`)
frees the buffer. `now` is integer nanoseconds.
"""

import itertools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from hilgw.devices.fields import (
    CAP_BYTES,
    CAP_PACKETS,
    DEFAULT_STEP_MS,
    UNLIMITED,
    EmitterFields,
    ReceiverFields,
    channel_refusal,
    normalise,
)
from hilgw.devices.steps import StepClock
from hilgw.reasons import PacketRefused, RejectedReason
from hilgw.units import NS_PER_MS, NS_PER_S

_NEVER = 1 << 64
_FREE_RUNNING = StepClock(0)


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """A packet that left, with channel and range as they were at `send`."""

    data: bytes
    channel: int
    range: float
    offered_ns: int
    departed_ns: int


class Emitter:
    """An Emitter device.

    `notify` gets the lines Webots prints when a call is refused. steps: of a stepped world;
    without them, packets leave at any instant. range: of the packets that are sent from now on, in
    m; -1 is infinite.
    """

    def __init__(
        self,
        fields: EmitterFields,
        notify: Callable[[str], None] = lambda text: None,
        steps: StepClock = _FREE_RUNNING,
    ) -> None:
        self.fields = normalise(fields)[0]
        self._notify = notify
        self._steps = steps
        self.restore()
        self._waiting: deque[Departure] = deque()
        self._left: deque[Departure] = deque()  # departed, and not yet collected
        self._used = 0
        self._left_bytes = 0
        self._line_free = 0  # when the line falls idle, in ns * baudRate: no rounding

    def restore(self) -> None:
        """Set channel and range as the fields give them."""
        self._channel = self.fields.channel
        self.range = self._field_range = self.fields.range

    @property
    def queued(self) -> int:
        """Packets accepted and not yet collected by `depart`."""
        return len(self._waiting) + len(self._left)

    @property
    def queued_bytes(self) -> int:
        return self._used + self._left_bytes

    def send(self, data: bytes, now: int) -> RejectedReason | None:
        """Queue one packet whole; return None when it was accepted, else the reason."""
        size = len(data)
        if size == 0:
            self._notify("wb_emitter_send(): invalid size=0 argument.")
            return RejectedReason.INVALID
        self._settle(now + 1 if self._steps.step_ns else now)
        limit = self.fields.bufferSize
        if limit != UNLIMITED and size > limit - self._used:
            return RejectedReason.FULL
        if size > CAP_BYTES - self.queued_bytes or self.queued >= CAP_PACKETS:
            return RejectedReason.CAP
        leaves = self._reserve_line(size, now)
        self._waiting.append(Departure(bytes(data), self._channel, self.range, now, leaves))
        self._used += size
        return None

    def settle(self, now: int) -> None:
        """Free the buffer of the packets that have left by `now`; `depart` still returns them."""
        self._settle(now + 1)

    def next_departure(self) -> int | None:
        """Return when the next packet leaves, None when none will."""
        if self._left:
            return self._left[0].departed_ns
        if self._waiting and self._waiting[0].departed_ns != _NEVER:
            return self._waiting[0].departed_ns
        return None

    def depart(self, now: int) -> Departure | None:
        """Return the next packet that has left by `now`.

        Packets are collected one by one, so that queue and ledger agree while each is passed on.
        """
        if self._left:
            packet = self._left.popleft()
            self._left_bytes -= len(packet.data)
            return packet
        if self._waiting and self._waiting[0].departed_ns <= now:
            packet = self._waiting.popleft()
            self._used -= len(packet.data)
            return packet
        return None

    def expire_all(self) -> int:
        """Clear the queue (shutdown); return the number of packets in it."""
        expired = self.queued
        self._waiting.clear()
        self._left.clear()
        self._used = self._left_bytes = self._line_free = 0
        return expired

    def reach(self, until: int) -> float:
        """Return the range in m of the packets that leave at `until`; -1 is infinite.

        In a stepped world Webots judges all packets of a step by the last one's range. As in
        WbEmitter, a range of 0 that a packet brings is infinite, or maxRange.
        """
        last = None
        for packet in itertools.chain(self._left, self._waiting):
            if packet.departed_ns > until or (last is not None and not self._steps.step_ns):
                break
            last = packet
            if packet.range != self._field_range:
                self._field_range = packet.range if packet.range > 0 else self.fields.maxRange
        return self._field_range

    def getChannel(self) -> int:
        """Return the channel the next packet will carry."""
        return self._channel

    def setChannel(self, channel: int) -> bool:
        """Set the channel of packets sent from now on.

        Return False, with a notice, if not allowed.
        """
        refusal = channel_refusal(channel, self.fields.allowedChannels)
        if refusal is not None:
            self._notify(f"wb_emitter_set_channel() called with {refusal}")
            return False
        self._channel = channel
        return True

    def setRange(self, range: float) -> bool:
        """Set the range, clipped to maxRange; -1 sets maxRange.

        NaN is refused; Webots accepts it. Packets with a range of 0 reach as far as those with -1,
        see `reach`.
        """
        if math.isnan(range) or (range < 0 and range != UNLIMITED):
            self._notify(f"wb_emitter_set_range(): invalid range={range:f} argument.")
            return False
        largest = self.fields.maxRange
        if largest != UNLIMITED and (range == UNLIMITED or range > largest):
            range = largest
        self.range = float(range)
        return True

    def _reserve_line(self, size: int, now: int) -> int:
        baud, steps = self.fields.baudRate, self._steps
        begin = steps.last(now)
        if baud == UNLIMITED:
            return begin + steps.step_ns
        if baud == 0:
            return _NEVER
        start = max(begin * baud, self._line_free)
        self._line_free = start + size * self.fields.byteSize * NS_PER_S
        return steps.end(-(-self._line_free // baud))

    def _settle(self, before: int) -> None:
        while self._waiting and self._waiting[0].departed_ns < before:
            packet = self._waiting.popleft()
            self._used -= len(packet.data)
            self._left_bytes += len(packet.data)
            self._left.append(packet)


class ReceivedPacket(Protocol):
    """The part of a packet that the Receiver uses."""

    @property
    def data(self) -> bytes: ...


class ReceivedCopy(Protocol):
    """The part of a copy that the Receiver uses (`hilgw.medium.packet.Copy` is one)."""

    @property
    def packet(self) -> ReceivedPacket: ...


C = TypeVar("C", bound=ReceivedCopy)


@dataclass(frozen=True, slots=True)
class Sampled(Generic[C]):
    """The result of one sample: copies that became readable, and copies that did not fit.

    `reasons` has the reason of each that did not fit.
    """

    readable: tuple[C, ...] = ()
    refused: tuple[C, ...] = ()
    reasons: tuple[PacketRefused, ...] = ()


class Receiver(Generic[C]):
    """A Receiver device, disabled until `enable`.

    step_ms: the basic time step of a step-driven world, where samples fall on step ends, so
    periods act as whole steps; None in free-running use. `notify` gets the lines Webots prints.
    """

    def __init__(
        self,
        fields: ReceiverFields,
        step_ms: int | None = None,
        notify: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.fields = normalise(fields)[0]
        period_ms = self.fields.sampling_period_ms
        self.default_period_ms = period_ms or step_ms or DEFAULT_STEP_MS
        self.initial_period_ms = self.default_period_ms if period_ms is None else period_ms
        self._step_ms = step_ms
        self._notify = notify
        self._channel = self.fields.channel
        self._requested_channel: int | None = None
        self._period_ms = 0
        self._grid_ns = 0
        self._sampled_ns = 0
        self._held: deque[tuple[int, C]] = deque()
        self._queue: deque[C] = deque()
        self._held_bytes = 0
        self._used = 0

    # --- called by the world --------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """True if the medium may deliver."""
        return self._period_ms > 0

    @property
    def queued(self) -> int:
        """Copies received and not yet read: held for the grid, or readable."""
        return len(self._held) + len(self._queue)

    @property
    def queued_bytes(self) -> int:
        return self._held_bytes + self._used

    def receive(self, copy: C, now: int) -> PacketRefused | None:
        """Hold one copy for the next sample; return None, or why it was refused."""
        if not self.enabled:
            return PacketRefused.DISABLED
        size = len(copy.packet.data)
        if size > CAP_BYTES - self.queued_bytes or self.queued >= CAP_PACKETS:
            return PacketRefused.CAP
        self._held.append((now, copy))
        self._held_bytes += size
        return None

    def next_sample(self) -> int | None:
        """Return when `sample` would make something readable; None when nothing is held."""
        if not self.enabled or not self._held:
            return None
        waited = max(self._held[0][0] - self._sampled_ns, 1)
        return self._sampled_ns + -(-waited // self._grid_ns) * self._grid_ns

    def sample(self, now: int) -> Sampled[C]:
        """Make readable what arrived up to the last grid instant, if one has come."""
        if not self.enabled or now < self._sampled_ns + self._grid_ns:
            return Sampled()
        self._sampled_ns += (now - self._sampled_ns) // self._grid_ns * self._grid_ns
        readable, refused, reasons = [], [], []
        while self._held and self._held[0][0] <= self._sampled_ns:
            copy = self._held.popleft()[1]
            self._held_bytes -= len(copy.packet.data)
            reason = self._admit(copy)
            if reason is not None:
                refused.append(copy)
                reasons.append(reason)
            else:
                readable.append(copy)
        return Sampled(tuple(readable), tuple(refused), tuple(reasons))

    def adopt_channel(self, channel: int) -> None:
        self._channel = channel

    def take_channel(self) -> int | None:
        """Return the channel requested since the last call, for the medium; None when none was."""
        requested, self._requested_channel = self._requested_channel, None
        return requested

    def expire_all(self) -> int:
        """Clear the queue (shutdown); return the number of copies in it."""
        expired = self.queued
        self._held.clear()
        self._queue.clear()
        self._held_bytes = self._used = 0
        return expired

    # --- called by the controller ---------------------------------------------------------------

    def enable(self, period_ms: int, now: int) -> bool:
        """Start listening: the first sample is due one period from now. 0 disables."""
        if period_ms < 0:
            self._notify("wb_receiver_enable() called with negative sampling period.")
            return False
        self._period_ms = period_ms
        step_ms = self._step_ms or 1
        self._grid_ns = -(-period_ms // step_ms) * step_ms * NS_PER_MS
        self._sampled_ns = now
        return True

    def disable(self) -> None:
        """Stop listening; the queue is kept."""
        self._period_ms = 0

    def getSamplingPeriod(self) -> int:
        """Return the period in ms, 0 when disabled."""
        return self._period_ms

    def getQueueLength(self) -> int:
        """Return the number of packets that can be read."""
        if not self.enabled:
            self._notify(
                "wb_receiver_get_queue_length() called for a disabled device! "
                "Please use: wb_receiver_enable()."
            )
        return len(self._queue)

    def nextPacket(self) -> C | None:
        """Remove and return the head packet; None, without a notice, when there is none."""
        if not self._queue:
            return None
        copy = self._queue.popleft()
        self._used -= len(copy.packet.data)
        return copy

    @property
    def head(self) -> C | None:
        """The head packet, left where it is."""
        return self._queue[0] if self._queue else None

    def getChannel(self) -> int:
        """Return the channel listened to; -1 is all."""
        return self._channel

    def setChannel(self, channel: int) -> bool:
        """Set the channel; return False, with a notice, when not allowed.

        The present channel: no change.
        """
        if channel == self._channel:
            return True
        refusal = channel_refusal(channel, self.fields.allowedChannels)
        if refusal is not None:
            self._notify(f"wb_receiver_set_channel() called with {refusal}")
            return False
        self._channel = self._requested_channel = channel
        return True

    def _admit(self, copy: C) -> PacketRefused | None:
        size = len(copy.packet.data)
        limit = self.fields.bufferSize  # `receive` has checked the cap
        if limit != UNLIMITED and size > limit - self._used:
            return PacketRefused.OVERFLOW
        self._queue.append(copy)
        self._used += size
        return None
