"""Settings of controller `webots`."""

from dataclasses import dataclass
from typing import Any

from hilgw.control.parts import HasBattery, Listens, ListensLocally, url_setting
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsControllerSettings(HasBattery, ListensLocally, Listens):
    """Settings of the controller's connection, and what it learns about its robot."""

    listen: str | None = url_setting(
        "address for WEBOTS_CONTROLLER_URL; several robots may have the same one",
        None,
        "tcp://127.0.0.1:1234",
    )
    synchronization: bool = setting(
        "what the controller reads as Robot.synchronization; true: step() returns 0; false: the "
        "delay of the controller",
        True,
    )
    library: str | None = setting(
        "release of the controller's library, such as R2025a; not set: `webots` of the file",
        None,
        pattern=r"R20[0-9]{2}[a-z](-rev[0-9]+)?",
        example="R2025a",
    )
    model: str = setting("model of the robot, for the controller", "")
    customData: str = setting("custom data of the robot, for the controller", "")
    mock: dict[str, Any] = setting(
        "parameters of the mock of the controller (`hilgw mock webots-controller --list`)",
        default_factory=dict,
    )
