"""Command mode: commands and their replies. Commands have no end of line."""

import re
from dataclasses import dataclass

from firmware_mocks.hc12.settings import RATES, Settings

LONGEST = 32
_LINE = re.compile(r"([5-8])([NOE])([123])")


@dataclass(frozen=True, slots=True)
class Spelling:
    """The form of the replies that read settings.

    with_r: the settings whose reply repeats the R of the command, as OK+RC001. all_order: the
    order of AT+RX. all_with_r: AT+RX has it too. digits: of the power, its sign included.
    """

    with_r: str = ""
    all_order: str = "FBCP"
    all_with_r: bool = True
    digits: int = 0


# plain: manual V2.4. 2.3B: manual V2.3B and the drivers that follow it. module: the order of AT+RX
# in the log of a module, which a public driver requires.
SPELLINGS = {
    "plain": Spelling(),
    "2.3B": Spelling(with_r="C", digits=3),
    "module": Spelling(with_r="C", all_order="BCPF", digits=3),
    "long": Spelling(with_r="BCF", all_with_r=False),
}


@dataclass(slots=True)
class Style:
    """The replies of this firmware version. has_error: ERROR for an unknown command."""

    spelling: Spelling = SPELLINGS["plain"]
    long_version: bool = False
    has_error: bool = False
    version: str = "HC-12_V2.4"


class Commands:
    """Runs commands on the settings. sleeps, updates: from the next rise of SET."""

    def __init__(self, settings: Settings, style: Style) -> None:
        self.settings = settings
        self.style = style
        self.sleeps = self.updates = False

    def answer(self, text: str) -> list[str]:
        """Return the reply to one command, as lines."""
        if text == "AT":
            return ["OK"]
        if not text.startswith("AT+"):
            return self._unknown()
        word = text[3:]
        fixed = {
            "DEFAULT": self._default, "SLEEP": self._sleep, "UPDATE": self._update,
            "V": self._version, "RX": self._read_all,
        }.get(word)  # fmt: skip
        if fixed is not None:
            return fixed()
        if len(word) == 2 and word[0] == "R" and word[1] in "BCFP":
            return [self._read(word[1])]
        return [f"OK+{word}"] if self._change(word) else self._unknown()

    def _unknown(self) -> list[str]:
        return ["ERROR"] if self.style.has_error else []

    def _default(self) -> list[str]:
        self.settings.set_default()
        return ["OK+DEFAULT"]

    def _sleep(self) -> list[str]:
        self.sleeps = True
        return ["OK+SLEEP"]

    def _update(self) -> list[str]:
        self.updates = True
        return []

    def _version(self) -> list[str]:
        return [f"OK+{self.style.version}" if self.style.long_version else self.style.version]

    def _read_all(self) -> list[str]:
        spelling = self.style.spelling
        with_r = spelling.with_r if spelling.all_with_r else ""
        return [self._reading(letter, with_r) for letter in spelling.all_order]

    def _read(self, letter: str) -> str:
        return self._reading(letter, self.style.spelling.with_r)

    def _reading(self, letter: str, with_r: str) -> str:
        held = self.settings
        r = "R" if letter in with_r else ""
        return {
            "B": f"OK+{r}B{held.baud_rate}",
            "C": f"OK+{r}C{held.channel:03}",
            "F": f"OK+{r}FU{held.mode}",
            "P": f"OK+RP:{held.power_dbm:+0{self.style.spelling.digits}}dBm",
        }[letter]

    def _change(self, word: str) -> bool:
        held = self.settings
        if (match := re.fullmatch(r"B([0-9]{4,6})", word)) and int(match[1]) in RATES:
            held.baud_rate = int(match[1])
            held.enter_mode(held.mode)
        elif (match := re.fullmatch(r"C([0-9]{3})", word)) and 1 <= int(match[1]) <= 127:
            held.channel = int(match[1])
        elif match := re.fullmatch(r"FU([1-4])", word):
            held.enter_mode(int(match[1]))
        elif match := re.fullmatch(r"P([1-8])", word):
            held.power = int(match[1])
        elif word.startswith("U"):
            return set_line(held, word[1:])
        else:
            return False
        return True


def set_line(held: Settings, line: str) -> bool:
    """Set the serial mode, such as 8N1; return whether there is one of this name."""
    match = _LINE.fullmatch(line)
    if match is None:
        return False
    stop = 2 if match[3] == "2" else 1
    held.line = line
    held.bits_per_byte = 1 + int(match[1]) + (match[2] != "N") + stop
    return True
