"""The dialogues with an e-puck in lines of text: the handshake, and the way back into step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from hilgw.bodies.epuck import sercom
from hilgw.control.events import Event, Write
from hilgw.errors import MismatchError
from hilgw.protocols.dialogue import AskLine, LineScript, Pause

DRAIN_S = 0.15  # what the robot was asked for before has come by then
SETTLE_S = 0.02
LINE_S = 0.3  # for an answer to one line
TRIES = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What a robot answered. ground_values: how many numbers command M answers; selector: None
    where it was not answered."""

    version: str
    hardware: str
    selector: int | None
    ground_values: int

    def __str__(self) -> str:
        words = [self.version]
        if self.hardware:
            words.append(f"HW version {self.hardware}")
        if self.selector is not None:
            words.append(f"selector {self.selector}")
        return ", ".join(words)


def handshake(
    seen: deque[bytes], answer_s: float, *, at_first: bool, has_ground: bool
) -> LineScript[Event, Found | None]:
    """Stops the robot, and asks it who it is. None: it is silent, or what comes is not text.

    seen: the last lines that came, which the session keeps. at_first: the encoders begin at 0.
    Raises MismatchError for another device.
    """
    line_s = LINE_S + answer_s
    yield Write(sercom.STOP)
    yield Pause(DRAIN_S + answer_s)
    seen.clear()
    asked = yield AskLine(sercom.VERSION, sercom.VERSION_ANSWER, timeout_s=line_s, tries=TRIES)
    if asked is None:
        _refuse_others(seen)
        return None
    hardware = yield AskLine(b"", sercom.HARDWARE_ANSWER, timeout_s=LINE_S)
    selector = yield AskLine(sercom.SELECTOR, sercom.SELECTOR_ANSWER, timeout_s=line_s)
    if at_first:
        yield AskLine(sercom.ZERO_ENCODERS, sercom.ZERO_ANSWER, timeout_s=line_s)
    ground = None
    if has_ground:
        ground = yield AskLine(sercom.GROUND_LINE, sercom.GROUND_ANSWER, timeout_s=line_s)
    if (yield AskLine(sercom.QUIET, sercom.QUIET_ANSWER, timeout_s=line_s, tries=TRIES)) is None:
        return None
    yield Pause(SETTLE_S)
    return Found(
        printable(asked[1]),
        "" if hardware is None else printable(hardware[1]),
        None if selector is None else int(selector[1]),
        3 if ground is None else ground[1].count(b","),
    )


def back_in_step(left: int, right: int, answer_s: float) -> LineScript[Event, bool]:
    """Ends whatever the robot is in the middle of, and sets its speeds anew; whether it answered.
    What it still sends after that is dropped."""
    text = sercom.drive_line(left, right)
    answered = yield AskLine(text, sercom.DRIVE_ANSWER, timeout_s=answer_s)
    if answered is None:
        return False
    yield Pause(SETTLE_S)
    return True


def printable(data: bytes) -> str:
    """Text of a device, short and safe to show."""
    text = data.decode("ascii", "replace").strip()
    return "".join(each if each.isprintable() else "?" for each in text)[:80]


def _refuse_others(seen: Iterable[bytes]) -> None:
    """MismatchError where lines of text came that sercom does not send."""
    others = [line for line in seen if not sercom.is_own(line)]
    if others and all(0x20 <= byte < 0x7F for line in others for byte in line):
        raise MismatchError(
            f"not an e-puck with sercom: it answers '{printable(others[-1])}' to V",
            fix="correct the port, or start sercom on the robot (its selector, then reset)",
        )
