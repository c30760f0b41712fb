"""Packets to codes and back: what a packet is depends on mapping, framing and code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hilgw.adapters.base import CannotSend, Dropped, Event, Received, StationSettings
from hilgw.adapters.ir_toy.settings import (
    IrToySettings,
    OneChannel,
    Target,
    carrier_of,
    is_framed,
    traits_of,
)
from hilgw.adapters.ir_toy.streams import Streams
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.protocols.ir import Code, Traits
from hilgw.protocols.ir.payload import encode_bytes
from hilgw.protocols.ir.receiver import MARK_LIMIT_US

LONGEST_FRAMED = 256  # bytes; NEC takes half a minute for them
LONGEST_RAW = 256  # durations
LONGEST_US = 0xFFFF
SHORTEST_US = 50  # two periods of the carrier; less is no light


@dataclass(frozen=True, slots=True)
class Shot:
    """What is played in one go: a code, or bare durations."""

    carrier_hz: int
    code: Code | None
    durations: tuple[int, ...] = ()


Outward = list[Shot] | CannotSend


class Packets(Protocol):
    """`channels`: what the medium sends here, None: all. `pause_ns`: silence behind a packet."""

    channels: frozenset[int] | None
    pause_ns: int

    def outward(self, packet: Packet) -> Outward: ...

    def inward(self, code: Code, now: int) -> list[Event]: ...

    def next_deadline(self) -> int | None: ...

    def expire(self, now: int) -> list[Event]: ...

    def close(self) -> list[Event]: ...


def packets_for(settings: IrToySettings, common: StationSettings) -> Packets:
    traits = traits_of(settings)
    if traits is None:
        return RawPackets(settings, common)
    if is_framed(settings):
        return FramedPackets(settings, common, traits)
    if isinstance(settings.mapping, OneChannel):
        return WholeCodes(settings, common, traits)
    return Commands(settings, common, traits)


class Untimed:
    """What needs no clock."""

    pause_ns = 0

    def next_deadline(self) -> int | None:
        return None

    def expire(self, now: int) -> list[Event]:
        return []

    def close(self) -> list[Event]:
        return []


class Addresses:
    """Which address is which channel's."""

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
        """(address, carrier) of a channel; all of the table for a broadcast; none: no such
        channel here."""
        if not self._table:
            address = self._own if channel == BROADCAST else channel
            return [(address, self._carrier_hz)] if 0 <= address <= self._last else []
        if channel == BROADCAST:
            found = list(self._table.values())
        else:
            found = [self._table[channel]] if channel in self._table else []
        return [(each.address, each.carrier_hz or self._carrier_hz) for each in found]

    def channel_of(self, address: int) -> int | None:
        return self._channels.get(address) if self._table else address


def source_of(address: int, traits: Traits) -> str:
    """An address as `sources` names it."""
    return f"{address:0{2 * _octets(traits.address_bits)}X}"


def _octets(bits: int) -> int:
    return (bits + 7) // 8


def _wrong_size(packet: Packet, wanted: int, what: str) -> CannotSend | None:
    size = len(packet.data)
    if size == wanted:
        return None
    text = f"{size} bytes; a packet is {what}: {wanted} byte{'s' * (wanted > 1)}"
    return CannotSend("too_long" if size > wanted else "too_short", text)


def _no_channel(packet: Packet) -> CannotSend:
    return CannotSend("channel", f"channel {packet.channel} has no address here")


class WholeCodes(Untimed):
    """A packet is the address of a code, then its command, high bytes first."""

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        self.channels: frozenset[int] | None = frozenset({common.channel})
        self._channel = common.channel
        self._traits = traits
        self._carrier_hz = carrier_of(settings)
        self._address = _octets(traits.address_bits)
        self._size = self._address + _octets(traits.command_bits)

    def outward(self, packet: Packet) -> Outward:
        if packet.channel not in (self._channel, BROADCAST):
            return _no_channel(packet)
        refusal = _wrong_size(packet, self._size, "address and command")
        if refusal:
            return refusal
        address, command = packet.data[: self._address], packet.data[self._address :]
        return _shots([(int.from_bytes(address, "big"), self._carrier_hz)], command, self._traits)

    def inward(self, code: Code, now: int) -> list[Event]:
        data = code.address.to_bytes(self._address, "big")
        data += code.command.to_bytes(self._size - self._address, "big")
        return [Received(data, self._channel, address=source_of(code.address, self._traits))]


