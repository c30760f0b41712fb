"""Byte streams over codes: for each address its bytes, and the framing that makes packets of them.

A stream that falls silent in the middle of a packet is given up, and of too many streams at once
the one silent for longest.
"""

from __future__ import annotations

from collections.abc import Callable

from hilgw import framing as framings
from hilgw.adapters._common.session_parts import DropCounts
from hilgw.adapters.base import CannotSend, Dropped, Event
from hilgw.adapters.ir_toy.settings import IrToySettings, byte_ms, framing_settings
from hilgw.errors import FrameError
from hilgw.protocols.ir import Code, Traits
from hilgw.protocols.ir.octets import Octets

MOST_STREAMS = 16
SILENT_BYTES = 6  # byte times without a code: nothing more will come
MS = 1_000_000

_EMPTY = Dropped("empty", "a frame without data")


class _Stream:
    def __init__(self, spec: object, command_bits: int) -> None:
        self.framing = framings.create(spec)
        self.octets = Octets(command_bits)
        self.last_ns = 0
        self._drop_counts = DropCounts()

    def drops(self) -> list[Event]:
        """What was dropped since the last report, one event for each reason."""
        totals = {**self.framing.dropped, "lost_code": self.octets.lost}
        return [
            Dropped(reason, f"over codes: {reason.replace('_', ' ')}", count)
            for reason, count in self._drop_counts.new(totals)
        ]


class Streams:
    """The streams of one adapter. heard: makes the event of a packet from an address."""

    def __init__(
        self, settings: IrToySettings, traits: Traits, heard: Callable[[int, bytes], Event]
    ) -> None:
        self._spec = framing_settings(settings, traits)
        self._sender = framings.create(self._spec)
        self._bits = traits.command_bits
        self.pause_ns = self._sender.pause_ns
        silent_ns = round(SILENT_BYTES * byte_ms(settings, traits) * MS)
        self._silent_ns = max(silent_ns, 2 * self.pause_ns)
        self._heard = heard
        self._streams: dict[int, _Stream] = {}  # the one silent for longest comes first

    def encode(self, payload: bytes) -> bytes | CannotSend:
        """The bytes of one packet."""
        try:
            return self._sender.encode(payload)
        except FrameError as error:
            reason = "too_long" if len(payload) > self._sender.max_payload else "unframable"
            return CannotSend(reason, str(error))

    def feed(self, code: Code, now: int) -> list[Event]:
        """A code of an address: the packets it completes, and what was dropped."""
        events: list[Event] = []
        address = code.address
        stream = self._streams.pop(address, None)
        if stream is None:
            if len(self._streams) >= MOST_STREAMS:
                events += self._give_up(next(iter(self._streams)))
            stream = _Stream(self._spec, self._bits)
        self._streams[address] = stream
        stream.last_ns = now
        octet = stream.octets.feed(code.command)
        return events + self._report(address, stream.framing.feed(octet, now) if octet else [])

    def next_deadline(self) -> int | None:
        dues = [stream.last_ns + self._silent_ns for stream in self._streams.values()]
        timed = (stream.framing.next_deadline() for stream in self._streams.values())
        return min((due for due in (*dues, *timed) if due is not None), default=None)

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        for address, stream in list(self._streams.items()):
            events += self._report(address, stream.framing.expire(now))
            if now >= stream.last_ns + self._silent_ns:
                events += self._give_up(address)
        return events

    def close(self) -> list[Event]:
        return [event for address in list(self._streams) for event in self._give_up(address)]

    def _report(self, address: int, payloads: list[bytes]) -> list[Event]:
        events: list[Event] = [
            self._heard(address, payload) if payload else _EMPTY for payload in payloads
        ]
        return events + self._streams[address].drops()

    def _give_up(self, address: int) -> list[Event]:
        stream = self._streams.pop(address)
        stream.octets.reset()
        stream.framing.reset()
        return stream.drops()
