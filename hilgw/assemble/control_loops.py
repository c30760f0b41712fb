"""Loops of a configuration: bodies, controllers that are peers, and what stands in for them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hilgw.config.checks import peer_of
from hilgw.control.safety import SafetyState
from hilgw.discovery.ports import exists, port_identity
from hilgw.engine.control_loop.brake import EmergencyStop
from hilgw.engine.control_loop.figures import LoopStatistics
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import Parts
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.radios import Radios
from hilgw.engine.control_loop.tcp_server import TcpServer
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.engine.station.line_pacer import LinePacer
from hilgw.engine.supervisor import Supervisor
from hilgw.framing import create
from hilgw.plugins import BODIES, CONTROLLERS, load, new_air
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.tcp.device import TcpClientDevice, TcpServerDevice
from hilgw.transports.tcp.stream import connect_tcp, parse_address
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

if TYPE_CHECKING:
    from hilgw.bodies.base import Body
    from hilgw.config.model import GatewayConfig, PartConfig, RobotConfig
    from hilgw.controllers.base import ControllerSession, PeerController
    from hilgw.engine.gateway import Gateway
    from hilgw.settings import MockSpec

Open = Callable[[], Awaitable[Transport]]
LOOPBACK = "127.0.0.1"


def own_session(part: PartConfig | None) -> ControllerSession | None:
    """The session of a controller that decides by itself; None where a peer does."""
    if part is None or peer_of(part) is not None:
        return None
    session: ControllerSession = load(CONTROLLERS, part.kind).session(part.settings)
    return session


def line_settings(settings: Any) -> LineSettings:
    """The serial line of a body or a controller; byteSize 8 counts as 10, 8N1."""
    return LineSettings(settings.baudRate, stop_bits=max(1, settings.byteSize - 9))


class ControlLoopAssembly:
    """Adds the loops of one configuration to a gateway."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._mocked = config.backend in ("mock", "loopback")

    def add(self, name: str, config: RobotConfig) -> None:
        """The loop of this robot, when it has a body or a controller that is a peer."""
        gateway, robot = self._gateway, self._gateway.robots[name]
        has_peer = peer_of(config.controller) is not None
        if config.body is None and not has_peer:
            return
        parts = Parts(
            name,
            None if config.body is None else self._body(name, config.body),
            self._controller(name, config.controller) if has_peer and config.controller else None,
            LoopStatistics(),
            Radios(robot if has_peer else None),
            gateway.timer,
            gateway.observer,
        )
        real = config.body is not None and self._is_real(config.body)
        loop = ControlLoop(parts, SafetyState(config.safety, real_body=real), EmergencyStop())
        gateway.control_loops.add(loop)
        robot.on_packet = loop.packet
        if config.body is None:
            self._say(name, "has no body: its controller moves nothing")
        elif config.controller is None:
            self._say(name, "has no controller: nobody moves its body")

    def _is_real(self, part: PartConfig) -> bool:
        body: Body = load(BODIES, part.kind)
        return body.is_real(part.settings)

    # --- the two sides ------------------------------------------------------------------------

    def _body(self, name: str, part: PartConfig) -> PeerLink[Any]:
        body: Body = load(BODIES, part.kind)
        settings = part.settings
        side = self._side(f"{name}.body", body, settings)
        if settings.port is not None:
            self._supervise_line(side, body, part)
            return side
        spec = body.mock(settings, self._config.webots)
        host, port = parse_address(settings.connect)
        words = ""
        open_port: Open = lambda: connect_tcp(host, port)  # noqa: E731
        if self._mocked:
            open_port, words = self._robot(name, spec), f" (mock {spec.name})"
        self._supervise(side, open_port, lambda: True, settings.connect + words, body.retry_s)
        self._say(name, f"body {part.kind}: {settings.connect}{words}")
        return side

    def _controller(self, name: str, part: PartConfig) -> PeerLink[Any]:
        controller: PeerController = load(CONTROLLERS, part.kind)
        settings = part.settings
        side = self._side(f"{name}.controller", controller, settings)
        if settings.port is not None:
            self._supervise_line(side, controller, part)
            return side
        words = ""
        host, port = parse_address(settings.listen)
        door = TcpServer(
            side,
            host,
            port,
            self._gateway.observer,
            place=settings.listen,
            any_port=self._mocked,
        )
        if self._mocked:
            spec = controller.mock(settings, self._config.webots)
            words = f" (mock {spec.name})"
            door.on_listening = self._program(name, spec)
        self._gateway.supervisors[side.name] = door
        self._say(name, f"controller {part.kind}: listens on {settings.listen}{words}")
        return side

    def _side(self, name: str, part: Body | PeerController, settings: Any) -> PeerLink[Any]:
        serial = settings.port is not None
        framing = create(part.framing) if serial and part.framing else None
        line = line_settings(settings) if serial else None
        side: PeerLink[Any] = PeerLink(
            name,
            part.session(settings, self._config.webots, framing),
            self._gateway.timer,
            self._gateway.control_loops.pulse,
            None if line is None else LinePacer(line.baudRate, line.byteSize),
        )
        if framing is not None:
            side.dropped = framing.dropped
        return side

    def _supervise(
        self,
        side: PeerLink[Any],
        open_port: Open,
        identity: Callable[[], object | None],
        place: str,
        retry_s: float | None = None,
    ) -> None:
        self._gateway.supervisors[side.name] = Supervisor(
            side,
            open_port,
            identity,
            self._gateway.observer,
            place=place,
            jitter=random.Random(side.name),
            retry_s=retry_s,
        )

    def _supervise_line(
        self, side: PeerLink[Any], part: Body | PeerController, config: PartConfig
    ) -> None:
        settings, timer = config.settings, self._gateway.timer
        line, port = line_settings(settings), settings.port
        place = port
        urls = self._config.network_ports
        open_port: Open = lambda: open_serial(port, line, timer, allow_urls=urls)  # noqa: E731
        identity: Callable[[], object | None] = lambda: exists(port)  # noqa: E731
        if self._mocked:
            spec = part.mock(settings, self._config.webots)
            open_port, identity = self._device(side.name, spec, line)
            place += f" (mock {spec.name})"
        self._supervise(side, open_port, identity, place)
        robot, _, role = side.name.partition(".")
        self._say(robot, f"{role} {config.kind}: {place}, {line.baudRate} baud")

    # --- what stands in -----------------------------------------------------------------------

    def _host(self, name: str, spec: MockSpec, device: DeviceSide) -> None:
        host = MockHost(self._gateway.timer, new_air())
        self._gateway.hosts.append(host)
        host.add(create_mock(spec.name, name, host.air, spec.parameters), device)

    def _robot(self, name: str, spec: MockSpec) -> Open:
        """A robot that listens on a port of its own."""
        device = TcpServerDevice(LOOPBACK, 0)
        self._host(name, spec, device)

        async def open_port() -> Transport:
            if not device.port:
                await device.listen()
            return await connect_tcp(LOOPBACK, device.port)

        return open_port

    def _program(self, name: str, spec: MockSpec) -> Callable[[str, int], None]:
        """A program that connects to where hilgw listens."""
        device = TcpClientDevice(retry_s=1.0)
        self._host(name, spec, device)
        return device.aim

    def _device(
        self, name: str, spec: MockSpec, line: LineSettings
    ) -> tuple[Open, Callable[[], object | None]]:
        """Something on a serial line: how to open it, and whether it is there."""
        timer = self._gateway.timer
        if self._config.backend == "loopback":
            pipe = Pipe(timer, line, name=f"loop:{name}")
            self._host(name, spec, pipe.device)
            return (lambda: pipe.open(line)), (lambda: pipe.device.plugged or None)
        port = VirtualPort(timer, baud_rate=line.baudRate, bits_per_byte=line.byteSize)
        self._host(name, spec, port)
        return (lambda: open_serial(port.path, line, timer)), (lambda: port_identity(port.path))

    def _say(self, name: str, text: str) -> None:
        self._gateway.description.append(f"  {name:<12} {text}")
