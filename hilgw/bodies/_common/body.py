"""The kind of body of a robot on a serial line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from hilgw.bodies._common.session import RobotSession
    from hilgw.framing.base import Framing

BITS_PER_BYTE = 10


class SerialRobot:
    """What holds for all these kinds: a robot with real motors, whose bytes need no framing."""

    simulated: ClassVar[bool] = False
    retry_s: ClassVar[float] = 1.0
    framing: ClassVar[str] = ""
    Session: ClassVar[type[Any]]

    def session(self, settings: Any, version: str, framing: Framing | None = None) -> RobotSession:
        """The bytes of these robots have no framing, and no Webots version changes them."""
        made: RobotSession = self.Session(settings)
        return made
