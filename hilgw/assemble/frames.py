"""The frames of stations in a recording, which has their bytes: decoded when it is read.

A session of each station, of the recorded configuration, gets the input of its station: the
received bytes, the packets, the time. Its own output is ignored: that is in the recording.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hilgw.adapters.base import Transmission
from hilgw.config.load import recorded
from hilgw.engine.observer import Direction
from hilgw.engine.station.frame_tap import FrameTap
from hilgw.errors import AdapterError
from hilgw.medium.packet import Packet
from hilgw.plugins import ADAPTERS, load
from hilgw.record.events import TIMES
from hilgw.record.script import CONNECTED


def decoders_of(head: Mapping[str, Any], where: str) -> "dict[str, StationDecoder]":
    """Return the decoder of each station, by this head of a recording from any machine.

    Raises:
      HilgwError: the configuration in the head is invalid.
    """
    config = recorded({**head, "config": where})
    return {
        name: StationDecoder(name, load(ADAPTERS, each.kind).session(each.settings, each.common))
        for name, each in config.adapters.items()
    }


def with_frames(
    events: Iterable[dict[str, Any]], decoders: "Mapping[str, StationDecoder]"
) -> Iterator[dict[str, Any]]:
    """Yield these events, from the start on, each followed by its frames."""
    for event in events:
        yield event
        for name in event.get("received_by") or [str(event.get("part", event.get("name")))]:
            if name in decoders:
                yield from decoders[name].frames(event)


class StationDecoder:
    """Decoder of the frames of one station's events. session: of its adapter, and new."""

    def __init__(self, name: str, session: Any) -> None:
        self._session, self._tap = session, FrameTap(self._on_frame)
        self._name, self._is_open = name, False
        self._found: list[dict[str, Any]] = []
        self._own: deque[bytes] = deque(maxlen=1000)  # frames that the session would send
        self._packets: deque[Packet] = deque(maxlen=1000)

    def frames(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        self._found, self._times = [], {key: event[key] for key in TIMES}
        try:
            self._take(event, event["time_ns"])
        except Exception as error:  # as in a station: adapters raise anything
            raise AdapterError(f"failed on a frame: {error!r:.200}", where=self._name) from error
        return self._found

    def _take(self, event: dict[str, Any], now: int) -> None:
        match event:
            case {"event": "packet", "channel": channel, "type": type, "source": source}:
                self._packets.append(Packet(bytes.fromhex(event["data"]), channel, type, source))
            case {"event": "port", "state": state}:
                if (state in CONNECTED) is not self._is_open:
                    self._is_open = not self._is_open
                    self._tap.flush()
                    change = self._session.open(now) if self._is_open else self._session.close()
                    self._tap.answered(change)
            case {"event": "bytes", "direction": direction, "data": text}:
                data, due = bytes.fromhex(text), self._session.next_deadline() or now
                self._tap.answered(self._session.expire(min(due, now)))
                if direction == Direction.RECEIVED:
                    self._tap.received(data)
                    self._tap.answered(self._session.receive(data, now))
                else:
                    self._sent(data, now)

    def _sent(self, data: bytes, now: int) -> None:
        self._show(Direction.SENT, data)
        while data not in self._own and self._packets:  # the session must know of frames of packets
            frame = self._session.send(self._packets.popleft(), now)
            if isinstance(frame, Transmission):
                self._own.append(frame.data)
        if data in self._own:
            self._own.remove(data)

    def _on_frame(self, direction: Direction, data: bytes) -> None:
        self._own.append(data) if direction is Direction.SENT else self._show(direction, data)

    def _show(self, direction: Direction, data: bytes) -> None:
        self._found.append(
            {
                "event": "frame",
                **self._times,
                "station": self._name,
                "direction": str(direction),
                "data": data.hex(),
                "text": self._session.describe(data),
            }
        )
