"""A recording in a file: what it holds, from any time on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hilgw.record.events import CLOCK, HEAD, Decoder
from hilgw.record.pcapng import Reader, RecordingError, resync

SEARCHED = 256 * 1024
"""Bytes in which a place to begin is searched."""
NEAR = 4 * 1024 * 1024
"""Bytes that are read rather than searched."""


class Recording:
    """One file. head: of the run. RecordingError when it is none, or cannot be read.

    truncated, error: after `events`, what kept it from the end of the file; its events up to there
    were given. Use it as a context manager, or close it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated = False
        self.error: RecordingError | None = None
        try:
            self._file = path.open("rb")
            self._size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise RecordingError(error.strerror or str(error), where=str(path)) from error
        try:
            self.head = self._first()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _first(self) -> dict[str, Any]:
        reader, decoder = self._at_begin()
        try:
            for block in reader:
                decoder.decode(block)
                if decoder.head:
                    self._data_at = reader.offset
                    return decoder.head
        except OSError as error:
            raise RecordingError(error.strerror or str(error), where=str(self.path)) from error
        raise RecordingError("ends before its first event", where=str(self.path))

    def _at_begin(self) -> tuple[Reader, Decoder]:
        self._file.seek(0)
        return Reader(self._file.read, str(self.path)), Decoder(str(self.path))

    def events(self, from_s: float = 0.0, to_s: float | None = None) -> Iterator[dict[str, Any]]:
        """The events between these times, in seconds since the first event; with the keys of the
        events of the control socket. Ends at the first place that is damaged: see `error`."""
        self.truncated, self.error = False, None
        reader, decoder = self._at_begin()
        begin_ns: int | None = None
        try:
            for block in reader:
                event = decoder.decode(block)
                if event is None:
                    continue
                if begin_ns is None:
                    begin_ns = int(event["time_ns"])
                    first_ns = begin_ns + int(from_s * 1e9)
                    last_ns = None if to_s is None else begin_ns + int(to_s * 1e9)
                    self._skip_to(reader, first_ns + int(decoder.head["epoch_ns"]))
                if event["event"] in (HEAD, CLOCK) or event["time_ns"] < first_ns:
                    continue
                if last_ns is not None and event["time_ns"] > last_ns:
                    return
                yield event
            self.truncated = reader.truncated
        except RecordingError as error:
            self.error = error
        except OSError as error:
            self.error = RecordingError(error.strerror or str(error), where=str(self.path))

    def _skip_to(self, reader: Reader, wall_ns: int) -> None:
        """Goes to a block before this time and near it, by bisection: a large file is not read from
        its begin. Nothing happens where that cannot be found."""
        low, high = reader.offset, self._size
        found = low
        while high - low > NEAR:
            middle = (low + high) // 2 // 4 * 4
            at = self._block_after(reader, middle)
            if at is None or at[1] >= wall_ns:
                high = middle
            else:
                found = at[0]
                low = max(middle, found)
        if found > reader.offset:
            self._file.seek(found)
            reader.resume(self._file.read, found)

    def _block_after(self, reader: Reader, offset: int) -> tuple[int, int] | None:
        """Offset and time of the first packet after this place."""
        self._file.seek(offset)
        data = self._file.read(SEARCHED)
        at = resync(data, len(reader.interfaces))
        if at is None:
            return None
        high = int.from_bytes(data[at + 12 : at + 16], "little")
        low = int.from_bytes(data[at + 16 : at + 20], "little")
        return offset + at, high << 32 | low
