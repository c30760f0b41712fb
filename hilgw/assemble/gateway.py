"""The way from a checked configuration to a gateway that can run."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hilgw.adapters._common.framing_settings import name_of
from hilgw.adapters.base import AcknowledgedSession, Adapter, StationSettings, line_of
from hilgw.adapters.declaration import Framed
from hilgw.assemble.ports import Assembly, Ports
from hilgw.config import line_rates
from hilgw.config.model import (
    AdapterConfig,
    EstopConfig,
    FederationConfig,
    GatewayConfig,
    RobotConfig,
)
from hilgw.config.queries import (
    REAL_TIME,
    inside_of,
    is_estop_mocked,
    peer_of,
    proxy_of,
    session_of,
    stepped_of,
)
from hilgw.config.scene import address_of, air_of, mount_of, pose_of, read_motion
from hilgw.control.declared import UNGUARDED
from hilgw.devices.fields import BROADCAST, UNLIMITED, EmitterFields, ReceiverFields
from hilgw.devices.nodes import upright_axis
from hilgw.devices.properties import node_of
from hilgw.devices.radios import Emitter, Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer, Observers
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort, Robot
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Mocap, Scene
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.engine.station.line import ReceiveFilter
from hilgw.engine.station.station import Station
from hilgw.engine.station.station_watch import StationTraffic
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import ConfigError, UsageError
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.obstacles import Obstacle, obstacle
from hilgw.medium.packet import Copy
from hilgw.medium.pose import Mount
from hilgw.plugins import ADAPTERS, load
from hilgw.reasons import PacketDropped
from hilgw.units import NS_PER_MS, ns_to_s


def build(
    config: GatewayConfig,
    loop: asyncio.AbstractEventLoop,
    *observers: Observer,
    timer: Timer | SimulatedClock | None = None,
) -> Gateway:
    """Build the gateway of a configuration, ready to run.

    Call it in a running event loop, which is a PacedLoop for another speed than real time.

    Args:
        config: The configuration.
        loop: The event loop.
        *observers: Get the events of the start, too; more are added to `Gateway.observer`.
        timer: The clock to run on, by default that of the event loop.

    Raises:
        HilgwError: a mock or a virtual port cannot be made.
    """
    paced = loop if isinstance(loop, PacedLoop) else None
    if timer is None:
        timer = Timer(loop) if paced is None else paced.clock
        if config.speed != (REAL_TIME if paced is None else paced.speed):
            raise UsageError(f"this event loop cannot run at speed {config.speed}")
    observer = Observers(*observers, on_fault=partial(_report_observer, loop))
    medium = Medium(Ledger(), config.release, config.medium.seed, observer)
    steps = StepClock(timer.now(), (config.medium.step_ms or 0) * NS_PER_MS)
    schedule = Schedule(timer, steps) if paced is None else Schedule(timer, steps, paced.advance)
    scene = Scene(medium, timer, upright_axis(config.release), schedule, observer)
    mocap = None
    if config.medium.mocap is not None:
        mocap = Mocap(address_of(config.medium.mocap.listen), scene, observer)
    gateway = Gateway(timer, medium, scene, observer, paced, mocap, config.guardian_ms)
    try:
        _Assembly(config, gateway, Airs(), schedule).add_all()
    except BaseException:
        gateway.close()
        raise
    return gateway


def _report_observer(loop: asyncio.AbstractEventLoop, observer: Observer, error: Exception) -> None:
    loop.call_exception_handler(
        {"message": f"the observer {observer!r} failed", "exception": error}
    )


class _Assembly(Assembly):
    def __init__(
        self, config: GatewayConfig, gateway: Gateway, airs: Airs, schedule: Schedule
    ) -> None:
        super().__init__(config, gateway)
        self.airs, self.schedule = airs, schedule
        self.ports = Ports(config, gateway)

    def add_all(self) -> None:
        for name, robot in self.config.robots.items():
            self.add_robot(name, robot)
        self.add_obstacles()
        for name, adapter in self.config.adapters.items():
            self.add_station(name, adapter)
        self.ports.add_nodes()
        self.add_peers()
        if self.config.federation is not None:
            add_federation(self.ports, self.config.federation, self.airs)
        if self.config.estop is not None:
            self.add_estop(self.config.estop)
        self.gateway.description.extend(f"  {each}" for each in line_rates.notices(self.config))

    def add_peers(self) -> None:
        """Add bodies, and controllers that are peers or behind a proxy.

        Their modules are imported when a robot has one: they are half of the time of the start.
        """
        robots = self.config.robots
        looped = [
            name
            for name, robot in robots.items()
            if robot.body is not None or peer_of(robot.controller) is not None
        ]
        proxied = any(proxy_of(robot.controller) is not None for robot in robots.values())
        if not looped and not proxied:
            return
        from hilgw.assemble.network import NetworkPorts

        ports = NetworkPorts(self.config, self.gateway)
        if looped:
            from hilgw.assemble.control_loops import ControlLoopAssembly

            loops = ControlLoopAssembly(ports, self.schedule)
            for name in looped:
                loops.add(name, robots[name])
            self.describe_guardian()
        if proxied:
            from hilgw.assemble.proxies import add_proxies

            add_proxies(ports)

    def describe_guardian(self) -> None:
        if self.gateway.control_loops.watchdog.guardian.guarded:
            seconds = ns_to_s(self.config.guardian_ms * NS_PER_MS)
            self.describe(
                "guardian",
                f"robot-guard stops the motors if hilgw is killed, or frozen "
                f"for {seconds:g} s; not after {', '.join(UNGUARDED)}",
            )

    def add_estop(self, config: EstopConfig) -> None:
        from hilgw.engine.arming.estop import NAME, EmergencySwitch

        words = f"{config.where}; no robot is armed until it is read closed"
        if is_estop_mocked(self.config):
            words = f"a MOCK at {config.where}, released"
        else:
            gateway, line = self.gateway, self.ports.modem_line(config.port, config.line)
            switch = EmergencySwitch(
                gateway.control_loops, gateway.real_timer, gateway.observer, config.where, line
            )
            gateway.control_loops.estop, gateway.reports[NAME] = switch, switch.report
        self.describe(NAME, f"emergency-stop switch: {words}")

    # --- robots ------------------------------------------------------------------------------

    def add_robot(self, name: str, config: RobotConfig) -> None:
        gateway = self.gateway
        robot = Robot(name, session_of(config.controller), gateway.timer, gateway.observer)
        if config.motion is not None:
            gateway.scene.add(name, read_motion(config.motion, name))
        else:
            gateway.scene.add(name, pose_of(config.position, config.rotation))
        kind = ReceiverPort
        if proxy_of(config.controller) is not None:
            from hilgw.engine.proxy.robot import ProxyReceiverPort as kind
        is_passing = stepped_of(config.controller) is not None
        for device, fields in config.radios.items():
            if is_passing:
                fields = _passing(fields)
            if isinstance(fields, EmitterFields):
                robot.emitters[device] = self.emitter(name, device, fields)
            else:
                robot.receivers[device] = self.receiver(robot, device, fields, kind)
        gateway.robots[name] = robot
        self.describe(name, f"robot: {_devices(config)}")

    def emitter(self, robot: str, name: str, fields: EmitterFields) -> EmitterPort:
        gateway, schedule = self.gateway, self.schedule
        mount = Mount(robot, mount_of(fields.translation, fields.rotation))
        emitter = Emitter(fields, _notify(gateway.observer, f"{robot}.{name}"), schedule.steps)
        return EmitterPort(name, emitter, mount, schedule, gateway.ledger, gateway.scene.transmit)

    def receiver(
        self, robot: Robot, name: str, fields: ReceiverFields, kind: type[ReceiverPort]
    ) -> ReceiverPort:
        gateway, schedule = self.gateway, self.schedule
        notify = _notify(gateway.observer, f"{robot.name}.{name}")
        receiver: Receiver[Copy] = Receiver(fields, self.config.medium.step_ms, notify)
        begin = schedule.steps.last(gateway.timer.now())
        if kind is ReceiverPort:  # behind a proxy the controller enables it
            receiver.enable(receiver.initial_period_ms, begin)
        mount = Mount(robot.name, mount_of(fields.translation, fields.rotation))
        return kind(
            name, receiver, mount, schedule, gateway.medium, robot.readable, gateway.observer
        )

    def add_obstacles(self) -> None:
        """Add the obstacles.

        An obstacle that is not on a robot is an object of its own, which can be placed.
        """
        gateway, config = self.gateway, self.config
        upright = upright_axis(config.release)
        for name, settings in config.obstacles.items():
            made = obstacle(settings, upright)
            if made.attached_to is None:
                gateway.scene.add(name, made.mount)
                made = Obstacle(made.solid, owner=made.owner, attached_to=name)
            gateway.scene.obstacles[name] = made
            gateway.medium.obstruct(made)
        if config.obstacles:
            gateway.description.append(f"  obstacles: {', '.join(config.obstacles)}")

    # --- hardware ----------------------------------------------------------------------------

    def add_station(self, name: str, config: AdapterConfig) -> None:
        gateway, common, ports = self.gateway, config.common, self.ports
        adapter: Adapter = load(ADAPTERS, config.kind)
        line, notice = line_of(common)
        if notice:
            gateway.observer.notice(name, notice)
        statistics = StationStatistics(name, gateway.ledger.station(name), gateway.observer)
        receive_filter = ReceiveFilter(
            adapter.type,
            air_of(config, name),
            self.airs,
            common,
            statistics,
            self.add_module(name, common),
            gateway.scene.transmit,
        )
        session, window = adapter.session(config.settings, common), adapter.limits.window
        ports.replays.words[name] = session.describe
        station = Station(session, common, window, receive_filter, statistics, gateway.timer)
        gateway.stations[name] = station
        gateway.medium.attach(station.listener)
        port = ports.described(
            name,
            config.kind,
            common.port,
            line,
            common.boot_s,
            lambda device: ports.place(name, config, device),
        )
        gateway.supervisors[name] = supervisor = Supervisor(station, port, gateway.lines)
        acknowledges = isinstance(session, AcknowledgedSession) and session.acknowledges
        receivers = [
            receiver for robot in gateway.robots.values() for receiver in robot.receivers.values()
        ]
        gateway.watches.add(
            name,
            adapter.limits.silence or _line_words(config),
            partial(
                _traffic,
                station,
                supervisor,
                is_answering=adapter.limits.answers,
                acknowledges=acknowledges,
            ),
            lambda: any(each.takes(adapter.type, session.channels) for each in receivers),
        )

    def add_module(self, name: str, common: StationSettings) -> Mount:
        """Return the mount of a station's module: on a robot, or on itself."""
        if common.attached_to is not None:
            return Mount(common.attached_to, mount_of(common.position, common.rotation))
        self.gateway.scene.add(name, pose_of(common.position, common.rotation))
        return Mount(name)


