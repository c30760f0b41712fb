"""The proxies of a configuration: controllers whose robots are in the Webots behind hilgw."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from hilgw.assemble.access import tls_of, token_check
from hilgw.config.queries import is_local, is_mocked, proxy_of, world_name
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.proxy.server import ProxyServer
from hilgw.plugins import new_air
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.device import TcpClientDevice, TcpListenerDevice

if TYPE_CHECKING:
    from hilgw.config.model import GatewayConfig, RobotConfig
    from hilgw.controllers.base import ProxyController
    from hilgw.engine.gateway import Gateway
    from hilgw.settings import MockSpec
    from hilgw.transports.base import DeviceSide

LOOPBACK = "127.0.0.1"
RETRY_S = 1.0


def add_proxies(config: GatewayConfig, gateway: Gateway) -> None:
    """One server for each address of controllers, and its mocks."""
    assembly = _Proxies(config, gateway)
    by_address: dict[str, list[str]] = {}
    for name, robot in config.robots.items():
        if proxy_of(robot.controller) is not None and robot.controller is not None:
            settings = robot.controller.settings
            port = parse_address(settings.listen)[1]
            by_address.setdefault(settings.listen if port else name, []).append(name)
    for names in by_address.values():
        assembly.add(names)


class _Proxies:
    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._robots: dict[str, ProxiedRobot] = {}

    def add(self, names: list[str]) -> None:
        """The robots that listen on one address; they are in one Webots."""
        config, gateway = self._config, self._gateway
        robots = [self._robot(name, config.robots[name]) for name in names]
        _, settings = _parts(config.robots[names[0]])
        controllers = [each for each in robots if is_mocked(config, f"{each.name}.controller")]
        mock_webots = is_mocked(config, f"{names[0]}.webots")
        remote = not is_local(settings.listen)
        now = lambda: gateway.real_timer.now()  # noqa: E731
        check = token_check(config.access, now) if remote else None
        server = ProxyServer(
            f"{'+'.join(names)}.controller",
            robots,
            parse_address(settings.listen),
            gateway.observer,
            where=settings.listen,
            any_port=len(controllers) == len(robots),
            check_token=check,
            tls=tls_of(config.access) if remote else None,
        )
        webots = " (mock webots_simulator)" if mock_webots else ""
        if mock_webots:
            self._add_webots(names, robots, server)
        if controllers:
            self._add_controllers(controllers, server)
        gateway.supervisors[server.supervised.name] = server
        for robot in robots:
            gateway.reports.setdefault("proxies", self._report)
            self._robots[robot.name] = robot
            words = " (mock webots_controller)" if robot in controllers else ""
            gateway.description.append(
                f"  {robot.name:<12} proxy: controllers on {settings.listen}{words}, "
                f"Webots on {settings.connect}{webots}, robot {robot.world_name}"
            )

    def _report(self) -> dict[str, object]:
        return {name: robot.report() for name, robot in self._robots.items()}

    def _robot(self, name: str, config: RobotConfig) -> ProxiedRobot:
        controller, settings = _parts(config)
        robot = self._gateway.robots[name]
        new_session = functools.partial(
            controller.proxy,
            settings,
            self._config.webots,
            tuple(robot.emitters),
            {each: port.receiver.getChannel() for each, port in robot.receivers.items()},
        )
        address = parse_address(settings.connect)
        world = world_name(name, config)
        return ProxiedRobot(robot, world, address, new_session, self._gateway.observer)

    # --- mocks --------------------------------------------------------------------------------

    def _add_webots(
        self, names: list[str], robots: list[ProxiedRobot], server: ProxyServer
    ) -> None:
        """Webots on a free port."""
        version = self._config.webots
        controller, settings = _parts(self._config.robots[names[0]])
        webots = TcpListenerDevice(LOOPBACK, 0)
        worlds = [robot.world_name for robot in robots]
        radios = {k: v for name in names for k, v in self._config.robots[name].radios.items()}
        self._host(names[0], controller.simulator(settings, worlds, version, radios), webots)

        async def prepare() -> None:
            await webots.listen()
            for robot in robots:
                robot.host, robot.port = parse_address(webots.path)

        server.prepare = prepare

    def _add_controllers(self, robots: list[ProxiedRobot], server: ProxyServer) -> None:
        """A controller for each of these robots."""
        clients = []
        for robot in robots:
            controller, settings = _parts(self._config.robots[robot.name])
            device = TcpClientDevice(retry_s=RETRY_S)
            spec = controller.mock(settings, robot.world_name, self._config.webots)
            self._host(robot.name, spec, device)
            clients.append(device)

        def connect(host: str, port: int) -> None:
            for client in clients:
                client.aim(host, port)

        server.on_listening = connect

    def _host(self, name: str, spec: MockSpec, device: DeviceSide) -> None:
        host = MockHost(self._gateway.timer, new_air())
        self._gateway.hosts.append(host)
        host.add(create_mock(spec.name, name, host.air, spec.parameters), device)


def _parts(config: RobotConfig) -> tuple[ProxyController, Any]:
    """The kind of controller and its settings."""
    proxy = proxy_of(config.controller)
    assert proxy is not None and config.controller is not None
    return proxy, config.controller.settings
