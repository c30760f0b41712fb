"""Controller `webots_plugin`: a Webots controller hands its robot over by the plug-in hilgw.

The plug-in (`tools/webots-plugin`) is a client of the controller protocol, as libController is.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.controllers.webots import WebotsController
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.errors import ConfigError
from hilgw.protocols.webots.codec import NEWEST, library_speaks
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.settings import Problem, setting

OLDEST = "R2023b"  # the plug-in reads the layout of the configuration from this version on


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsPluginSettings:
    """The plug-in finds the robot by its name, on a local socket; there is nothing else to set.

    Webots computes its own step next to each step of the robot: a step that is asked for late ends
    at once, or the controller would take two steps of time for one.
    """

    listen: ClassVar[str | None] = None
    ipc: ClassVar[bool] = False
    synchronization: ClassVar[bool] = False
    library: ClassVar[str | None] = None
    mock: dict[str, Any] = setting(
        "parameters of the mock of the controller (`hilgw mock webots-controller --list`)",
        default_factory=dict,
    )


class WebotsPluginController(WebotsController):
    """The kind of controller `webots_plugin`. Its socket is in the folder of control sockets."""

    kind: ClassVar[str] = "webots_plugin"
    summary: ClassVar[str] = "a controller in Webots, by the remote-control plug-in hilgw"
    Settings: ClassVar[type[Any]] = WebotsPluginSettings

    def check(self, settings: Any) -> list[Problem]:
        return []

    def robot_session(
        self, settings: Any, version: str, robot: str, step_ms: int
    ) -> WebotsControllerSession:
        if not library_speaks(version or NEWEST, OLDEST):
            text = f"the plug-in hilgw is for Webots {OLDEST} or later"
            raise ConfigError(text, where="webots", fix="write the version of your Webots")
        configuration = RobotConfiguration(
            name=robot, synchronization=False, basicTimeStep=float(step_ms), controller="<extern>"
        )
        return WebotsControllerSession(configuration, version, shows_arming=True)


CONTROLLER = WebotsPluginController()
