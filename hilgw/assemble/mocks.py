"""The mocks a configuration asks for: what stands behind each port, and who shares its air."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hilgw.config.scene import mount_of
from hilgw.discovery.ports import port_identity
from hilgw.engine.mock_host import Mock, MockHost, create_mock
from hilgw.medium.pose import IDENTITY, Pose
from hilgw.plugins import ADAPTERS, load, load_mock, new_air
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.stream import SerialStream
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

if TYPE_CHECKING:
    from hilgw.adapters.base import Adapter, MockSpec, StationSettings
    from hilgw.config.model import AdapterConfig, GatewayConfig
    from hilgw.engine.gateway import Gateway

ORIGIN = (0.0, 0.0, 0.0)

Open = Callable[[], Awaitable[Transport]]
StandIn = tuple[Open, Callable[[], object | None], str]


def air_of(config: AdapterConfig, adapter: Adapter, name: str) -> str:
    """The air a station is in: the one named, else one per kind and type; a UART has its own."""
    if config.common.air:
        return config.common.air
    return name if adapter.type == "serial" else f"{config.kind}/{adapter.type}"


class MockPorts:
    """The mocks of one gateway, one host per air. Nothing on `backend: real`."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._hosts: dict[str, MockHost] = {}

    def stand_in(self, name: str, config: AdapterConfig, line: LineSettings) -> StandIn | None:
        """How to open what stands behind this adapter's port; None when it is the port itself."""
        backend = self._config.backend
        if backend not in ("mock", "loopback"):
            return None
        timer = self._gateway.timer
        adapter: Adapter = load(ADAPTERS, config.kind)
        spec = adapter.mock(config.settings, config.common)
        host = self._host(air_of(config, adapter, name))
        mock = self._mock(spec, name, config.common, host)
        if backend == "loopback":
            pipe = Pipe(timer, line, name=f"loop:{name}")
            host.add(mock, pipe.device)
            return (
                lambda: pipe.open(line),
                lambda: id(pipe) if pipe.device.plugged else None,
                f"loop: mock {spec.name}",
            )
        port = VirtualPort(timer, baud_rate=line.baudRate, bits_per_byte=line.byteSize)
        host.add(mock, port)

        async def open_port() -> Transport:
            transport = await open_serial(port.path, line, timer)
            if isinstance(transport, SerialStream):
                transport.modem_lines = port.set_modem_line
            return transport

        return (
            open_port,
            lambda: port_identity(port.path),
            f"mock {spec.name}",
        )

    def _mock(self, spec: MockSpec, name: str, common: StationSettings, host: MockHost) -> Mock:
        """The mock, which stays where the module is that it stands in for."""
        mock = create_mock(spec.name, name, host.air, spec.parameters, common.position or ORIGIN)
        if "position" in load_mock(spec.name).parameters:
            robot = common.attached_to
            mount = mount_of(common.position, common.rotation) if robot else IDENTITY
            self._gateway.scene.follow(robot or name, mount, lambda pose: _put(mock, pose))
        return mock

    def add_nodes(self) -> None:
        """Adds the mocks that share the airs with the stand-ins."""
        if self._config.backend not in ("mock", "loopback"):
            return
        for air, config in self._config.airs.items():
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
