"""The primitives of the wire: little endian, no padding, and checked before every read.

Types and their lengths: numbers, text that ends with a NUL, bytes and lists after their count.
Text is UTF-8; bytes that are not come back as they were (surrogateescape).
"""

import struct
from dataclasses import dataclass
from typing import Any, Protocol

from hilgw.errors import PeerError
from hilgw.reasons import RequestReason

TAIL_BYTES = 256


class ProtocolError(PeerError):
    """Bytes that are not Webots' protocol, or a message that it cannot carry.

    tail: the first bytes that could not be decoded, at most 256, for the log.
    """

    def __init__(self, problem: str, *, where: str = "", fix: str = "", tail: bytes = b"") -> None:
        super().__init__(problem, where=where, fix=fix)
        self.tail = bytes(tail[:TAIL_BYTES])


class WebotsRefused(RequestReason):
    """Reasons of the sessions of Webots controllers, and of robots in Webots."""

    UNSUPPORTED = "unsupported", "a device whose kind a Webots controller cannot have here"
    INDEX_TAKEN = "index_taken", "another device has this index"
    TOO_MANY = "too_many", "the protocol carries no more devices"
    DISABLED = "disabled", "a packet for a Receiver that is not enabled"
    CAP = "cap", "a packet for a Receiver that holds as much as it may"
    NO_ROOM = "no_room", "a packet for an Emitter in Webots whose buffer is full"


U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
I16 = struct.Struct("<h")
I32 = struct.Struct("<i")
U32 = struct.Struct("<I")
F64 = struct.Struct("<d")


class Cursor:
    """Reads `data` from the front; every read stays inside, else it raises ProtocolError.

    begin: the start of the message that is being read, for the error's bytes.
    """

    __slots__ = ("at", "begin", "data", "end", "where")

    def __init__(self, data: bytes, where: str = "") -> None:
        self.data = data
        self.at = self.begin = 0
        self.end = len(data)
        self.where = where

    @property
    def left(self) -> int:
        return self.end - self.at

    def error(self, problem: str, fix: str = "") -> ProtocolError:
        """Return the error for the message at `begin`."""
        return ProtocolError(
            problem,
            where=self.where,
            fix=fix or "check that the peer speaks this version of Webots' protocol",
            tail=self.data[self.begin :],
        )

    def unpack(self, form: struct.Struct, name: str) -> tuple[Any, ...]:
        """Return the numbers of `form`."""
        start = self.at
        if form.size > self.end - start:
            raise self.error(f"{name} is cut off")
        self.at = start + form.size
        return form.unpack_from(self.data, start)

    def number(self, form: struct.Struct, name: str) -> Any:
        """Return the one number of `form`."""
        return self.unpack(form, name)[0]

    def take(self, size: int, name: str) -> bytes:
        """Return the next `size` bytes."""
        start = self.at
        if not 0 <= size <= self.end - start:
            raise self.error(f"{name} of {size} bytes is negative or cut off")
        self.at = start + size
        return self.data[start : self.at]

    def text(self, name: str) -> str:
        """Return a text up to its NUL."""
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise self.error(f"{name} has no end")
        text = self.data[self.at : stop].decode(errors="surrogateescape")
        self.at = stop + 1
        return text

    def items(self, count: struct.Struct, form: struct.Struct, name: str) -> list[tuple[Any, ...]]:
        """Return a counted list of items of `form`; the bytes must be there before it is built."""
        number = self.number(count, name)
        size = number * form.size
        if not 0 <= size <= self.end - self.at:
            raise self.error(f"{name} of {number} items is negative or cut off")
        start, self.at = self.at, self.at + size
        return list(form.iter_unpack(memoryview(self.data)[start : self.at]))


def encode_text(text: str) -> bytes:
    """Return a text and its NUL.

    Raises:
        ProtocolError: It contains one, or is not text.
    """
    try:
        data = text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise ProtocolError(f"{text[:40]!r} cannot be encoded as UTF-8: {error.reason}") from None
    if b"\0" in data:
        raise ProtocolError(f"{text[:40]!r} contains a NUL", fix="remove it")
    return data + b"\0"


class Field(Protocol):
    """A field of a message."""

    def encode(self, value: Any) -> bytes: ...
    def decode(self, cursor: Cursor) -> Any: ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    form: struct.Struct

    def encode(self, value: Any) -> bytes:
        return self.form.pack(value)

    def decode(self, cursor: Cursor) -> Any:
        return cursor.number(self.form, "a number")


class Flag:
    """A byte that is 0 or not."""

    def encode(self, value: bool) -> bytes:
        return b"\1" if value else b"\0"

    def decode(self, cursor: Cursor) -> bool:
        return bool(cursor.number(U8, "a flag"))


@dataclass(frozen=True, slots=True)
class Vector:
    """A tuple of numbers, without a count."""

    form: struct.Struct

    def encode(self, value: Any) -> bytes:
        return self.form.pack(*value)

    def decode(self, cursor: Cursor) -> Any:
        return cursor.unpack(self.form, "a vector")


class Text:
    """Text up to its NUL."""

    def encode(self, value: str) -> bytes:
        return encode_text(value)

    def decode(self, cursor: Cursor) -> str:
        return cursor.text("a text")


@dataclass(frozen=True, slots=True)
class CountedText:
    """Text after its length, which counts the NUL."""

    count: struct.Struct

    def encode(self, value: str) -> bytes:
        data = encode_text(value)
        return self.count.pack(len(data)) + data

    def decode(self, cursor: Cursor) -> str:
        size = cursor.number(self.count, "the length of a text")
        end = cursor.at + size
        text = cursor.text("a text")
        if cursor.at != end:
            raise cursor.error(f"a text ends at byte {size - end + cursor.at} of {size}")
        return text


class Data:
    """Bytes after their length."""

    def encode(self, value: bytes) -> bytes:
        return I32.pack(len(value)) + value

    def decode(self, cursor: Cursor) -> bytes:
        return cursor.take(cursor.number(I32, "the length of data"), "data")


@dataclass(frozen=True, slots=True)
class List:
    """Items after their count: numbers, or tuples of numbers."""

    count: struct.Struct
    item: struct.Struct

    def encode(self, value: Any) -> bytes:
        if len(self.item.format) == 2:  # "<" and one number
            packed = b"".join(self.item.pack(each) for each in value)
        else:
            packed = b"".join(self.item.pack(*each) for each in value)
        return self.count.pack(len(value)) + packed

    def decode(self, cursor: Cursor) -> Any:
        items = cursor.items(self.count, self.item, "a list")
        if len(self.item.format) == 2:
            return tuple(item[0] for item in items)
        return tuple(items)


BYTE, SHORT, SIGNED_SHORT, INT, UINT, DOUBLE = (
    Number(form) for form in (U8, U16, I16, I32, U32, F64)
)
FLAG, TEXT, DATA = Flag(), Text(), Data()
VECTOR = Vector(struct.Struct("<3d"))
QUATERNION = Vector(struct.Struct("<4d"))
CHANNELS = List(I32, I32)
TAGS = List(I32, U16)
ROWS = List(I32, struct.Struct("<3d"))
KEYS = List(U8, U32)
INTS = List(U32, I32)
SHORT_TEXT = CountedText(U16)
LONG_TEXT = CountedText(U32)
