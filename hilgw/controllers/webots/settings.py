"""Settings of controller `webots`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.settings import setting

URL = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsControllerSettings:
    """Where the controller connects, and what it learns about its robot."""

    listen: str | None = setting(
        "address for WEBOTS_CONTROLLER_URL; several robots may have the same one",
        None,
        pattern=URL,
        example="tcp://127.0.0.1:1234",
    )
    ipc: bool = setting(
        "a local socket in /tmp/webots too, which a controller of this user finds without an "
        "address",
        False,
    )
    synchronization: bool = setting(
        "what the controller reads as Robot.synchronization; true: step() returns 0; false: the "
        "delay of the controller",
        True,
    )
    battery_j: float | None = setting(
        "energy that the battery sensor reports; not set: there is no battery",
        None,
        ge=0,
        le=1e12,
        unit="J",
    )
    model: str = setting("model of the robot, for the controller", "")
    customData: str = setting("custom data of the robot, for the controller", "")
    mock: dict[str, Any] = setting(
        "parameters of the mock of the controller (`hilgw mock webots-controller --list`)",
        default_factory=dict,
    )
