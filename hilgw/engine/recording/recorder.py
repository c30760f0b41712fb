"""A recording of what passes, from the gateway's side; `hilgw.record.writer` is the process.

Events are gathered for GATHER_NS and handed over in one message. The gateway never waits for the
process: what it does not read in time is lost and counted. Only simulated time waits.
"""

import asyncio
import json
import marshal
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import PoseEvent
from hilgw.engine.recording.event_stream import EventStream
from hilgw.engine.reporting.status import make_in_turns, status_steps
from hilgw.engine.simulated.event_loop import in_real_time
from hilgw.errors import HilgwError
from hilgw.events import kinds as events
from hilgw.medium.packet import Copy
from hilgw.protocols.pcapng.events import CLOCK
from hilgw.record.writer import Event, Files, Report, Settings
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_S

GATHER_NS = 40_000_000
"""A gateway that is killed loses the events of this time at most."""
MOST_GATHERED = 2_000
TOGETHER = 50
"""Events that are encoded together: more of them at once leave the caches of the processor, and
make Python look for garbage among them."""
BUFFER_BYTES = 8 * 1024 * 1024
"""What waits for the process at most."""
END_S = 3.0
MOST_KEPT = 20_000
SLOW = "the disk is slower than the events come"
COMMAND = (sys.executable, "-P", "-m", "hilgw.record.writer")


# The bytes of a frame are recorded: nothing decodes them while a recording runs. Those of all lines
# are tapped.
_KINDS = [kind for kind in events.LIVE if kind not in ("frame", "bytes")]
PACKET, DELIVERED = (events.NAMES[kind] for kind in (events.Packet, events.Delivered))
_VALUES = {kind: attrgetter(*names) for kind, names in events.FIELDS.items()}


class RecordingProcess:
    """The process of one recording, and what waits for it.

    clock: of real time. waits: the caller is delayed, and nothing lost, where the process is slow.
    on_report: called in the event loop, with each report of the process. HilgwError when the file
    cannot be made, or the process cannot start.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Scheduler,
        on_report: Callable[[Report], None] = lambda report: None,
        *,
        waits: bool = False,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self._written = Report(settings.path, 0, 0, "")
        self._lost, self._error = 0, ""  # what the process never got, and why
        self._clock, self._waits, self._on_report = clock, waits, on_report
        self.gathered: list[Event] = []
        self._encoded, self._count = bytearray(), 0  # and the number of events in it
        self.add = self.gathered.append
        self._timer: Handle | None = None
        self._waiting: SimpleQueue[bytes | bytearray | None] = SimpleQueue()
        self._given = self._taken = 0  # bytes
        self._is_broken = False
        self.path = path = Path(settings.path)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError as error:
            raise HilgwError(
                "exists already",
                where=str(path),
                fix="a recording replaces no file: name another",
            ) from error
        except OSError as error:
            raise HilgwError(f"cannot be made: {error.strerror}", where=str(path)) from error
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            path.unlink()
            raise HilgwError(
                f"the recording cannot start: {error.strerror}", where=str(path)
            ) from error
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        for work in (self._write, self._read):
            threading.Thread(target=work, name=f"recording {path.name}", daemon=True).start()
        self._give(_message(asdict(settings)), 0)
        self._flush_soon()

    def report(self) -> Report:
        """Return what is written and lost so far."""
        written, error = self._written, self._written.error or self._error
        return replace(written, lost=written.lost + self._lost, error=error)

    def put(self, event: Event) -> None:
        """Record this event soon, as `add` does, which only appends it to a list.

        Encode what is gathered when there is enough of it.
        """
        gathered = self.gathered
        gathered.append(event)
        if len(gathered) >= TOGETHER:
            self.encode()

    def encode(self) -> None:
        """Encode what is gathered, and hand it over when that is much."""
        self._encode()
        if self._count >= MOST_GATHERED:
            self._flush()

    async def stop(self) -> None:
        """Hand over what is left, and wait until it is written: for END_S at most.

        Then the process is killed: `report()` has what it had written before.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._flush()
        self._waiting.put(None)
        try:
            await in_real_time(self._ended.wait(), END_S)
        except TimeoutError:
            self._process.kill()
            await self._ended.wait()

    def _flush_soon(self) -> None:
        self._flush()
        self._timer = self._clock.call_at(self._clock.now() + GATHER_NS, self._flush_soon)

    def _flush(self) -> None:
        self._encode()
        if count := self._count:
            data, self._encoded, self._count = self._encoded, bytearray(), 0
            self._give(data, count)

    def _encode(self) -> None:
        gathered = self.gathered
        if count := len(gathered):
            try:
                self._encoded += _message(gathered)
                self._count += count
            except ValueError as error:  # no plain values: a fault of who made the event
                self._lose(count, f"an event is not valid: {error}")
            gathered.clear()

    def _give(self, data: bytes | bytearray, count: int) -> None:
        is_slow = not self._waits and self._given - self._taken > BUFFER_BYTES
        if self._is_broken or is_slow:
            self._lose(count, SLOW if is_slow else "")
            return
        self._error = ""
        self._given += len(data)
        if self._waits:
            self._pass(data)
        else:
            self._waiting.put(data)

    def _lose(self, count: int, why: str) -> None:
        self._lost += count
        if why != self._error:
            self._error = why
            self._on_report(self.report())

    # --- in threads ---------------------------------------------------------------------------

    def _write(self) -> None:
        while (data := self._waiting.get()) is not None:
            self._pass(data)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _pass(self, data: bytes | bytearray) -> None:
        assert self._process.stdin is not None
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._process.stdin.fileno(), rest) :]
        except OSError:
            self._is_broken = True
        self._taken += len(data)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._call(self._reported, Report(**json.loads(line)))
        code = self._process.wait()
        self._is_broken = True
        if code:
            text = f"the process that records ended with code {code}"
            self._call(self._reported, replace(self._written, error=text))
        self._call(self._ended.set)

    def _call(self, function: Callable[..., object], *values: object) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *values)

    def _reported(self, report: Report) -> None:
        self._written = report
        self._on_report(self.report())


