"""Remote control codes as the durations of their marks and spaces, in microseconds.

A code is written NAME:ADDRESS:COMMAND, e.g. nec:0x04:0x08, or raw:9000,4500,560. A received frame
is compared with the frame that its key would send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Durations = list[int]  # mark, space, mark ...

NAMES = "nec, nec2, nec_ext, onkyo, rc5, rc6, rc6a, sirc, sirc15, sirc20"
SHORT_NEC = [9000, 2250, 562]
TOLERANCE, STRETCH_US = 0.25, 120
LONGEST_RAW = 1000


@dataclass(frozen=True)
class Key:
    """A key.

    `first` and `second` are its frame with the toggle bit 0 and 1 (the same where there is none);
    `again` is the frame while the key is held, None: the same; `sends` are the frames of a short
    press.
    """

    text: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    again: tuple[int, ...] | None
    period_us: int
    sends: int = 1

    def durations(self, toggle: int, repeats: int = 0) -> Durations:
        """Return a press, held for `repeats` more frames."""
        frame = list(self.second if toggle else self.first)
        more = list(self.again or frame)
        durations = list(frame)
        for _ in range(self.sends - 1 + repeats):
            durations += [max(self.period_us - sum(frame), 10_000), *more]
            frame = more
        return durations

    def matches(self, seen: Sequence[int]) -> bool:
        """Return whether this is the key of a received frame, within the tolerance of receivers."""
        return any(_is_close(seen, frame) for frame in (self.first, self.second))


def _is_close(seen: Sequence[int], frame: Sequence[int]) -> bool:
    return len(seen) == len(frame) and all(
        abs(us - right) <= max(right * TOLERANCE, STRETCH_US)
        for us, right in zip(seen, frame, strict=True)
    )


def key_of(text: str) -> Key:
    """Return the key of a code; ValueError names the mistake."""
    name, _, rest = text.strip().lower().partition(":")
    if name == "raw":
        return _raw(text.strip(), rest)
    if name not in _MAKERS:
        raise ValueError(f"{text!r} is unknown; one of {NAMES}, or raw:9000,4500,560")
    numbers = rest.split(":")
    try:
        address, command = (int(number, 0) for number in numbers)
    except ValueError:
        raise ValueError(f"{text!r} is not NAME:ADDRESS:COMMAND, e.g. nec:0x04:0x08") from None
    return _MAKERS[name](text.strip(), address, command)


def keys_of(value: object) -> list[Key]:
    """Return the keys of a list of codes, or of text with semicolons or spaces between them."""
    if isinstance(value, str):
        value = value.replace(";", " ").split()
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a code, e.g. nec:0x04:0x08")
    return [key_of(str(text)) for text in value]


def _raw(text: str, rest: str) -> Key:
    try:
        frame = tuple(int(us) for us in rest.split(","))
    except ValueError:
        frame = ()
    if len(frame) % 2 == 0 or min(frame) < 1 or len(frame) > LONGEST_RAW:
        raise ValueError(f"{text!r} is not a list of microseconds that begins and ends with a mark")
    return Key(text, frame, frame, None, sum(frame) + 50_000)


def _check(text: str, word: str, value: int, bits: int) -> None:
    if not 0 <= value < 2**bits:
        raise ValueError(f"{text!r}: {word} {value} has more than {bits} bits")


def _space_coded(octets: Sequence[int]) -> tuple[int, ...]:
    # Four bytes in the coding of NEC, lowest bit first.
    durations = [9000, 4500]
    for octet in octets:
        for bit in range(8):
            durations += [562, 1687 if octet & (1 << bit) else 562]
    return (*durations, 562)


def _nec_like(address_bytes: int, command_bytes: int, held_short: bool) -> Maker:
    def make(text: str, address: int, command: int) -> Key:
        _check(text, "address", address, 8 * address_bytes)
        _check(text, "command", command, 8 * command_bytes)
        octets = []
        for value, size in ((address, address_bytes), (command, command_bytes)):
            octets += [value % 256, value // 256 if size == 2 else 255 - value]
        frame = _space_coded(octets)
        again = tuple(SHORT_NEC) if held_short else None
        return Key(text, frame, frame, again, 108_000)

    return make


def _from_halves(halves: str, half_us: int, lead: Sequence[int] = ()) -> tuple[int, ...]:
    # Half bits, # mark and . space, as durations from the first mark to the last.
    durations = list(lead)
    previous = ""
    for half in halves.strip("."):
        if half == previous:
            durations[-1] += half_us
        else:
            durations.append(half_us)
        previous = half
    return tuple(durations)


def _rc5(text: str, address: int, command: int) -> Key:
    _check(text, "address", address, 5)
    _check(text, "command", command, 7)
    frames = []
    for toggle in "01":
        field = "0" if command >= 64 else "1"
        bits = f"1{field}{toggle}{address:05b}{command % 64:06b}"
        halves = "".join(".#" if bit == "1" else "#." for bit in bits)
        frames.append(_from_halves(halves, 889))
    return Key(text, frames[0], frames[1], None, 113_800)


def _rc6_like(mode: str, fixed: str, address_bits: int) -> Maker:
    def make(text: str, address: int, command: int) -> Key:
        _check(text, "address", address, address_bits)
        _check(text, "command", command, 8)
        frames = []
        for wide in ("..##", "##.."):
            before = "".join("#." if bit == "1" else ".#" for bit in "1" + mode)
            bits = f"{fixed}{address:0{address_bits}b}{command:08b}"
            after = "".join("#." if bit == "1" else ".#" for bit in bits)
            frames.append(_from_halves(before + wide + after, 444, (2666, 889)))
        return Key(text, frames[0], frames[1], None, 107_000)

    return make


def _sirc_like(address_bits: int) -> Maker:
    def make(text: str, address: int, command: int) -> Key:
        _check(text, "address", address, address_bits)
        _check(text, "command", command, 7)
        durations = [2400]
        for value, bits in ((command, 7), (address, address_bits)):
            for bit in range(bits):
                durations += [600, 1200 if value >> bit & 1 else 600]
        frame = tuple(durations)
        return Key(text, frame, frame, None, 45_000, sends=3)

    return make


Maker = Callable[[str, int, int], Key]

_MAKERS: dict[str, Maker] = {
    "nec": _nec_like(1, 1, held_short=True),
    "nec2": _nec_like(1, 1, held_short=False),
    "nec_ext": _nec_like(2, 1, held_short=True),
    "onkyo": _nec_like(2, 2, held_short=True),
    "rc5": _rc5,
    "rc6": _rc6_like("000", "", 8),
    "rc6a": _rc6_like("110", "1", 22),
    "sirc": _sirc_like(5),
    "sirc15": _sirc_like(8),
    "sirc20": _sirc_like(13),
}
