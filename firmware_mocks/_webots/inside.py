"""Controllers of robots that the Webots simulator mock runs itself, as Webots runs a robot's own.

Each is the mock of a controller, joined to the simulator without a network. One that has ended, by
itself or because the world was reset, starts again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from firmware_mocks import webots_controller
from firmware_mocks._webots.library import Library
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock

PAUSE_NS = 100 * MS  # between two lives of a controller
MOST_TURNS = 1000  # of one exchange


def scripts(given: Any, robots: Mapping[str, Any]) -> dict[str, str]:
    """Return the script of each robot, of a mapping or of "NAME: SCRIPT | NAME: SCRIPT".

    Raises ValueError.
    """
    if isinstance(given, str):
        parts = [part.partition(":") for part in given.split("|") if part.strip()]
        given = {name.strip(): script for name, _, script in parts}
    if not isinstance(given, Mapping):
        raise ValueError(f"scripts: {given!r} is not NAME: SCRIPT")
    for name in given:
        if name not in robots:
            raise ValueError(f"scripts: {name!r} is not one of the robots {', '.join(robots)}")
    return {str(name): str(script) for name, script in given.items()}


class Inside:
    """A controller. accept: makes the simulator's end of a new connection."""

    def __init__(
        self, robot: str, script: str, version: str, framing: str, accept: Callable[[int], Any]
    ) -> None:
        settings = {"robot": robot, "script": script, "webots": version, "framing": framing}
        self._controller = webots_controller.create(robot, Air(), settings)
        self._accept = accept
        self._end: Any = None
        self._due_ns = 0

    @property
    def library(self) -> Library:
        """The robot as the controller sees it."""
        return self._controller.library

    def run(self, now: int) -> None:
        """Exchange what both ends have for each other."""
        if self._end is None:
            if now < self._due_ns:
                return
            self._end = self._accept(now)
            self._end.connect(now)
            self._controller.connect(now)
        self._controller.advance(now)
        for _ in range(MOST_TURNS):
            passed = self._pass_on(self._controller, self._end, now)
            if not self._pass_on(self._end, self._controller, now) and not passed:
                break
        if self._end.closing or self._controller.closing:
            self._end.disconnect(now)
            self._end.closing = True
            self._end = None
            self._controller.reset(now)
            self._due_ns = now + PAUSE_NS

    @staticmethod
    def _pass_on(sender: Mock, receiver: Mock, now: int) -> bool:
        data = sender.take(now)
        if data:
            receiver.receive(data, now)
        return bool(data)

    def next_deadline(self) -> int | None:
        if self._end is None:
            return self._due_ns
        dues = (self._controller.next_deadline(), self._end.next_deadline())
        return min((due for due in dues if due is not None), default=None)