class PlainEvents(EventStream):
    """All events, none left out, each given to `put` as the process takes them (`Event`).

    Those that come with another one, to `add`.
    """

    def __init__(
        self, gateway: Gateway, put: Callable[[Event], None], add: Callable[[Event], None]
    ) -> None:
        super().__init__(_KINDS, gateway.device_of)
        self._gateway, self._now, self._put, self._add = gateway, gateway.timer.now, put, add

    def begin(self) -> None:
        """Begin to record.

        The states that the parts have now come first, those of many devices in later turns of the
        event loop.
        """
        self._states = self._gateway.states()
        self._put_states()
        self._gateway.observer.add(self)
        self._gateway.lines.tap(self._add)

    def _put_states(self) -> None:
        for number, state in enumerate(self._states, 1):
            self.emit(True, state)
            if number == TOGETHER:
                asyncio.get_running_loop().call_soon(self._put_states)
                return

    def end(self) -> None:
        self._states = iter(())
        self._gateway.observer.remove(self)
        self._gateway.lines.untap(self._add)

    def emit(self, takers: Any, event: Any) -> None:
        kind = type(event)
        since = () if kind not in events.CELLS or event.since_ns is None else (event.since_ns,)
        self._put((events.NAMES[kind], self._now(), _VALUES[kind](event), *since))

    def delivered(self, station: str, copy: Copy) -> None:
        packet = copy.packet
        self._add((DELIVERED, self._now(), (station, packet.source, packet.data)))

    def pass_on(self, kind: type[Any], values: tuple[Any, ...]) -> None:
        """Record a packet: of all kinds that are left, it alone comes so."""
        self._put((PACKET, self._now(), values))


