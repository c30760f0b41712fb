"""Differences of two recordings: the first difference of each stream, and the counts.

A stream is the activity of one part, such as the bytes that one line sent: between streams the
events of two runs come in different orders. Times are not compared.
"""

from collections import deque
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from hilgw.errors import HilgwError
from hilgw.events.kinds import kind_of
from hilgw.protocols.pcapng.events import TIMES
from hilgw.record.recording import Recording
from hilgw.records import record

MORE = ("direction", "source")  # additional keys of a stream
MOST_AHEAD = 1_000_000
"""Events, or bytes of one line, that one recording may be ahead of the other."""
Event = dict[str, Any]


@record
class Difference:
    """A difference of a stream.

    number: of the event in its stream, from 1; of the byte on a line. time_s: since the start of
    the recording that has it; of the first if both have. first, second: the item of each; None:
    nothing more.
    """

    stream: str
    number: int
    time_s: float
    first: Any
    second: Any


@record
class Comparison:
    """The result of a comparison.

    differences: the first one of each stream that has one, by their times. counts: events of each
    stream in the first and in the second, of a line its bytes.
    """

    differences: list[Difference]
    counts: dict[str, tuple[int, int]]


class _Stream:
    """Items of a stream that one recording is ahead of the other. ahead: which, 0 or 1."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts = [0, 0]
        self.difference: Difference | None = None
        self._ahead: deque[tuple[float, Any]] = deque()
        self._which = 0

    def add(self, which: int, time_s: float, item: Any) -> None:
        self.counts[which] += 1
        if self.difference is not None:
            return
        if not self._ahead or self._which == which:
            self._which = which
            self._ahead.append((time_s, item))
            if len(self._ahead) > MOST_AHEAD:
                problem = f"{self.name}: one recording is {MOST_AHEAD} events ahead of the other"
                raise HilgwError(problem, fix="compare shorter ones")
            return
        other_s, other = self._ahead.popleft()
        if other != item:
            pair = (other, item) if which else (item, other)
            when_s = other_s if which else time_s
            self.difference = Difference(self.name, self.counts[which], when_s, *pair)

    def end(self) -> None:
        if self.difference is None and self._ahead:
            time_s, item = self._ahead[0]
            pair = (None, item) if self._which else (item, None)
            number = min(self.counts) + 1
            self.difference = Difference(self.name, number, time_s, *pair)


def compare(first: Recording, second: Recording) -> Comparison:
    """Return the differences of two recordings.

    Bytes of a line are compared however they were read, in one piece or in several.
    """
    streams: dict[str, _Stream] = {}
    for pair in zip_longest(_items(first), _items(second)):
        for which, entry in enumerate(pair):
            if entry is not None:
                name, time_s, items = entry
                stream = streams.setdefault(name, _Stream(name))
                for item in items:
                    stream.add(which, time_s, item)
    for stream in streams.values():
        stream.end()
    differences = [each.difference for each in streams.values() if each.difference is not None]
    counts = {name: (each.counts[0], each.counts[1]) for name, each in streams.items()}
    return Comparison(sorted(differences, key=lambda each: each.time_s), counts)


def _items(recording: Recording) -> Iterator[tuple[str, float, Any]]:
    """Yield the stream of each event, its time since the start, and the compared items.

    An item is the event without its times, or each byte of a line.
    """
    begin_ns = recording.head["time_ns"]
    for event in recording.events():
        # Measured once a second, so that no two runs have the same; or not a new event.
        if event["event"] in ("link", "status") or event.get("since_ns") is not None:
            continue
        keys = dict.fromkeys((*kind_of(event).about, *MORE))
        whose = " ".join(event[key] for key in keys if event.get(key))
        name = f"{event['event']} {whose}".rstrip()
        time_s = (event["time_ns"] - begin_ns) / 1e9
        if event["event"] == "bytes":
            yield name, time_s, bytes.fromhex(event["data"])
        else:
            yield name, time_s, [{key: each for key, each in event.items() if key not in TIMES}]
