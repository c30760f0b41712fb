"""What else shines near a toy: a remote control, a thing that answers, a jammer."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Action, Timers
from firmware_mocks.ir_toy.codes import Key, Light
from firmware_mocks.ir_toy.light import FRAME_GAP_NS, Eye, Place, Source

US = 1_000
QUEUE = 8  # presses and answers waiting
LONGEST_SEEN = 1_000  # durations of one frame
BETWEEN_NS = 60 * MS  # from the end of one press to the next


class Beamer:
    """Shines durations, one press after the other."""

    def __init__(self, name: str, source: Source, timers: Timers) -> None:
        self._name = name
        self._source = source
        self._timers = timers
        self._queue: deque[Light] = deque()
        self._light: Light = []
        self._place = 0
        self.dropped = 0

    def shine(self, light: Light, now: int) -> None:
        """Shine this, after what is under way. Too much waiting: it is dropped."""
        if len(self._queue) >= QUEUE:
            self.dropped += 1
            return
        self._queue.append(light)
        if self._name not in self._timers:
            self._next(now)

    def stop(self, now: int) -> None:
        self._queue.clear()
        self._light = []
        self._timers.stop(self._name)
        self._source.shine(False, now)

    def _next(self, now: int) -> None:
        if self._queue:
            self._light, self._place = self._queue.popleft(), 0
            self._step(now)

    def _step(self, now: int) -> None:
        if self._place < len(self._light):
            self._source.shine(self._place % 2 == 0, now)
            wait = self._light[self._place] * US
            self._place += 1
            self._timers.start(self._name, now + wait, self._step)
        else:
            self._source.shine(False, now)
            self._timers.start(self._name, now + BETWEEN_NS, self._next)


class Remote:
    """A remote control that is pressed by itself, and a thing that answers codes it sees.

    pressed, answered: how often so far.
    """

    def __init__(self, name: str, air: Air, timers: Timers, place: Place) -> None:
        self.source = Source(self, air, place)
        self.eye = Eye(f"{name}/remote", self, place, self._seen)
        self._beamer = Beamer("remote", self.source, timers)
        self._timers = timers
        self.keys: Sequence[Key] = ()
        self.every_ns = 1_000 * MS
        self.repeats = 0
        self.replies: Mapping[Key, Key] = {}
        self.delay_ns = 150 * MS
        self.pressed = self.answered = 0
        self._toggle = 0
        self._frame: Light = []
        self._edge_ns = 0
        self._answered_at: dict[Key, int] = {}

    def start(self, now: int) -> None:
        self._timers.start("press", now + self.every_ns, self._press)

    def stop(self, now: int) -> None:
        self._timers.stop("press")
        self._timers.stop("seen")
        self._beamer.stop(now)
        self._frame = []

    def _press(self, now: int) -> None:
        if self.keys:
            self._shine(self.keys[self.pressed % len(self.keys)], self.repeats, now)
            self.pressed += 1
        self._timers.start("press", now + self.every_ns, self._press)

    def _shine(self, key: Key, repeats: int, now: int) -> None:
        self._toggle ^= 1
        self._beamer.shine(key.light(self._toggle, repeats), now)

    # --- what it sees ----------------------------------------------------------------------------

    def _seen(self, light: bool, now: int) -> None:
        lasted_us, self._edge_ns = (now - self._edge_ns) // US, now
        if not light:
            self._frame.append(lasted_us)
            self._timers.start("seen", now + FRAME_GAP_NS, self._frame_over)
        elif "seen" in self._timers:
            self._timers.stop("seen")
            self._frame.append(lasted_us)
        else:
            self._frame = []
        del self._frame[LONGEST_SEEN:]

    def _frame_over(self, now: int) -> None:
        frame, self._frame = self._frame, []
        for key, reply in self.replies.items():
            if not key.is_seen_in(frame):
                continue
            last = self._answered_at.get(key)
            held_ns = key.period_us * US * 5 // 2
            self._answered_at[key] = now
            if last is None or now - last > held_ns:  # else the key is held
                self.answered += 1
                self._timers.start(
                    f"answer {self.answered}", now + self.delay_ns, self._answer_with(reply)
                )
            return

    def _answer_with(self, reply: Key) -> Action:
        return lambda now: self._shine(reply, 0, now)


class Jammer:
    """Light that goes on for so long, and off for so long; off_ns 0: it stays on."""

    def __init__(self, air: Air, timers: Timers, place: Place) -> None:
        self.source = Source(self, air, place)
        self._timers = timers
        self.on_ns = self.off_ns = 0

    def start(self, now: int) -> None:
        if self.on_ns:
            self._on(now)

    def stop(self, now: int) -> None:
        self._timers.stop("jammer")
        self.source.shine(False, now)

    def _on(self, now: int) -> None:
        self.source.shine(True, now)
        if self.off_ns:
            self._timers.start("jammer", now + self.on_ns, self._off)

    def _off(self, now: int) -> None:
        self.source.shine(False, now)
        self._timers.start("jammer", now + self.off_ns, self._on)