class Recorder(PlainEvents):
    """A recording: all events go to its process.

    In simulated time the gateway waits for it.

    on_report: as of `RecordingProcess`, which raises. poses_hz: of each object that moves, this
    many poses a second at most, the newest ones; 0: all. poses_left_out: the others, so far.
    """

    def __init__(
        self,
        settings: Settings,
        gateway: Gateway,
        on_report: Callable[[Report], None],
        poses_hz: float = 0.0,
    ) -> None:
        self._pose_ns = int(NS_PER_S / poses_hz) if poses_hz else 0
        self._due_ns: dict[str, int] = {}  # when the next pose of each object may be recorded
        self._held: dict[str, PoseEvent] = {}  # the newest ones, before that time
        self.poses_left_out = self._reported_left_out = 0
        self._clock = clock = gateway.real_timer
        self.process = RecordingProcess(
            settings, clock, on_report, waits=gateway.timer is not clock
        )
        super().__init__(gateway, self.process.put, self.process.add)
        self._gathered = self.process.gathered
        self._tick: Handle | None = None
        self._put_clock()

    def pass_on(self, kind: type[Any], values: tuple[Any, ...]) -> None:
        """Record this event as `put` of the process does: each packet costs one call less."""
        gathered = self._gathered
        gathered.append((PACKET, self._now(), values))
        if len(gathered) >= TOGETHER:
            self.process.encode()

    def end(self) -> None:
        """End with the status: at another speed the second since the last one has not passed."""
        deque(self._steps, maxlen=0)  # the one that is not complete yet
        self._put_held()
        (made,) = filter(None, status_steps(self._gateway, {}))
        self._put_status(made)
        super().end()

    def pose_change(self, event: PoseEvent) -> None:
        self.poses_left_out += self._held.pop(event.name, None) is not None
        if event.now < self._due_ns.get(event.name, 0):
            self._held[event.name] = event
        else:
            self._put_pose(event)

    def _put_pose(self, event: PoseEvent) -> None:
        self._due_ns[event.name] = event.now + self._pose_ns
        super().pose_change(event)

    def _put_held(self) -> None:
        """Record where objects stand that moved on after their last pose, and what is left out."""
        for event in self._held.values():
            self._put_pose(event)
        self._held.clear()
        if count := self.poses_left_out - self._reported_left_out:
            self._reported_left_out = self.poses_left_out
            self.emit(True, events.LeftOut({events.NAMES[events.Placed]: count}, 0))

    async def stop(self) -> None:
        """Stop the process; return when all is written, or as `RecordingProcess.stop`."""
        if self._tick is not None:
            self._tick.cancel()
        await self.process.stop()

    def _put_clock(self) -> None:
        now = self._clock.now()
        self._put((CLOCK, self._now(), now, time.time()))
        self._put_held()
        self._steps = status_steps(self._gateway, {})
        make_in_turns(self._steps, self._put_status)
        self._tick = self._clock.call_at(now + NS_PER_S, self._put_clock)

    def _put_status(self, made: events.StatusJson) -> None:
        self._put((events.NAMES[events.StatusJson], self._now(), (made.status,)))


class KeptEvents(PlainEvents):
    """The last events of this gateway from now on, in memory, until they are wanted as a recording.

    head: that of the recording.
    """

    def __init__(self, gateway: Gateway, head: dict[str, Any]) -> None:
        self._kept: deque[Event] = deque(maxlen=MOST_KEPT)
        self._head = head
        super().__init__(gateway, self._kept.append, self._kept.append)
        self.begin()

    def write(self, path: Path) -> Report:
        """Write the events to a file; return what became of it."""
        reports: list[Report] = []
        now, wall_ns = self._now(), time.time_ns()
        settings = Settings(str(path), self._head, [*self._gateway.supervisors], wall_ns - now)
        files = Files(settings, reports.append)
        files.write([*self._kept, (CLOCK, now, time.monotonic_ns(), wall_ns / 1e9)])
        files.close()
        return reports[-1]


def _message(value: Any) -> bytes:
    data = marshal.dumps(value)
    return len(data).to_bytes(4, "little") + data
