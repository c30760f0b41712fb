"""Controller `webots_proxy`: an unmodified Webots controller, with Webots behind hilgw.

The controller connects to hilgw, hilgw to Webots. The Emitters and Receivers that the configuration
names use real hardware also, or only; every byte of all other devices passes untouched.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.control.parts import InWebots, Listens, url_setting
from hilgw.controllers.base import ProxyController
from hilgw.controllers.webots_proxy.session import WebotsProxySession
from hilgw.devices.properties import node_of
from hilgw.settings import MockSpec, Problem, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsProxySettings(InWebots, Listens):
    """Settings of both connections, and which devices leave Webots."""

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


_WHEELS: dict[str, Any] = {"left_wheel": "RotationalMotor", "right_wheel": "RotationalMotor"}


class WebotsProxyController(ProxyController):
    """The kind of controller `webots_proxy`."""

    kind: ClassVar[str] = "webots_proxy"
    summary: ClassVar[str] = "a Webots controller, whose robot is in the Webots behind hilgw"
    Settings: ClassVar[type[Any]] = WebotsProxySettings

    def check(self, settings: WebotsProxySettings) -> list[Problem]:
        if settings.robot == "":
            return [("robot", "the name is empty", "write the robot's name in Webots")]
        return []

    def mock(self, settings: WebotsProxySettings, name: str, version: str) -> MockSpec:
        return MockSpec("webots_controller", {"robot": name, "webots": version, **settings.mock})

    def simulator(
        self,
        settings: WebotsProxySettings,
        names: Collection[str],
        version: str,
        radios: Mapping[str, Any] | None = None,
    ) -> MockSpec:
        given: dict[str, Any] = {"robots": ",".join(names), "webots": version}
        if radios:
            given["devices"] = _WHEELS | {
                name: {"type_name": node_of(fields), "channel": fields.channel}
                for name, fields in radios.items()
            }
        return MockSpec("webots_simulator", given | settings.simulator)

    def proxy(
        self,
        settings: WebotsProxySettings,
        version: str,
        emitters: Collection[str],
        receivers: Mapping[str, int],
    ) -> WebotsProxySession:
        return WebotsProxySession(version, emitters, receivers, settings.only)


CONTROLLER = WebotsProxyController()
