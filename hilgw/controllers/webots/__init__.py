"""Controller `webots`: an unmodified Webots controller connects to hilgw as it does to Webots."""

from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.controllers.base import Role, SteppedController
from hilgw.controllers.webots.robot import LARGEST_J, Battery
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.controllers.webots.settings import WebotsControllerSettings
from hilgw.devices.fields import DEFAULT_STEP_MS
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.settings import MockSpec, Problem

if TYPE_CHECKING:
    from hilgw.framing.base import Framing

NAME = "robot"


class WebotsController(SteppedController):
    """The kind of controller `webots`."""

    kind: ClassVar[str] = "webots"
    summary: ClassVar[str] = "an unmodified Webots controller, without Webots"
    Settings: ClassVar[type[Any]] = WebotsControllerSettings

    def check(self, settings: WebotsControllerSettings) -> list[Problem]:
        if settings.listen is None and not settings.ipc:
            text = "neither listen nor ipc is set: no controller can connect"
            return [("listen", text, 'e.g. listen: "tcp://127.0.0.1:1234"')]
        return self.data_problems(settings)

    def data_problems(self, settings: Any) -> list[Problem]:
        """Return problems of texts that the protocol cannot carry, and of the battery."""
        texts = {
            "model": settings.model,
            "customData": settings.customData,
            "battery_sensor": settings.battery_sensor,
        }
        return [
            *(
                (key, "the text has a NUL", "delete it")
                for key, text in texts.items()
                if "\0" in text
            ),
            *_battery_problems(settings),
        ]

    def library(self, settings: Any, version: str) -> str:
        """Return the release of the controller's library; `version` is that of the file."""
        return settings.library or version

    def controller_name(self, settings: Any) -> str:
        return "<extern>"

    def mock(self, settings: WebotsControllerSettings, version: str) -> MockSpec:
        """Return the mock of the controller, with a library of this version."""
        library = self.library(settings, version).partition("-")[0]
        return MockSpec("webots_controller", {"webots": library} | settings.mock)

    def session(
        self, settings: WebotsControllerSettings, version: str, framing: "Framing | None" = None
    ) -> WebotsControllerSession:
        """Return a session for checks; raises ConfigError if this version's protocol is unknown."""
        return self.robot_session(settings, version, NAME, DEFAULT_STEP_MS)

    def robot_session(
        self, settings: WebotsControllerSettings, version: str, robot: str, step_ms: int
    ) -> WebotsControllerSession:
        configuration = RobotConfiguration(
            name=robot,
            synchronization=settings.synchronization,
            basicTimeStep=float(step_ms),
            model=settings.model,
            controller=self.controller_name(settings),
            customData=settings.customData,
        )
        library = self.library(settings, version)
        return WebotsControllerSession(
            configuration,
            library,
            battery=_battery(settings),
            is_child=self.role is Role.PROGRAM,
        )


def _battery_problems(settings: Any) -> list[Problem]:
    given = {
        "battery": bool(settings.battery),
        "battery_j": settings.battery_j is not None,
        "battery_sensor": bool(settings.battery_sensor),
    }
    first, *others = [key for key, is_set in given.items() if is_set] or [""]
    problems = [(key, f"{first} is set too", f"delete {key} or {first}") for key in others]
    example = "e.g. [1000, 2000, 0]: energy J, the most J, recharge W"
    if len(settings.battery) not in (0, 3):
        problems.append(("battery", "battery has three numbers", example))
    elif settings.battery and settings.battery[0] > settings.battery[1]:
        problems.append(("battery", "the energy is more than the battery holds", example))
    return problems


def _battery(settings: Any) -> Battery:
    energy_j = settings.battery[0] if settings.battery else settings.battery_j
    most_j = settings.battery[1] if settings.battery else LARGEST_J
    return Battery(energy_j, settings.cpuConsumption, settings.battery_sensor, most_j)


CONTROLLER = WebotsController()
