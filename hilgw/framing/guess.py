"""Guesses about a stream in which no frame was found: another framing, or another baud rate."""

from functools import cache

from hilgw import plugins
from hilgw.framing import create
from hilgw.units import NS_PER_S

AFTER_NS = 2 * NS_PER_S  # from the first byte until the notice
LONGEST_NS = 5 * NS_PER_S  # the same for what may be one long frame
KEPT = 1024  # bytes for the guess
SHOWN = 16
LINE_SHOWN = 48  # characters of a line of text

# A good CRC is evidence enough; without one, several frames in a row are.
_WITH_CRC = (
    *("cobs-crc16", "cobs-crc32", "slip-crc16", "slip-crc32"),
    *("hdlc", "hdlc-crc32", "length", "length-crc32"),
)
_END = b"\xc0"  # of SLIP
_SYNC = b"\xaa\x55"
# What is printed in place of frames. Sources: Silicon Labs UG266; Digi, programmable XBee modules;
# Espressif, boot messages.
_PRINTED = {
    b"Gecko Bootloader": "the boot loader of an XBee 3: send 2, or restart it",
    b"BL >": "the boot loader of an XBee: send 2, or restart it",
    b"B-Bypass": "the menu of a programmable XBee: send B for its radio",
    b"rst:0x": "an ESP32 that starts; its messages end, or go to another UART",
    b"rst cause:": "an ESP8266 that starts, at 74880 baud",
    b"ESP-ROM:": "an ESP32 that starts; its messages end, or go to another UART",
    b"waiting for download": "an ESP in its boot loader: release GPIO 0 and restart it",
}
_XBEE_START, _LONGEST_XBEE = 0x7E, 512
_TEXT_SHARE = 0.9
_FEWEST_FRAMES = 3
_FEWEST_BYTES = 8  # for a guess from the lengths of the bits
_RATES = (300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)


def guess(data: bytes, ours: str = "", baud_rate: int = 0) -> str:
    """Return a guess at these bytes as a question for the user; "" when nothing known fits.

    Args:
        ours: short name of the framing in use, which found no frame; or the kind of a device that
            has a framing of its own.
        baud_rate: of the line; 0: not a serial line.
    """
    if certain := _by_checksum(data, ours):
        return certain
    if _is_text(data):
        return _guess_of_text(data, ours)
    if baud_rate and (slower := _slower(data, baud_rate)):
        return slower
    return _guess_without_crc(data, ours)


def _by_checksum(data: bytes, ours: str) -> str:
    if _has_xbee_frame(data) and ours != "xbee":
        return "an XBee in API mode: kind xbee?"
    for name in _WITH_CRC:
        if name != ours and _frames(name, data)[0]:
            return f"framing {name}?"
    return ""


def _frames(name: str, data: bytes) -> tuple[int, int]:
    framing = create(name)
    return len(framing.feed(data)), sum(framing.dropped.values())


def _has_xbee_frame(data: bytes) -> bool:
    """Return whether there is an API frame: 7E, length, data, FF - sum of the data.

    Source: Digi, XBee user guides, "API frame structure".
    """
    start = data.find(_XBEE_START)
    while start >= 0:
        length = int.from_bytes(data[start + 1 : start + 3], "big")
        body = data[start + 3 : start + 4 + length]
        whole = 0 < length <= _LONGEST_XBEE and len(body) == length + 1
        if whole and body[0] >= 0x80 and sum(body) & 0xFF == 0xFF:
            return True
        start = data.find(_XBEE_START, start + 1)
    return False


def _is_text(data: bytes) -> bool:
    text = data.decode("utf-8", "ignore").translate(dict.fromkeys(b"\t\r\n\x1b", " "))
    readable = "".join(filter(str.isprintable, text))
    return len(readable.encode()) >= _TEXT_SHARE * len(data)


def _guess_of_text(data: bytes, ours: str) -> str:
    lines = [line.decode("latin-1").strip() for line in data.splitlines() if line.strip()]
    for piece, device in _PRINTED.items():
        if piece in data:
            printed = next((line for line in lines if piece.decode() in line), lines[0])
            return f'it sends "{printed[:LINE_SHOWN]}": {device}'
    if ours == "text":
        return "lines that no pattern of the settings describes"
    if ours.partition("-")[0].partition(":")[0] not in plugins.names(plugins.FRAMINGS):
        printed = next(iter(lines), "")[:LINE_SHOWN]
        return f'it sends "{printed}": text in place of its answers. Is this port its console?'
    if b"\n" in data and ours not in ("lines", "lines-lf"):
        return "framing lines?"
    if b"\r" in data and ours != "lines-cr":
        return "framing lines-cr?"
    return "text without line ends: framing gap:20ms?"


def _guess_without_crc(data: bytes, ours: str) -> str:
    good, bad = _frames("slip", data)
    at_edge = data.startswith(_END) or data.endswith(_END)
    if ours != "slip" and at_edge and good >= _FEWEST_FRAMES and not bad:
        return "framing slip?"
    good, bad = _frames("cobs", data)
    if ours != "cobs" and good >= _FEWEST_FRAMES and bad <= 1:
        return "framing cobs?"
    if data.count(_SYNC) >= _FEWEST_FRAMES:
        return "framing length, with other settings?"
    return ""


