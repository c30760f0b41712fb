"""Packets of protocol 2.0 (e-manual, Protocol 2.0, Packet Details, CRC, Processing Order)."""

from firmware_mocks._framing.crc import Crc

HEADER = b"\xff\xff\xfd\x00"
STATUS = 0x55
BROADCAST = 254
LONGEST = 1024
crc = Crc(16, 0x8005, 0, reflected=False, xor_out=0).of


def packet(number: int, instruction: int, parameters: bytes) -> bytes:
    """Return a packet, with a byte FD after each FF FF FD from the instruction on."""
    body = (bytes((instruction,)) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    data = HEADER + bytes((number,)) + (len(body) + 2).to_bytes(2, "little") + body
    return data + crc(data).to_bytes(2, "little")


def fast_status(parts: list[tuple[int, int, bytes]], size: int) -> bytes:
    """Return the one packet with which several servos answer a fast read.

    It has error, id and data of each, and the CRC of all before. No byte is stuffed. `size` is
    that of all data that was asked for, and the other bytes of their servos.
    """
    data = HEADER + bytes((BROADCAST,)) + (1 + size).to_bytes(2, "little") + bytes((STATUS,))
    for error, number, values in parts:
        data += bytes((error, number)) + values
        data += crc(data).to_bytes(2, "little")
    return data


def take(buffer: bytearray) -> tuple[int, int, bytes, bool] | None:
    """Take one packet out: id, instruction, parameters, whether its CRC is right.

    Returns None when there is no whole packet.
    """
    while True:
        start = buffer.find(HEADER)
        if start < 0:
            del buffer[: max(0, len(buffer) - 3)]
            return None
        del buffer[:start]
        if len(buffer) < 7:
            return None
        size = 7 + int.from_bytes(buffer[5:7], "little")
        if not 10 <= size <= LONGEST:
            del buffer[:4]
            continue
        if len(buffer) < size:
            return None
        data = bytes(buffer[:size])
        right = crc(data[:-2]) == int.from_bytes(data[-2:], "little")
        del buffer[: size if right else 4]
        body = data[7:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        return data[4], body[0], body[1:], right
