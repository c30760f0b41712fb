"""Webots' own behaviour, case by case, under the names of docs/semantics.md.

Each case is a list of calls with what each gives back. A call is a word of `LoneEmitter` or
`LoneReceiver` below; `notes` returns, and clears, the notices of the device.

Knowingly different from Webots, and why:
* E8: setRange(NaN) is refused; Webots lets it slip through, and no receiver is then in range.
* B8: an immediate request (a step of 0 ms) takes no time; Webots adds the previous step's credit
  to the line a second time, so the packet leaves before its time.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.radios import Emitter, Receiver
from tests.docs.reading import pages

MS = 1_000_000
INF, NAN = math.inf, math.nan


def nan_like(value: Any) -> Any:
    """Return the value with NaN as a word, which equals itself."""
    if isinstance(value, list | tuple):
        return type(value)(map(nan_like, value))
    return "nan" if isinstance(value, float) and math.isnan(value) else value


class GoldenDevice:
    """A device that golden cases are played on: words are methods, sizes are packets.

    skips: words that it has not. left: the packets that left in the last step. one_range: Webots
    judges the packets of a step by the range of the last one.
    """

    skips: frozenset[str] = frozenset()
    one_range = False
    left: Sequence[Any] = ()
    notices: list[str]

    def play(self, script: list[tuple[Any, ...]]) -> None:
        for line, (word, *given, expected) in enumerate(script, 1):
            if word in self.skips:
                continue
            if word == "ranges" and self.one_range:
                expected = [expected[-1]] * len(expected)
            result = nan_like(getattr(self, word)(*given))
            assert nan_like(expected) == result, f"line {line}: {word}{tuple(given)}"

    def channels(self) -> list[int]:
        return [packet.channel for packet in self.left]

    def ranges(self) -> list[float]:
        return [packet.range for packet in self.left]

    def sizes(self) -> list[int]:
        """Read the whole queue."""
        return list(iter(self.read, None))

    def disable(self) -> int:
        return self.enable(0)

    def read(self) -> int | None:
        """Take the next packet away, and return its size."""
        raise NotImplementedError

    def enable(self, ms: int) -> int:
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return the notices since the last call."""
        notices = self.notices[:]
        self.notices.clear()
        return notices


class LoneEmitter(GoldenDevice):
    """An Emitter and a clock that only `step` moves."""

    def __init__(self, **fields: Any) -> None:
        self.notices: list[str] = []
        self.emitter = Emitter(EmitterFields(**fields), self.notices.append)
        self.now = 0

    def send(self, size: int) -> int:
        return int(self.emitter.send(bytes(size), self.now) is None)

    def setChannel(self, channel: int) -> int:
        self.emitter.setChannel(channel)
        return self.emitter.getChannel()

    def setRange(self, range: float) -> float:
        self.emitter.setRange(range)
        return self.emitter.range

    def step(self, ms: int) -> list[int]:
        """The sizes that leave in this step."""
        self.now += ms * MS
        self.left = list(iter(lambda: self.emitter.depart(self.now), None))
        return [len(packet.data) for packet in self.left]


@dataclass(frozen=True)
class SentPacket:
    data: bytes


@dataclass(frozen=True)
class ReceivedCopy:
    packet: SentPacket


class LoneReceiver(GoldenDevice):
    """A Receiver and a clock that only `step` moves."""

    def __init__(self, step_ms: int = 32, **fields: Any) -> None:
        self.notices: list[str] = []
        self.step_ms = step_ms
        self.receiver: Receiver[ReceivedCopy] = Receiver(
            ReceiverFields(**fields), step_ms, self.notices.append
        )
        self.now = 0
        self.coming: list[int] = []

    def arrive(self, *sizes: int) -> None:
        """Packets of the coming step."""
        self.coming.extend(sizes)

    def step(self) -> int:
        """One basic step; what can be read then."""
        self.now += self.step_ms * MS
        for size in self.coming:
            self.receiver.receive(ReceivedCopy(SentPacket(bytes(size))), self.now)
        self.coming.clear()
        self.receiver.sample(self.now)
        return self.receiver.getQueueLength()

    def read(self) -> int | None:
        copy = self.receiver.nextPacket()
        return len(copy.packet.data) if copy else None

    def enable(self, ms: int) -> int:
        self.receiver.enable(ms, self.now)
        return self.receiver.getSamplingPeriod()

    def disable(self) -> int:
        self.receiver.disable()
        return self.receiver.getSamplingPeriod()

    def length(self) -> int:
        return self.receiver.getQueueLength()

    def size(self) -> int:
        head = self.receiver.head
        return -1 if head is None else len(head.packet.data)

    def period(self) -> int:
        return self.receiver.getSamplingPeriod()

    def setChannel(self, channel: int) -> int:
        self.receiver.setChannel(channel)
        return self.receiver.getChannel()

    def placed(self, channel: int) -> int:
        """The simulator reports which channel the receiver is on."""
        self.receiver.adopt_channel(channel)
        return self.receiver.getChannel()

    def asked(self) -> int | None:
        """The one SET_CHANNEL this step would carry."""
        return self.receiver.take_channel()


