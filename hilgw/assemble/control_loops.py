"""The control loops of a configuration: bodies, controllers that are peers, and their mocks."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from hilgw.config.queries import (
    forwarding_of,
    is_mocked,
    is_on_line,
    is_simulated,
    line_settings,
    peer_of,
    program_of,
    stepped_of,
)
from hilgw.control.modes import RobotMode
from hilgw.control.safety import SafetyState
from hilgw.devices.fields import DEFAULT_STEP_MS, EmitterFields, ReceiverFields
from hilgw.devices.steps import StepClock
from hilgw.engine.control_loop.bodies.forwarder import Forwarder
from hilgw.engine.control_loop.context import LoopContext
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import (
    LoopBody,
    LoopController,
    RemoteBody,
    no_body,
    no_controller,
)
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.servers.controller_port import TcpServer
from hilgw.engine.control_loop.stepping import StepGrid, Stepping
from hilgw.engine.station.line_pacer import LinePacer
from hilgw.engine.supervisor import Supervisor
from hilgw.framing import create
from hilgw.plugins import BODIES, CONTROLLERS, load
from hilgw.settings import MockSpec
from hilgw.units import NS_PER_MS, ns_to_s

if TYPE_CHECKING:
    from hilgw.assemble.network import NetworkPorts
    from hilgw.assemble.ports import PlaceMock
    from hilgw.assemble.stepped import SteppedAssembly
    from hilgw.bodies.base import Body
    from hilgw.config.model import GatewayConfig, PartConfig, RobotConfig
    from hilgw.controllers.base import PeerController
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.lines import Port
    from hilgw.engine.robot.schedule import Schedule


class ControlLoopAssembly:
    """Adds the control loops of one configuration to a gateway."""

    def __init__(
        self, config: GatewayConfig, gateway: Gateway, schedule: Schedule, ports: NetworkPorts
    ) -> None:
        self._config = config
        self._gateway = gateway
        self._schedule = schedule
        self._ports = ports

    def add(self, name: str, config: RobotConfig) -> None:
        """The control loop of a robot that has a body or a controller that is a peer."""
        gateway, robot = self._gateway, self._gateway.robots[name]
        has_peer = peer_of(config.controller) is not None
        context = LoopContext(name, gateway.timer, gateway.observer, gateway.control_loops.watchdog)
        simulated = config.body is None or is_simulated(self._config, f"{name}.body", config.body)
        is_stepped = stepped_of(config.controller) is not None
        safety = SafetyState(config.safety, simulated=simulated, stepped=is_stepped)
        if config.body is None:
            body = no_body(context, safety)
        else:
            link = self._body(name, config.body)
            guarded = self._is_guarded(link.name, safety)
            body = LoopBody(
                link,
                safety,
                is_guarded=guarded,
                has_watchdog=_has_watchdog(config.body),
                named=_named(config.body),
            )
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
            mocked = self._computes_in_simulated_time(controller.link.name, config.controller)
            words = self._stepped.add(loop, controller.link, config.controller, mocked=mocked)
            self._describe(name, words)
        if config.body is None:
            self._describe(name, "has no body: its controller moves no motors")
        elif config.controller is None:
            self._describe(name, "has no controller: its body is not moved")
        elif has_peer:
            on_line = is_on_line(config.controller.settings)
            self._describe_deadline(name, safety, simulated=simulated, on_line=on_line)

    def _remote(self, name: str, config: RobotConfig, *, stepped: bool) -> RemoteBody | None:
        """The second body, with a safety of its own."""
        if config.remote is None:
            return None
        simulated = is_simulated(self._config, f"{name}.remote", config.remote)
        safety = SafetyState(config.safety, simulated=simulated, stepped=stepped)
        link = self._body(name, config.remote, "remote")
        self._describe(name, f"mode {config.mode}; `hilgw mode {name}` changes it")
        if safety.timeout_ns:
            seconds = ns_to_s(safety.timeout_ns)
            text = f"its motors stop {seconds:g} s after the controller's last message"
            self._describe(name, f"remote {'simulated' if simulated else 'real'} body: {text}")
        guarded = self._is_guarded(link.name, safety)
        return RemoteBody(
            link,
            safety,
            RobotMode(config.mode),
            is_guarded=guarded,
            has_watchdog=_has_watchdog(config.remote),
            named=_named(config.remote),
        )

    def _is_guarded(self, name: str, safety: SafetyState) -> bool:
        """Whether the body of this name moves real motors."""
        return not safety.simulated and not is_mocked(self._config, name)

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
        if is_on_line(settings):
            self._supervise_line(link, body, part, name)
            return link
        mock_name = name if role == "body" else link.name
        mock = self._placed_mock(mock_name, body, settings, name)
        port = self._ports.tcp(link.name, settings.connect, mock, retry_s=body.retry_s)
        self._supervise(link, port)
        self._describe(name, f"{role} {part.kind}: {port.where}")
        return link

    def _loop_controller(self, context: LoopContext, config: RobotConfig) -> LoopController:
        """The controller. One that is stepped has nothing yet that keeps it connected."""
        part, name, timer = config.controller, context.name, context.scheduler
        if part is None or peer_of(part) is None:
            is_missed = part is None and not forwarding_of(config.body)
            return no_controller(context, "the configuration has none" if is_missed else "")
        mocked = is_mocked(self._config, f"{name}.controller")
        kind = stepped_of(part)
        # libController ends with its connection, and so does a mock of it.
        again = "connects again" if kind is None else "connects once; start the gateway again"
        advice = f"its mock {again}" if mocked else None
        if kind is None:
            return LoopController(self._controller(name, part), timer, advice)
        settings, grid = part.settings, self._grid
        session = kind.robot_session(settings, self._config.webots, name, grid.step_ms)
        link: PeerLink[Any] = PeerLink(f"{name}.controller", session, timer, context.watchdog)
        if self._computes_in_simulated_time(link.name, part):
            stepping = Stepping(grid, settings.synchronization)
            return LoopController(link, timer, advice, stepping)
        holds = self._gateway.holds if settings.synchronization else None
        stepping = Stepping(grid, settings.synchronization, holds)
        return LoopController(link, self._gateway.real_timer, advice, stepping)

    def _computes_in_simulated_time(self, name: str, part: PartConfig) -> bool:
        """Whether a mock stands for this controller: it must not hold simulated time."""
        return is_mocked(self._config, name) and program_of(part) is None

    def _controller(self, name: str, part: PartConfig) -> PeerLink[Any]:
        controller: PeerController = load(CONTROLLERS, part.kind)
        settings = part.settings
        link = self._link(f"{name}.controller", controller, settings)
        if is_on_line(settings):
            self._supervise_line(link, controller, part)
            return link
        words, connect = "", None
        if mocked := is_mocked(self._config, link.name):
            spec = controller.mock(settings, self._config.webots)
            words, connect = f" (mock {spec.name})", self._ports.client(name, spec)
        listening = self._ports.listening(settings.listen, connect, mocked=mocked)
        self._gateway.supervisors[link.name] = TcpServer(
            link, listening, self._gateway.lines, where=settings.listen
        )
        self._describe(name, f"controller {part.kind}: listens on {settings.listen}{words}")
        return link

    # --- controllers that are stepped ---------------------------------------------------------

    @cached_property
    def _grid(self) -> StepGrid:
        """The steps of the medium; of a medium without steps, 32 ms."""
        steps = self._schedule.steps
        if not steps.step_ns:
            steps = StepClock(self._schedule.now(), DEFAULT_STEP_MS * NS_PER_MS)
        return StepGrid(self._schedule, steps)

    @cached_property
    def _stepped(self) -> SteppedAssembly:
        from hilgw.assemble.stepped import SteppedAssembly

        return SteppedAssembly(self._config, self._gateway, self._ports)

    def _link(self, name: str, part: Body | PeerController, settings: Any) -> PeerLink[Any]:
        serial = is_on_line(settings)
        framing = create(part.framing) if serial and part.framing else None
        line = line_settings(settings) if serial else None
        link: PeerLink[Any] = PeerLink(
            name,
            part.session(settings, self._config.webots, framing),
            self._gateway.timer,
            self._gateway.control_loops.watchdog,
            None if line is None else LinePacer(line.baudRate, line.byteSize),
            {} if framing is None else framing.dropped,
        )
        self._ports.replays.words[name] = partial(link.session.describe, received=False)
        return link

    def _supervise(self, link: PeerLink[Any], port: Port) -> None:
        port = replace(port, release=link.release)
        self._gateway.supervisors[link.name] = Supervisor(link, port, self._gateway.lines)

    def _supervise_line(
        self, link: PeerLink[Any], part: Body | PeerController, config: PartConfig, robot: str = ""
    ) -> None:
        """robot: whose body it is."""
        settings = config.settings
        line, boot_s = line_settings(settings), settings.boot_s
        mock = self._placed_mock(link.name, part, settings, robot)
        port = self._ports.serial(link.name, settings.port, line, boot_s, mock)
        self._supervise(link, port)
        owner, _, role = link.name.partition(".")
        self._describe(owner, f"{role} {config.kind}: {port.where}, {line.baudRate} baud")
        if modem_lines := self._ports.modem_lines(link.name, settings.port, line, boot_s):
            self._describe(owner, f"{role}: {modem_lines}")

    def _placed_mock(
        self, name: str, part: Body | PeerController, settings: Any, robot: str
    ) -> PlaceMock:
        """To put the mock of a body or a controller behind its port. robot: whose body it is; its
        devices in the file are those of the mock, unless the mock's own parameters list them."""
        spec = part.mock(settings, self._config.webots)
        if robot and "devices" not in settings.mock:
            listed = self._config.robots[robot].devices
            own = {
                each: fields
                for each, fields in listed.items()
                if not isinstance(fields, EmitterFields | ReceiverFields)
            }
            more = cast("Body", part).mocked_devices(settings, own)
            spec = MockSpec(spec.name, spec.parameters | more)
        return lambda device: self._ports.host(name, spec, device)

    def _describe(self, name: str, text: str) -> None:
        self._gateway.description.append(f"  {name:<12} {text}")


def _named(part: PartConfig) -> frozenset[str]:
    """The motors that the settings name."""
    body: Body = load(BODIES, part.kind)
    return frozenset((*part.settings.limits, *body.default_positions(part.settings)))


def _has_watchdog(part: PartConfig) -> bool:
    """Whether the robot stops by itself when nothing comes from here."""
    body: Body = load(BODIES, part.kind)
    return body.stop_frame(part.settings).has_watchdog
