"""Firmware mocks of a configuration: behind the ports of adapters, and alone in the air."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hilgw.config.model import AdapterConfig, Backend, GatewayConfig
from hilgw.config.queries import backend_of, has_nodes
from hilgw.config.scene import air_of, mount_of
from hilgw.engine.mock_host import Mock, MockHost, create_mock
from hilgw.medium.pose import IDENTITY, Pose
from hilgw.plugins import ADAPTERS, load, load_mock, new_air
from hilgw.transports.virtual.pty import VirtualPort

if TYPE_CHECKING:
    from hilgw.adapters.base import Adapter, MockSpec, StationSettings
    from hilgw.engine.gateway import Gateway
    from hilgw.transports.base import DeviceSide

ORIGIN = (0.0, 0.0, 0.0)


class MockPorts:
    """The mocks of adapters and of airs, one host per air."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._hosts: dict[str, MockHost] = {}

    def place(self, name: str, config: AdapterConfig, device: DeviceSide) -> str:
        """Puts the mock of this adapter behind its port; returns what the user reads about it."""
        loopback = backend_of(self._config, name) is Backend.LOOPBACK
        adapter: Adapter = load(ADAPTERS, config.kind)
        spec = adapter.mock(config.settings, config.common)
        host = self._host(air_of(config, name))
        host.add(self._mock(spec, name, config.common, host), device)
        return f" ({'loopback: ' if loopback else ''}mock {spec.name})"

    def _mock(self, spec: MockSpec, name: str, common: StationSettings, host: MockHost) -> Mock:
        """The mock, which follows the pose of the module that it replaces."""
        mock = create_mock(spec.name, name, host.air, spec.parameters, common.position or ORIGIN)
        if "position" in load_mock(spec.name).parameters:
            robot = common.attached_to
            mount = mount_of(common.position, common.rotation) if robot else IDENTITY
            self._gateway.scene.follow(robot or name, mount, lambda pose: _put(mock, pose))
        return mock

    def add_nodes(self) -> None:
        """Adds the mocks that the airs of the configuration list."""
        for air, config in self._config.airs.items():
            if not has_nodes(self._config, air):
                continue
            host = self._host(air)
            for name, node in config.nodes.items():
                parameters: dict[str, Any] = dict(node.parameters)
                if node.replies:
                    parameters["replies"] = dict(node.replies)
                mock = create_mock(node.mock, name, host.air, parameters, node.position or ORIGIN)
                port: DeviceSide | None = None
                if node.link is not None:
                    port = VirtualPort(self._gateway.timer, node.link)
                host.add(mock, port)
                where = f", open it at {node.link}" if node.link else ""
                self._gateway.description.append(
                    f"  {name:<12} mock {node.mock} in air {air}{where}"
                )

    def _host(self, air: str) -> MockHost:
        host = self._hosts.get(air)
        if host is None:
            config = self._config.airs.get(air)
            space = new_air(config.seed, config.loss) if config else new_air()
            host = MockHost(self._gateway.timer, space)
            self._hosts[air] = host
            self._gateway.hosts.append(host)
        return host


def _put(mock: Mock, pose: Pose) -> None:
    mock.set("position", ",".join(map(str, pose.position)))
