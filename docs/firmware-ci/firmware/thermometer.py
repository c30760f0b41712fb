"""A thermometer on a serial line. Runs under MicroPython and on a PC.

Packets in cobs-crc16: COBS of (packet, CRC-16/CCITT-FALSE high byte first), then 00. It answers
"temp?" with "temp 21.5", "name?" with "name thermometer", and sends "alarm 80.0" once when it gets
too hot. It ignores any other packet, and any packet with a wrong CRC.
"""

LONGEST = 64  # bytes of one packet on the wire; longer input is dropped
ALARM_C = 60.0


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc


def cobs_encode(data):
    coded = bytearray()
    for block in data.split(b"\0"):
        while len(block) >= 254:
            coded.append(255)
            coded += block[:254]
            block = block[254:]
        coded.append(len(block) + 1)
        coded += block
    return bytes(coded)


def cobs_decode(coded):
    """The data, or None for invalid COBS."""
    data = bytearray()
    at = 0
    while at < len(coded):
        size = coded[at]
        if size == 0 or at + size > len(coded):
            return None
        data += coded[at + 1 : at + size]
        at += size
        if size < 255 and at < len(coded):
            data.append(0)
    return bytes(data)


class Thermometer:
    """uart: an object with read() -> bytes or None, and write(bytes). sense() -> degrees C."""

    def __init__(self, uart, sense):
        self.uart = uart
        self.sense = sense
        self.rest = b""
        self.alarmed = False

    def loop(self):
        """One iteration of the main loop; call it repeatedly."""
        self.rest += self.uart.read() or b""
        while b"\0" in self.rest:
            at = self.rest.index(b"\0")
            frame, self.rest = self.rest[:at], self.rest[at + 1 :]
            packet = self.unpack(frame)
            if packet is not None:
                self.answer(packet)
        if len(self.rest) > LONGEST:
            self.rest = b""
        self.watch()

    def unpack(self, frame):
        data = cobs_decode(frame)
        if not data or len(data) < 3 or crc16(data[:-2]) != data[-2] << 8 | data[-1]:
            return None
        return data[:-2]

    def send(self, packet):
        crc = crc16(packet)
        self.uart.write(cobs_encode(packet + bytes((crc >> 8, crc & 255))) + b"\0")

    def answer(self, packet):
        if packet == b"temp?":
            self.send(b"temp %.1f" % self.sense())
        elif packet == b"name?":
            self.send(b"name thermometer")

    def watch(self):
        hot = self.sense() > ALARM_C
        if hot and not self.alarmed:
            self.send(b"alarm %.1f" % self.sense())
        self.alarmed = hot
