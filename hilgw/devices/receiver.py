"""Receiver: arrivals become readable together on the sampling grid, in a bounded queue.

As in Webots: the simulator holds arrivals until the sampling period is due, then passes them on
together; each is then queued or, when it does not fit, dropped whole. Reading (`nextPacket`)
frees the buffer. `now` is integer nanoseconds.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from hilgw.devices.fields import (
    CAP_BYTES,
    CAP_PACKETS,
    DEFAULT_STEP_MS,
    UNLIMITED,
    ReceiverFields,
    channel_refusal,
    normalise,
)
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_MS


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