def _slower(data: bytes, baud_rate: int) -> str:
    """Return the guess of a sender at a lower rate: none of its bits is as short as one of ours.

    A byte begins at a falling edge, so all its runs of equal bits are whole but the last one.
    """
    if len(data) < _FEWEST_BYTES:
        return ""
    shortest = min(_shortest_run(byte) for byte in set(data))
    if shortest < 2:
        return ""
    rate = min(_RATES, key=lambda each: abs(each - baud_rate / shortest))
    below = f", such as {rate}" if shortest < _WINDOW and rate < baud_rate else ""
    return f"a lower baud rate than {baud_rate}{below}?"


_WINDOW = 9  # start bit and data bits; a byte has a stop bit, too


@cache
def _shortest_run(byte: int) -> int:
    """Return the bits of the shortest whole run of start and data bits.

    `_WINDOW` if none is whole.
    """
    bits = byte << 1  # the start bit is 0, and the lowest bit comes next
    shortest, length = _WINDOW, 1
    for index in range(1, _WINDOW):
        if bits >> index & 1 == bits >> (index - 1) & 1:
            length += 1
        else:
            shortest, length = min(shortest, length), 1
    return shortest


class FirstFrame:
    """Watches one connection until its first frame. Pure; a byte costs nothing after that.

    ours, baud_rate: as for `guess`. limit_ns: time of the longest frames on this line. over: a
    frame came, or the notice. missing: the notice came with what the bytes look like, and since
    then no frame.
    """

    def __init__(self, ours: str = "", baud_rate: int = 0, limit_ns: int = AFTER_NS) -> None:
        self._ours = ours
        self._baud_rate = baud_rate
        self._limit_ns = limit_ns
        self._data = b""
        self._count = 0
        self._first_ns = self._last_ns = 0
        self.deadline: int | None = None
        self.over = self.missing = False

    def take(self, data: bytes, now: int) -> None:
        """Collect bytes that completed no frame."""
        if not data:
            return
        if self.over:
            self._last_ns = now
            return
        if not self._count:
            self._first_ns, self.deadline = now, now + AFTER_NS
        self._count += len(data)
        self._last_ns = now
        if len(self._data) < KEPT:
            self._data += data[: KEPT - len(self._data)]

    def found(self) -> None:
        """End the watch: a frame came."""
        self.over, self.deadline, self._data = True, None, b""
        self.missing = False

    def forget(self) -> None:
        """Forget the bytes until now, which were not the other end's."""
        self._count, self.deadline, self._data = 0, None, b""

    def expire(self, now: int, held: int = 0) -> str:
        """Return the notice when it is due, once; else "".

        While all bytes look like one long frame that still comes in, the notice waits, LONGEST_NS
        at most; on a line that is too slow for the longest frame until now, as long as that takes.

        Args:
            held: bytes of an incomplete frame.
        """
        if self.deadline is None or now < self.deadline:
            return ""
        looks = self._looks()
        is_growing = held == self._count and now - self._last_ns < AFTER_NS
        latest_ns = self._first_ns
        busy_ns = self._count * (_WINDOW + 1) * NS_PER_S // (self._baud_rate or NS_PER_S)
        fills_line = 2 * busy_ns >= now - self._first_ns  # a frame may still come in
        if fills_line and not _by_checksum(self._data, self._ours):
            latest_ns += self._limit_ns
        if is_growing and not looks:
            latest_ns = max(latest_ns, self._first_ns + LONGEST_NS)
        if now < latest_ns:
            self.deadline = min(now + AFTER_NS, latest_ns)
            return ""
        text = self._end(looks)
        # No evidence of another framing or rate: what is sent may be read all the same.
        self.missing = bool(looks)
        return text

    def give_up(self) -> str:
        """Return the notice of the bytes until now, for a connection that ends without a frame.

        "" if nothing came, or the notice did.
        """
        return self._end(self._looks()) if self._data else ""

    def is_missing(self, now: int) -> bool:
        """Return whether the other end still sends bytes that are not a frame."""
        return self.missing and now - self._last_ns < AFTER_NS

    def _looks(self) -> str:
        return guess(self._data, self._ours, self._baud_rate)

    def _unlike(self) -> str:
        rate = f" than {self._baud_rate}" if self._baud_rate else ""
        framing = f" than {self._ours}" if self._ours else ""
        return f"another baud rate{rate}, or another framing{framing}?"

    def _end(self, looks: str) -> str:
        text = _notice(self._count, self._data, looks or self._unlike())
        self.found()
        self.missing = True
        return text


def _notice(count: int, data: bytes, looks: str) -> str:
    first = data[:SHOWN]
    if "framing lines" in looks:
        first = (data.lstrip() or data)[:LINE_SHOWN].splitlines(keepends=True)[0]
    plural = "s" * (count > 1)
    shown = repr(first)[2:-1].replace("\\'", "'").replace('"', '\\"')
    return f'{count} byte{plural}, no frame yet; begins "{shown}": {looks}'
