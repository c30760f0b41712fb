"""The last frames of a port, in bytes and in words, for the report of a test that failed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hilgw.adapters.base import CannotSend, Event, Session, Transmission, Write
from hilgw.medium.packet import Packet
from hilgw.transports.base import DeviceSide

LAST = 50
TOGETHER_NS = 20_000_000  # pieces of one direction that follow so closely are one entry
LONGEST = 512  # bytes of an entry that is put together
SHOWN = 48  # bytes of it in the report

TO_DEVICE, FROM_DEVICE = "->", "<-"
Words = Callable[[bytes], str]


@dataclass(slots=True)
class Entry:
    """Bytes that went one way together."""

    began_ns: int
    ended_ns: int
    way: str
    data: bytes
    whole: bool


class FrameLog:
    """The last 50 frames of one port. words: says what a frame is; made when it is needed."""

    def __init__(self, name: str, words: Callable[[], Words | None] = lambda: None) -> None:
        self.name = name
        self.entries: deque[Entry] = deque(maxlen=LAST)
        self._words = words

    def add(self, way: str, data: bytes, *, whole: bool) -> None:
        """whole: this is a frame by itself; else it belongs to what came just before."""
        now = time.monotonic_ns()
        last = self.entries[-1] if self.entries else None
        if (
            last is not None
            and not (whole or last.whole)
            and last.way == way
            and now - last.ended_ns < TOGETHER_NS
            and len(last.data) < LONGEST
        ):
            last.data += data
            last.ended_ns = now
        else:
            self.entries.append(Entry(now, now, way, data, whole))

    def text(self, since_ns: int) -> str:
        """One line a frame: seconds, direction, bytes, words."""
        words = self._find_words()
        lines = []
        for entry in tuple(self.entries):
            shown = entry.data[:SHOWN].hex(" ")
            more = f" ... {len(entry.data)} B" if len(entry.data) > SHOWN else ""
            said = words(entry.data) if words is not None else ""
            seconds = (entry.began_ns - since_ns) / 1e9
            line = f"{seconds:9.3f} {entry.way} {shown}{more}"
            lines.append(f"{line}  | {said}" if said else line)
        return "\n".join(lines) or "(no bytes)"

    def _find_words(self) -> Words | None:
        """A report must come out whatever an adapter's describe() does."""
        try:
            words = self._words()
        except Exception:  # noqa: BLE001
            return None

        def safely(data: bytes) -> str:
            try:
                return words(data) if words is not None else ""
            except Exception as error:  # noqa: BLE001
                return f"describe() raised {error!r:.80}"

        return safely


def tap(device: DeviceSide, log: FrameLog, *, only_writes: bool = False) -> None:
    """What passes the hardware's end of a port is logged: what firmware writes at once is a frame.

    Before it is started; only_writes: afterwards, too.
    """
    write, start = device.write, device.start

    def logged_write(data: bytes) -> None:
        log.add(FROM_DEVICE, data, whole=True)
        write(data)

    def logged_start(on_data: Callable[[bytes, int | None], None]) -> None:
        def logged(data: bytes, host_baud: int | None) -> None:
            log.add(TO_DEVICE, data, whole=False)
            on_data(data, host_baud)

        start(logged)

    setattr(device, "write", logged_write)  # noqa: B010 - this one device, whatever its class
    if not only_writes:
        setattr(device, "start", logged_start)  # noqa: B010


class TappedSession:
    """A session that logs its frames: what it sends; and, when hears is true, what it receives, up
    to where it became something."""

    def __init__(self, session: Session, log: FrameLog, *, hears: bool) -> None:
        self._hears = hears
        self.channels = session.channels
        self._session = session
        self._log = log
        self._received = b""

    def open(self, now: int) -> list[Event]:
        return self._logged(self._session.open(now))

    def close(self) -> list[Event]:
        self._end_received()
        return self._session.close()

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._hears:
            self._received += data
        events = self._session.receive(data, now)
        if events or len(self._received) >= LONGEST:
            self._end_received()
        return self._logged(events)

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        answer = self._session.send(packet, now)
        if isinstance(answer, Transmission):
            self._log.add(TO_DEVICE, answer.data, whole=True)
        return answer

    def next_deadline(self) -> int | None:
        return self._session.next_deadline()

    def expire(self, now: int) -> list[Event]:
        events = self._session.expire(now)
        if events:
            self._end_received()
        return self._logged(events)

    def describe(self, frame: bytes) -> str:
        return self._session.describe(frame)

    def flush(self) -> None:
        """What was received and made no event yet is an entry, too."""
        self._end_received()

    def _end_received(self) -> None:
        if self._received:
            self._log.add(FROM_DEVICE, self._received, whole=True)
            self._received = b""

    def _logged(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, Write):
                self._log.add(TO_DEVICE, event.data, whole=True)
        return events


def words_of_mock(kind: str, parameters: dict[str, Any]) -> Words | None:
    """How an adapter describes the frames of this mock: the one that names it as its own."""
    from hilgw.config import plugins

    for adapter in plugins.load_all(plugins.ADAPTERS)[0].values():
        try:
            words = _words_of(adapter, kind, parameters)
        except Exception:  # noqa: BLE001 - it needs other settings: not this one
            continue
        if words is not None:
            return words
    return None


def _words_of(adapter: Any, kind: str, parameters: dict[str, Any]) -> Words | None:
    """Its describe(), if it stands for this mock: set like the mock where names are the same."""
    from hilgw.adapters.base import StationSettings

    common = StationSettings(port="/dev/null")
    known = adapter.Settings.__dataclass_fields__
    settings = adapter.Settings(**{name: parameters[name] for name in parameters.keys() & known})
    if adapter.mock(settings, common).name != kind:
        return None
    words: Words = adapter.session(settings, common).describe
    return words
