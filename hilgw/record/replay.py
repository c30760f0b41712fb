"""A device as a recording has it: a mock, which a host runs as any other.

It answers what hilgw sends: bytes from the device follow, after the time that the recording has,
the frames before them, which hilgw must have sent. Bytes that follow other bytes come by time.
Where hilgw sends anything else, or nothing, it departs from the recording: that is reported, and
the replay goes on at the next frame. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from hilgw.record.script import Kind, Script
from hilgw.records import record
from hilgw.units import NS_PER_S, earliest

PATIENCE_NS = 2 * NS_PER_S
"""A frame that hilgw does not send is waited for so long, beyond its time."""
AHEAD = 64
"""Frames among which one is searched that hilgw sends instead of another."""


@record
class Departure:
    """hilgw sent another frame than the recording has, or none. number: of the frame of `frames`.
    expected: b"" behind the last one. actual: b"": nothing."""

    part: str
    number: int
    frames: int
    expected: bytes
    actual: bytes


class Replay:
    """The device of one line (`hilgw.engine.mock_host.WholeMock`). Times are integer nanoseconds.

    matched: frames that hilgw sent as recorded. after_end: bytes that it sent when the recording
    was over.
    """

    baud_rate, bits_per_byte = 1_000_000_000, 10  # its line has no delay
    network = "tcp-client"
    retry_s = 1.0
    host_baud: int | None = None

    def __init__(
        self, name: str, script: Script, on_departure: Callable[[Departure], None]
    ) -> None:
        self.name = name
        self.matched = self.departures = self.after_end = 0
        self.closing = False
        self._script, self._steps = script, script.steps
        self._on_departure = on_departure
        self._sent = [at for at, step in enumerate(self._steps) if step.kind is Kind.SENT]
        self._frame = 0  # the next one that hilgw sends, and how much of it has come
        self._done = 0
        self._passed: dict[int, int] = {}  # frames before it, by their steps -> when
        self._left_out: dict[int, int] = {}  # a step -> the one that follows it instead
        self._passed_over = b""  # the last frame that was expected in vain
        self._is_late = False
        self._step = 0  # the next one of all, and the instant of the one before it
        self._now = self._time_ns = script.begin_ns
        self._begun_ns: int | None = None
        self._is_open = False
        self._out = bytearray()
        self._wake: int | None = None

    @property
    def frames(self) -> int:
        """How many hilgw sent in the recording."""
        return len(self._sent)

    # --- the interface of a mock ------------------------------------------------------------------

    def connect(self, now: int) -> None:
        self._is_open, self.closing = True, False
        self._now = max(self._now, now)

    def disconnect(self, now: int) -> None:
        """The end of a connection; what it had left is not played."""
        self._is_open = False
        self._out.clear()
        if self.closing:
            self.closing = False
            return
        kinds = (Kind.LOST, Kind.CLOSED)
        rest = range(self._step, len(self._steps))
        end = next((at for at in rest if self._steps[at].kind in kinds), None)
        if end is not None:
            self._pass(end, now)
            self._frame, self._done = max(self._frame, bisect_left(self._sent, end)), 0

    def receive(self, data: bytes, now: int) -> None:
        """What hilgw sends, compared with the recording as bytes: a frame may come in pieces."""
        self._wake = now
        while data:
            if self._frame == len(self._sent):
                self._behind_the_last(data, now)
                return
            expected = self._expected
            size = min(len(data), len(expected) - self._done)
            if data[:size] != expected[self._done : self._done + size]:
                self._differs(expected[: self._done] + data, now)
                return
            self._done += size
            data = data[size:]
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
        """Does nothing: the recording goes on."""

    def switch_off(self) -> None:
        """Does nothing: the recording goes on."""

    def describe(self) -> str:
        return f"{self.name}: frame {self._frame} of {self.frames}"

    # --- what hilgw sends -------------------------------------------------------------------------

    @property
    def _expected(self) -> bytes:
        return self._steps[self._sent[self._frame]].data

    def _matches(self, now: int) -> None:
        self.matched += 1
        self._is_late = False
        self._go_on(now)

    def _go_on(self, now: int) -> None:
        self._passed[self._sent[self._frame]] = now
        self._frame, self._done = self._frame + 1, 0

    def _differs(self, actual: bytes, now: int) -> None:
        self._done = 0
        if actual == self._passed_over:  # another one came before it, or it is late
            self._passed_over, self._is_late = b"", False
            self.matched += 1
            return
        self._depart(self._expected, actual)
        ahead = range(self._frame + 1, min(self._frame + AHEAD, len(self._sent)))
        found = next((at for at in ahead if self._steps[self._sent[at]].data == actual), None)
        if found is None:
            self._passed_over = self._expected
            self._go_on(now)
            return
        self._left_out[self._sent[self._frame]] = self._sent[found]
        self._frame = found
        self._matches(now)

    def _behind_the_last(self, data: bytes, now: int) -> None:
        lasts_ns = self._script.end_ns - self._script.begin_ns
        if data == self._passed_over:
            self._passed_over = b""
            self.matched += 1
        elif now - (self._begun_ns or 0) <= lasts_ns:
            self._depart(b"", data)
        else:
            self.after_end += len(data)

    def _depart(self, expected: bytes, actual: bytes) -> None:
        self.departures += 1
        number = min(self._frame + 1, self.frames)
        self._on_departure(Departure(self.name, number, self.frames, expected, actual))

    # --- what the device does ---------------------------------------------------------------------

    def _due(self) -> int | None:
        """When the next step is played; None: it waits for hilgw, or there is none."""
        while self._step in self._left_out:
            self._step = self._left_out.pop(self._step)
        if self._step == len(self._steps):
            return None
        step = self._steps[self._step]
        if not self._is_open:
            return None
        if self._step in self._passed:
            return max(self._now, self._passed[self._step])
        due = self._now + max(0, step.time_ns - self._time_ns)
        if step.kind is Kind.OPENED:
            return self._now
        waits = step.kind is Kind.CLOSED or (step.kind is Kind.SENT and not self._is_late)
        return due + PATIENCE_NS if waits else due

    def _play(self, now: int) -> None:
        step = self._steps[self._step]
        if step.kind is Kind.RECEIVED:
            self._out += step.data
            self._wake = now
        elif step.kind in (Kind.LOST, Kind.CLOSED):
            self.closing = True
            self._is_open = False
        elif step.kind is Kind.SENT and self._step not in self._passed:
            if not self._is_late:
                self._depart(step.data, b"")
            self._is_late, self._passed_over = True, step.data
            self._go_on(now)
        self._passed.pop(self._step, None)
        self._pass(self._step, now)

    def _pass(self, at: int, now: int) -> None:
        self._time_ns = self._steps[at].time_ns
        self._now, self._step = max(self._now, now), at + 1
