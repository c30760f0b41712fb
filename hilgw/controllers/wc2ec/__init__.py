"""Controller `wc2ec`: an unmodified WC2EC external controller connects to hilgw and drives.

On TCP hilgw listens, as the Webots controller does; on a serial line a microcontroller does the
same in frames.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.controllers.wc2ec.session import Wc2ecControllerSession
from hilgw.devices.kinds import ROTATIONAL_MOTOR
from hilgw.protocols.wc2ec import Numbers
from hilgw.settings import MockSpec, setting

if TYPE_CHECKING:
    from hilgw.framing.base import Framing

URL = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wc2ecControllerSettings:
    """Where the external controller comes in, and what it speaks."""

    listen: str | None = setting(
        "loopback address to listen on", None, pattern=URL, example="tcp://127.0.0.1:27015"
    )
    port: str | None = setting("serial device path, instead of listen", None)
    baudRate: int = setting("rate of the serial line", 115200, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int = setting(
        "cost of one byte on the line: 10 is 8N1, 11 is 8N2, 8 counts as 10",
        10,
        choices=(8, 10, 11),
        unit="bit",
    )
    extensions: bool = setting(
        "packets of Emitter and Receiver; only where the controller knows them", False
    )
    silence_s: float = setting(
        "on a serial line: silence that counts as a disconnect", 0.5, gt=0, le=3600, unit="s"
    )
    mock: dict[str, Any] = setting(
        "parameters of the program, or on a line the microcontroller, that stands in with backend "
        "mock (`hilgw mock wc2ec-controller --list`, `hilgw mock wc2ec-node --list`)",
        default_factory=dict,
    )


def is_loopback(url: str) -> bool:
    """Whether tcp://HOST:PORT can be reached from this machine alone."""
    host = url.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Wc2ecController:
    """The controller as the configuration finds it."""

    kind: ClassVar[str] = "wc2ec"
    summary: ClassVar[str] = "an external controller that speaks WC2EC, on TCP or a serial line"
    Settings: ClassVar[type[Any]] = Wc2ecControllerSettings
    framing: ClassVar[str] = "cobs-crc16"

    def check(self, settings: Wc2ecControllerSettings) -> list[tuple[str, str, str]]:
        """What the field limits cannot say: (path below the controller, message, fix)."""
        if (settings.listen is None) == (settings.port is None):
            what = "one of listen and port must be set, and only one"
            return [("listen", what, 'e.g. listen: "tcp://127.0.0.1:27015"')]
        if settings.listen is not None and not is_loopback(settings.listen):
            what = "WC2EC has no authentication: whoever connects moves motors"
            return [("listen", what, "listen on 127.0.0.1 and forward by ssh")]
        return []

    def mock(self, settings: Wc2ecControllerSettings, version: str) -> MockSpec:
        """The stand-in, which writes the type byte of this version's motors."""
        parameters: dict[str, Any] = {"motor_type": Numbers(version).number(ROTATIONAL_MOTOR)}
        if settings.port is None:
            return MockSpec("wc2ec_controller", parameters | settings.mock)
        return MockSpec("wc2ec_node", parameters | {"baudRate": settings.baudRate} | settings.mock)

    def session(
        self, settings: Wc2ecControllerSettings, version: str, framing: Framing | None = None
    ) -> Wc2ecControllerSession:
        """framing: cobs-crc16 for a serial line, None on TCP. ConfigError: unknown version."""
        return Wc2ecControllerSession(settings, version, framing)


CONTROLLER = Wc2ecController()
