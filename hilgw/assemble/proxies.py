"""The proxies of a configuration: controllers whose robots are in the Webots behind hilgw."""

import functools
from collections.abc import Callable
from typing import Any

from hilgw.assemble.network import NetworkPorts
from hilgw.config.model import RobotConfig
from hilgw.config.queries import is_mocked, proxy_of, world_name
from hilgw.controllers.base import ProxyController
from hilgw.engine.lines import Port
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.proxy.server import WRITE_LIMIT_BYTES, ProxyServer
from hilgw.transports.base import DeviceSide
from hilgw.transports.tcp.address import parse_address


def add_proxies(ports: NetworkPorts) -> None:
    """Add one server for each address of controllers, and its mocks."""
    assembly = _Proxies(ports)
    by_address: dict[str, list[str]] = {}
    for name, robot in ports.config.robots.items():
        if proxy_of(robot.controller) is not None and robot.controller is not None:
            settings = robot.controller.settings
            port = parse_address(settings.listen)[1]
            by_address.setdefault(settings.listen if port else name, []).append(name)
    for names in by_address.values():
        assembly.add(names)
    ports.gateway.reports["proxies"] = lambda: {
        name: each.report() for name, each in assembly.robots.items()
    }


class _Proxies:
    def __init__(self, ports: NetworkPorts) -> None:
        self._ports, self._config, self._gateway = ports, ports.config, ports.gateway
        self.robots: dict[str, ProxiedRobot] = {}

    def add(self, names: list[str]) -> None:
        """Add the robots that listen on one address; they are in one Webots."""
        config, gateway, ports = self._config, self._gateway, self._ports
        _, settings = _parts(config.robots[names[0]])
        webots = ports.tcp(
            f"{names[0]}.webots",
            settings.connect,
            lambda device: self._place_simulator(names, device),
            many=True,
            limit=WRITE_LIMIT_BYTES,
        )
        robots = [self._robot(name, config.robots[name], webots) for name in names]
        words, clients = dict[str, str](), []
        for robot in robots:
            if is_mocked(config, f"{robot.name}.controller"):
                words[robot.name], aim = self._controller(robot)
                clients.append(aim)
        listening = ports.listening(
            settings.listen, clients, mocked=len(clients) == len(robots), tokens=True
        )
        server = ProxyServer(
            f"{'+'.join(names)}.controller",
            robots,
            listening,
            gateway.lines,
            where=settings.listen,
        )
        gateway.supervisors[server.name] = server
        for robot in robots:
            self.robots[robot.name] = robot
            ports.describe(
                robot.name,
                f"proxy: controllers on {settings.listen}{words.get(robot.name, '')}, "
                f"Webots on {webots.where}, robot {robot.world_name}",
            )

    def _robot(self, name: str, config: RobotConfig, webots: Port) -> ProxiedRobot:
        controller, settings = _parts(config)
        robot = self._gateway.robots[name]
        new_session = functools.partial(
            controller.proxy,
            settings,
            self._config.release,
            tuple(robot.emitters),
            {each: port.receiver.getChannel() for each, port in robot.receivers.items()},
        )
        return ProxiedRobot(
            robot, world_name(name, config), webots.open, new_session, self._gateway.observer
        )

    # --- mocks --------------------------------------------------------------------------------

    def _place_simulator(self, names: list[str], device: DeviceSide) -> str:
        version, configs = self._config.release, {name: self._config.robots[name] for name in names}
        controller, settings = _parts(configs[names[0]])
        worlds = [world_name(name, config) for name, config in configs.items()]
        radios = {k: v for config in configs.values() for k, v in config.radios.items()}
        spec = controller.simulator(settings, worlds, version, radios)
        return self._ports.host(names[0], spec, device)

    def _controller(self, robot: ProxiedRobot) -> tuple[str, Callable[[str, int], None]]:
        controller, settings = _parts(self._config.robots[robot.name])
        return self._ports.client(
            robot.name, controller.mock(settings, robot.world_name, self._config.release)
        )


def _parts(config: RobotConfig) -> tuple[ProxyController, Any]:
    proxy = proxy_of(config.controller)
    assert proxy is not None and config.controller is not None
    return proxy, config.controller.settings
