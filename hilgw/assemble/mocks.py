"""Firmware mocks of a configuration: behind the ports of adapters, and alone in the air."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hilgw.config.backends import Backend
from hilgw.config.queries import REAL_TIME, backend_of, has_nodes
from hilgw.config.scene import air_of, mount_of
from hilgw.discovery.ports import port_identity
from hilgw.engine.mock_host import Mock, MockHost, create_mock
from hilgw.medium.pose import IDENTITY, Pose
from hilgw.plugins import ADAPTERS, load, load_mock, new_air
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from hilgw.adapters.base import Adapter, MockSpec, StationSettings
    from hilgw.config.model import AdapterConfig, GatewayConfig
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.supervisor import OpenPort, PortIdentity
    from hilgw.transports.base import Scheduler

ORIGIN = (0.0, 0.0, 0.0)


def mock_line(
    config: GatewayConfig, name: str, line: LineSettings, scheduler: Scheduler
) -> tuple[DeviceSide, OpenPort, PortIdentity]:
    """A serial line with a mock at its far end: the mock's device, and how to open the near end.

    In memory with the back end loopback and in simulated time, else a virtual serial port.
    """
    if backend_of(config, name) is Backend.LOOPBACK or config.speed != REAL_TIME:
        pipe = Pipe(scheduler, line, name=f"loopback:{name}")
        return (
            pipe.device,
            lambda: pipe.open(line),
            lambda: id(pipe) if pipe.device.plugged else None,
        )
    port = VirtualPort(scheduler, baud_rate=line.baudRate, bits_per_byte=line.byteSize)

    def open_port() -> Awaitable[Transport]:
        return open_serial(port.path, line, scheduler, modem_lines=port.set_modem_line)

    return port, open_port, lambda: port_identity(port.path)


class MockPorts:
    """The mocks of one gateway, one host per air."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._hosts: dict[str, MockHost] = {}

    def port(
        self, name: str, config: AdapterConfig, line: LineSettings
    ) -> tuple[OpenPort, PortIdentity, str] | None:
        """How to open the mock behind this adapter's port, and a description of it; None where
        the port is real."""
        backend = backend_of(self._config, name)
        if not backend.is_mocked:
            return None
        adapter: Adapter = load(ADAPTERS, config.kind)
        spec = adapter.mock(config.settings, config.common)
        host = self._host(air_of(config, name))
        mock = self._mock(spec, name, config.common, host)
        device, open_port, identity = mock_line(self._config, name, line, self._gateway.timer)
        host.add(mock, device)
        words = "loopback: " if backend is Backend.LOOPBACK else ""
        return open_port, identity, f"{words}mock {spec.name}"

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