def _line_words(config: AdapterConfig) -> str:
    settings: Any = config.settings
    is_framed = isinstance(settings, Framed) and settings.is_framed
    framing = f", the framing ({name_of(settings.framing)})" if is_framed else ""
    return f"the baud rate ({config.common.baudRate}){framing}, and that TX goes to RX"


def _traffic(
    station: Station, port: Supervisor, *, is_answering: bool, acknowledges: bool
) -> StationTraffic:
    """Return the traffic of a station.

    With `acknowledges`, delivered packets were received by the other end, which shows by that.
    """
    count = station.statistics.count
    received = count.inbound - count.dropped.total()
    has_echo = is_answering or count.dropped[PacketDropped.OWN_ECHO] > 0
    return StationTraffic(
        state=port.state,
        reason=port.reason,
        connections=port.ups,
        queued=station.queued,
        delivered=count.delivered,
        unacknowledged=station.unacknowledged,
        received=received + count.delivered * acknowledges,
        received_ns=0 if has_echo else station.received_ns,
    )


def _passing(fields: EmitterFields | ReceiverFields) -> EmitterFields | ReceiverFields:
    """Return the fields of a radio whose controller paces, queues and samples by itself.

    libController applies buffer, rate and period before a packet comes here or after it left.
    """
    if isinstance(fields, EmitterFields):
        return replace(fields, baudRate=UNLIMITED, bufferSize=UNLIMITED, allowedChannels=())
    return replace(fields, bufferSize=UNLIMITED, allowedChannels=(), sampling_period_ms=0)


