"""Sources of the model: the events of the running gateways of this user, or a recording.

Two threads for each gateway, so that one that hangs delays no other: one reads its events, one asks
whether it is here when no event came. A further kind of events that a page needs has a thread and a
connection of its own: what is read already continues.

The model is that of the playhead's time: a thread reads on as it moves. Where it jumps, the model
is made anew, of the newest states before and of all events of a window: the file is never in
memory. Another thread reads the file once, for these states and for its end. Times
are `time_ns` of the recording.
"""

import ctypes
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import closing, suppress
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from hilgw.client.connection import ask
from hilgw.client.control_paths import control_sockets, is_live
from hilgw.client.gateway import Gateway
from hilgw.errors import HilgwError, PeerError
from hilgw.events.kinds import LOGGED, NAMED
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import VersionError
from hilgw.record.recording import Recording
from hilgw.record.writer import KEYFRAME_NS
from hilgw.units import NS_PER_MS, NS_PER_S, ns_to_s
from hilgw.view.gateway import GONE, NO_SCENE, NO_TOPOLOGY, REFUSED, UP, Event, GatewayView
from hilgw.web.model import Bench

KINDS = frozenset(NAMED) | LOGGED | {"packet", "delivered", "left_out"}
"""What all pages need."""
NEED_NS = 3 * NS_PER_S
FIND_S, PULSE_S, TRIM_S = 0.25, 0.2, 30.0
ANSWER_S = 0.5
ENOUGH = 400
"""Packets a second: more could not be looked at, and each costs the gateway and the page."""
MESSAGE_NS = 150 * NS_PER_MS


class Live:
    """Reader of live events, shared by all pages of a `Bench`."""

    acts = True  # its gateways take requests

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._needed: dict[str, int] = {}  # until when
        self._reading: set[tuple[str, str]] = set()  # of a gateway, a kind that is needed
        self._ended = threading.Event()
        self._followed: set[Path] = set()

    def start(self) -> None:
        _begin(self._find)
        _begin(lambda: give_back(self._ended))

    def need(self, kind: str) -> None:
        """Read this kind, too, of all gateways.

        It is read for a while, so that a page that is closed leaves nothing.
        """
        with self.bench.lock:
            self._needed[kind] = self.bench.now() + NEED_NS
            for view in self.bench.gateways.values():
                if view.ended == UP and (view.key, kind) not in self._reading:
                    self._reading.add((view.key, kind))
                    _begin(partial(self._read_more, view, kind))

    def close(self) -> None:
        """Ask the threads to end soon."""
        self._ended.set()

    def _find(self) -> None:
        while True:
            problems: list[Exception] = []
            try:
                paths = control_sockets(on_problem=problems.append)
            except OSError as error:
                paths, problems = [], [error]
            with self.bench.lock:
                self.bench.problem = "; ".join(map(str, problems))
                new = [path for path in paths if path not in self._followed]
                for view in self.bench.gateways.values():
                    if view.ended == REFUSED and Path(view.key) not in paths:
                        view.end(GONE, view.why)
            for path in new:
                if is_live(path):
                    self._followed.add(path)
                    _begin(lambda path=path: self._follow(path))  # type: ignore[misc]
            if self._ended.wait(FIND_S):
                return

    def _follow(self, path: Path) -> None:
        try:
            if (view := self._opened(path)) is not None:
                _begin(lambda: self._ask(view))
                self._read_events(view)
        finally:
            with self.bench.lock:
                self._followed.discard(path)

    def _opened(self, path: Path) -> GatewayView | None:
        """Return the view of a gateway; None if it cannot be read: the model has the reason."""
        bench = self.bench
        try:
            status = Gateway(path).status(ANSWER_S)
        except HilgwError as error:
            foreign = isinstance(error, VersionError)
            config = _config_of_any_version(path) if foreign else ""
            with bench.lock:
                if foreign or is_live(path):
                    bench.opened(str(path), config, 0).end(REFUSED, str(error))
            self._ended.wait(FIND_S)
            return None
        with bench.lock:
            view = bench.opened(str(path), status["config"], status["pid"])
            view.set_status(status, bench.now())
            return view

    def _read_events(self, view: GatewayView) -> None:
        why = "the gateway has ended"
        try:
            self._read(view, KINDS, self._ended.is_set)
        except (HilgwError, OSError) as error:
            why = error.what if isinstance(error, HilgwError) else str(error)
        with self.bench.lock:
            view.end(GONE, why)

    def _read_more(self, view: GatewayView, kind: str) -> None:
        with suppress(HilgwError, OSError):  # `_read_events` shows why
            self._read(view, {kind}, lambda: self.bench.now() >= self._needed[kind])
        with self.bench.lock:
            self._reading.discard((view.key, kind))

    def _read(self, view: GatewayView, kinds: Set[str], is_over: Callable[[], bool]) -> None:
        """Read these kinds until the gateway ends, or the first event after it is over."""
        bench, gateway, states = self.bench, Gateway(Path(view.key)), kinds is KINDS
        with closing(gateway.events(kinds, states=states, per_second=ENOUGH)) as events:  # type: ignore[type-var]
            for event in events:
                with bench.lock:
                    view.take(event, bench.now())
                if is_over():
                    return

    def _ask(self, view: GatewayView) -> None:
        """Ask whether the gateway is here until it has gone, again and again while it hangs."""
        bench, gateway = self.bench, Gateway(Path(view.key))
        while not self._ended.wait(PULSE_S) and view.ended != GONE:
            if bench.now() - view.message_ns < MESSAGE_NS:
                continue
            with suppress(HilgwError):  # the age of its last message shows that
                gateway.ask(requests.Identify(), timeout_s=ANSWER_S)
                with bench.lock:
                    if view.ended != GONE:
                        view.received(bench.now())


