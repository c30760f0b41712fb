"""The pins of a module: the levels a circuit puts on them, and samples of them.

Lines are numbered as DIO0 to DIO14: D0 to D9, then P0 to P4. A line's register selects its use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_mocks.xbee.circuit import FULL_SCALE, LINES
from firmware_mocks.xbee.settings import Settings

STANDARD_LINES = 9  # S1, and XBee 3 802.15.4 with AO 2: D0 to D8
STANDARD_ANALOG_BIT = 9
# The line of each bit of PR, from bit 0.
PULLS = ("D4", "D3", "D2", "D1", "D0", "D6", "D8", "P4", "D5", "D9", "P2", "P0", "P1", "D7", "P3")
PULLS_S1 = ("D4", "D3", "D2", "D1", "D0", "D6", "D8")
ANALOG, INPUT, OUTPUT_LOW, OUTPUT_HIGH = 2, 3, 4, 5  # uses of a line
ANALOG_LINES, ANALOG_LINES_S1 = LINES[:4], LINES[:6]
SUPPLY_BIT = 0x80


@dataclass(frozen=True, slots=True)
class Sample:
    """The lines at one instant.

    mask, levels: the digital lines, by bit. analog: value by analog line. supply_mv: the supply
    voltage, if it is reported.
    """

    mask: int
    levels: int
    analog: Mapping[int, int]
    supply_mv: int | None = None

    @property
    def empty(self) -> bool:
        return not self.mask and not self.analog

    @property
    def standard(self) -> Sample:
        """The part of it that frames 82 and 83 carry."""
        mask = self.mask & (1 << STANDARD_LINES) - 1
        return Sample(mask, self.levels & mask, self.analog)

    @property
    def standard_mask(self) -> int:
        return self.mask | sum(1 << STANDARD_ANALOG_BIT + line for line in self.analog)

    @property
    def analog_mask(self) -> int:
        supply = 0 if self.supply_mv is None else SUPPLY_BIT
        return supply | sum(1 << line for line in self.analog)

    @property
    def words(self) -> list[int]:
        """The 16-bit values: levels, if there are digital lines; then each analog value."""
        words = [self.levels] if self.mask else []
        words += [value for _, value in sorted(self.analog.items())]
        return words if self.supply_mv is None else [*words, self.supply_mv]


def standard_data(samples: tuple[Sample, ...]) -> bytes:
    """Return the samples as frames 82 and 83 carry them.

    These are the count, one mask of all lines, and the values of each sample.
    """
    parts = [sample.standard for sample in samples]
    values = b"".join(word.to_bytes(2, "big") for each in parts for word in each.words)
    return bytes((len(parts),)) + parts[0].standard_mask.to_bytes(2, "big") + values


def extended_data(sample: Sample) -> bytes:
    """Return the sample as frame 92: one sample, masks of digital and analog lines, values."""
    head = b"\x01" + sample.mask.to_bytes(2, "big") + bytes((sample.analog_mask,))
    return head + b"".join(word.to_bytes(2, "big") for word in sample.words)


def standard_text(sample: Sample) -> str:
    """Return the samples as command mode prints them; one line for each value."""
    part = sample.standard
    words = [part.standard_mask, *part.words]
    return "1\r" + "".join(f"{word:03X}\r" for word in words)


def extended_text(sample: Sample) -> str:
    head = f"01\r{sample.mask:04X}\r{sample.analog_mask:02X}\r"
    return head + "".join(f"{word:04X}\r" for word in sample.words)


class Pins:
    """The lines of one module. `settings.pins` has what the circuit puts on them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        modern = settings.hardware.modern
        lines = LINES if modern else LINES[:STANDARD_LINES]
        self._lines = {name: bit for bit, name in enumerate(lines) if name in settings.registers}
        self._analog = ANALOG_LINES if modern else ANALOG_LINES_S1
        self._pulls = PULLS if modern else PULLS_S1

    def level(self, name: str) -> bool:
        """Return whether the line is high; a resistor sets the level of an open input."""
        use = self._settings.number(name)
        if use in (OUTPUT_LOW, OUTPUT_HIGH):
            return use == OUTPUT_HIGH
        driven = self._settings.pins.get(name)
        return driven > FULL_SCALE // 2 if driven is not None else self._is_pulled_up(name)

    def _is_pulled_up(self, name: str) -> bool:
        if name not in self._pulls:
            return False
        bit = 1 << self._pulls.index(name)
        down = "PD" in self._settings.registers and not self._settings.number("PD") & bit
        return bool(self._settings.number("PR") & bit) and not down

    def digital(self) -> dict[int, bool]:
        """Return the levels of the lines that are digital inputs or outputs, by number."""
        uses = (INPUT, OUTPUT_LOW, OUTPUT_HIGH)
        number = self._settings.number
        return {bit: self.level(name) for name, bit in self._lines.items() if number(name) in uses}

    def sample(self) -> Sample:
        """Sample all enabled lines; Zigbee adds the supply voltage when it is V+ or less."""
        number = self._settings.number
        analog = {
            self._lines[name]: self._settings.pins.get(name, 0)
            for name in self._analog
            if number(name) == ANALOG
        }
        low = "V+" in self._settings.registers and number("%V") <= number("V+")
        digital = digital_sample(self.digital())
        return Sample(digital.mask, digital.levels, analog, number("%V") if low else None)


def digital_sample(levels: Mapping[int, bool]) -> Sample:
    mask = sum(1 << bit for bit in levels)
    return Sample(mask, sum(1 << bit for bit, high in levels.items() if high), {})
