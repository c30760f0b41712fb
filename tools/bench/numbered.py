"""Numbered packets, one sender and one checker per line: counts lost, doubled, altered packets."""

from dataclasses import asdict, dataclass, field

from hilgw.framing import create

FRAMING = "cobs-crc16"
NUMBER_BYTES = 8


def payload(number: int, line: int) -> bytes:
    """Return the packet with this number on this line: 20 to 147 bytes, all values."""
    size = 20 + (number * 61 + line * 7) % 128
    return number.to_bytes(NUMBER_BYTES, "big") + bytes(
        (number * 31 + line + at * 17) % 256 for at in range(size - NUMBER_BYTES)
    )


@dataclass
class Checker:
    """Counts the errors in the packets from one sender."""

    line: int
    received: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    altered: int = 0
    _next: int = 0
    _missing: set[int] = field(default_factory=set)

    def check(self, packet: bytes) -> None:
        number = int.from_bytes(packet[:NUMBER_BYTES], "big")
        if packet != payload(number, self.line):
            self.altered += 1
            return
        self.received += 1
        if number >= self._next:
            self._missing.update(range(self._next, number))
            self._next = number + 1
        elif number in self._missing:
            self._missing.remove(number)
            self.reordered += 1
        else:
            self.doubled += 1

    def finish(self, sent: int) -> None:
        self.lost = len(self._missing) + max(0, sent - self._next)

    def as_dict(self) -> dict[str, int]:
        return {key: value for key, value in asdict(self).items() if not key.startswith("_")}


class End:
    """An end of a line: sends numbered frames, and checks those of the other end."""

    def __init__(self, line: int, to_other: int) -> None:
        self.checker = Checker(line)
        self.sent = 0
        self.sent_bytes = 0
        self._line = to_other
        self._framing = create(FRAMING)

    def next_frame(self) -> bytes:
        frame = self._framing.encode(payload(self.sent, self._line))
        self.sent += 1
        self.sent_bytes += len(frame)
        return frame

    def received(self, data: bytes) -> None:
        for packet in self._framing.feed(data):
            self.checker.check(packet)

    def result(self, sent_by_other: int) -> dict[str, int]:
        self.checker.finish(sent_by_other)
        return {
            **self.checker.as_dict(),
            "sent": self.sent,
            "sent_bytes": self.sent_bytes,
            "bad_frames": sum(self._framing.dropped.values()),
        }