def _notify(observer: Observers, source: str) -> Callable[[str], None]:
    return lambda text: observer.notice(source, text)


def _devices(config: RobotConfig) -> str:
    words = []
    for name, fields in config.devices.items():
        node = node_of(fields)
        if not isinstance(fields, EmitterFields | ReceiverFields):
            words.append(f"{name} ({node})")
            continue
        channel = "all" if fields.channel == BROADCAST else str(fields.channel)
        words.append(f"{name} ({node}, {fields.type}, channel {channel})")
    if config.controller is not None and inside_of(config.controller) is not None:
        words.append(f"controller {config.controller.kind}")
    if config.body is not None:
        words.append("devices of its body")
    return ", ".join(words) or "no devices"


def add_federation(ports: Ports, federation: FederationConfig, airs: Airs) -> None:
    """Add the federation to the ports of the gateway.

    Raises:
      ConfigError: Eclipse Zenoh is missing, or refuses a setting.
    """
    try:
        import zenoh  # noqa: F401 - whether it is installed
    except ModuleNotFoundError:
        raise ConfigError(
            "needs Eclipse Zenoh", where="federation", fix="pip install 'hilgw[zenoh]'"
        ) from None
    from hilgw.federation.federation import Federation
    from hilgw.federation.network import NAME
    from hilgw.federation.settings import zenoh_settings
    from hilgw.federation.shared import SharedAirs

    local = [
        name
        for name, adapter in ports.config.adapters.items()
        if not adapter.common.air and air_of(adapter, name) == name
    ]
    shared = SharedAirs(airs, federation.name, local, ports.gateway.real_timer.now)
    made = Federation(federation, zenoh_settings(federation), ports.gateway, shared)
    ports.gateway.join(made)
    name, network = federation.name, federation.network
    ports.describe(NAME, f"{name} in {network}, {federation.mode}: {made.where}")
