"""The form of the events of a gateway in the blocks of pcapng.

A section begins with the comment `COMMENT` and these interfaces:

* number 0, the medium: link type USER0. The data of a packet are its payload; its comment is the
  event `packet` (`hilgw.events.kinds`) as JSON, without `data`.
* number 1, all other events: link type USER1. The data of a packet are the event as JSON. The
  first one is `HEAD`. A `CLOCK` every second has the other times of its instant: mono_ns, wall_s.
  In simulated time these are not looked at: the times of events would jump.
* one for each line, of the name of its part: link type RTAC_SERIAL. Its header and the flag of the
  packet have the direction. What follows are the bytes of one call that read or wrote.

The time of a packet is the gateway's clock (`time_ns`), moved by `epoch_ns` of the head so that the
start of the recording has the time of day.
"""

import json
import math
import struct
from functools import lru_cache
from typing import Any, NoReturn

from hilgw.errors import UsageError
from hilgw.events.fields import FORMS, LAST_NS
from hilgw.events.kinds import FIELDS, KINDS, Delivered, Packet as PacketEvent, Placed, Value
from hilgw.events.wire import DATA_AT, json_around_data
from hilgw.forms import decode, hints_of
from hilgw.protocols.pcapng.blocks import (
    INBOUND,
    OUTBOUND,
    CapturedPacket,
    Interface,
    PcapngSection,
    RecordingError,
    encode,
    encode_packet,
)

VERSION = 1
COMMENT = "hilgw recording"
HEAD, CLOCK = "head", "clock"
MEDIUM, EVENTS, FIRST_LINE = 0, 1, 2  # numbers of interfaces
USER0, USER1, RTAC_SERIAL = 147, 148, 250
_RTAC = struct.Struct(">IIBBH")  # seconds, microseconds, event, state of the line, reserved
_RTAC_EVENTS = {OUTBOUND: 1, INBOUND: 2}  # DATA_TX_START, DATA_RX_START
_DIRECTIONS = {_RTAC_EVENTS[INBOUND]: "received", _RTAC_EVENTS[OUTBOUND]: "sent"}
MOST_ITEMS = 10_000  # of a list: no device has as many numbers
_DATA_AT = DATA_AT[PacketEvent]
_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
TIMES = ("mono_ns", "time_ns", "wall_s")
LONGEST_COMMENT = 0xFFFF
LONGEST_NUMBER = 20  # characters of a whole number: 64 bits have no more


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid in JSON")


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def _whole(text: str) -> int:
    return int(text) if len(text) <= LONGEST_NUMBER else _no_number(text)


_READ = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, parse_int=_whole).decode


