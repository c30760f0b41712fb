"""Remote control codes as light: what a key of a remote control shines, in microseconds.

Written down as NAME:ADDRESS:COMMAND, as nec:0x04:0x08, or as raw:9000,4500,560. To hear a code is
to compare what was seen with what its key would shine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Light = list[int]  # mark, space, mark ...

NAMES = "nec, nec2, nec_ext, onkyo, rc5, rc6, rc6a, sirc, sirc15, sirc20"
SHORT_NEC = [9000, 2250, 562]
TOLERANCE, STRETCH_US = 0.25, 120
LONGEST_RAW = 1000


@dataclass(frozen=True)
class Key:
    """One key. first, second: its frame with the toggle bit 0 and 1 (alike where there is none).
    again: what it shines while it is held, None: the frame itself. sends: frames at least."""

    text: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    again: tuple[int, ...] | None
    period_us: int
    sends: int = 1

    def light(self, toggle: int, repeats: int = 0) -> Light:
        """A press, held for so many frames more."""
        frame = list(self.second if toggle else self.first)
        more = list(self.again or frame)
        light = list(frame)
        for _ in range(self.sends - 1 + repeats):
            light += [max(self.period_us - sum(frame), 10_000), *more]
            frame = more
        return light

    def is_seen_in(self, seen: Sequence[int]) -> bool:
        """Whether this frame was seen, within what receivers make of it."""
        return any(_alike(seen, frame) for frame in (self.first, self.second))


def _alike(seen: Sequence[int], frame: Sequence[int]) -> bool:
    return len(seen) == len(frame) and all(
        abs(us - right) <= max(right * TOLERANCE, STRETCH_US)
        for us, right in zip(seen, frame, strict=True)
    )


def key_of(text: str) -> Key:
    """The key written like this. ValueError says what is wrong."""
    name, _, rest = text.strip().lower().partition(":")
    if name == "raw":
        return _raw(text.strip(), rest)
    if name not in _MAKERS:
        raise ValueError(f"{text!r}: unknown code; {NAMES}, or raw:9000,4500,560")
    numbers = rest.split(":")
    try:
        address, command = (int(number, 0) for number in numbers)
    except ValueError:
        raise ValueError(f"{text!r} is no NAME:ADDRESS:COMMAND, as nec:0x04:0x08") from None
    return _MAKERS[name](text.strip(), address, command)


def keys_of(value: object) -> list[Key]:
    """Several: a list, or text with semicolons or spaces between."""
    if isinstance(value, str):
        value = value.replace(";", " ").split()
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is no code, as nec:0x04:0x08")
    return [key_of(str(text)) for text in value]


def _raw(text: str, rest: str) -> Key:
    try:
        light = tuple(int(us) for us in rest.split(","))
    except ValueError:
        light = ()
    if len(light) % 2 == 0 or min(light) < 1 or len(light) > LONGEST_RAW:
        raise ValueError(f"{text!r} is no row of microseconds, mark first and a mark last")
    return Key(text, light, light, None, sum(light) + 50_000)


def _check(text: str, word: str, value: int, bits: int) -> None:
    if not 0 <= value < 2**bits:
        raise ValueError(f"{text!r}: {word} {value} has more than {bits} bits")


def _space_coded(octets: Sequence[int]) -> tuple[int, ...]:
    """Four bytes, lowest bit first, the way NEC does it."""
    light = [9000, 4500]
    for octet in octets:
        for place in range(8):
            light += [562, 1687 if octet & (1 << place) else 562]
    return (*light, 562)


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
    """Half bits, # light and . dark, as durations from the first mark to the last."""
    light = list(lead)
    previous = ""
    for half in halves.strip("."):
        if half == previous:
            light[-1] += half_us
        else:
            light.append(half_us)
        previous = half
    return tuple(light)


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
        light = [2400]
        for value, bits in ((command, 7), (address, address_bits)):
            for place in range(bits):
                light += [600, 1200 if value >> place & 1 else 600]
        return Key(text, tuple(light), tuple(light), None, 45_000, sends=3)

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
