"""The control loops of a configuration: bodies, controllers that are peers, and their mocks."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hilgw.assemble.access import tls_of, token_check
from hilgw.assemble.mocks import mock_line
from hilgw.assemble.programs import add_program
from hilgw.assemble.real_ports import modem_lines_at_start, real_port
from hilgw.bodies.base import ForwardingBody
from hilgw.config.backends import is_mocked, is_simulated
from hilgw.config.checks.access import is_local
from hilgw.config.checks.control_loops import peer_of
from hilgw.config.checks.programs import moves_unlatched
from hilgw.config.checks.proxies import proxy_of
from hilgw.config.checks.speed import REAL_TIME
from hilgw.control.forwarding import Forwarding
from hilgw.control.modes import RobotMode
from hilgw.control.safety import SafetyState
from hilgw.controllers.base import ProgramController, SteppedController
from hilgw.devices.fields import DEFAULT_STEP_MS, UNLIMITED, EmitterFields, ReceiverFields
from hilgw.devices.steps import StepClock
from hilgw.engine.control_loop.bodies.forwarder import Forwarder
from hilgw.engine.control_loop.context import LoopContext
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import (
    LoopBody,
    LoopController,
    RemoteBody,
    no_advice,
    no_body,
    no_controller,
)
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.servers.controller_port import ControllerPort
from hilgw.engine.control_loop.servers.tcp_server import TcpServer
from hilgw.engine.control_loop.servers.webots_port import WebotsPort
from hilgw.engine.control_loop.servers.webots_server import WebotsServer
from hilgw.engine.control_loop.servers.webots_socket import PluginSocket, WebotsSocket
from hilgw.engine.control_loop.stepping import StepGrid, Stepping
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.engine.station.line_pacer import LinePacer
from hilgw.engine.supervisor import OpenPort, PortIdentity, Supervisor
from hilgw.framing import create
from hilgw.plugins import BODIES, CONTROLLERS, load, new_air
from hilgw.settings import boot_s_of
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.local import connect_local
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.device import Connect, TcpClientDevice, TcpServerDevice
from hilgw.transports.tcp.in_process import InProcessNetwork
from hilgw.transports.tcp.listener import Listen, TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from hilgw.units import NS_PER_MS, ns_to_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.bodies.base import Body
    from hilgw.config.model import GatewayConfig, PartConfig, RobotConfig
    from hilgw.controllers.base import ControllerSession, PeerController
    from hilgw.engine.control_loop.servers.webots_socket import LocalSocket
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.robot.schedule import Schedule
    from hilgw.settings import MockSpec

LOOPBACK = "127.0.0.1"
MOCK_URL = f"tcp://{LOOPBACK}:1236"  # another port, when it is in use
PLUGIN = "webots_plugin"  # the kind of controller


def controller_session(part: PartConfig | None) -> ControllerSession | None:
    """The session of a controller that decides by itself; None where a peer does."""
    if part is None or peer_of(part) is not None or proxy_of(part) is not None:
        return None
    session: ControllerSession = load(CONTROLLERS, part.kind).session(part.settings)
    return session


def stepped_controller(part: PartConfig | None) -> SteppedController | None:
    """The controller when it asks for steps."""
    controller = peer_of(part)
    return controller if isinstance(controller, SteppedController) else None


def passing_fields(fields: EmitterFields | ReceiverFields) -> EmitterFields | ReceiverFields:
    """The fields of a radio whose controller paces, queues and samples by itself: libController
    does all that a buffer, a rate and a period mean, before a packet comes here or after it left.
    """
    if isinstance(fields, EmitterFields):
        return replace(fields, baudRate=UNLIMITED, bufferSize=UNLIMITED, allowedChannels=())
    return replace(fields, bufferSize=UNLIMITED, allowedChannels=(), sampling_period_ms=0)


def line_settings(settings: Any) -> LineSettings:
    """The serial line of a body or a controller; byteSize 8 counts as 10, 8N1."""
    return LineSettings(settings.baudRate, stop_bits=max(1, settings.byteSize - 9))


def forwarding_of(part: PartConfig | None) -> Forwarding:
    """What the settings of a body forward between its radios and the medium."""
    body = None if part is None else load(BODIES, part.kind)
    if part is None or not isinstance(body, ForwardingBody):
        return Forwarding()
    return body.forwarding(part.settings) or Forwarding()


class ControlLoopAssembly:
    """Adds the control loops of one configuration to a gateway."""

    def __init__(self, config: GatewayConfig, gateway: Gateway, schedule: Schedule) -> None:
        self._config = config
        self._gateway = gateway
        self._schedule = schedule
        self._servers: dict[tuple[str, int, bool], WebotsServer] = {}
        self._grid: StepGrid | None = None
        self._listen: Listen = TcpListener
        self._connect: Connect = connect_tcp
        if config.speed != REAL_TIME:
            network = InProcessNetwork()
            self._listen, self._connect = network.listen, network.connect

    def add(self, name: str, config: RobotConfig) -> None:
        """The control loop of this robot, when it has a body or a controller that is a peer."""
        gateway, robot = self._gateway, self._gateway.robots[name]
        has_peer = peer_of(config.controller) is not None
        if config.body is None and not has_peer:
            return
        context = LoopContext(name, gateway.timer, gateway.observer, gateway.control_loops.watchdog)
        simulated = config.body is None or is_simulated(self._config, name)
        is_stepped = stepped_controller(config.controller) is not None
        safety = SafetyState(config.safety, simulated=simulated, stepped=is_stepped)
        if config.body is None:
            body = no_body(context, safety)
        else:
            body = LoopBody(self._body(name, config.body), safety)
        controller = self._loop_controller(context, config)
        loop = ControlLoop(
            context,
            body,
            controller,
            Radios(robot if has_peer else None, passing=is_stepped),
            config.devices if has_peer else {},
            Forwarder(robot.emitters, forwarding_of(config.body)),
            self._remote(name, config, stepped=is_stepped),
        )
        gateway.control_loops.add(loop)
        robot.on_packet = loop.packets.from_medium
        if is_stepped and config.controller is not None:
            self._serve_stepped(loop, controller.link, config.controller)
        if config.body is None:
            self._describe(name, "has no body: its controller moves no motors")
        elif config.controller is None:
            self._describe(name, "has no controller: its body is not moved")
        elif has_peer:
            on_line = not is_stepped and config.controller.settings.port is not None
            self._describe_deadline(name, safety, simulated=simulated, on_line=on_line)

    def _remote(self, name: str, config: RobotConfig, *, stepped: bool) -> RemoteBody | None:
        """The second body, with a safety of its own."""
        if config.remote is None:
            return None
        simulated = is_simulated(self._config, name, "remote")
        safety = SafetyState(config.safety, simulated=simulated, stepped=stepped)
        link = self._body(name, config.remote, "remote")
        self._describe(name, f"mode {config.mode}; `hilgw mode {name}` changes it")
        if safety.timeout_ns:
            seconds = ns_to_s(safety.timeout_ns)
            text = f"its motors stop {seconds:g} s after the controller's last message"
            self._describe(name, f"remote {'simulated' if simulated else 'real'} body: {text}")
        return RemoteBody(link, safety, RobotMode(config.mode))

    def _is_mocked(self, name: str, part: str) -> bool:
        """part: controller, body or remote of the robot of this name."""
        return is_mocked(self._config, f"{name}.{part}")

    def _describe_deadline(
        self, name: str, safety: SafetyState, *, simulated: bool, on_line: bool
    ) -> None:
        """on_line: the controller is on a serial line, whose silence is a disconnect."""
        body = "simulated body" if simulated else "real body"
        if safety.timeout_ns:
            seconds = ns_to_s(safety.timeout_ns)
            text = f"the motors stop {seconds:g} s after the controller's last message"
        else:
            text = "no deadline for commands"
            text += "" if on_line else "; a frozen controller keeps the motors moving"
        self._describe(name, f"{body}: {text}")
        if not safety.armed:
            fix = f"`hilgw arm {name}` or the option --arm lets its motors move"
            self._describe(name, f"not armed: {fix}")

    # --- the two ends -------------------------------------------------------------------------

    def _body(self, name: str, part: PartConfig, role: str = "body") -> PeerLink[Any]:
        """role: the key of the configuration."""
        body: Body = load(BODIES, part.kind)
        settings = part.settings
        link = self._link(f"{name}.{role}", body, settings)
        if settings.port is not None:
            self._supervise_line(link, body, part)
            return link
        spec = body.mock(settings, self._config.webots)
        host, port = parse_address(settings.connect)
        words = ""
        open_port: OpenPort = lambda: connect_tcp(host, port)  # noqa: E731
        if self._is_mocked(name, role):
            host_name = name if role == "body" else link.name
            open_port, words = self._mock_server(host_name, spec), f" (mock {spec.name})"
        self._supervise(link, open_port, lambda: True, settings.connect + words, body.retry_s)
        self._describe(name, f"{role} {part.kind}: {settings.connect}{words}")
        return link

    def _loop_controller(self, context: LoopContext, config: RobotConfig) -> LoopController:
        """The controller. One that is stepped has nothing yet that keeps it connected."""
        part, name, timer = config.controller, context.name, context.scheduler

        def advice() -> str:
            return self._advice(f"{name}.controller")

        if part is None or peer_of(part) is None:
            is_missed = part is None and not forwarding_of(config.body)
            return no_controller(context, advice if is_missed else no_advice)
        kind = stepped_controller(part)
        if kind is None:
            return LoopController(self._controller(name, part), timer, advice)
        settings, grid = part.settings, self._step_grid()
        session = kind.robot_session(settings, self._config.webots, name, grid.step_ms)
        link: PeerLink[Any] = PeerLink(f"{name}.controller", session, timer, context.watchdog)
        if self._computes_in_simulated_time(name, kind):
            stepping = Stepping(grid, settings.synchronization)
            return LoopController(link, timer, advice, stepping)
        holds = self._gateway.holds if settings.synchronization else None
        stepping = Stepping(grid, settings.synchronization, holds)
        return LoopController(link, self._gateway.real_timer, advice, stepping)

    def _computes_in_simulated_time(self, name: str, kind: SteppedController) -> bool:
        """Whether a mock stands for this controller: it must not hold simulated time."""
        return self._is_mocked(name, "controller") and not isinstance(kind, ProgramController)

    def _controller(self, name: str, part: PartConfig) -> PeerLink[Any]:
        controller: PeerController = load(CONTROLLERS, part.kind)
        settings = part.settings
        link = self._link(f"{name}.controller", controller, settings)
        if settings.port is not None:
            self._supervise_line(link, controller, part)
            return link
        words = ""
        host, port = parse_address(settings.listen)
        mocked = self._is_mocked(name, "controller")
        server = TcpServer(
            link,
            host,
            port,
            self._gateway.observer,
            where=settings.listen,
            any_port=mocked,
            new_listener=self._listen,
        )
        if mocked:
            spec = controller.mock(settings, self._config.webots)
            words = f" (mock {spec.name})"
            server.on_listening = self._mock_client(name, spec)
        self._gateway.supervisors[link.name] = server
        self._describe(name, f"controller {part.kind}: listens on {settings.listen}{words}")
        return link

    def _advice(self, name: str) -> str:
        """How to get the controller of this name, which is not connected."""
        port = self._gateway.supervisors.get(name)
        if port is None:
            return "the configuration has none"
        if is_mocked(self._config, name):
            return "its mock connects again"
        if isinstance(port, ControllerPort):
            return f"start one; hilgw is listening on {port.listening}"
        return f"connect or reset the one on {port.where}"

    # --- controllers that are stepped ---------------------------------------------------------

    def _step_grid(self) -> StepGrid:
        """The steps of the medium; of a medium without steps, 32 ms."""
        if self._grid is None:
            steps = self._schedule.steps
            if not steps.step_ns:
                steps = StepClock(self._schedule.now(), DEFAULT_STEP_MS * NS_PER_MS)
            self._grid = StepGrid(self._schedule, steps)
        return self._grid

    def _serve_stepped(self, loop: ControlLoop, link: PeerLink[Any], part: PartConfig) -> None:
        settings, name = part.settings, loop.name
        kind: SteppedController = load(CONTROLLERS, part.kind)
        mocked = self._computes_in_simulated_time(name, kind)
        if isinstance(kind, ProgramController):
            latches = not moves_unlatched(self._config, name)
            words = add_program(self._gateway, loop, link, kind, settings, latches=latches)
            self._describe(name, words)
            return
        listen = settings.listen
        local: type[LocalSocket] | None = WebotsSocket if settings.ipc else None
        if kind.kind == PLUGIN:  # a mock in its place connects over TCP
            listen, local = (MOCK_URL, None) if mocked else (None, PluginSocket)
        port = WebotsPort(
            link,
            name,
            self._server(listen, mocked=mocked),
            self._gateway.observer,
            lambda: loop.is_complete,
            where=settings.listen or "a local socket",
            local=local,
        )
        words = ""
        if mocked:
            controller: PeerController = load(CONTROLLERS, part.kind)
            spec = controller.mock(settings, self._config.webots)
            spec = replace(spec, parameters={"robot": name} | spec.parameters)
            words = f" (mock {spec.name})"
            if listen is not None:
                port.on_listening = self._mock_client(link.name, spec)
            else:
                port.on_local = self._local_mock_client(link.name, spec)
        self._gateway.supervisors[link.name] = port
        self._describe(name, f"controller {part.kind}: listens on {port.where}{words}")

    def _server(self, url: str | None, *, mocked: bool) -> WebotsServer | None:
        """One for each address, and for the mocks of its controllers; None where robots do not
        listen on TCP."""
        if url is None:
            return None
        host, number = parse_address(url)
        address = host, number, mocked
        if address not in self._servers:
            remote = not is_local(url)
            access, gateway = self._config.access, self._gateway
            check = token_check(access, lambda: gateway.real_timer.now()) if remote else None
            shared = mocked and self._config.real  # maybe with a real controller, whose it is
            self._servers[address] = WebotsServer(
                host,
                0 if shared else number,
                self._gateway.observer,
                check_token=check,
                tls=tls_of(access) if remote else None,
                any_port=mocked,
                new_listener=self._listen if mocked else TcpListener,
            )
        return self._servers[address]

    def _link(self, name: str, part: Body | PeerController, settings: Any) -> PeerLink[Any]:
        serial = settings.port is not None
        framing = create(part.framing) if serial and part.framing else None
        line = line_settings(settings) if serial else None
        link: PeerLink[Any] = PeerLink(
            name,
            part.session(settings, self._config.webots, framing),
            self._gateway.timer,
            self._gateway.control_loops.watchdog,
            None if line is None else LinePacer(line.baudRate, line.byteSize),
        )
        if framing is not None:
            link.dropped = framing.dropped
        return link

    def _supervise(
        self,
        link: PeerLink[Any],
        open_port: OpenPort,
        identity: PortIdentity,
        where: str,
        retry_s: float | None = None,
        boot_s: float = 0.0,
    ) -> None:
        loops = self._gateway.control_loops
        self._gateway.supervisors[link.name] = Supervisor(
            link,
            open_port,
            identity,
            self._gateway.observer,
            where=where,
            jitter=random.Random(link.name),
            retry_s=retry_s,
            boot_s=boot_s,
            is_needed=lambda: link.name not in loops.unused(shadows=True),
        )

    def _supervise_line(
        self, link: PeerLink[Any], part: Body | PeerController, config: PartConfig
    ) -> None:
        settings, timer = config.settings, self._gateway.timer
        line, port = line_settings(settings), settings.port
        where = port
        urls, boot_s = self._config.network_ports, boot_s_of(settings)
        open_port, identity = real_port(port, line, timer, urls=urls, boot_s=boot_s)
        modem_lines = modem_lines_at_start(port, line, boot_s)
        if is_mocked(self._config, link.name):
            spec = part.mock(settings, self._config.webots)
            device, open_port, identity = mock_line(self._config, link.name, line, timer)
            self._host(link.name, spec, device)
            where += f" (mock {spec.name})"
            modem_lines = ""
        self._supervise(link, open_port, identity, where, boot_s=boot_s)
        robot, _, role = link.name.partition(".")
        self._describe(robot, f"{role} {config.kind}: {where}, {line.baudRate} baud")
        if modem_lines:
            self._describe(robot, f"{role}: {modem_lines}")

    # --- mocks --------------------------------------------------------------------------------

    def _host(self, name: str, spec: MockSpec, device: DeviceSide) -> None:
        host = MockHost(self._gateway.timer, new_air())
        self._gateway.hosts.append(host)
        host.add(create_mock(spec.name, name, host.air, spec.parameters), device)

    def _mock_server(self, name: str, spec: MockSpec) -> OpenPort:
        """A mock of a robot, which listens on a port of its own."""
        device = TcpServerDevice(LOOPBACK, 0, self._listen)
        self._host(name, spec, device)

        async def open_port() -> Transport:
            if not device.port:
                await device.listen()
            return await self._connect(LOOPBACK, device.port)

        return open_port

    def _mock_client(self, name: str, spec: MockSpec) -> Callable[[str, int], None]:
        """A mock of a program, which connects to the address where hilgw listens."""
        device = TcpClientDevice(1.0, self._connect)
        self._host(name, spec, device)
        return device.aim

    def _local_mock_client(self, name: str, spec: MockSpec) -> Callable[[str], None]:
        """The same on a local socket, whose answers have another framing."""

        device = TcpClientDevice(1.0, lambda path, _: connect_local(path))
        self._host(name, replace(spec, parameters=spec.parameters | {"framing": "ipc"}), device)
        return lambda path: device.aim(path, 0)

    def _describe(self, name: str, text: str) -> None:
        self._gateway.description.append(f"  {name:<12} {text}")