@dataclass(frozen=True)
class Note:
    """One notice, with these words in it."""

    words: tuple[str, ...] = field()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, list)
            and len(other) == 1
            and all(word in other[0] for word in self.words)
        )

    def __hash__(self) -> int:
        return hash(self.words)


def note(*words: str) -> Note:
    return Note(words)


SILENT: list[str] = []
NOT_ALLOWED = note("not between allowed channels")
BAD_CHANNEL = note("invalid channel=-2", "[-1,inf)")
DISABLED = note(
    "wb_receiver_get_queue_length() called for a disabled device! Please use: wb_receiver_enable()."
)

EMITTER = {
    "bufferSize": 32,
    "channel": 3,
    "range": 2.0,
    "maxRange": 5.0,
    "allowedChannels": (3, 4, -1),
}
LINE = {"baudRate": 9600}  # 1.2 bytes per ms: 38.4 in a step of 32 ms
RECEIVER = {"bufferSize": 16, "channel": 7}

# fmt: off
EMITTER_CASES: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    # A packet fits iff its size <= bufferSize - used.
    "E1": (EMITTER, [("send", 20, 1), ("send", 12, 1), ("send", 1, 0), ("step", 32, [20, 12])]),
    # `used` falls when a packet leaves.
    "E2": (EMITTER, [("send", 20, 1), ("send", 12, 1), ("step", 32, [20, 12]),
                     ("send", 33, 0), ("send", 32, 1), ("send", 1, 0)]),
    # bufferSize -1 is never full.
    "E5": ({}, [*[("send", 1000, 1)] * 1000, ("step", 32, [1000] * 1000)]),
    # Channel and range are frozen at send; a channel that is refused changes nothing.
    "E6": (EMITTER, [("setChannel", 4, 4), ("send", 1, 1),
                     ("setChannel", 5, 4), ("notes", NOT_ALLOWED), ("send", 1, 1),
                     ("setChannel", -1, -1), ("send", 1, 1),
                     ("setChannel", -2, -1), ("notes", BAD_CHANNEL), ("send", 1, 1),
                     ("setRange", 1.0, 1.0),
                     ("setChannel", 3, 3), ("send", 1, 1), ("notes", SILENT),
                     ("step", 32, [1] * 5), ("channels", [4, 4, -1, -1, 3]),
                     ("ranges", [2.0, 2.0, 2.0, 2.0, 1.0])]),
    # Without allowedChannels every channel from -1 on; with them even -1 must be listed.
    "E7": ({}, [("setChannel", 4711, 4711), ("setChannel", -1, -1), ("setChannel", 0, 0),
                ("notes", SILENT), ("setChannel", -2, 0), ("notes", BAD_CHANNEL)]),
    "E7 listed": ({"channel": 3, "allowedChannels": (3, 4)},
                  [("setChannel", -1, 3), ("notes", NOT_ALLOWED)]),
    # setRange clips to maxRange; -1 asks for it. Different: NaN is refused.
    "E8": (EMITTER, [("setRange", 1.0, 1.0), ("setRange", 5.0, 5.0), ("setRange", 10.0, 5.0),
                     ("setRange", -1.0, 5.0), ("notes", SILENT),
                     ("setRange", -2.0, 5.0), ("notes", note("invalid range=-2.000000 argument.")),
                     ("setRange", 0.0, 0.0), ("setRange", INF, 5.0), ("notes", SILENT),
                     ("setRange", NAN, 5.0), ("notes", note("invalid range=nan argument."))]),
    # maxRange -1: no limit.
    "E9": ({}, [("setRange", 1e9, 1e9), ("setRange", -1.0, -1.0), ("notes", SILENT)]),
    # setChannel and setRange alone put nothing on the wire.
    "E10": (EMITTER, [("setChannel", 4, 4), ("setRange", 1.0, 1.0), ("step", 32, [])]),
    # setChannel to the current value is silent.
    "E11": (EMITTER, [("setChannel", 3, 3), ("notes", SILENT)]),
    # Order is kept; all that is due leaves together.
    "E12": ({}, [("send", 3, 1), ("send", 1, 1), ("send", 2, 1), ("step", 32, [3, 1, 2])]),
    # The line: a packet leaves when the bytes up to its end have passed.
    "B1": (LINE, [*[("send", 30, 1)] * 3, *[("step", 32, [30])] * 3]),
    # Credit carries over from packet to packet.
    "B2": (LINE, [*[("send", 50, 1)] * 5,
                  *[("step", 32, left) for left in ([], [50], [50], [50], [], [50], [50])]]),
    "B3": (LINE, [*[("send", 10, 1)] * 10,
                  ("step", 32, [10] * 3), ("step", 32, [10] * 4), ("step", 32, [10] * 3)]),
    # What is left over when the queue empties is lost.
    "B4": (LINE, [*[("send", 10, 1)] * 10,
                  ("step", 32, [10] * 3), ("step", 32, [10] * 4), ("step", 32, [10] * 3),
                  ("step", 32, []), ("send", 39, 1), ("step", 32, []), ("step", 32, [39])]),
    # Small packets never overtake.
    "B5": (LINE, [("send", 100, 1), ("send", 1, 1), ("step", 32, []), ("step", 32, []),
                  ("send", 1, 1), ("step", 32, [100, 1, 1])]),
    "B6": (LINE, [("send", 30, 1), ("step", 16, []), ("step", 16, [30])]),
    # baudRate 0: never.
    "B7": ({"baudRate": 0}, [("send", 1, 1), ("step", 32, []), ("step", 10**9, [])]),
    # Different: an immediate request takes no time.
    "B8": (LINE, [("send", 30, 1), ("step", 16, []), ("step", 0, []), ("step", 16, [30])]),
}

