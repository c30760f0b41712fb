"""The machine: its line, real-time characters, planner and states, as Grbl 1.1 documents them.

Axes change their velocity at once: there is no acceleration. There is no watchdog: a machine whose
line is dead continues to the end of what it was sent.
"""

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable
from firmware_mocks.gcode_machine import words
from firmware_mocks.gcode_machine.arcs import LineError, Point
from firmware_mocks.gcode_machine.words import Block, Modes
from firmware_mocks.parameters import Parameters, parameter

RX_BYTES = 128
LONGEST = 80  # characters of a line
PLANNER_BLOCKS = 15
HOME_NS = 500 * MS
REPORT, HOLD, RESUME, RESET, JOG_CANCEL = ord("?"), ord("!"), ord("~"), 0x18, 0x85
SETTINGS = {0: "10", 1: "25", 10: "1", 13: "0", 20: "1", 21: "0", 22: "0", 110: "5000.000"}
PULL_OFF_MM = 1.0  # $27: from the switch, after homing
WITHOUT_STATE = ("$", "$G")  # commands that it takes while it moves or holds
VERSION = "1.1h"


class Motion(NamedTuple):
    """A straight motion that the planner holds. feed: in mm/min."""

    target: Point
    feed: float


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a machine."""

    travel: Point = parameter("length of the axes x, y, z in mm", "200, 150, 50", values.position)
    corner: str = parameter(
        "min, max: where the axes are 0: machine positions go from 0 to the travel, or from "
        "-travel to 0, as Grbl homes, and are -1 after $H",
        "min",
        values.choice,
        ("max", "min"),
    )
    work_offset: Point = parameter(
        "zero x, y, z of the work coordinates G54, on the machine (default {default}; mm)",
        "0, 0, 0",
        values.position,
    )
    status_report: int = parameter(
        "setting $10: 0 or 2 reports WPos, 1 or 3 MPos", 1, values.whole, 0, 3
    )
    report_inches: bool = parameter("setting $13: no, yes", "no", values.yes)
    max_rate: float = parameter("largest speed in mm/min", 5000, values.number, 1, 100_000)
    soft_limits: bool = parameter(
        "no, yes: a target beyond the travel is refused, or an alarm", "yes", values.yes
    )
    homing: bool = parameter("no, yes: it starts in alarm until $H or $X", "no", values.yes)
    boot_ns: int = parameter(
        "duration of a start", 20, values.milliseconds, 0, 60_000, name="boot_ms"
    )
    baud_rate: int = parameter("rate of its line", 115_200, values.whole, 1200, 1_000_000)
    position: object = values.unused()

    @property
    def sign(self) -> int:
        """Sign of the machine positions."""
        return 1 if self.corner == "min" else -1


class Machine(Adjustable[Settings]):
    """The machine.

    The `position` of the axes is in mm; `state` is Idle, Run, Jog, Hold:0, Alarm, Home or Check;
    `drawn` are the ends of all motions, in order.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.position = (0.0, 0.0, 0.0)
        self.drawn: list[Point] = []
        self._home_at = (0.0, 0.0, 0.0)  # kept without power
        self.uart.baud_rate = settings.baud_rate
        self._forget()

    def _forget(self) -> None:
        # Clears all but the position and that of G28, as a reset does.
        self.modes = Modes(offset=self.settings.work_offset, home=self._home_at)
        self.state = "Idle"
        self._rx = bytearray()
        self._is_busy = False
        self._blocks: deque[Motion] = deque()
        self._unplanned: deque[Motion] = deque()  # of the line that waits for the planner
        self._planned = self.position
        self._moved_ns: int | None = None
        self._rest_ns = 0  # of a dwell that follows the motions
        self._reports = 0
        self._is_on = False

    # --- the host -----------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        self.uart.baud_rate = self.settings.baud_rate
        if name == "work_offset":
            self.modes = replace(self.modes, offset=self.settings.work_offset)
            self._reports = 0  # the next report has it

    def reset(self, now: int) -> None:
        self._cancel()
        self.position = (0.0, 0.0, 0.0)
        self._forget()
        self.timers.start("boot", now + self.settings.boot_ns, self._boot)

    def switch_off(self) -> None:
        self._cancel()
        self._forget()

    def describe(self) -> str:
        x, y, z = self.position
        return f"G-code machine, {self.state} at {x:.1f}, {y:.1f}, {z:.1f} mm"

    def advance(self, now: int) -> None:
        if not self._is_on and "boot" not in self.timers:
            self.timers.start("boot", now + self.settings.boot_ns, self._boot)
        self._move(now)
        self._run(now)
        super().advance(now)

    def _boot(self, now: int) -> None:
        self._is_on, self._moved_ns = True, now
        self._write(f"\r\nGrbl {VERSION} ['$' for help]\r\n", now)
        if self.settings.homing:
            self._lock(now)

    def _lock(self, now: int) -> None:
        self.state = "Alarm"
        self._write("[MSG:'$H'|'$X' to unlock]\r\n", now)

    def _write(self, text: str, now: int) -> None:
        self.uart.write(text.encode("latin-1"), now)

    # --- bytes --------------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        if not self._is_on:
            return
        self._move(now)
        for byte in self.uart.distort(data):
            if byte in (REPORT, HOLD, RESUME, RESET) or byte >= 0x80:
                self._realtime(byte, now)
            elif len(self._rx) < RX_BYTES:
                self._rx.append(byte)
        self._run(now)

    def _realtime(self, byte: int, now: int) -> None:
        if byte == REPORT:
            self._report(now)
        elif byte == RESET:
            self._soft_reset(now)
        elif byte == HOLD and self.state in ("Run", "Idle"):
            self.state = "Hold:0"
        elif byte in (HOLD, JOG_CANCEL) and self.state == "Jog":
            self._empty()
            self.state = "Idle"
        elif byte == RESUME and self.state == "Hold:0":
            self.state = "Run" if self._blocks else "Idle"
            self._moved_ns = now
            self._schedule(now)

    def _soft_reset(self, now: int) -> None:
        # A motion that it interrupts loses the position (alarm 3).
        was_moving = self.state in ("Run", "Jog", "Home")
        was_locked = self.state == "Alarm"
        self.timers.clear()
        self._forget()
        self._is_on, self._moved_ns = True, now
        if was_moving:
            self._write("ALARM:3\r\n", now)
        self._write(f"\r\nGrbl {VERSION} ['$' for help]\r\n", now)
        if was_moving or was_locked:
            self._lock(now)

    def _report(self, now: int) -> None:
        speed = self._blocks[0].feed if self.state in ("Run", "Jog") and self._blocks else 0
        zero = self.modes.work_zero
        more = "|Bf:15,128" if self.settings.status_report & 2 else ""
        if self._reports % (10 if self.state in ("Idle", "Alarm") else 30) == 0:
            more += f"|WCO:{self._shown(zero)}"
        elif self._reports % 20 == 0:
            more += "|Ov:100,100,100"
        self._reports += 1
        x, y, z = self.position
        place = f"MPos:{self._shown(self.position)}"
        if not self.settings.status_report & 1:
            place = f"WPos:{self._shown((x - zero[0], y - zero[1], z - zero[2]))}"
        speed /= words.INCH_MM if self.settings.report_inches else 1
        self._write(f"<{self.state}|{place}|FS:{speed:.0f},0{more}>\r\n", now)

    def _shown(self, point: Point) -> str:
        if not self.settings.report_inches:
            return _place(point)
        return ",".join(f"{each / words.INCH_MM:.4f}" for each in point)

    # --- lines --------------------------------------------------------------------------------

    def _run(self, now: int) -> None:
        # Executes the lines that are there, while the planner has room. A line is answered once
        # the planner has all of its motions.
        while len(self._blocks) < PLANNER_BLOCKS:
            if self._unplanned:
                self._add(self._unplanned.popleft(), now)
                if not self._unplanned:
                    self._end_line(now)
                continue
            if self._is_busy:
                return
            ends = [at for at in (self._rx.find(b"\n"), self._rx.find(b"\r")) if at >= 0]
            if not ends:
                return
            line = bytes(self._rx[: min(ends)])
            del self._rx[: min(ends) + 1]
            self._execute(line.decode("latin-1"), now)  # an empty one is answered, too

    def _execute(self, line: str, now: int) -> None:
        try:
            if len(line) > LONGEST:
                raise LineError(words.TOO_LONG)
            cleaned = words.clean(line)
            if cleaned.startswith("$"):
                self._system(cleaned, now)
            else:
                if self.state in ("Alarm", "Jog"):
                    raise LineError(words.LOCKED)
                self._plan(words.read(cleaned, self.modes, self._planned), now)
        except LineError as error:
            self._write(f"error:{error.code}\r\n", now)
            return
        if not self._is_busy and not self._unplanned:
            self._write("ok\r\n", now)

    def _end_line(self, now: int) -> None:
        if not self._is_busy:
            self._write("ok\r\n", now)

    def _system(self, line: str, now: int) -> None:
        if line.startswith("$J="):
            self._jog(line[3:], now)
        elif self.state in ("Run", "Hold:0") and line not in WITHOUT_STATE:
            raise LineError(words.NOT_IDLE)
        elif line == "$I":
            self._write(f"[VER:{VERSION}.20190825:]\r\n[OPT:V,15,128]\r\n", now)
        elif line == "$G":
            self._write(self.modes.text() + "\r\n", now)
        elif line == "$#":
            self._offsets(now)
        elif line == "$$":
            shown = SETTINGS | {
                10: str(self.settings.status_report),
                13: str(int(self.settings.report_inches)),
            }
            lines = [f"${number}={value}\r\n" for number, value in shown.items()]
            self._write("".join(lines), now)
        elif line == "$":
            self._write("[HLP:$$ $# $G $I $N $x=val $Nx=line $J=line $X $H ~ ! ? ctrl-x]\r\n", now)
        elif line == "$X":
            if self.state == "Alarm":
                self.state = "Idle"
                self._write("[MSG:Caution: Unlocked]\r\n", now)
        elif line == "$H" and self.settings.homing:
            self._home(now)
        elif line in ("$C", "$N", "$H"):
            raise LineError(5 if line == "$H" else words.BAD_STATEMENT)
        else:
            raise LineError(words.BAD_STATEMENT)

    def _offsets(self, now: int) -> None:
        zero, home, work = (
            _place(at) for at in (self.modes.offset, self.modes.home, self.modes.zero)
        )
        offsets = f"[G54:{zero}]\r\n[G28:{home}]\r\n[G92:{work}]\r\n"
        self._write(f"{offsets}[TLO:0.000]\r\n[PRB:0.000,0.000,0.000:0]\r\n", now)

    def _home(self, now: int) -> None:
        if self.state not in ("Idle", "Alarm"):
            raise LineError(words.NOT_IDLE)
        self.state, self._is_busy = "Home", True
        self.timers.start("home", now + HOME_NS, self._at_home)

    def _at_home(self, now: int) -> None:
        place = 0.0 if self.settings.sign > 0 else -PULL_OFF_MM
        self.position = self._planned = (place, place, place)
        self.state, self._is_busy = "Idle", False
        self._write("ok\r\n", now)
        self._run(now)

    # --- motions ------------------------------------------------------------------------------

    def _jog(self, line: str, now: int) -> None:
        if self.state not in ("Idle", "Jog"):
            raise LineError(words.NOT_IDLE)
        block = words.read(line, self.modes, self._planned, jog=True)
        if self.settings.soft_limits and not self._is_inside(block):
            raise LineError(words.BEYOND_TRAVEL)
        self._order(block, "Jog", now)

    def _plan(self, block: Block, now: int) -> None:
        if block.modes.work_zero != self.modes.work_zero:
            self._reports = 0  # the next report has it
        self.modes, self._home_at = block.modes, block.modes.home
        if block.path:
            if self.settings.soft_limits and not self._is_inside(block):
                self._empty()
                self._write("ALARM:2\r\n[MSG:Reset to continue]\r\n", now)
                self.state, self._is_busy = "Alarm", True  # it reads no line until its reset
                return
            self._order(block, "Run", now)
        if block.ends:
            self.modes = Modes(
                offset=self.settings.work_offset, zero=self.modes.zero, home=self._home_at
            )
        if block.dwell_s is not None:
            self._is_busy = True
            self._rest_ns = round(block.dwell_s * 1e9)
            if not self._blocks:
                self.timers.start("dwell", now + self._rest_ns, self._end_dwell)

    def _end_dwell(self, now: int) -> None:
        self._is_busy = False
        self._write("ok\r\n", now)
        self._run(now)

    def _empty(self) -> None:
        self._blocks.clear()
        self._unplanned.clear()
        self._planned = self.position

    def _is_inside(self, block: Block) -> bool:
        pairs = (pair for end in block.path for pair in zip(end, self.settings.travel, strict=True))
        return all(-1e-6 <= at * self.settings.sign <= length + 1e-6 for at, length in pairs)

    def _order(self, block: Block, state: str, now: int) -> None:
        feed = (
            self.settings.max_rate if block.rapid else min(block.modes.feed, self.settings.max_rate)
        )
        self._unplanned.extend(Motion(end, feed) for end in block.path)
        if self.state == "Idle":
            self.state = state
        while self._unplanned and len(self._blocks) < PLANNER_BLOCKS:
            self._add(self._unplanned.popleft(), now)
        self._planned = block.path[-1]

    def _add(self, motion: Motion, now: int) -> None:
        self._blocks.append(motion)
        if self.state == "Idle":
            self.state = "Run"
        self._moved_ns = now
        self._schedule(now)

    def _schedule(self, now: int) -> None:
        if not self._blocks or self.state not in ("Run", "Jog"):
            self.timers.stop("block")
            return
        left_s = math.dist(self.position, self._blocks[0].target) / self._blocks[0].feed * 60
        self.timers.start("block", now + math.ceil(left_s * 1e9), self._end_block)

    def _end_block(self, now: int) -> None:
        self._move(now)
        self._run(now)

    def _move(self, now: int) -> None:
        before, self._moved_ns = self._moved_ns, now
        left_s = 0.0 if before is None else (now - before) / 1e9
        while self._blocks and self.state in ("Run", "Jog"):
            block = self._blocks[0]
            needed_s = math.dist(self.position, block.target) / block.feed * 60
            if needed_s > left_s + 1e-9:
                share = left_s / needed_s
                pairs = zip(self.position, block.target, strict=True)
                x, y, z = (at + (end - at) * share for at, end in pairs)
                self.position = (x, y, z)
                break
            left_s -= needed_s
            self.position = block.target
            self.drawn.append(block.target)
            self._blocks.popleft()
        if not self._blocks and not self._unplanned and self.state in ("Run", "Jog"):
            self.state = "Idle"
            if self._is_busy and "dwell" not in self.timers:
                self.timers.start("dwell", now + self._rest_ns, self._end_dwell)
        self._schedule(now)


def _place(point: Point) -> str:
    return ",".join(f"{each:.3f}" for each in point)
