"""The kind of body of a robot on a serial line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hilgw.bodies.base import Body

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.framing.base import Framing

BITS_PER_BYTE = 10


class SerialRobot(Body, Protocol):
    """What holds for all these kinds: a robot with real motors, whose bytes need no framing."""

    Session: ClassVar[type[Any]]

    def session(self, settings: Any, version: str, framing: Framing | None = None) -> BodySession:
        """The bytes of these robots have no framing, and no Webots version changes them."""
        made: BodySession = self.Session(settings)
        return made
