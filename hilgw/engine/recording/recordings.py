"""The recordings of a running gateway: begun and ended at will, each by a process of its own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.errors import HilgwError, quoted, suggest
from hilgw.protocols.gateway.requests import Recorded

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.recording.recorder import Recorder
    from hilgw.record.writer import Report

MOST = 8
"""Recordings at the same time."""
SUFFIX = ".pcapng"
SOURCE = "recording"


class Recordings:
    """The recordings of one gateway, by their names.

    folder: of those that a client names; made when it is needed. head: makes what the head of each
    has besides its times (`Writer`). limits: `max_bytes`, `max_s`, `files` and `free_bytes` of
    `Settings`. at_start: a recording begins with the run.
    """

    def __init__(
        self,
        gateway: Gateway,
        folder: Path,
        head: Callable[[], dict[str, Any]],
        limits: dict[str, Any],
        *,
        at_start: bool = False,
        poses_hz: float = 0.0,
    ) -> None:
        self._poses_hz = poses_hz
        self._gateway, self._folder, self._head, self._limits = gateway, folder, head, limits
        self._at_start = at_start
        self._recorders: dict[str, Recorder] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._ended: dict[str, Recorded] = {}

    def report(self) -> dict[str, Any]:
        """Return the part `recordings` of the gateway's report, by the paths of the first files."""
        running = {str(each.process.path): _report(each) for each in self._recorders.values()}
        return {path: asdict(each) for path, each in (self._ended | running).items()}

    def status(self) -> dict[str, Any]:
        """Return the folder of the recordings that a client names, and those that run, by name."""
        running = {name: asdict(_report(each)) for name, each in self._recorders.items()}
        for recording in running.values():
            recording["file"] = str(Path(recording["file"]).absolute())  # clients run elsewhere
        return {"folder": str(self._folder.absolute()), "running": running}

    def begin_at_start(self, path: str | None) -> str | None:
        """Begin the recording of the whole run, if there is one, and return its file.

        This one, or one of its time in the folder. HilgwError when that is not possible.
        """
        if path is not None:
            self.begin(Path(path).stem, Path(path))
            return path
        if self._at_start:
            return self.begin_named(f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{os.getpid()}").file
        return None

    def begin_named(self, name: str) -> Recorded:
        """Begin a recording that a client names (`requests.RecordingName`), in the folder.

        HilgwError when its file is there.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HilgwError(
                f"cannot be made: {error.strerror}", where=str(self._folder)
            ) from error
        path = self._folder.absolute() / (name if name.endswith(SUFFIX) else name + SUFFIX)
        self.begin(name.removesuffix(SUFFIX), path)
        return Recorded(str(path))

    def begin(self, name: str, path: Path) -> None:
        """Begin a recording in this file. HilgwError when that is not possible."""
        from hilgw.engine.recording.recorder import Recorder
        from hilgw.record.writer import Settings

        if name in self._recorders:
            raise HilgwError(f"the recording {quoted(name)} is running", fix="end it first")
        if len(self._recorders) >= MOST:
            raise HilgwError(f"{MOST} recordings are running", fix="end one first")
        gateway = self._gateway
        epoch_ns = time.time_ns() - gateway.timer.now()
        settings = Settings(
            str(path), self._head(), list(gateway.supervisors), epoch_ns, **self._limits
        )

        error = notice = ""

        def on_report(report: Report) -> None:
            nonlocal error, notice
            if report.notice != notice:
                notice = report.notice
                gateway.observer.notice(SOURCE, f"{name}: {notice}")
            if report.error != error:
                error = report.error
                self._show(name, report)

        self._recorders[name] = recorder = Recorder(settings, gateway, on_report, self._poses_hz)
        recorder.begin()

    def end(self, name: str) -> Recorded:
        """End a recording and return its report; its file is complete soon after.

        HilgwError for a name that is none.
        """
        recorder = self._recorders.pop(name.removesuffix(SUFFIX), None)
        if recorder is None:
            raise HilgwError(
                f"no recording {quoted(name)} is running", fix=suggest(name, self._recorders)
            )
        recorder.end()
        task = asyncio.get_running_loop().create_task(self._finish(recorder))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return _report(recorder)

    async def close(self) -> None:
        """End all recordings; return when they are complete."""
        for name in list(self._recorders):
            self.end(name)
        await asyncio.gather(*self._ending)

    async def _finish(self, recorder: Recorder) -> None:
        await recorder.stop()
        self._ended[str(recorder.process.path)] = _report(recorder)

    def _show(self, name: str, report: Report) -> None:
        text = f"{name}: events are lost: {report.error}"
        if not report.error:
            text = f"{name}: goes on in {report.file}; {report.lost} events were lost so far"
        self._gateway.observer.notice(SOURCE, text)


def _report(recorder: Recorder) -> Recorded:
    report = recorder.process.report()
    return Recorded(report.file, report.written, report.lost, report.error, recorder.poses_left_out)
