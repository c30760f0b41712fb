"""Packets to codes and back: the contents of a packet depend on mapping, framing and code."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from hilgw import framing as framings
from hilgw.adapters._common.framed_line import EMPTY, cannot_frame
from hilgw.adapters._common.framing_settings import patient
from hilgw.adapters._common.module import DropCounts
from hilgw.adapters.base import CannotSend, Dropped, Event, Received, StationSettings
from hilgw.adapters.ir_toy.reasons import IrToyDropped
from hilgw.adapters.ir_toy.receiver import LONGEST_RAW
from hilgw.adapters.ir_toy.settings import (
    BYTES_APART,
    IrToySettings,
    OneChannel,
    Target,
    byte_ms,
    carrier_of,
    traits_of,
)
from hilgw.errors import FrameError
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.protocols.ir import Code, Traits
from hilgw.protocols.ir.payload import ByteDecoder, encode_bytes
from hilgw.protocols.ir.receiver import MARK_LIMIT_US
from hilgw.reasons import PacketRefused
from hilgw.units import earliest, ms_to_ns

LONGEST_FRAMED = 256  # bytes; NEC takes half a minute for them
LONGEST_US = 0xFFFF
SHORTEST_US = 50  # two periods of the carrier; shorter marks have no light

MOST_STREAMS = 16
SILENT_BYTES = 6  # byte times without a code after which a stream has ended


@dataclass(frozen=True, slots=True)
class Burst:
    """A transmission: a code, or bare durations."""

    carrier_hz: int
    code: Code | None
    durations: tuple[int, ...] = ()


Outward = list[Burst] | CannotSend


class Packets(ABC):
    """The packets of a codec.

    channels: those whose packets are sent, None: all. pause_ns: silence after a packet. Those that
    need no clock have no deadline.
    """

    channels: frozenset[int] | None
    pause_ns = 0

    @abstractmethod
    def outward(self, packet: Packet) -> Outward: ...

    @abstractmethod
    def inward(self, code: Code, now: int) -> list[Event]: ...

    def next_deadline(self) -> int | None:
        return None

    def expire(self, now: int) -> list[Event]:
        return []

    def close(self) -> list[Event]:
        return []


def packets_for(settings: IrToySettings, common: StationSettings) -> Packets:
    traits = traits_of(settings)
    if traits is None:
        return RawPackets(settings, common)
    if settings.is_framed:
        return FramedPackets(settings, common, traits)
    return Codes(settings, common, traits)


class Addresses:
    """The addresses of channels, and the channels of addresses."""

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        self._carrier_hz = carrier_of(settings)
        self._last = (1 << traits.address_bits) - 1
        self._own = common.channel
        if isinstance(settings.mapping, OneChannel):
            self._table = {common.channel: Target(address=common.channel)}
        else:
            self._table = settings.mapping.table
        self._channels = {target.address: channel for channel, target in self._table.items()}
        self.channels = frozenset(self._table) if self._table else None

    def targets(self, channel: int) -> list[tuple[int, int]]:
        """Return each (address, carrier) of a channel; the whole table for a broadcast.

        The list is empty when the mapping has no such channel.
        """
        if not self._table:
            address = self._own if channel == BROADCAST else channel
            return [(address, self._carrier_hz)] if 0 <= address <= self._last else []
        if channel == BROADCAST:
            targets = list(self._table.values())
        else:
            targets = [self._table[channel]] if channel in self._table else []
        return [(each.address, each.carrier_hz or self._carrier_hz) for each in targets]

    def channel_of(self, address: int) -> int | None:
        return self._channels.get(address) if self._table else address


def source_of(address: int, traits: Traits) -> str:
    """Return an address as written in `sources`."""
    return f"{address:0{2 * _octets(traits.address_bits)}X}"


def _octets(bits: int) -> int:
    return (bits + 7) // 8


def _no_channel(packet: Packet) -> CannotSend:
    return CannotSend(PacketRefused.CHANNEL, f"channel {packet.channel} has no address here")


class Codes(Packets):
    """A packet is the command of a code, high byte first; the channel is the address.

    With mapping channel the address comes before the command in the packet.
    """

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        is_whole = isinstance(settings.mapping, OneChannel)
        self._addresses = Addresses(settings, common, traits)
        self.channels = self._addresses.channels
        self._traits = traits
        self._own = common.channel if is_whole else None
        self._address = _octets(traits.address_bits) if is_whole else 0
        self._command = _octets(traits.command_bits)
        self._noun = "address and command" if is_whole else "a command"

    def outward(self, packet: Packet) -> Outward:
        targets = self._addresses.targets(packet.channel)
        if not targets:
            return _no_channel(packet)
        size = len(packet.data)
        wanted = self._address + self._command
        if size != wanted:
            text = f"{size} bytes; a packet is {self._noun}: {wanted} byte{'s' * (wanted > 1)}"
            return CannotSend(PacketRefused.TOO_LONG if size > wanted else "too_short", text)
        address, command = packet.data[: self._address], packet.data[self._address :]
        if address:
            targets = [(int.from_bytes(address, "big"), carrier_hz) for _, carrier_hz in targets]
        return _bursts(targets, command, self._traits)

    def inward(self, code: Code, now: int) -> list[Event]:
        channel = self._addresses.channel_of(code.address) if self._own is None else self._own
        if channel is None:
            return [_unknown_address(code)]
        data = code.command.to_bytes(self._command, "big")
        if self._address:
            data = code.address.to_bytes(self._address, "big") + data
        return [Received(data, channel, address=source_of(code.address, self._traits))]


# --- byte streams over codes ----------------------------------------------------------------------


class _Stream:
    def __init__(self, spec: object, command_bits: int) -> None:
        self.framing = framings.create(spec)
        self.octets = ByteDecoder(command_bits)
        self.last_ns = 0
        self._drop_counts = DropCounts()

    def drops(self) -> list[Event]:
        totals = {**self.framing.dropped, IrToyDropped.LOST_CODE: self.octets.lost}
        return [
            Dropped(reason, f"over codes: {reason.replace('_', ' ')}", count)
            for reason, count in self._drop_counts.new(totals)
        ]


class FramedPackets(Packets):
    """A packet is bytes, one or two codes each; the channel is the address.

    Each address has a byte stream, and a framing that separates its packets. A stream that falls
    silent within a packet is closed; when there are too many streams, so is the one that has been
    silent longest.
    """

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        self._addresses = Addresses(settings, common, traits)
        self.channels = self._addresses.channels
        self._traits = traits
        self._spec = patient(settings.framing, BYTES_APART * byte_ms(settings, traits))
        self._sender = framings.create(self._spec)
        self.pause_ns = self._sender.pause_ns
        self._silent_ns = max(ms_to_ns(SILENT_BYTES * byte_ms(settings, traits)), 2 * self.pause_ns)
        self._streams: dict[int, _Stream] = {}  # the one silent longest comes first

    def outward(self, packet: Packet) -> Outward:
        targets = self._addresses.targets(packet.channel)
        if not targets:
            return _no_channel(packet)
        if not packet.data:
            return CannotSend(PacketRefused.EMPTY, "a packet must have at least one byte")
        if len(packet.data) > LONGEST_FRAMED:
            text = f"{len(packet.data)} bytes would take minutes, the limit is {LONGEST_FRAMED}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        try:
            frame = self._sender.encode(packet.data)
        except FrameError as error:
            return cannot_frame(self._sender, packet.data, error)
        return [
            Burst(carrier_hz, Code(address, command))
            for address, carrier_hz in targets
            for command in encode_bytes(frame, self._traits.command_bits)
        ]

    def inward(self, code: Code, now: int) -> list[Event]:
        address = code.address
        if self._addresses.channel_of(address) is None:
            return [_unknown_address(code)]
        events: list[Event] = []
        stream = self._streams.pop(address, None)
        if stream is None:
            if len(self._streams) >= MOST_STREAMS:
                events += self._give_up(next(iter(self._streams)))
            stream = _Stream(self._spec, self._traits.command_bits)
        self._streams[address] = stream
        stream.last_ns = now
        octet = stream.octets.feed(code.command)
        return events + self._report(address, stream.framing.feed(octet, now) if octet else [])

    def next_deadline(self) -> int | None:
        dues = [stream.last_ns + self._silent_ns for stream in self._streams.values()]
        timed = (stream.framing.next_deadline() for stream in self._streams.values())
        return earliest(*dues, *timed)

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
        channel = self._addresses.channel_of(address)
        assert channel is not None
        source = source_of(address, self._traits)
        events: list[Event] = [
            Received(payload, channel, address=source) if payload else EMPTY for payload in payloads
        ]
        return events + self._streams[address].drops()

    def _give_up(self, address: int) -> list[Event]:
        stream = self._streams.pop(address)
        stream.octets.reset()
        stream.framing.reset()
        return stream.drops()


# --- bare timings ---------------------------------------------------------------------------------


class RawPackets(Packets):
    """A packet is durations in microseconds, 16 bits each, high byte first: mark, space, mark."""

    def __init__(self, settings: IrToySettings, common: StationSettings) -> None:
        self.channels = frozenset({common.channel})
        self._channel = common.channel
        self._carrier_hz = carrier_of(settings)

    def outward(self, packet: Packet) -> Outward:
        data = packet.data
        if packet.channel not in (self._channel, BROADCAST):
            return _no_channel(packet)
        if len(data) > 2 * LONGEST_RAW:
            text = f"{len(data)} bytes of timings, the limit is {2 * LONGEST_RAW}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if len(data) % 4 != 2:
            text = "timings are 16 bits each, and the first and the last is a mark"
            return CannotSend(PacketRefused.UNFRAMABLE, text)
        durations = tuple(high << 8 | low for high, low in zip(data[::2], data[1::2], strict=True))
        if min(durations) < SHORTEST_US or max(durations[::2]) >= MARK_LIMIT_US:
            text = (
                f"a mark must have {SHORTEST_US} to {MARK_LIMIT_US - 1} us, a space "
                f"{SHORTEST_US} us or more"
            )
            return CannotSend(PacketRefused.UNFRAMABLE, text)
        return [Burst(self._carrier_hz, None, durations)]

    def inward(self, code: Code, now: int) -> list[Event]:
        return []

    def received(self, durations: tuple[int, ...]) -> Event:
        data = b"".join(min(us, LONGEST_US).to_bytes(2, "big") for us in durations)
        return Received(data, self._channel)


def _bursts(targets: list[tuple[int, int]], command: bytes, traits: Traits) -> Outward:
    value = int.from_bytes(command, "big")
    for word, number, bits in (
        *(("address", address, traits.address_bits) for address, _ in targets),
        ("command", value, traits.command_bits),
    ):
        if number >> bits:
            text = f"{word} {number} does not fit into the {bits} bits of {traits.title}"
            return CannotSend(PacketRefused.UNFRAMABLE, text)
    return [Burst(carrier_hz, Code(address, value)) for address, carrier_hz in targets]


def _unknown_address(code: Code) -> Event:
    return Dropped(
        IrToyDropped.ADDRESS, f"a code of address {code.address}, which has no channel here"
    )
