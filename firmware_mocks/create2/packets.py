"""The sensor packets of the Open Interface: sizes, groups and signs (section "Sensor Packets")."""

from collections.abc import Iterator, Mapping

_WORDS = {19, 20, 22, 23, 25, 26, *range(27, 32), 33, *range(39, 45), *range(46, 52)} | {
    *range(54, 58)
}
_SIGNED = {19, 20, 23, 24, *range(39, 43), *range(54, 58)}
GROUPS: dict[int, range] = {
    0: range(7, 27),
    1: range(7, 17),
    2: range(17, 21),
    3: range(21, 27),
    4: range(27, 35),
    5: range(35, 43),
    6: range(7, 43),
    100: range(7, 59),
    101: range(43, 59),
    106: range(46, 52),
    107: range(54, 59),
}
SINGLE = range(7, 59)


def is_packet(number: int) -> bool:
    return number in GROUPS or number in SINGLE


def members(number: int) -> Iterator[int]:
    """Yield the single packets of a group, in order; a single packet itself."""
    yield from GROUPS.get(number, (number,))


def data(number: int, values: Mapping[int, int]) -> bytes:
    """Return the data of a packet or a group, high byte first; a packet without a value is 0."""
    content = bytearray()
    for packet in members(number):
        size = 2 if packet in _WORDS else 1
        value = values.get(packet, 0)
        if packet in _SIGNED:
            limit = 1 << (8 * size - 1)
            value = max(-limit, min(limit - 1, value))
        content += (value & ((1 << 8 * size) - 1)).to_bytes(size, "big")
    return bytes(content)


def stream_frame(numbers: list[int], values: Mapping[int, int]) -> bytes:
    """Return one frame of the stream (command 148).

    It is 19, number of bytes, ids with data, checksum; the sum of all bytes is 0 modulo 256.
    """
    body = b"".join(bytes((number,)) + data(number, values) for number in numbers)
    frame = bytes((19, len(body))) + body
    return frame + bytes((-sum(frame) & 0xFF,))
