"""The bytes of Webots' controller protocol: requests, answers and both framings.

Little endian. Sections are those of the specification of the protocol. A ValueError is for bytes
that do not follow it; no reader reads past the end of its data.
"""

import struct
from collections.abc import Iterable

CONNECTED, FAILED, PROCESSING, FORBIDDEN = b"CONNECTED", b"FAILED", b"PROCESSING", b"FORBIDDEN"
GREETING, NAME_LINE = b"CTR", b"\nRobot-Name: "
EXIT_NOTIFY = 38
LEAVING = bytes(4)
MOST_BYTES = 16 * 1024 * 1024  # of one request or answer
DATA, IMAGE = 0, 1

# Node numbers by version (section 6): R2023a is the layout of R2022b to R2023a.
_NEWEST = {
    "Robot": 34, "Accelerometer": 35, "Brake": 37, "Camera": 38, "Compass": 39,
    "DistanceSensor": 42, "Emitter": 43, "GPS": 44, "Gyro": 45, "InertialUnit": 46, "LED": 47,
    "LightSensor": 49, "LinearMotor": 50, "PositionSensor": 52, "Receiver": 56,
    "RotationalMotor": 57, "TouchSensor": 60,
}  # fmt: skip
VERSIONS = ("R2025a", "R2024a", "R2023b", "R2023a")
OLD = "R2023a"  # its configuration has no version, and the name comes after the time


def nodes(version: str) -> dict[str, int]:
    """Return the number of each node type in this version."""
    return {name: number - (version == OLD) for name, number in _NEWEST.items()}


class Reader:
    """Reads values one after the other. ValueError: the data ends before."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def read(self, layout: str) -> tuple[int | float, ...]:
        form = struct.Struct("<" + layout)
        return form.unpack(self.take(form.size))

    def whole(self, code: str) -> int:
        """Read one integer of struct's `code`."""
        return int(self.read(code)[0])

    def real(self) -> float:
        return float(self.read("d")[0])

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"{size} bytes at {self._at} of {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ValueError(f"text at {self._at} has no end")
        text = self.take(end - self._at).decode(errors="replace")
        self._at += 1
        return text


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def encoded_name(name: str) -> bytes:
    """Return a robot's name as in the handshake and in paths (section 2.1)."""
    kept = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~."
    encoded = b"".join(
        bytes((each,)) if each in kept else b"%%%02X" % each for each in name.encode()
    )
    if len(encoded) <= 90:
        return encoded
    import hashlib

    return hashlib.sha1(name.encode()).hexdigest().encode()


# --- requests (2.2) -------------------------------------------------------------------------------


def request(step_ms: int, blocks: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a request of blocks (tag and commands, in tag order); leave out empty ones."""
    body = b"".join(struct.pack("<Hi", tag, len(data)) + data for tag, data in blocks if data)
    return struct.pack("<iI", 8 + len(body), step_ms) + body


def request_size(data: bytes | bytearray) -> int:
    """Return the bytes of the request at the start; 0 while unknown, 4 for LEAVING.

    Raises ValueError.
    """
    if len(data) < 4:
        return 0
    (size,) = struct.unpack_from("<i", data)
    if size == 0:
        return 4
    if not 8 <= size <= MOST_BYTES:
        raise ValueError(f"a request of {size} bytes")
    return int(size)


def read_request(data: bytes) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the step in ms (0: immediate) and the blocks of a whole request; raise ValueError."""
    reader = Reader(data[4:])
    step_ms = reader.whole("I")
    blocks = []
    while reader:
        tag = reader.whole("H")
        blocks.append((tag, reader.take(reader.whole("i"))))
    return step_ms, blocks


# --- answers (2.3, 2.10) --------------------------------------------------------------------------


def message(tag: int, command: int, payload: bytes = b"") -> bytes:
    return struct.pack("<HB", tag, command) + payload


def answer(
    delay_ms: int, messages: bytes, images: Iterable[tuple[int, bytes]] = (), ipc: bool = False
) -> bytes:
    """Return an answer on TCP, or on a local socket, where images do not fit.

    An image is a tag and its pixels.
    """
    data = struct.pack("<i", delay_ms) + messages
    if ipc:
        return struct.pack("<i", len(data) + 4) + data
    chunks = [struct.pack("<iB", len(data), DATA) + data]
    chunks += [struct.pack("<iBHB", len(pixels), IMAGE, tag, 0) + pixels for tag, pixels in images]
    return struct.pack("<Hi", len(chunks), len(data)) + b"".join(chunks)


class Answer:
    """delay_ms below 0: another answer of the same call follows. images: tag -> pixels."""

    def __init__(self, data: bytes, images: dict[int, bytes]) -> None:
        reader = Reader(data)
        self.delay_ms = reader.whole("i")
        self.messages = data[4:]
        self.images = images


class AnswerReader:
    """Takes answers out of the bytes of a simulator, split anywhere."""

    def __init__(self, ipc: bool) -> None:
        self._ipc = ipc
        self._input = bytearray()

    def feed(self, data: bytes) -> None:
        self._input += data

    def next(self) -> Answer | None:
        """Return the next whole answer, or None; raise ValueError when it breaks the framing."""
        return self._next_local() if self._ipc else self._next_chunked()

    def _next_local(self) -> Answer | None:
        if len(self._input) < 4:
            return None
        (size,) = struct.unpack_from("<i", self._input)
        if not 8 <= size <= MOST_BYTES:
            raise ValueError(f"an answer of {size} bytes")
        if len(self._input) < size:
            return None
        data = bytes(self._input[4:size])
        del self._input[:size]
        return Answer(data, {})

    def _next_chunked(self) -> Answer | None:
        if len(self._input) < 6:
            return None
        count, total = struct.unpack_from("<Hi", self._input)
        position, data, images = 6, bytearray(), {}
        for chunk in range(count):
            if len(self._input) < position + 5:
                return None
            size, kind = struct.unpack_from("<iB", self._input, position)
            if not 0 <= size <= MOST_BYTES or kind > IMAGE or (chunk == 0 and kind != DATA):
                raise ValueError(f"chunk {chunk} of type {kind} has {size} bytes")
            head = position + 5
            position = head + size + (3 if kind == IMAGE else 0)
            if len(self._input) < position:
                return None
            if kind == IMAGE:
                (tag,) = struct.unpack_from("<H", self._input, head)
                images[tag] = bytes(self._input[head + 3 : position])
            else:
                data += self._input[head:position]
        if len(data) != total:
            raise ValueError(f"chunks of {len(data)} bytes, not {total}")
        del self._input[:position]
        return Answer(bytes(data), images)
