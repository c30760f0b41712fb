"""Parts that are recordings: each is a mock, hosted as any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.config.model import Backend
from hilgw.config.queries import backend_of
from hilgw.engine.lines import Port
from hilgw.engine.mock_host import MockHost
from hilgw.errors import DepartureError
from hilgw.plugins import new_air
from hilgw.protocols.gateway.events import frame_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.config.model import GatewayConfig, PartBackend
    from hilgw.engine.gateway import Gateway
    from hilgw.record.replay import Departure, Replay
    from hilgw.transports.base import DeviceSide, LineSettings

MOST_SHOWN = 10
"""Departures of a part that the user reads; the report counts all."""


class Replays:
    """The replays of one configuration. words: what bytes that hilgw sends mean, by part."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config, self._gateway = config, gateway
        self.words: dict[str, Callable[[bytes], str]] = {}

    def place(self, name: str) -> Callable[[DeviceSide], str] | None:
        """Puts the recording of this part behind a device; None: it is no recording."""
        if backend_of(self._config, name) is not Backend.REPLAY:
            return None
        return lambda device: self._host(name, device)

    def serial(self, name: str, where: str, line: LineSettings, boot_s: float) -> Port:
        """A serial port with a recording behind it."""
        from hilgw.transports.virtual.pipe import ReplayedPipe

        pipe = ReplayedPipe(self._gateway.timer, line, name=f"replay:{name}")
        where += self._host(name, pipe)
        return Port(where, lambda: pipe.open(line), boot_s=boot_s)

    def _host(self, name: str, device: DeviceSide) -> str:
        from hilgw.record.replay import Replay
        from hilgw.record.script import scripts_of

        own = self._own(name)
        file = Path(own.recording or "")
        script = scripts_of(file)[name].at(own.from_s)

        def on_departure(departure: Departure) -> None:
            self._departed(own, replay.departures, departure)

        replay = Replay(name, script, on_departure)
        host = MockHost(self._gateway.timer, new_air())
        self._gateway.hosts.append(host)
        host.add(replay, device)
        self._gateway.replays[name] = lambda: _report(replay)
        return f" (replay of {file.name})"

    def _own(self, name: str) -> PartBackend:
        robot, _, key = name.partition(".")
        return (self._config.robots[robot].parts[key] if key else self._config.adapters[name]).own

    def _departed(self, own: PartBackend, count: int, departure: Departure) -> None:
        text = self._text(departure)
        if count <= MOST_SHOWN:
            more = "; further ones are counted only" if count == MOST_SHOWN else ""
            self._gateway.observer.notice(departure.part, text + more)
        if own.on_departure == "stop":
            self._gateway.end(DepartureError(text, where=departure.part))

    def _text(self, departure: Departure) -> str:
        words = self.words.get(departure.part, _no_words)
        expected, actual = (
            frame_line("sent", data, words(data)) if data else "nothing"
            for data in (departure.expected, departure.actual)
        )
        at = f"frame {departure.number} of {departure.frames}"
        return f"departs from the recording at {at}; expected: {expected}; sent: {actual}"


def _no_words(data: bytes) -> str:
    return ""


def _report(replay: Replay) -> dict[str, Any]:
    return {
        "frames": replay.frames,
        "matched": replay.matched,
        "departures": replay.departures,
        "after_end_bytes": replay.after_end,
    }
