"""The process that writes a recording: a slow or full disk delays it, and not the gateway.

It reads messages from standard input: four bytes of length, little-endian, and a value of
`marshal`. The first is a dict with the fields of `Settings`; each of the others a list of events
(`Event`), written in one call. At the end of its input it ends. On standard output it reports, as
JSON, one object per line, when a file begins, and when a loss starts or ends: `Report`.
"""

import json
import marshal
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from hilgw.events.kinds import CELLS, KINDS, NAMES, Status
from hilgw.protocols.pcapng.events import CLOCK, Writer
from hilgw.records import record
from hilgw.units import NS_PER_S

AGAIN_S = 1.0
"""Time after which a file that cannot be written is tried again."""
Event = tuple[Any, ...]
"""("bytes", time_ns, part, data, sent), or (name, time_ns, values): an event by its name, with the
values of its fields (`hilgw.events.kinds`), in which `data` are bytes and `status` is JSON, and
behind them `since_ns` of a state that is repeated; or ("clock", time_ns, mono_ns, wall_s)."""
STATUS = NAMES[Status]
_CELLS = {NAMES[form]: KINDS[NAMES[form]].places for form in CELLS}
"""The newest state of each name is written again at the start of each file, which must be readable
alone; states that have changed are, each KEYFRAME_NS of the gateway's clock."""
MOST_CELLS = 200_000
KEYFRAME_NS = 60 * NS_PER_S
BEGINS = 4
"""The rest of a file is at least this many times as long as the states at its start."""


@record
class Settings:
    """Settings of the process.

    path: of the first file. head, parts, epoch_ns: see `Writer`. max_bytes, max_s: the size,
    without repeated states, and the age after which a new file starts; 0: never. files: the number
    of newest files to keep; 0: all. free_bytes: the free space to leave on the disk.
    """

    path: str
    head: dict[str, Any]
    parts: list[str]
    epoch_ns: int
    max_bytes: int = 0
    max_s: float = 0.0
    files: int = 0
    free_bytes: int = 0


@record
class Report:
    """A report.

    file: that is written. written: bytes of all files so far. lost: events that were not written.
    error: why they are lost now; "" while nothing is. notice: for the user, once.
    """

    file: str
    written: int
    lost: int
    error: str
    notice: str = ""


