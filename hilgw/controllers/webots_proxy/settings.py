"""Settings of controller `webots_proxy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.control.parts import InWebots, Listens, url_setting
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsProxySettings(InWebots, Listens):
    """Where the controller connects, where Webots is, and which devices leave Webots."""

    listen: str = url_setting(
        "address for controllers; robots with the same one are distinguished by their name",
        "tcp://127.0.0.1:1235",
        "tcp://127.0.0.1:1235",
    )
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
