"""The protocol of a USB IR Toy: reset, version, sample mode, and transmitting a burst.

Sources: the manufacturer's pages on sample mode and firmware; the firmware itself.

24h requests a byte count in sample mode, but starts the bootloader in the default mode. So it is
sent only directly after a confirmed S01: each burst begins by leaving sample mode and entering it
again. That also resets a toy in the middle of a reception, which may hang otherwise, and ends the
0.1 s after a burst in which the toy does not receive.
"""

import re
from dataclasses import dataclass
from enum import Enum

from hilgw.adapters._common.module import notice
from hilgw.adapters.base import Event, Failed, Write
from hilgw.adapters.ir_toy.reasons import IrToyRefused
from hilgw.errors import HilgwError, MismatchError, PeerError
from hilgw.framing.guess import FirstFrame
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.units import NS_PER_MS

# FFFF ends an unfinished transmission, even between the bytes of a count; five zeros leave every
# mode.
RESET = b"\xff\xff\xff" + bytes(5)
LEAVE, ENTER, VERSION = b"\x00", b"s", b"v"
REPORTS_AND_START = b"\x24\x25\x26\x03"  # count, completion, handshake; transmit
LEAST_FIRMWARE = 20  # the first with these reports
BLOCK = 62  # bytes the toy accepts at once
COUNTED, GOOD, UNDERRUN = ord("t"), ord("C"), ord("F")

QUIET_NS, NEVER_QUIET_NS = 20 * NS_PER_MS, 500 * NS_PER_MS
APART_NS = 5 * NS_PER_MS  # the toy loses bytes that follow a zero in the same USB packet
ANSWER_NS = 500 * NS_PER_MS
ENTER_NS, ENTERS = 150 * NS_PER_MS, 4  # s can be repeated: in sample mode it has no effect
TRANSMIT_NS = 1_000 * NS_PER_MS  # in addition to the duration of the burst
TRIES = 3
LONGEST_TEXT = 256


class Phase(Enum):
    CLOSED = "closed"
    RESETTING = "resetting"
    ASKING = "asking"
    LEAVING = "leaving"
    ENTERING = "entering"
    LISTENING = "listening"
    STARTING = "starting"
    TRANSMITTING = "transmitting"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sample mode is confirmed. first: the first time since the last reset."""

    first: bool


@dataclass(frozen=True, slots=True)
class SampleBytes:
    """Received samples."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BurstStarted:
    """The toy begins to transmit."""


@dataclass(frozen=True, slots=True)
class BurstEnded:
    """A burst is over. reason: None when all of it was sent, else why it is lost."""

    reason: RefusedReason | None = None


@dataclass(frozen=True, slots=True)
class Restarted:
    """The toy left the protocol for this reason; a reset is in progress."""

    reason: str


Report = Event | Sampling | SampleBytes | BurstStarted | BurstEnded | Restarted