class Files:
    """The files of one recording. clock: in seconds, for their age and for another try."""

    def __init__(
        self,
        settings: Settings,
        report: Callable[[Report], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._report, self._clock = settings, report, clock
        self._writer = Writer(settings.head, settings.parts, settings.epoch_ns)
        self._path = Path(settings.path)
        self._paths: deque[Path] = deque()
        self._fd: int | None = None
        self._number = 1
        self._size = self._written = self._lost = self._lost_here = 0
        self._counted = self._limit = self._keyframe_ns = 0
        self._notice = ""
        self._begun_s = self._failed_s = 0.0
        self._error = ""
        self._is_begun = False  # the section of this file: anew after what was lost
        self._cells: dict[tuple[Any, ...], Event] = {}
        self._changed: dict[tuple[Any, ...], Event] = {}  # since they were written last

    def write(self, events: list[Event]) -> None:
        """Write these events, or count them as lost; the newest states are known in any case."""
        try:
            self._write(events)
        finally:
            for event in events:
                if (names := _CELLS.get(event[0])) is not None:
                    cell = event[0], *(event[2][at] for at in names)
                    if cell in self._cells or len(self._cells) < MOST_CELLS:
                        self._cells[cell] = self._changed[cell] = event

    def _write(self, events: list[Event]) -> None:
        if self._error and self._clock() - self._failed_s < AGAIN_S:
            self._lose(events)
            return
        time_ns = events[0][1]
        try:
            self._demand_room()
            begin = self._next_file(time_ns)
            if self._lost_here:
                lost = {"event": "recording_lost", "events": self._lost_here}
                begin += self._writer.event(time_ns, lost)
            elif time_ns - self._keyframe_ns >= KEYFRAME_NS:
                begin += self._repeated(self._changed, time_ns)
            data = b"".join(map(self._block, events))
            self._put(begin + data)
            self._counted += len(data)
        except OSError as error:
            self._failed_s, self._is_begun = self._clock(), False
            is_new = not self._error
            self._error = error.strerror or str(error)
            self._lose(events)
            if is_new:
                self._send_report()
            return
        if self._error or begin:
            self._error, self._lost_here = "", 0
            self._send_report()

    def close(self) -> None:
        """Close the file, and report a last time."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._send_report()

    def _lose(self, events: list[Event]) -> None:
        self._lost += len(events)
        self._lost_here += len(events)

    def _send_report(self) -> None:
        path = str(self._path)
        self._report(Report(path, self._written, self._lost, self._error, self._notice))

    def _block(self, event: Event) -> bytes:
        kind, time_ns = event[:2]
        if kind == "bytes":
            return self._writer.line(time_ns, event[2], event[3], sent=event[4])
        if kind == "packet":
            return self._writer.packet_of(time_ns, event[2])
        if kind == "delivered":
            return self._writer.delivered(time_ns, event[2])
        if kind == CLOCK:
            clock = {"event": CLOCK, "mono_ns": event[2], "wall_s": event[3]}
            return self._writer.event(time_ns, clock)
        made = {"event": kind, **dict(zip(KINDS[kind].fields, event[2], strict=True))}
        if kind == STATUS:
            made[kind] = json.loads(made[kind])
        if len(event) > 3:
            made["since_ns"] = event[3]
        return self._writer.event(time_ns, made)

    def _repeated(self, cells: dict[tuple[Any, ...], Event], time_ns: int) -> bytes:
        events = list(cells.values())
        self._changed, self._keyframe_ns = {}, time_ns
        return b"".join([self._block((e[0], time_ns, e[2], e[-1 if e[3:] else 1])) for e in events])

    def _demand_room(self) -> None:
        if self._settings.free_bytes:
            disk = os.statvfs(self._path.parent)
            if disk.f_bavail * disk.f_frsize < self._settings.free_bytes:
                raise OSError(0, f"less than {self._settings.free_bytes} bytes are free")

    def _next_file(self, time_ns: int) -> bytes:
        """Open the first or the next file if it is due; return the start of its section.

        It is due, too, when the present file was removed.
        """
        s = self._settings
        is_large = s.max_bytes > 0 and self._limit <= self._counted
        is_old = 0 < s.max_s <= self._clock() - self._begun_s
        if self._fd is not None and (is_large or is_old or not os.fstat(self._fd).st_nlink):
            self._open_next(Path(s.path))
        elif self._fd is None:
            self._open(0)  # made by the gateway, which has checked that it is new
        if self._is_begun:
            return b""
        self._is_begun = True
        begin = self._writer.begin(time_ns) + self._repeated(self._cells, time_ns)
        self._limit = max(s.max_bytes, BEGINS * len(begin))
        if 0 < s.max_bytes < self._limit and not self._notice:
            size, least = f"{s.max_bytes / 1e6:g}", f"{self._limit / 1e6:.2g}"
            self._notice = (
                f"max_mb {size} counts as {least}: {BEGINS} times the states at its start"
            )
        return begin

    def _open_next(self, first: Path) -> None:
        """Open the next file that does not exist: those of an earlier recording stay."""
        while True:
            self._number += 1
            self._path = first.with_stem(f"{first.stem}-{self._number:04}")
            with suppress(FileExistsError):
                return self._open(os.O_EXCL)

    def _open(self, flags: int) -> None:
        new = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
        if self._fd is not None:
            os.close(self._fd)
        self._fd, self._size, self._counted, self._begun_s = new, 0, 0, self._clock()
        self._is_begun = False
        self._paths.append(self._path)
        if 0 < self._settings.files < len(self._paths):
            self._paths[-self._settings.files - 1].unlink(missing_ok=True)

    def _put(self, data: bytes) -> None:
        """Write all of it, or nothing: a file ends with a whole block."""
        assert self._fd is not None
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise
        self._size += len(data)
        self._written += len(data)


def messages(stream: BinaryIO) -> Any:
    """Yield the values on this stream, until it ends."""
    while len(size := stream.read(4)) == 4:
        data = stream.read(int.from_bytes(size, "little"))
        if len(data) < int.from_bytes(size, "little"):
            return  # the gateway was killed
        yield marshal.loads(data)


def main() -> None:
    """Write the events from standard input."""
    # The end of the input ends this process: a Ctrl-C goes to the gateway, which ends in order.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    batches = messages(sys.stdin.buffer)

    def report(message: Report) -> None:
        try:
            print(json.dumps(asdict(message)), flush=True)
        except OSError:
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - the gateway is gone

    if (settings := next(batches, None)) is None:
        return  # the gateway was killed at once
    files = Files(Settings(**settings), report)
    for batch in batches:
        files.write(batch)
    files.close()


if __name__ == "__main__":
    main()
