"""Controller `wc2ec`: an unmodified WC2EC external controller connects to hilgw.

On TCP hilgw listens, as the Webots controller does. On a serial line a microcontroller exchanges
the same messages in frames.
"""

import ipaddress
from typing import Any, ClassVar

from hilgw.controllers.base import PeerController
from hilgw.controllers.wc2ec.session import Wc2ecControllerSession
from hilgw.controllers.wc2ec.settings import Wc2ecControllerSettings
from hilgw.devices.kinds import ROTATIONAL_MOTOR
from hilgw.framing.base import Framing
from hilgw.protocols.wc2ec import Numbers
from hilgw.settings import MockSpec, Problem


def is_loopback(url: str) -> bool:
    """Return whether tcp://HOST:PORT can be reached from this machine alone."""
    host = url.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Wc2ecController(PeerController):
    """The kind of controller `wc2ec`."""

    kind: ClassVar[str] = "wc2ec"
    summary: ClassVar[str] = "an external controller that speaks WC2EC, on TCP or a serial line"
    Settings: ClassVar[type[Any]] = Wc2ecControllerSettings
    framing: ClassVar[str] = "cobs-crc16"

    def check(self, settings: Wc2ecControllerSettings) -> list[Problem]:
        if (settings.listen is None) == (settings.port is None):
            text = "exactly one of listen and port must be set"
            return [("listen", text, 'e.g. listen: "tcp://127.0.0.1:27015"')]
        if settings.listen is not None and not is_loopback(settings.listen):
            text = "WC2EC has no authentication: any program that connects could move motors"
            return [("listen", text, "listen on 127.0.0.1 and forward the port by ssh")]
        return []

    def mock(self, settings: Wc2ecControllerSettings, version: str) -> MockSpec:
        """Return the mock of the peer, which writes the type byte of this version's motors."""
        numbers = Numbers(version, document=settings.wc2ec_types == "document")
        parameters: dict[str, Any] = {"motor_type": numbers.number(ROTATIONAL_MOTOR)}
        if settings.port is None:
            return MockSpec("wc2ec_controller", parameters | settings.mock)
        return MockSpec("wc2ec_node", parameters | {"baudRate": settings.baudRate} | settings.mock)

    def session(
        self, settings: Wc2ecControllerSettings, version: str, framing: Framing | None = None
    ) -> Wc2ecControllerSession:
        """Return a session; raises ConfigError for an unknown version.

        Args:
            framing: cobs-crc16 for a serial line, None on TCP.
        """
        return Wc2ecControllerSession(settings, version, framing)

    def carries_packets(self, settings: Wc2ecControllerSettings) -> bool:
        return settings.extensions


CONTROLLER = Wc2ecController()
