"""The keyboard of a Webots controller: keys that a user holds down, sampled as in Webots.

A key is held for a time, because terminals report no release. It is held in simulated time, and
until the controller has got it once, however long its period is.
"""

from __future__ import annotations

from collections.abc import Sequence

from hilgw.controllers.webots.sampling import Grid
from hilgw.devices.keys import MOST_KEYS
from hilgw.protocols.webots.codec import Message
from hilgw.protocols.webots.robot_messages import KeyboardKeys

_KEYS = "keys"


class KeyboardState:
    """The keys by their codes (`hilgw.devices.keys`), in the order in which they went down."""

    def __init__(self) -> None:
        self._grid: Grid[str] = Grid()
        self._until_ns: dict[int, int] = {}
        self._unseen: set[int] = set()  # that the controller has not got
        self._sampled: tuple[int, ...] | None = None  # for the next answer

    @property
    def is_enabled(self) -> bool:
        return _KEYS in self._grid

    def reset(self) -> None:
        """A new controller has enabled nothing."""
        self._grid.clear()
        self._release()

    def switch(self, period_ms: int, time_ns: int) -> None:
        """Enables the keyboard; 0 disables it."""
        self._grid.switch(_KEYS, period_ms, time_ns)
        if not period_ms:
            self._release()

    def can_take(self, keys: Sequence[int], time_ns: int) -> bool:
        """Whether no more than MOST_KEYS would be down."""
        return len({*self._down(time_ns), *keys}) <= MOST_KEYS

    def press(self, keys: Sequence[int], time_ns: int, hold_ns: int) -> None:
        """These keys are down until so long after this simulation time."""
        self._until_ns = {key: self._until_ns[key] for key in self._down(time_ns)}
        for key in keys:
            self._until_ns[key] = time_ns + hold_ns
            self._unseen.add(key)

    def next_sample(self) -> int | None:
        """When the keyboard is due next."""
        return self._grid.next()

    def sample(self, time_ns: int) -> None:
        """A basic step is over: samples the keys that are down, when they are due."""
        if self._grid.due(time_ns):
            self._grid.sampled(_KEYS, time_ns)
            self._sampled = self._down(time_ns)

    def take(self) -> list[Message]:
        """The newest sample since the last answer; no key is a message, too."""
        keys, self._sampled = self._sampled, None
        return [] if keys is None else [self._message(keys)]

    def now(self, time_ns: int) -> Message:
        """The keys that are down now."""
        return self._message(self._down(time_ns))

    def _message(self, keys: tuple[int, ...]) -> Message:
        self._unseen.difference_update(keys)
        self._until_ns = {
            key: until
            for key, until in self._until_ns.items()
            if key in keys or key in self._unseen
        }
        return KeyboardKeys(keys)

    def _down(self, time_ns: int) -> tuple[int, ...]:
        return tuple(
            key for key, until in self._until_ns.items() if until > time_ns or key in self._unseen
        )

    def _release(self) -> None:
        self._until_ns.clear()
        self._unseen.clear()
        self._sampled = None
