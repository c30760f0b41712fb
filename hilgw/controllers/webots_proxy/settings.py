"""Settings of controller `webots_proxy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.settings import setting

URL = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsProxySettings:
    """Where the controller connects, where Webots is, and which devices leave Webots."""

    listen: str = setting(
        "address for controllers; robots with the same one are distinguished by their name",
        "tcp://127.0.0.1:1235",
        pattern=URL,
        example="tcp://127.0.0.1:1235",
    )
    connect: str = setting(
        "address of Webots, which prints its port when it starts",
        "tcp://127.0.0.1:1234",
        pattern=URL,
        example="tcp://127.0.0.1:1234",
    )
    robot: str | None = setting("name of the robot in Webots; not set: the robot's name here", None)
    only: tuple[str, ...] = setting(
        "devices that use real hardware only; the others use both Webots and real hardware", ()
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock of the controller (`hilgw mock webots-controller --list`)",
        default_factory=dict,
    )
    simulator: dict[str, Any] = setting(
        "parameters of the mock of Webots (`hilgw mock webots-simulator --list`); of robots with "
        "the same `connect`, those of the first one",
        default_factory=dict,
    )