class Commands(Untimed):
    """A packet is the command of a code, high byte first; the channel is the address."""

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        self._addresses = Addresses(settings, common, traits)
        self.channels = self._addresses.channels
        self._traits = traits
        self._size = _octets(traits.command_bits)

    def outward(self, packet: Packet) -> Outward:
        targets = self._addresses.targets(packet.channel)
        if not targets:
            return _no_channel(packet)
        return _wrong_size(packet, self._size, "a command") or _shots(
            targets, packet.data, self._traits
        )

    def inward(self, code: Code, now: int) -> list[Event]:
        channel = self._addresses.channel_of(code.address)
        if channel is None:
            return [_stranger(code)]
        data = code.command.to_bytes(self._size, "big")
        return [Received(data, channel, address=source_of(code.address, self._traits))]


class FramedPackets:
    """A packet is bytes, one or two codes each; the channel is the address."""

    def __init__(self, settings: IrToySettings, common: StationSettings, traits: Traits) -> None:
        self._addresses = Addresses(settings, common, traits)
        self.channels = self._addresses.channels
        self._traits = traits
        self._streams = Streams(settings, traits, self._heard)
        self.pause_ns = self._streams.pause_ns

    def outward(self, packet: Packet) -> Outward:
        targets = self._addresses.targets(packet.channel)
        if not targets:
            return _no_channel(packet)
        if not packet.data:
            return CannotSend("empty", "a packet has at least one byte")
        if len(packet.data) > LONGEST_FRAMED:
            text = f"{len(packet.data)} bytes in infra-red would take minutes: at most "
            return CannotSend("too_long", text + str(LONGEST_FRAMED))
        frame = self._streams.encode(packet.data)
        if isinstance(frame, CannotSend):
            return frame
        return [
            Shot(carrier_hz, Code(address, command))
            for address, carrier_hz in targets
            for command in encode_bytes(frame, self._traits.command_bits)
        ]

    def inward(self, code: Code, now: int) -> list[Event]:
        if self._addresses.channel_of(code.address) is None:
            return [_stranger(code)]
        return self._streams.feed(code, now)

    def _heard(self, address: int, payload: bytes) -> Event:
        channel = self._addresses.channel_of(address)
        assert channel is not None
        return Received(payload, channel, address=source_of(address, self._traits))

    def next_deadline(self) -> int | None:
        return self._streams.next_deadline()

    def expire(self, now: int) -> list[Event]:
        return self._streams.expire(now)

    def close(self) -> list[Event]:
        return self._streams.close()


class RawPackets(Untimed):
    """A packet is durations in microseconds, 16 bits each, high byte first: mark, space, mark."""

    def __init__(self, settings: IrToySettings, common: StationSettings) -> None:
        self.channels: frozenset[int] | None = frozenset({common.channel})
        self._channel = common.channel
        self._carrier_hz = carrier_of(settings)

    def outward(self, packet: Packet) -> Outward:
        data = packet.data
        if packet.channel not in (self._channel, BROADCAST):
            return _no_channel(packet)
        if len(data) > 2 * LONGEST_RAW:
            text = f"{len(data)} bytes of timings: at most {2 * LONGEST_RAW}"
            return CannotSend("too_long", text)
        if len(data) % 4 != 2:
            text = "timings are 16 bits each, mark first, a mark last"
            return CannotSend("unframable", text)
        pairs = zip(data[::2], data[1::2], strict=True)
        durations = tuple(high << 8 | low for high, low in pairs)
        if min(durations) < SHORTEST_US or max(durations[::2]) >= MARK_LIMIT_US:
            text = f"a mark has {SHORTEST_US} to {MARK_LIMIT_US - 1} us, a space {SHORTEST_US} up"
            return CannotSend("unframable", text)
        return [Shot(self._carrier_hz, None, durations)]

    def inward(self, code: Code, now: int) -> list[Event]:
        return []

    def heard(self, durations: tuple[int, ...]) -> Event:
        """What was heard, as a packet."""
        data = b"".join(min(us, LONGEST_US).to_bytes(2, "big") for us in durations)
        return Received(data, self._channel)


def _shots(targets: list[tuple[int, int]], command: bytes, traits: Traits) -> Outward:
    value = int.from_bytes(command, "big")
    for word, number, bits in (
        *(("address", address, traits.address_bits) for address, _ in targets),
        ("command", value, traits.command_bits),
    ):
        if number >> bits:
            text = f"{word} {number} does not fit the {bits} bits of {traits.title}"
            return CannotSend("unframable", text)
    return [Shot(carrier_hz, Code(address, value)) for address, carrier_hz in targets]


def _stranger(code: Code) -> Event:
    return Dropped("address", f"a code of address {code.address}, which is no channel here")