class Writer:
    """The bytes of one recording, event by event. epoch_ns: the time of day at time_ns 0."""

    def __init__(self, head: dict[str, Any], parts: list[str], epoch_ns: int) -> None:
        """Start a recording.

        `head` is the content of its head besides `version`; `parts` are the lines that are known.
        """
        self._head, self._epoch_ns = {"event": HEAD, "version": VERSION, **head}, epoch_ns
        self._parts = dict.fromkeys(parts)
        self._numbers: dict[str, int] = {}

    def begin(self, time_ns: int, application: str = "hilgw", os: str = "") -> bytes:
        """Return the start of a file: each one that follows by rotation has it, too."""
        self._numbers.clear()
        blocks = [
            encode(PcapngSection(COMMENT, application, os)),
            encode(Interface(USER0, "medium", "packets between Emitters and Receivers")),
            encode(Interface(USER1, "events", "other events, in JSON")),
            *(self._line(part) for part in self._parts),
            self.event(time_ns, {**self._head, "epoch_ns": self._epoch_ns}),
        ]
        return b"".join(blocks)

    def encode(self, event: dict[str, Any]) -> bytes:
        """Return an event with its times, in the form of the control socket and of `Decoder`."""
        time_ns = event["time_ns"]
        rest = {key: value for key, value in event.items() if key not in TIMES}
        if event["event"] == "bytes":
            data, is_sent = bytes.fromhex(event["data"]), event["direction"] == "sent"
            return self.line(time_ns, event["part"], data, sent=is_sent)
        if event["event"] == "packet":
            return self.packet(time_ns, bytes.fromhex(rest.pop("data")), rest)
        return self.event(time_ns, rest)

    def event(self, time_ns: int, event: dict[str, Any]) -> bytes:
        """Return an event other than `packet` and `bytes`."""
        return encode_packet(EVENTS, self._epoch_ns + time_ns, _JSON(event).encode())

    def packet(self, time_ns: int, data: bytes, event: dict[str, Any]) -> bytes:
        """Return a packet on the medium from its bytes and the other keys of its event.

        A `missed` that is longer than a comment can be is left out, and `missed_count` is its
        length.
        """
        return encode_packet(MEDIUM, self._epoch_ns + time_ns, data, 0, _comment(event))

    # The fields of a packet are mostly as before, but for its bytes. values: see
    # `json_around_data`.

    def packet_of(self, time_ns: int, values: tuple[Any, ...]) -> bytes:
        """Return a packet, see `packet`."""
        comment = _comment_of(values[:_DATA_AT] + values[_DATA_AT + 1 :])
        return encode_packet(MEDIUM, self._epoch_ns + time_ns, values[_DATA_AT], 0, comment)

    def delivered(self, time_ns: int, values: tuple[Any, ...]) -> bytes:
        """Return a delivery, see `event`."""
        before, after = json_around_data(Delivered, values)
        line = f'{{"event":"delivered",{before}"data":"{values[2].hex()}"{after}}}'
        return encode_packet(EVENTS, self._epoch_ns + time_ns, line.encode())

    def line(self, time_ns: int, part: str, data: bytes, *, sent: bool) -> bytes:
        """Return bytes of a line."""
        number = self._numbers.get(part)
        new = b"" if number is not None else self._line(part)
        number = self._numbers[part]
        direction = OUTBOUND if sent else INBOUND
        now = self._epoch_ns + time_ns
        head = _RTAC.pack(
            now // 10**9 & 0xFFFFFFFF, now % 10**9 // 1000, _RTAC_EVENTS[direction], 0, 0
        )
        return new + encode_packet(number, now, head + data, direction)

    def _line(self, part: str) -> bytes:
        self._parts[part] = None
        self._numbers[part] = FIRST_LINE + len(self._numbers)
        return encode(Interface(RTAC_SERIAL, part))


@lru_cache(1024)
def _comment_of(values: tuple[Any, ...]) -> bytes:
    names = [name for name in FIELDS[PacketEvent] if name != "data"]
    event = {"event": "packet", **dict(zip(names, values, strict=True))}
    return _comment({**event, "missed": dict(event["missed"])})


def _comment(event: dict[str, Any]) -> bytes:
    comment = _JSON(event).encode()
    if len(comment) > LONGEST_COMMENT:
        short = {**event, "missed": {}, "missed_count": len(event["missed"])}
        short["received_by"] = event["received_by"][:1000]
        comment = _JSON(short).encode()
    return comment


