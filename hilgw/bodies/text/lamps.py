"""The LEDs of body `text`: the newest value of each, until its line has left."""

from __future__ import annotations

from hilgw.bodies.text.lines import Sendable, sendable
from hilgw.bodies.text.settings import TextBodySettings


class Lamps:
    """By the names of the devices."""

    def __init__(self, settings: TextBodySettings, end: bytes) -> None:
        self._lines = {
            name: sendable(each, end, settings.failed, fills=True)
            for name, each in settings.leds.items()
        }
        self._values: dict[str, int] = {}
        self._waiting: dict[str, int] = {}

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def forget(self) -> None:
        """Another robot may be there."""
        self._values.clear()
        self._waiting.clear()

    def restart(self) -> None:
        """The robot was set up again: it gets all values anew."""
        self._waiting = dict(self._values)

    def set(self, name: str, value: int) -> None:
        self._values[name] = self._waiting[name] = value

    def due(self) -> list[tuple[Sendable, bytes, str]]:
        """Line, bytes and name of each that waits."""
        return [
            (self._lines[name], self._lines[name].filled(_words(value)), name)
            for name, value in self._waiting.items()
        ]

    def left(self, name: str) -> None:
        self._waiting.pop(name, None)

    def lost(self, name: str) -> None:
        """Its line was not answered: it is sent again."""
        self._waiting.setdefault(name, self._values[name])


def _words(value: int) -> dict[str, str]:
    return {"value": str(value), "on": str(int(value != 0))}
