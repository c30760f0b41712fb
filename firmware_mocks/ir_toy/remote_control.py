"""The other emitters near an IR Toy: a remote control, a lamp that answers codes, a jammer."""

from collections import deque
from collections.abc import Mapping, Sequence

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Action, Timers
from firmware_mocks.ir_toy.codes import Durations, Key
from firmware_mocks.ir_toy.light import FRAME_GAP_NS, IrEmitter, IrReceiver, Placement

US = 1_000
QUEUE = 8  # presses and answers that wait
LONGEST_FRAME = 1_000  # durations of one frame
BETWEEN_NS = 60 * MS  # from the end of one press to the next


class FrameQueue:
    """Sends frames with an emitter, one after the other. dropped: frames without room."""

    def __init__(self, name: str, emitter: IrEmitter, timers: Timers) -> None:
        self._name = name
        self._emitter = emitter
        self._timers = timers
        self._queue: deque[Durations] = deque()
        self._durations: Durations = []
        self._index = 0
        self.dropped = 0

    def send(self, durations: Durations, now: int) -> None:
        if len(self._queue) >= QUEUE:
            self.dropped += 1
            return
        self._queue.append(durations)
        if self._name not in self._timers:
            self._next(now)

    def stop(self, now: int) -> None:
        self._queue.clear()
        self._durations = []
        self._timers.stop(self._name)
        self._emitter.switch(False, now)

    def _next(self, now: int) -> None:
        if self._queue:
            self._durations, self._index = self._queue.popleft(), 0
            self._step(now)

    def _step(self, now: int) -> None:
        if self._index < len(self._durations):
            self._emitter.switch(self._index % 2 == 0, now)
            wait = self._durations[self._index] * US
            self._index += 1
            self._timers.start(self._name, now + wait, self._step)
        else:
            self._emitter.switch(False, now)
            self._timers.start(self._name, now + BETWEEN_NS, self._next)


class RemoteControl:
    """A remote control that presses its keys by itself, and a lamp that answers codes.

    pressed, answered: presses and answers so far.
    """

    def __init__(self, name: str, air: Air, timers: Timers, placement: Placement) -> None:
        self.emitter = IrEmitter(self, air, placement)
        self.receiver = IrReceiver(f"{name}/remote", self, placement, self._edge)
        self._frames = FrameQueue("remote", self.emitter, timers)
        self._timers = timers
        self.keys: Sequence[Key] = ()
        self.every_ns = 1_000 * MS
        self.repeats = 0
        self.replies: Mapping[Key, Key] = {}
        self.delay_ns = 150 * MS
        self.pressed = self.answered = 0
        self._toggle = 0
        self._frame: Durations = []
        self._edge_ns = 0
        self._answered_at: dict[Key, int] = {}

    def start(self, now: int) -> None:
        self._timers.start("press", now + self.every_ns, self._press)

    def stop(self, now: int) -> None:
        self._timers.stop("press")
        self._timers.stop("seen")
        self._frames.stop(now)
        self._frame = []

    def _press(self, now: int) -> None:
        if self.keys:
            self._send(self.keys[self.pressed % len(self.keys)], self.repeats, now)
            self.pressed += 1
        self._timers.start("press", now + self.every_ns, self._press)

    def _send(self, key: Key, repeats: int, now: int) -> None:
        self._toggle ^= 1
        self._frames.send(key.durations(self._toggle, repeats), now)

    # --- the lamp --------------------------------------------------------------------------------

    def _edge(self, mark: bool, now: int) -> None:
        lasted_us, self._edge_ns = (now - self._edge_ns) // US, now
        if not mark:
            self._frame.append(lasted_us)
            self._timers.start("seen", now + FRAME_GAP_NS, self._frame_over)
        elif "seen" in self._timers:
            self._timers.stop("seen")
            self._frame.append(lasted_us)
        else:
            self._frame = []
        del self._frame[LONGEST_FRAME:]

    def _frame_over(self, now: int) -> None:
        frame, self._frame = self._frame, []
        for key, reply in self.replies.items():
            if not key.matches(frame):
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
        return lambda now: self._send(reply, 0, now)


class Jammer:
    """An emitter that is on for on_ns, off for off_ns, and so on; off_ns 0: it stays on."""

    def __init__(self, air: Air, timers: Timers, placement: Placement) -> None:
        self.emitter = IrEmitter(self, air, placement)
        self._timers = timers
        self.on_ns = self.off_ns = 0

    def start(self, now: int) -> None:
        if self.on_ns:
            self._on(now)

    def stop(self, now: int) -> None:
        self._timers.stop("jammer")
        self.emitter.switch(False, now)

    def _on(self, now: int) -> None:
        self.emitter.switch(True, now)
        if self.off_ns:
            self._timers.start("jammer", now + self.on_ns, self._off)

    def _off(self, now: int) -> None:
        self.emitter.switch(False, now)
        self._timers.start("jammer", now + self.off_ns, self._on)