RECEIVER_CASES: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "R1": (RECEIVER, [("length", 0), ("notes", DISABLED), ("period", 0), ("notes", SILENT)]),
    "R2": (RECEIVER, [("enable", 32, 32), ("length", 0), ("notes", SILENT),
                      ("size", -1)]),
    "R7": (RECEIVER, [("enable", 32, 32), ("read", None), ("notes", SILENT)]),
    # No program reads: the newest are dropped, packet by packet, silently.
    "R8": (RECEIVER, [("enable", 32, 32), ("step", 0), ("arrive", 6, 6, None), ("step", 2),
                      ("arrive", 6, 6, None), ("step", 2), ("notes", SILENT), ("step", 2)]),
    # Reading makes room: old second, first of the new.
    "R9": (RECEIVER, [("enable", 32, 32), ("arrive", 6, 5, None), ("step", 2), ("read", 6),
                      ("arrive", 7, 8, None), ("step", 2), ("sizes", [5, 7])]),
    # No head of line at admission: what fits is taken.
    "R10": (RECEIVER, [("enable", 32, 32), ("arrive", 12, 8, 3, None), ("step", 2),
                       ("sizes", [12, 3])]),
    "R11": ({}, [("enable", 32, 32), ("arrive", *[1000] * 1000, None), ("step", 1000)]),
    "R12": (RECEIVER, [("enable", 64, 64), ("enable", -5, 64),
                       ("notes", note("called with negative sampling period."))]),
    # What is queued stays readable when the receiver is disabled.
    "R13": (RECEIVER, [("enable", 32, 32), ("arrive", 6, None), ("step", 1), ("disable", 0),
                       ("notes", SILENT), ("length", 1), ("notes", DISABLED),
                       ("size", 6), ("read", 6), ("notes", SILENT)]),
    # What waits for a sample stays, and comes one period after the next enabling.
    "R13 waiting": ({}, [("enable", 64, 64), ("arrive", 6, None), ("step", 0), ("disable", 0),
                         ("arrive", 5, None), ("step", 0), ("enable", 96, 96), ("step", 0),
                         ("arrive", 4, None), ("step", 0), ("step", 2), ("sizes", [6, 4])]),
    # The current channel: nothing is asked. Several in one step: the last one is.
    "R14": (RECEIVER, [("setChannel", 7, 7), ("notes", SILENT), ("asked", None),
                       ("setChannel", 8, 8), ("setChannel", -1, -1), ("notes", SILENT),
                       ("setChannel", -2, -1), ("notes", BAD_CHANNEL),
                       ("asked", -1), ("asked", None)]),
    "R15": ({"channel": 7, "allowedChannels": (7, 8)},
            [("setChannel", 9, 7), ("notes", NOT_ALLOWED),
             ("setChannel", 8, 8), ("notes", SILENT)]),
    # The channel the simulator names is the receiver's; nothing is asked back.
    "R16": (RECEIVER, [("placed", 5, 5), ("asked", None)]),
    # Delivery on the sampling grid: at steps 3 and 6.
    "R21": ({}, [("enable", 96, 96), ("arrive", 1, None), ("step", 0), ("arrive", 2, None),
                 ("step", 0), ("arrive", 3, None), ("step", 3), ("step", 3),
                 ("arrive", 4, None), ("step", 3), ("step", 4), ("sizes", [1, 2, 3, 4])]),
}
# fmt: on


@pytest.mark.parametrize("case", EMITTER_CASES)
def test_emitter(case: str) -> None:
    fields, script = EMITTER_CASES[case]
    LoneEmitter(**fields).play(script)


@pytest.mark.parametrize("case", RECEIVER_CASES)
def test_receiver(case: str) -> None:
    fields, script = RECEIVER_CASES[case]
    LoneReceiver(**fields).play(script)


def test_the_semantics_page_names_every_case() -> None:
    page = pages("semantics", "emitter-receiver", "medium", "poses")
    named = set(re.findall(r"\b[EBR]\d+\b", page))
    assert named == {name.split()[0] for name in (*EMITTER_CASES, *RECEIVER_CASES)}