def _config_of_any_version(path: Path) -> str:
    try:
        answer = ask(path, requests.Identify(), ANSWER_S, any_version=True)
    except PeerError:
        return ""
    return str(answer.get("config", ""))


def _begin(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def give_back(ended: threading.Event) -> None:
    """Return free memory to the system until the event is set, in a thread of its own.

    At 2,000 packets a second texts of some hundred bytes come and go in several threads. The C
    library keeps what is free between those that stay, and a page that is open all day grows by it.
    A library without `malloc_trim`, as on macOS, is left alone.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None and not ended.wait(TRIM_S):
        trim(0)


LEAST_NS, MOST_NS = KEYFRAME_NS + 5 * NS_PER_S, 300 * NS_PER_S
WINDOW_EVENTS, MARK_EVENTS = 20_000, 1000
"""The window has about this many events, if these are not of less or more time than that.

Each state that was changed before it is repeated in it, or before.
"""
TICK_S = 0.05
RARE = frozenset(NAMED) - {"value", "command", "link", "status"}
MOST_STATES = 200_000
NO_STATUS: dict[str, Any] = {
    **{key: {} for key in ("ports", "robots", "latency")},
    "latency_bounds_s": [],
    "mono_ns": 0,
}
"""Of an older recording, and before the first one."""
TOGETHER = 200  # events that are taken while the pages wait
MANY = "states after {:.0f} s are too many to be kept: after a jump they may be older"
TRUNCATED = "ends within an event, as after a kill"

Events = Iterable[Event]


def without_frames(events: Events) -> Events:
    return events


class Recorded:
    """A recording, for all pages of its `bench`.

    clock: of real time, in nanoseconds. with_frames: makes the decoder of a window: it gets the
    events, and gives them with their frames. RecordingError when the file is not a recording.

    begin_ns, end_ns: its first event, and the last one that was read so far. states: those that a
    jump needs, MOST_STATES at most.
    """

    acts = False  # nothing of a recording can be commanded

    def __init__(
        self,
        path: Path,
        clock: Callable[[], int] = time.monotonic_ns,
        with_frames: Callable[[Events], Events] = without_frames,
    ) -> None:
        self.path, self._clock, self._with_frames = path, clock, with_frames
        recording = Recording(path)
        first = next(recording.events(), None)
        self.begin_ns = self.end_ns = 0 if first is None else first["time_ns"]
        known = {"topology": NO_TOPOLOGY, "scene": NO_SCENE}  # of an older version
        layout = {part: {**none, **recording.head.get(part, {})} for part, none in known.items()}
        folder = {"folder": str(path.absolute().parent), "running": {}}
        self._layout = {**layout, "recordings": folder}
        self.is_playing, self.speed = False, 1.0
        self._at, self._since = self.begin_ns, clock()
        self._jumped, self._ended = True, threading.Event()
        self.states: list[Event] = []
        self._marks: list[int] = []  # the time of each MARK_EVENTS-th event
        self._events: Iterator[Event] = iter(())
        self._next: Event | None = None
        self._plotted: set[str] = set()
        self.bench = Bench(self.now)
        self._view = GatewayView(str(path.absolute()), str(path), 0, self.begin_ns)
        if first is not None:
            self._view.wall_ns = round(first["wall_s"] * NS_PER_S) - self.begin_ns
        self.bench.gateways[self._view.key] = self._view

    def start(self) -> None:
        for work in (self.read, self._follow):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Ask the threads to end soon."""
        self._ended.set()

    def need(self, kind: str) -> None:
        """Read all events of this kind, too."""

    # --- the playhead -----------------------------------------------------------------------------

    def now(self) -> int:
        """Return its time."""
        passed = (self._clock() - self._since) * self.speed if self.is_playing else 0
        return min(self._at + int(passed), self.end_ns)

    def play(self, is_playing: bool, speed: float | None = None) -> None:
        """Play on or stand still, from where it is; at the end play again from the start."""
        with self.bench.lock:
            time_ns = self.now()
            if is_playing and not self.is_playing and time_ns >= self.end_ns:
                self._jumped, time_ns = True, self.begin_ns
            self._at, self._since = time_ns, self._clock()
            self.is_playing, self.speed = is_playing, speed or self.speed

    def seek(self, time_ns: int) -> None:
        """Jump to this time."""
        with self.bench.lock:
            self._at, self._since = min(max(time_ns, self.begin_ns), self.end_ns), self._clock()
            self._jumped = True

    # --- in threads -------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the whole file, once: what a jump needs of what was before."""
        recording, problems = Recording(self.path), list[str]()
        with closing(recording.events(states=True)) as events:  # type: ignore[type-var]
            for number, event in enumerate(events):
                time_ns = self.end_ns = max(self.end_ns, event["time_ns"])
                if number % MARK_EVENTS == 0:
                    self._marks.append(time_ns)
                    if self._ended.is_set():
                        return
                if event["event"] not in RARE and "since_ns" not in event:
                    continue
                if len(self.states) < MOST_STATES:
                    self.states.append(_timed(event))
                else:
                    problems = problems or [MANY.format(ns_to_s(time_ns - self.begin_ns))]
        problems += [str(recording.error)] if recording.error is not None else []
        problems += [TRUNCATED] * recording.truncated
        with self.bench.lock:
            self.bench.problem = "; ".join(f"{self.path}: {each}" for each in problems)
            self._jumped |= self._at != self.begin_ns  # what was not read yet when it jumped

    def _follow(self) -> None:
        while not self._ended.wait(TICK_S):
            self.follow()

    def follow(self) -> None:
        """Bring the model to the playhead's time, unless that jumps meanwhile.

        Series that are plotted from now on have the points of the window.
        """
        try:
            with self.bench.lock:
                now, view = self.now(), self._view
                is_late = now - view.message_ns > LEAST_NS
                is_anew = self._jumped or is_late or not self._plotted >= view.series.keys()
                if is_anew:
                    self._jumped, self._plotted = False, set(view.series)
            if is_anew:
                self._events = self._events_at(now)
                self._next = next(self._events, None)
                with self.bench.lock:
                    view.begin_anew()
                    view.set_status({**NO_STATUS, **self._layout}, now)
            while self._take_some(now):
                pass
        except HilgwError as error:  # of a frame, or of the configuration
            with self.bench.lock:
                self.bench.problem = f"no frames: {error}"
                self._with_frames, self._jumped = without_frames, True

    def _events_at(self, now: int) -> Iterator[Event]:
        mark = bisect_left(self._marks, now) - WINDOW_EVENTS // MARK_EVENTS
        first = min(now - LEAST_NS, self._marks[max(mark, 0)] if self._marks else now)
        first = max(first, now - MOST_NS, self.begin_ns)
        newest: dict[tuple[str, ...], Event] = {}
        for event in takewhile(lambda each: each["time_ns"] < first, list(self.states)):
            name = event["event"], *(event[key] for key in NAMED.get(event["event"], ()))
            newest.pop(name, None)  # the newest is the last
            newest[name] = event
        begin_s = ns_to_s(max(first - self.begin_ns - 1, 0))
        events = Recording(self.path).events(begin_s, states=True)
        later = (_timed(each) for each in events if each["time_ns"] >= first)
        return iter(self._with_frames(chain(newest.values(), later)))

    def _take_some(self, now: int) -> bool:
        """Return whether there may be more events up to this time.

        Nothing is decoded while pages wait.
        """
        some: list[Event] = []
        while len(some) < TOGETHER and (event := self._next) and event["time_ns"] <= now:
            some.append(event)
            self._next = next(self._events, None)
        with self.bench.lock:
            view, is_done = self._view, len(some) < TOGETHER
            for points in view.series.values():
                points.needed_ns = now  # the playhead may be faster than a page
            for event in () if self._jumped else some:
                view.take(event, event["time_ns"])
            view.status = {**view.status, **self._layout}  # whatever the file has in its place
            if is_done and not self._jumped:
                view.received(now)
            return not (is_done or self._jumped)


def _timed(event: Event) -> Event:
    """Put the event on the clock of the playhead: the other one jumps where the host slept."""
    event["mono_ns"] = event["time_ns"] if event.get("since_ns") is None else event["since_ns"]
    return event
