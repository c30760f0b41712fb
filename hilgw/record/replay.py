"""A device played from a recording: a mock, which a host runs as any other.

It answers hilgw: bytes from the device follow the frames before them, which hilgw must have sent,
after the time in the recording. Bytes that follow other bytes come by time. If hilgw sends anything
else, or nothing, it departs from the recording: that is reported, and the replay continues at the
next frame. Pure.
"""

from bisect import bisect_left
from collections.abc import Callable

from hilgw.record.script import Script, StepKind
from hilgw.units import NS_PER_S, earliest

PATIENCE_NS = 2 * NS_PER_S
"""Time to wait, beyond its recorded time, for a frame that hilgw does not send."""
AHEAD = 64
"""Frames to search for one that hilgw sends instead of another."""


OnDeparture = Callable[[int, bytes, bytes], None]
"""Gets the number of a frame, what was expected (b"": nothing, it is behind the last one), and what
hilgw sent (b"": nothing)."""


class Replay:
    """The device of one line (`hilgw.engine.mock_host.WholeMock`). Times are integer nanoseconds.

    length_ns: of the recording. frames: frames that hilgw sent in the recording; matched: those
    that it sent again. after_end: bytes that it sent when the recording was over. hello: opens each
    connection before all recorded bytes, and its answer. compared: the part of a write of hilgw
    that is compared.
    """

    baud_rate, bits_per_byte = 1_000_000_000, 10  # its line has no delay
    host_baud: int | None = None

    def __init__(
        self,
        name: str,
        script: Script,
        on_departure: OnDeparture,
        hello: tuple[bytes, bytes] = (b"", b""),
        compared: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.name, self.closing = name, False
        self.length_ns = script.end_ns - script.begin_ns
        self.matched = self.departures = self.after_end = 0
        self._script, self._steps, self._on_departure = script, script.steps, on_departure
        self._sent = [at for at, step in enumerate(self._steps) if step.kind is StepKind.SENT]
        self._frames = [compared(self._steps[at].data) for at in self._sent]
        self.frames = len(self._sent)
        self._frame = self._done = 0  # the next one that hilgw sends; how much of it has come
        self._passed: dict[int, int] = {}  # frames before it, by their steps -> when
        self._left_out: dict[int, int] = {}  # a step -> the one that follows it instead
        self._passed_over = b""  # the last frame that was expected in vain
        self._is_open = self._is_late = self._is_ended = False
        self._step = 0  # the next one of all
        self._time_ns, self._now = script.begin_ns, 0  # of the one before it: recorded, played
        self._begun_ns: int | None = None
        self._compared, self._hello, self._missing = compared, hello, b""  # of the answer
        self._out = bytearray()
        self._wake: int | None = None

    def report(self) -> dict[str, int]:
        """Return the part of the gateway's report."""
        return {
            "frames": self.frames,
            "matched": self.matched,
            "departures": self.departures,
            "after_end_bytes": self.after_end,
        }

    @property
    def is_complete(self) -> bool:
        """True if hilgw has sent every frame, or departed."""
        return bool(self.departures) or self.matched >= self.frames

    def end(self) -> None:
        """End the run: later bytes of hilgw, such as a stop, do not depart."""
        self._is_ended = True

    # --- the interface of a mock ------------------------------------------------------------------

    def connect(self, now: int) -> None:
        hello, self._missing = self._hello
        self._is_open, self.closing = not self._missing, False
        self._now = max(self._now, now)
        if hello:
            self._out, self._wake = bytearray(hello), now

    def disconnect(self, now: int) -> None:
        """End a connection; the rest of its steps is not played."""
        was_closing, self._is_open, self.closing = self.closing, False, False
        self._out.clear()
        ends = (StepKind.LOST, StepKind.CLOSED)
        rest = () if was_closing or self._missing else range(self._step, len(self._steps))
        if (end := next((at for at in rest if self._steps[at].kind in ends), None)) is not None:
            self._pass(end, now)
            self._frame, self._done = max(self._frame, bisect_left(self._sent, end)), 0

    def receive(self, data: bytes, now: int) -> None:
        """Compare bytes from hilgw with the recording; a frame may come in pieces."""
        self._wake = now
        if self._missing:
            self.closing = not self._missing.startswith(data)  # then the host connects again
            self._missing = self._missing[len(data) :]
            self._is_open = not (self._missing or self.closing)
            return
        data = self._compared(data)
        while data:
            expected = self._expected()
            size = min(len(data), len(expected) - self._done)
            if not expected or data[:size] != expected[self._done : self._done + size]:
                self._differs(expected[: self._done] + data, now)
                return
            self._done, data = self._done + size, data[size:]
            if self._done == len(expected):
                self._matches(now)

    def advance(self, now: int) -> None:
        if self._begun_ns is None:
            self._begun_ns = self._now = now
        self._wake = None
        while not self._out and (due := self._due()) is not None and due <= now:
            self._play(due)

    def take(self, now: int) -> bytes:
        data = bytes(self._out)
        self._out.clear()
        return data

    def next_deadline(self) -> int | None:
        return earliest(self._wake, self._due())

    def set(self, name: str, value: str) -> None:
        raise ValueError(f"{name}: a replay has no parameters")

    def reset(self, now: int) -> None:
        """Change nothing: the recording continues, as for `switch_off`."""

    def switch_off(self) -> None: ...

    def describe(self) -> str:
        return f"{self.name}: frame {self._frame} of {self.frames}"

    # --- what hilgw sends -------------------------------------------------------------------------

    def _matches(self, now: int) -> None:
        self.matched, self._is_late = self.matched + 1, False
        self._go_on(now)

    def _go_on(self, now: int) -> None:
        self._passed[self._sent[self._frame]] = now
        self._frame, self._done = self._frame + 1, 0

    def _expected(self) -> bytes:
        return self._frames[self._frame] if self._frame < self.frames else b""

    def _differs(self, actual: bytes, now: int) -> None:
        self._done, expected = 0, self._expected()
        if self._is_ended:
            return
        if expected and self._is_of_end(self._sent[self._frame]):
            expected = b""
        if actual == self._passed_over:  # another one came before it, or it is late
            self.matched, self._passed_over, self._is_late = self.matched + 1, b"", False
            return
        lasts_ns = min(self._script.end_ns, self._script.ended_ns) - self._script.begin_ns
        if not expected and now - (self._begun_ns or 0) > lasts_ns:
            self.after_end += len(actual)
            return
        self._depart(expected, actual)
        ahead = range(self._frame + 1, min(self._frame + AHEAD, self.frames))
        match = next((at for at in ahead if self._frames[at] == actual), None)
        if match is not None:
            self._left_out[self._sent[self._frame]] = self._sent[match]
            self._frame = match
            self._matches(now)
        elif expected:
            self._passed_over = expected
            self._go_on(now)

    def _is_of_end(self, step: int) -> bool:
        return self._steps[step].time_ns >= self._script.ended_ns

    def _depart(self, expected: bytes, actual: bytes) -> None:
        self.departures += 1
        self._on_departure(min(self._frame + 1, self.frames), expected, actual)

    # --- what the device does ---------------------------------------------------------------------

    def _due(self) -> int | None:
        """Return the time of the next step; None if it waits for hilgw, or there is none."""
        while self._step in self._left_out:
            self._step = self._left_out.pop(self._step)
        if self._step == len(self._steps) or not self._is_open:
            return None
        step = self._steps[self._step]
        if self._step in self._passed or step.kind is StepKind.OPENED:
            return max(self._now, self._passed.get(self._step, 0))
        due = self._now + max(0, step.time_ns - self._time_ns)
        waits = step.kind is StepKind.CLOSED or (step.kind is StepKind.SENT and not self._is_late)
        return due + PATIENCE_NS if waits else due

    def _play(self, now: int) -> None:
        step = self._steps[self._step]
        if step.kind is StepKind.RECEIVED:
            self._out, self._wake = bytearray(step.data), now
        elif step.kind in (StepKind.LOST, StepKind.CLOSED):
            self.closing, self._is_open = True, False
        elif step.kind is StepKind.SENT and self._step not in self._passed:
            if not self._is_late and not self._is_of_end(self._step):
                self._depart(step.data, b"")
            self._is_late, self._passed_over = True, step.data
            self._go_on(now)
        self._passed.pop(self._step, None)
        self._pass(self._step, now)

    def _pass(self, index: int, now: int) -> None:
        self._time_ns = self._steps[index].time_ns
        self._now, self._step = max(self._now, now), index + 1