class SampleMode:
    """The state machine of one toy. Methods return events and reports in order."""

    def __init__(self) -> None:
        self.phase = Phase.CLOSED
        self.deadline: int | None = None
        self.hardware = self.firmware = 0
        self._text = bytearray()
        self._tries = self._enters = 0
        self._give_up_at = 0
        self._burst = b""  # to transmit once sample mode is confirmed
        self._carrier = b""
        self._sent = self._air_ns = 0
        self._result = bytearray()
        self._first = True

    def open(self, now: int) -> list[Report]:
        self._tries = 0
        return self._reset(now)

    def close(self) -> None:
        self._enter(Phase.CLOSED, None)
        self._burst = b""

    def transmit(self, burst: bytes, carrier_hz: int, air_ns: int, now: int) -> bytes:
        """Transmit a burst that lasts air_ns, and return the bytes to send now.

        Only in LISTENING.
        """
        self._burst, self._air_ns = burst, air_ns
        self._carrier = bytes((6, period_of(carrier_hz), 0))
        self._enter(Phase.LEAVING, now + APART_NS)
        return LEAVE

    # --- from the toy ----------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Report]:
        reports: list[Report] = []
        while data:
            match self.phase:
                case Phase.LISTENING:
                    return [*reports, SampleBytes(data)]
                case Phase.CLOSED | Phase.LEAVING:
                    return reports
                case Phase.RESETTING:
                    self.deadline = min(now + QUIET_NS, self._give_up_at)
                    return reports
                case Phase.ASKING | Phase.ENTERING:
                    answers, data = self._read_text(data, now)
                case Phase.STARTING | Phase.TRANSMITTING:
                    answers, data = self._read_report(data[0], now), data[1:]
            reports += answers
        return reports

    def _read_text(self, data: bytes, now: int) -> tuple[list[Report], bytes]:
        self._text += data
        text = bytes(self._text)
        answer = rb"V(\d)(\d\d)" if self.phase is Phase.ASKING else rb"S(\d\d)"
        match = re.search(answer, text)
        if match is None:
            del self._text[:-LONGEST_TEXT]
            return [], b""
        rest = text[match.end() :]
        if self.phase is Phase.ENTERING:
            return self._entered(match[1], now), rest
        self.hardware, self.firmware = int(match[1]), int(match[2])
        if self.firmware < LEAST_FIRMWARE:
            problem = f"the IR Toy has firmware {self.firmware}, which has no transmit reports"
            return self._fail(MismatchError(problem, fix="update it to firmware 20 or newer")), b""
        return self._ask_to_enter(ENTERS, now), b""

    def _entered(self, protocol: bytes, now: int) -> list[Report]:
        if protocol != b"01":
            return self._fail(
                MismatchError(f"the IR Toy uses sample protocol S{protocol.decode()}, not S01")
            )
        first, self._first, self._tries = self._first, False, 0
        if not self._burst:
            self._enter(Phase.LISTENING, None)
            return [Sampling(first)]
        self._enter(Phase.STARTING, now + ANSWER_NS)
        self._sent = 0
        self._result.clear()
        return [Write(self._carrier + REPORTS_AND_START)]

    def _read_report(self, byte: int, now: int) -> list[Report]:
        self.deadline = now + self._air_ns + TRANSMIT_NS
        if self._result or byte == COUNTED:
            self._result.append(byte)
            return self._finish(now) if len(self._result) == 4 else []
        if not 2 <= byte <= 64:
            return self.restart("sent an unexpected answer while transmitting", now)
        reports: list[Report] = [BurstStarted()] if self.phase is Phase.STARTING else []
        self._enter(Phase.TRANSMITTING, self.deadline)
        block = self._burst[self._sent :][: min(byte, BLOCK) & ~1]
        self._sent += len(block)
        return [*reports, Write(block)] if block else reports

    def _finish(self, now: int) -> list[Report]:
        count, verdict = int.from_bytes(self._result[1:3], "big"), self._result[3]
        size = len(self._burst)
        whole = self._sent == size
        self._burst = b""
        if verdict not in (GOOD, UNDERRUN) or not whole:
            why = IrToyRefused.UNDERRUN if verdict == UNDERRUN else IrToyRefused.PROTOCOL
            return [BurstEnded(why), *self.restart("ended a transmission early", now)]
        reason = None if count == size else IrToyRefused.COUNT
        if verdict == UNDERRUN:
            reason = IrToyRefused.UNDERRUN
        self._enter(Phase.LEAVING, now + APART_NS)
        return [BurstEnded(reason), Write(LEAVE)]

    # --- time ------------------------------------------------------------------------------------

    def expire(self, now: int) -> list[Report]:
        if self.deadline is None or now < self.deadline:
            return []
        match self.phase:
            case Phase.RESETTING:
                self._enter(Phase.ASKING, now + ANSWER_NS)
                return [Write(VERSION)]
            case Phase.LEAVING:
                return self._ask_to_enter(ENTERS, now)
            case Phase.ENTERING if self._enters:
                return self._ask_to_enter(self._enters, now)
            case Phase.ASKING | Phase.ENTERING if self._first:
                return self._try_again(now)
        return self.restart("stopped answering", now)

    def _ask_to_enter(self, times: int, now: int) -> list[Report]:
        self._enters = times - 1
        self._enter(Phase.ENTERING, now + ENTER_NS)
        return [Write(ENTER)]

    def _try_again(self, now: int) -> list[Report]:
        if self._tries < TRIES:
            return self._reset(now)
        instead = FirstFrame("ir_toy")
        instead.take(bytes(self._text), now)
        failed = self._fail(
            PeerError(
                "the IR Toy does not answer",
                fix="check that it is an IR Toy, reconnect it, and close other programs that use "
                "it",
            )
        )
        return [*notice(instead.give_up()), *failed]

    def restart(self, reason: str, now: int) -> list[Report]:
        """Reset the toy, which left the protocol for this reason."""
        reports: list[Report] = [Restarted(reason)]
        if self._burst:
            self._burst = b""
            reports.insert(0, BurstEnded(PacketRefused.NO_STATUS))
        self._tries = 0
        return reports + self._reset(now)

    def _reset(self, now: int) -> list[Report]:
        self._first = True
        self._tries += 1
        self._give_up_at = now + NEVER_QUIET_NS
        self._enter(Phase.RESETTING, now + QUIET_NS)
        return [Write(RESET)]

    def _fail(self, error: HilgwError) -> list[Report]:
        self.close()
        return [Failed(error)]

    def _enter(self, phase: Phase, deadline: int | None) -> None:
        self.phase, self.deadline = phase, deadline
        self._text.clear()


def period_of(carrier_hz: int) -> int:
    """Return the toy's register for a carrier: 3 MHz divided by one more than this."""
    return min(max(round(3_000_000 / carrier_hz) - 1, 1), 255)
