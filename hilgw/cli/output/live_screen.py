"""The terminal of `hilgw watch`: its whole screen, drawn anew while events and keys arrive."""

import os
import re
import select
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from hilgw.cli.keys import single_keys
from hilgw.cli.output.live_table import Event, LiveTable
from hilgw.cli.signals import EXIT_BY_SIGNAL
from hilgw.client.arming import NOT_CONFIRMED, disarm_each
from hilgw.errors import HilgwError

FRAME_S = 0.1  # the screen is drawn ten times a second at most
ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # alternate screen, no cursor, lines are cut
_SEQUENCE = re.compile(r"\x1b[\[O][0-9;]*.")  # of an arrow key and such
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"


def watch(table: LiveTable, events: Iterator[Event], keys: int, out: TextIO) -> None:
    """Show the events until they end, or the key q.

    `keys` is the descriptor of the keyboard.
    """
    lock, ended, faults = threading.Lock(), threading.Event(), list[Exception]()

    def read() -> None:
        try:
            for event in events:
                with lock:
                    table.take(event)
        except Exception as error:  # noqa: BLE001 - raised again below
            faults.append(error)
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    while _shown(table, lock, ended, keys, out) == "suspend":
        os.killpg(0, signal.SIGTSTP)  # as Ctrl-Z does; continues with `fg`
    if faults:
        raise faults[0]


def _shown(
    table: LiveTable, lock: threading.Lock, ended: threading.Event, keys: int, out: TextIO
) -> str:
    with _whole_screen(out) as show, single_keys(keys, termios.VSUSP, termios.VQUIT):
        press = 0
        while not ended.is_set():
            width, height = os.get_terminal_size(out.fileno())
            with lock:
                lines = table.screen(width or 80, height or 24, time.monotonic_ns())
            show(lines)
            for key in _pressed(keys, FRAME_S, ended):
                with lock:
                    asked = table.key(key, time.monotonic_ns())
                if asked == "disarm":
                    press += 1
                    threading.Thread(target=_disarm, args=(table, lock, press)).start()
                elif asked:
                    return asked
    return ""


def _disarm(table: LiveTable, lock: threading.Lock, press: int) -> None:
    """Disarm all robots of all gateways, as `hilgw disarm --all` does, and show the outcome."""
    try:
        stopped = disarm_each([], None, None)
        is_bad, words = bool(stopped.errors), [str(error) for error in stopped.errors]
        words += [f"{robot}: disarmed{gateway.suffix()}" for robot, gateway in stopped.robots]
    except Exception as error:  # noqa: BLE001 - whatever it is, the stop is not confirmed
        shown = str(error) if isinstance(error, HilgwError) else f"{NOT_CONFIRMED}: {error!r}"
        is_bad, words = True, [shown]
    with lock:
        table.report(press, "; ".join(words), is_bad=is_bad)


def _pressed(keys: int, for_s: float, ended: threading.Event) -> Iterator[str]:
    """Yield the keys that are pressed in this time, and q at the end of the terminal.

    A sequence, as of an arrow key, is none.
    """
    if not os.isatty(keys):
        ended.wait(for_s)
        return
    end_s = time.monotonic() + for_s
    while (left_s := end_s - time.monotonic()) > 0:
        if not select.select([keys], [], [], left_s)[0]:
            return
        typed = os.read(keys, 1024)  # bytes that are not UTF-8 are no keys
        yield from _SEQUENCE.sub("", typed.decode(errors="ignore")) if typed else "q"


@contextmanager
def _whole_screen(out: TextIO) -> Iterator[Callable[[list[str]], None]]:
    """Yield a function that draws lines on the whole screen.

    Afterwards the screen is as it was, also where a signal ends the program.
    """

    def end(number: int, frame: object) -> None:
        raise SystemExit(EXIT_BY_SIGNAL[signal.Signals(number)])

    shown: list[str] = []

    def show(lines: list[str]) -> None:
        if lines != shown:
            shown[:] = lines
            out.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J")
            out.flush()

    before = {number: signal.signal(number, end) for number in EXIT_BY_SIGNAL}
    try:
        out.write(ENTER)
        yield show
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # it was closed
            out.write(LEAVE)
            out.flush()
        for number, handler in before.items():
            signal.signal(number, handler)