class BlockDecoder:
    """The events of the blocks of a recording.

    They are dicts with the keys of the control socket's events, and with their times.
    """

    def __init__(self, where: str) -> None:
        self.head: dict[str, Any] = {}
        """Empty until the first block after the interfaces."""
        self._where = where
        self._interfaces: list[Interface] = []
        self._epoch_ns = 0
        self._clock = (0, 0)  # mono_ns and wall_ns at time_ns 0

    def decode(self, block: PcapngSection | Interface | CapturedPacket) -> dict[str, Any] | None:
        """Return the event of a block; None for one without an event.

        Raises:
          RecordingError: no recording has such a block.
        """
        if isinstance(block, PcapngSection):
            self._interfaces = []
            if not block.comment.startswith(COMMENT):  # mergecap adds the names of its files
                raise self._foreign("is a capture file, but not a recording of hilgw")
            return None
        if isinstance(block, Interface):
            self._interfaces.append(block)
            return None
        event = self._event(block)
        if event["event"] == HEAD:
            self._begin(event)
            event = self.head
        elif not self.head:
            raise self._foreign(
                "has no head before its first event: the packet with it was filtered out",
                "keep it, as with tshark -Y 'frame.number == 1 or (FILTER)'",
            )
        else:
            event = self._checked(event)
        time_ns = block.time_ns - self._epoch_ns
        if event["event"] == CLOCK and self.head.get("speed", 1) == 1:
            # Simulated time has no other times.
            self._clock = event["mono_ns"] - time_ns, int(event["wall_s"] * 1e9) - time_ns
        mono_ns, wall_ns = self._clock
        if max(time_ns, block.time_ns) >= LAST_NS or not 0 <= wall_ns + time_ns < LAST_NS:
            raise self._foreign("has a time before 1970 or after 2262")
        event["mono_ns"], event["time_ns"] = mono_ns + time_ns, time_ns
        event["wall_s"] = (wall_ns + time_ns) / 1e9
        return event

    def _event(self, block: CapturedPacket) -> dict[str, Any]:
        of = self._interfaces[block.interface]
        if of.link == RTAC_SERIAL:
            # The flags of a packet, which have the direction, too, are lost in some tools.
            direction = _DIRECTIONS.get(int.from_bytes(block.data[8:9], "big"))
            if len(block.data) < _RTAC.size or direction is None:
                raise self._foreign("has bytes of a line without their header")
            data = block.data[_RTAC.size :].hex()
            return {"event": "bytes", "part": of.name, "direction": direction, "data": data}
        if of.link not in (USER0, USER1):
            raise self._foreign(f"has packets of another capture, of link type {of.link}")
        is_packet = of.link == USER0
        try:
            text = (block.comment if is_packet else block.data).decode()
            event = _READ(text)
            if "\\u" in text:
                json.dumps(event, ensure_ascii=False).encode()  # half a character is left out
        except (ValueError, RecursionError) as error:
            raise self._foreign("has an event that is not valid JSON") from error
        if not isinstance(event, dict) or type(event.get("event")) is not str:
            raise self._foreign("has an event without a kind")
        if is_packet:
            event["data"] = block.data.hex()
        return event

    def _checked(self, event: dict[str, Any]) -> dict[str, Any]:
        """Check that the event has the keys of its kind, with their types.

        Other keys are of a later version.
        """
        name = event["event"]
        try:
            if name in FORMS:
                FORMS[name].test(event)
                return event
            if (kind := KINDS.get(name)) is None:
                raise self._foreign(f"has an event of an unknown kind, {name!r:.40}")
            keys = dict.fromkeys((*kind.fields, *hints_of(kind.form)))  # type: ignore[arg-type]
            known = {key: event[key] for key in keys if key in event}
            if any(isinstance(each, list) and len(each) > MOST_ITEMS for each in known.values()):
                raise UsageError(f"a list has more than {MOST_ITEMS} items")
            made = decode(kind.form, known)
            if isinstance(made, Value) and len(made.fields) != len(made.units):
                raise UsageError("fields and units must be as many")
            if isinstance(made, Placed) and (made.position is None) != (made.rotation is None):
                raise UsageError("position and rotation must both be there, or neither")
        except UsageError as error:
            raise self._foreign(f"has an event {name} that is not valid: {error}") from error
        return {"event": name, **known}

    def _begin(self, head: dict[str, Any]) -> None:
        if head.get("version") != VERSION:
            problem = f"has version {head.get('version')!r:.40} of the format"
            raise self._foreign(f"{problem}, and this hilgw reads {VERSION}")
        self._checked(head)
        if self.head and head["epoch_ns"] != self._epoch_ns:
            raise self._foreign(
                "continues with another run: it was made of several recordings",
                "read each of them by itself",
            )
        self.head, self._epoch_ns = head, head["epoch_ns"]
        self._clock = (0, self._epoch_ns)

    def _foreign(self, problem: str, fix: str = "") -> RecordingError:
        return RecordingError(problem, where=self._where, fix=fix)
