"""Controller `webots`: an unmodified Webots controller connects to hilgw as it does to Webots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.controllers.webots.settings import WebotsControllerSettings
from hilgw.devices.fields import DEFAULT_STEP_MS
from hilgw.protocols.webots import RobotConfiguration
from hilgw.settings import MockSpec

if TYPE_CHECKING:
    from hilgw.framing.base import Framing

NAME = "robot"


class WebotsController:
    """The kind of controller `webots`."""

    kind: ClassVar[str] = "webots"
    summary: ClassVar[str] = "an unmodified Webots controller, without Webots"
    Settings: ClassVar[type[Any]] = WebotsControllerSettings
    framing: ClassVar[str] = ""

    def check(self, settings: WebotsControllerSettings) -> list[tuple[str, str, str]]:
        """Errors that span fields: (path below the controller, message, fix)."""
        if settings.listen is None and not settings.ipc:
            what = "neither listen nor ipc is set: no controller can connect"
            return [("listen", what, 'e.g. listen: "tcp://127.0.0.1:1234"')]
        return self.text_problems(settings)

    def text_problems(self, settings: Any) -> list[tuple[str, str, str]]:
        """Texts that the protocol cannot carry."""
        texts = {"model": settings.model, "customData": settings.customData}
        return [
            (key, "the text has a NUL", "delete it") for key, text in texts.items() if "\0" in text
        ]

    def mock(self, settings: WebotsControllerSettings, version: str) -> MockSpec:
        """The mock of the controller, with a library of this version."""
        release = version.partition("-")[0]
        return MockSpec("webots_controller", {"webots": release} | settings.mock)

    def session(
        self, settings: WebotsControllerSettings, version: str, framing: Framing | None = None
    ) -> WebotsControllerSession:
        """A session for checks. ConfigError: the protocol of this version is not known."""
        return self.robot_session(settings, version, NAME, DEFAULT_STEP_MS)

    def robot_session(
        self, settings: WebotsControllerSettings, version: str, robot: str, step_ms: int
    ) -> WebotsControllerSession:
        """The session of the robot of this name. step_ms: the basic time step."""
        configuration = RobotConfiguration(
            name=robot,
            synchronization=settings.synchronization,
            basicTimeStep=float(step_ms),
            model=settings.model,
            controller="<extern>",
            customData=settings.customData,
        )
        return WebotsControllerSession(configuration, version, battery_j=settings.battery_j)


CONTROLLER = WebotsController()
