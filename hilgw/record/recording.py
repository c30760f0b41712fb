"""A recording in a file, and its events from any time on."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hilgw.events.fields import LAST_NS
from hilgw.protocols.pcapng.blocks import Reader, RecordingError, resync
from hilgw.protocols.pcapng.events import CLOCK, HEAD, BlockDecoder

SEARCHED = 256 * 1024
"""Bytes to search for the start of a block."""
NEAR = 4 * 1024 * 1024
"""Bytes that are read rather than searched."""


class Recording:
    """The recording in one file.

    head: of the run. truncated, error: after `events`, why it did not reach the end of the file.

    Raises:
      RecordingError: the file is not a recording, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated = False
        self.error: RecordingError | None = None
        try:
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise RecordingError(
                    "is not a regular file, and a recording is read more than once",
                    where=str(path),
                    fix="write it to a file first",
                )
            with path.open("rb") as file:
                self.head = self._head(file)
        except OSError as error:
            raise self._unreadable(error) from error

    def _head(self, file: BinaryIO) -> dict[str, Any]:
        reader, decoder = Reader(file.read, str(self.path)), BlockDecoder(str(self.path))
        for block in reader:
            decoder.decode(block)
            if decoder.head:
                return decoder.head
        raise RecordingError("ends before its first event", where=str(self.path))

    def _unreadable(self, error: OSError) -> RecordingError:
        return RecordingError(error.strerror or str(error), where=str(self.path))

    def events(
        self, from_s: float = 0.0, to_s: float | None = None, *, states: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the events between these times, in seconds since the first event.

        They have the keys of the control socket's events. The first damaged place ends them: see
        `error`. With `states`, also repeated states that are not older than the recording.
        """
        self.truncated, self.error = False, None
        try:
            with self.path.open("rb") as file:
                events = self._events(file, from_s, to_s)
                begin_ns = self.head["time_ns"]
                yield from (
                    e for e in events if states or (e.get("since_ns") or begin_ns) <= begin_ns
                )
        except RecordingError as error:
            self.error = error
        except OSError as error:
            self.error = self._unreadable(error)

    def _events(
        self, file: BinaryIO, from_s: float, to_s: float | None
    ) -> Iterator[dict[str, Any]]:
        reader, decoder = Reader(file.read, str(self.path)), BlockDecoder(str(self.path))
        begin_ns: int | None = None
        for block in reader:
            event = decoder.decode(block)
            if event is None:
                continue
            if begin_ns is None:
                begin_ns = int(event["time_ns"])
                first_ns = begin_ns + int(from_s * 1e9) if from_s else -LAST_NS
                last_ns = None if to_s is None else begin_ns + int(to_s * 1e9)
                self._skip_to(file, reader, first_ns + int(decoder.head["epoch_ns"]))
            if event["event"] in (HEAD, CLOCK) or event["time_ns"] < first_ns:
                continue
            if last_ns is not None and event["time_ns"] > last_ns:
                return
            yield event
        self.truncated = reader.truncated

    def _skip_to(self, file: BinaryIO, reader: Reader, wall_ns: int) -> None:
        """Go to a block before this time and near it, by bisection.

        A large file is not read from its start. Nothing happens if no block is found.
        """
        low, high = reader.offset, os.fstat(file.fileno()).st_size
        if any((each.unit_ns, each.offset_ns) != (1, 0) for each in reader.interfaces):
            return  # another program wrote it
        nearest = low
        while high - low > NEAR:
            middle = (low + high) // 2 // 4 * 4
            block = _block_after(file, reader, middle)
            if block is None or block[1] >= wall_ns:
                high = middle
            else:
                nearest = block[0]
                low = max(middle, nearest)
        file.seek(nearest)
        reader.resume(file.read, nearest)


def _block_after(file: BinaryIO, reader: Reader, offset: int) -> tuple[int, int] | None:
    file.seek(offset)
    data = file.read(SEARCHED)
    position = resync(data, len(reader.interfaces))
    if position is None:
        return None
    high = int.from_bytes(data[position + 12 : position + 16], "little")
    low = int.from_bytes(data[position + 16 : position + 20], "little")
    return offset + position, high << 32 | low
