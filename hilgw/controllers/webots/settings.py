"""Settings of controller `webots`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.settings import setting

LARGEST_J = 1e12
LARGEST_W = 1e9
URL = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"


def battery() -> Any:
    """The setting `battery` of a kind of controller."""
    return setting(
        "Webots' field: energy (J), the most it holds (J), recharge (W, without effect: there is "
        "no Charger); at 0 J the robot stops and the controller ends; empty: no battery",
        (),
        ge=0,
        le=LARGEST_J,
        example=[1000, 2000, 0],
    )


def cpu_consumption() -> Any:
    """The setting `cpuConsumption`."""
    return setting("what empties the battery, in simulated time", 0.0, ge=0, le=LARGEST_W, unit="W")


def battery_sensor() -> Any:
    """The setting `battery_sensor`."""
    return setting(
        "a sensor of the body that measures the energy in J, instead of `battery`",
        "",
        example="charge",
    )


def constant_battery() -> Any:
    """The setting `battery_j`."""
    return setting(
        "short for battery: [J, J, 0]; not set: there is no battery",
        None,
        ge=0,
        le=LARGEST_J,
        unit="J",
    )


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
    battery: tuple[float, ...] = battery()
    cpuConsumption: float = cpu_consumption()
    battery_sensor: str = battery_sensor()
    battery_j: float | None = constant_battery()
    model: str = setting("model of the robot, for the controller", "")
    customData: str = setting("custom data of the robot, for the controller", "")
    mock: dict[str, Any] = setting(
        "parameters of the mock of the controller (`hilgw mock webots-controller --list`)",
        default_factory=dict,
    )
