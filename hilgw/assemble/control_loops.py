"""The control loops of a configuration: bodies, controllers that are peers, and their mocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hilgw.bodies.base import Body, current
from hilgw.config.model import PartConfig, RobotConfig
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
from hilgw.controllers.base import PeerController
from hilgw.devices.fields import DEFAULT_STEP_MS, EmitterFields, ReceiverFields
from hilgw.devices.steps import StepClock
from hilgw.engine.control_loop.devices.radios import Forwarder, Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import (
    LoopBody,
    LoopContext,
    LoopController,
    RemoteBody,
    no_body,
    no_controller,
)
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.servers.controller_port import TcpServer
from hilgw.engine.control_loop.stepping import StepGrid, Stepping
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.station.line import LinePacer
from hilgw.engine.supervisor import Supervisor
from hilgw.framing import create
from hilgw.plugins import BODIES, CONTROLLERS, load
from hilgw.settings import MockSpec
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_MS, ns_to_s

if TYPE_CHECKING:
    from hilgw.assemble.network import NetworkPorts
    from hilgw.assemble.ports import PlaceMock
    from hilgw.assemble.stepped import SteppedAssembly

AnyBody = TypeVar("AnyBody", bound=LoopBody)


class ControlLoopAssembly:
    """Builder of the control loops of one configuration."""

    def __init__(self, ports: NetworkPorts, schedule: Schedule) -> None:
        self._ports, self._schedule = ports, schedule
        self._config, self._gateway, self._describe = ports.config, ports.gateway, ports.describe

    def add(self, name: str, config: RobotConfig) -> None:
        """Add the control loop of a robot that has a body or a controller that is a peer."""
        gateway, robot = self._gateway, self._gateway.robots[name]
        has_peer = peer_of(config.controller) is not None
        context = LoopContext(name, gateway.timer, gateway.observer, gateway.control_loops.watchdog)
        is_stepped = stepped_of(config.controller) is not None
        if config.body is None:
            body = no_body(context, SafetyState(config.safety, simulated=True, stepped=is_stepped))
        else:
            body = self._body(name, "body", LoopBody, stepped=is_stepped)
        controller = self._loop_controller(context, config)
        loop = ControlLoop(
            context,
            body,
            controller,
            Radios(robot if has_peer else None, passing=is_stepped),
            config.devices if has_peer else {},
            Forwarder(robot.emitters, forwarding_of(config.body)),
            None if config.remote is None else self._remote(name, config, stepped=is_stepped),
        )
        gateway.control_loops.add(loop)
        robot.on_packet = loop.packets.from_medium
        if is_stepped and config.controller is not None:
            mocked = self._computes_in_simulated_time(controller.link.name, config.controller)
            self._describe(
                name, self._stepped.add(loop, controller.link, config.controller, mocked=mocked)
            )
        if config.body is None:
            self._describe(name, "has no body: its controller moves no motors")
        elif config.controller is None:
            self._describe(name, "has no controller: its body is not moved")
        elif has_peer:
            self._describe_deadline(
                name, body.safety, on_line=is_on_line(config.controller.settings)
            )

    def _remote(self, name: str, config: RobotConfig, *, stepped: bool) -> RemoteBody:
        make = partial(RemoteBody, mode=RobotMode(config.mode))
        remote = self._body(name, "remote", make, stepped=stepped)
        safety = remote.safety
        self._describe(name, f"mode {config.mode}; `hilgw mode {name}` changes it")
        if safety.timeout_ns:
            kind = "simulated" if safety.simulated else "real"
            self._describe(
                name,
                f"remote {kind} body: its motors stop {ns_to_s(safety.timeout_ns):g} s after the "
                "controller's last message",
            )
        return remote

    def _describe_deadline(self, name: str, safety: SafetyState, *, on_line: bool) -> None:
        body = "simulated body" if safety.simulated else "real body"
        if safety.timeout_ns:
            seconds = ns_to_s(safety.timeout_ns)
            text = f"the motors stop {seconds:g} s after the controller's last message"
        else:
            text = "no deadline for commands"
            text += "" if on_line else "; a frozen controller keeps the motors moving"
        self._describe(name, f"{body}: {text}")
        if not safety.armed:
            self._describe(
                name, f"not armed: `hilgw arm {name}` or the option --arm lets its motors move"
            )

    # --- the two ends -------------------------------------------------------------------------

    def _body(
        self, name: str, role: str, make: Callable[..., AnyBody], *, stepped: bool
    ) -> AnyBody:
        robot, key = self._config.robots[name], f"{name}.{role}"
        part = robot.bodies[role]
        body: Body = load(BODIES, part.kind)
        simulated = is_simulated(self._config, key, part)
        return make(
            self._peer(key, body, part),
            SafetyState(robot.safety, simulated=simulated, stepped=stepped),
            is_guarded=not simulated and not is_mocked(self._config, key),
            has_watchdog=body.stop_frame(part.settings).has_watchdog,
            named=frozenset((*part.settings.limits, *body.default_positions(part.settings))),
        )

    def _loop_controller(self, context: LoopContext, config: RobotConfig) -> LoopController:
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
            controller: PeerController = load(CONTROLLERS, part.kind)
            link = self._peer(f"{name}.controller", controller, part)
            return LoopController(link, timer, advice)
        settings, grid = part.settings, self._grid
        session = kind.robot_session(settings, self._config.webots or "", name, grid.step_ms)
        link = PeerLink(f"{name}.controller", session, timer, context.watchdog)
        is_simulated = self._computes_in_simulated_time(link.name, part)
        synchronized = settings.synchronization
        clock = timer if is_simulated else self._gateway.real_timer
        holds = self._gateway.holds if synchronized and not is_simulated else None
        return LoopController(link, clock, advice, Stepping(grid, synchronized, holds))

    def _computes_in_simulated_time(self, name: str, part: PartConfig) -> bool:
        """Return True if a mock replaces this controller: it must not hold simulated time."""
        return is_mocked(self._config, name) and program_of(part) is None

    # --- controllers that are stepped ---------------------------------------------------------

    @cached_property
    def _grid(self) -> StepGrid:
        steps = self._schedule.steps
        if not steps.step_ns:
            steps = StepClock(self._schedule.now(), DEFAULT_STEP_MS * NS_PER_MS)
        return StepGrid(self._schedule, steps)

    @cached_property
    def _stepped(self) -> SteppedAssembly:
        from hilgw.assemble.stepped import SteppedAssembly

        return SteppedAssembly(self._ports)

    # --- what keeps them connected ------------------------------------------------------------

    def _peer(self, name: str, kind: Body | PeerController, part: PartConfig) -> PeerLink[Any]:
        settings, framing, line = part.settings, None, None
        if is_on_line(settings):
            line = line_settings(settings)
            framing = create(kind.framing) if kind.framing else None
        link: PeerLink[Any] = PeerLink(
            name,
            current(kind.session(settings, self._config.release, framing)),
            self._gateway.timer,
            self._gateway.control_loops.watchdog,
            None if line is None else LinePacer(line.baudRate, line.byteSize),
            {} if framing is None else framing.dropped,
        )
        self._ports.replays.words[name] = partial(link.session.describe, received=False)
        if line is None and name.endswith(".controller"):
            self._listen(link, kind, part)
        else:
            self._connect(link, kind, part, line)
        return link

    def _listen(self, link: PeerLink[Any], kind: Body | PeerController, part: PartConfig) -> None:
        owner, where, words, aims = link.name.partition(".")[0], part.settings.listen, "", []
        if mocked := is_mocked(self._config, link.name):
            words, aim = self._ports.client(owner, kind.mock(part.settings, self._config.release))
            aims.append(aim)
        self._gateway.supervisors[link.name] = TcpServer(
            link,
            self._ports.listening(where, aims, mocked=mocked),
            self._gateway.lines,
            where=where,
        )
        self._describe(owner, f"controller {part.kind}: listens on {where}{words}")

    def _connect(
        self,
        link: PeerLink[Any],
        kind: Body | PeerController,
        part: PartConfig,
        line: LineSettings | None,
    ) -> None:
        settings, (owner, _, role) = part.settings, link.name.partition(".")
        mock = self._placed_mock(link.name, kind, settings, on_line=line is not None)
        if line is None:
            port = self._ports.tcp(
                link.name, settings.connect, mock, retry_s=cast("Body", kind).retry_s
            )
            self._describe(owner, f"{role} {part.kind}: {port.where}")
        else:
            port = self._ports.described(
                link.name, f"{role} {part.kind}", settings.port, line, settings.boot_s, mock
            )
        port = replace(port, release=link.release)
        self._gateway.supervisors[link.name] = Supervisor(link, port, self._gateway.lines)

    def _placed_mock(
        self, name: str, kind: Body | PeerController, settings: Any, *, on_line: bool
    ) -> PlaceMock:
        """Return the function that puts the mock of a body or a controller behind its port.

        The devices of a robot in the file are those of its mock, unless the mock's own parameters
        list them.
        """
        spec = kind.mock(settings, self._config.release)
        robot, _, role = name.partition(".")
        if role != "controller" and "devices" not in settings.mock:
            own = {
                each: fields
                for each, fields in self._config.robots[robot].devices.items()
                if not isinstance(fields, EmitterFields | ReceiverFields)
            }
            more = cast("Body", kind).mocked_devices(settings, own)
            spec = MockSpec(spec.name, spec.parameters | more)
        if on_line:
            spec = spec.on_line(settings.baudRate)
        elif role == "body":
            name = robot
        return lambda device: self._ports.host(name, spec, device)
