"""The emergency-stop switch: open, unreadable or gone, it disarms all robots of the gateway.

A thread reads the line, so that robots also stop while the event loop is late: then the thread
makes the emergency stop of each body, as the watchdog does. A switch that closes again arms
nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.control.events import StopReason
from hilgw.errors import SafetyError
from hilgw.transports.threads import start_thread
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from hilgw.engine.control_loop.control_loops import ControlLoops
    from hilgw.engine.observer import Observer
    from hilgw.transports.base import Handle, Scheduler
    from hilgw.transports.serial.modem_line import ModemLine

NAME = "estop"
PERIOD_S = 0.01
PERIOD_NS = 10 * NS_PER_MS
# The event loop ran so often, and no reading came meanwhile.
MISSED = 4
# The event loop has this long to stop the robots, before the thread does.
LOOP_S = 0.02
OPEN_AGAIN_S = 0.5
UNREAD = "it has not been read yet"


class EmergencySwitch:
    """The emergency switch of the gateway, on a modem line.

    pressed: whether the robots are kept disarmed, for this `cause`; at the start they are, until
    the first reading. open_line: opens the line, in the thread. event_loop: gets what the thread
    reads. where: the line in words. clock: in real time.
    """

    def __init__(
        self,
        loops: ControlLoops,
        clock: Scheduler,
        observer: Observer,
        where: str,
        open_line: Callable[[], ModemLine],
    ) -> None:
        self.pressed, self.cause = True, UNREAD
        self.presses = 0
        self.reads = 0  # of the thread
        self.where = where
        self._loops, self._clock, self._observer = loops, clock, observer
        self._open_line = open_line
        self._reported: tuple[bool, str] | None = None  # by the thread
        self._timer: Handle | None = None
        self._seen, self._missed = 0, 0
        self.event_loop: asyncio.AbstractEventLoop | None = None
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    # --- in the event loop ------------------------------------------------------------------------

    def start(self) -> None:
        self.event_loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._read, name="hilgw-estop", daemon=True)
        self._thread.start()
        self.watch()

    def stop(self) -> None:
        self._end.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join(OPEN_AGAIN_S)  # a driver may block it for longer
            self._thread = None

    def demand_released(self) -> None:
        if self.pressed:
            raise SafetyError(
                f"not armed: the emergency-stop switch is pressed: {self.cause}",
                where=NAME,
                fix="release it, then arm",
            )

    def judge(self, closed: bool, cause: str) -> None:
        """Disarm all robots when the switch was pressed, or could not be read for this cause.

        While it is not pressed, the robots whose arming was held back are armed, unless they were
        disarmed meanwhile.
        """
        if closed:
            if self.pressed and self.cause != UNREAD:
                self._observer.notice(NAME, "released; `hilgw arm` lets the motors move again")
            self.pressed, self.cause = False, ""
            self._loops.arm_held()
            return
        is_new = not self.pressed or self.cause == UNREAD
        self.pressed, self.cause = True, cause
        if not is_new:
            return
        self.presses += 1
        down = self._loops.disarm(*self._loops, reason=StopReason.ESTOP)
        text = f"pressed: {cause}; all robots are disarmed"
        text += f"; stop not sent, body down: {', '.join(down)}" if down else ""
        self._observer.notice(NAME, text)

    def report(self) -> dict[str, Any]:
        """Return the part `estop` of the gateway's report."""
        return {
            "line": self.where,
            "pressed": self.pressed,
            "cause": self.cause,
            "presses": self.presses,
        }

    def watch(self) -> None:
        """Take the switch as pressed when no readings come while the event loop runs in time."""
        now, reads = self._clock.now(), self.reads
        self._missed = 0 if reads != self._seen else self._missed + 1
        self._seen = reads
        if self._missed >= MISSED and not self.pressed:
            self._reported = None  # what the thread reads next counts
            self.judge(closed=False, cause=f"{self.where} cannot be read: no answer")
        self._timer = self._clock.call_at(now + PERIOD_NS, self.watch)

    # --- in the thread ----------------------------------------------------------------------------

    def _read(self) -> None:
        while not self._end.is_set():
            line: ModemLine | None = None
            try:
                line = self._open_line()
                self.read_until_lost(line)
            except Exception as error:  # noqa: BLE001 - whatever it is, the switch is not read
                why = "" if line is None else f"{self.where} cannot be read: "
                self.pass_on(False, why + in_words(error))
                self._end.wait(OPEN_AGAIN_S)
            finally:
                if line is not None:
                    start_thread(line.close)  # which may block

    def read_until_lost(self, line: ModemLine) -> None:
        """Read the line until the end, and raise what the port raises."""
        while not self._end.is_set():
            closed = line.is_on()
            self.reads += 1
            self.pass_on(closed, "" if closed else f"{self.where} is off")
            self._end.wait(PERIOD_S)

    def pass_on(self, closed: bool, cause: str) -> None:
        """Pass a change on to the event loop. One that is late does not delay the stop."""
        if self._reported == (closed, cause) or self._end.is_set():
            return
        self._reported = closed, cause
        done = threading.Event()

        def judge() -> None:
            self.judge(closed, cause)
            done.set()

        assert self.event_loop is not None
        try:
            self.event_loop.call_soon_threadsafe(judge)
        except RuntimeError:
            return  # the event loop has ended, and stopped the robots before
        if not closed and not done.wait(LOOP_S):
            self._loops.emergency_stop()


def in_words(error: Exception) -> str:
    """Return the error in one clause."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
