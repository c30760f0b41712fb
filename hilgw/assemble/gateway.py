"""From a checked configuration to a gateway that can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.adapters.base import line_of
from hilgw.assemble.control_loops import ControlLoopAssembly, passing_fields
from hilgw.assemble.mocks import MockPorts
from hilgw.assemble.ports import Ports
from hilgw.assemble.proxies import add_proxies
from hilgw.assemble.scene import add_mocap, add_module, add_obstacles, add_robot
from hilgw.config import line_rates
from hilgw.config.queries import REAL_TIME, inside_of, proxy_of, session_of, stepped_of
from hilgw.config.scene import air_of, mount_of
from hilgw.devices.emitter import Emitter
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields
from hilgw.devices.nodes import upright_axis
from hilgw.devices.properties import node_of
from hilgw.devices.receiver import Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.proxy.ports import ProxyReceiverPort
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.engine.robot.robot import Robot
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.engine.station.line_pacer import LinePacer
from hilgw.engine.station.station import Station
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import UsageError
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.plugins import ADAPTERS, load
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    import asyncio

    from hilgw.adapters.base import Adapter
    from hilgw.config.model import AdapterConfig, GatewayConfig, RobotConfig
    from hilgw.engine.observer import Observer
    from hilgw.engine.simulated.clock import SimulatedClock
    from hilgw.medium.pose import Pose


def build(
    config: GatewayConfig,
    loop: asyncio.AbstractEventLoop,
    observer: Observer,
    timer: Timer | SimulatedClock | None = None,
) -> Gateway:
    """The gateway that a configuration describes, ready to run. Call it in a running event loop,
    which is a PacedLoop for another speed than real time.

    timer: the clock to run on, by default that of the event loop. Raises HilgwError when a mock or
    a virtual port cannot be made.
    """
    paced = loop if isinstance(loop, PacedLoop) else None
    if timer is None:
        timer = Timer(loop) if paced is None else paced.clock
        if config.speed != (REAL_TIME if paced is None else paced.speed):
            raise UsageError(f"this event loop cannot run at speed {config.speed}")
    ledger = Ledger()
    medium = Medium(
        ledger,
        config.webots,
        config.medium.seed,
        on_fault=lambda name, error: gateway.fault(name, error),
        on_notice=lambda text: observer.notice("medium", text),
        on_transmit=lambda *transmitted: gateway.transmitted(*transmitted),
    )
    steps = StepClock(timer.now(), (config.medium.step_ms or 0) * NS_PER_MS)
    schedule = Schedule(timer, steps) if paced is None else Schedule(timer, steps, paced.advance)
    scene = Scene(medium, timer, upright_axis(config.webots), steps, schedule.catch_up)
    gateway = Gateway(timer, ledger, medium, scene, observer)
    if paced is not None:
        gateway.run_paced(paced)
    assembly = _Assembly(config, gateway, Airs(), schedule)
    try:
        assembly.add_all()
    except BaseException:
        gateway.close()
        raise
    return gateway


class _Assembly:
    """One build under way."""

    def __init__(
        self, config: GatewayConfig, gateway: Gateway, airs: Airs, schedule: Schedule
    ) -> None:
        self.config = config
        self.gateway = gateway
        self.airs = airs
        self.schedule = schedule
        self.describe = gateway.description.append

    def add_all(self) -> None:
        for name, robot in self.config.robots.items():
            self.add_robot(name, robot)
        add_obstacles(self.gateway, self.config)
        add_mocap(self.gateway, self.config)
        mocks, ports = MockPorts(self.config, self.gateway), Ports(self.config, self.gateway)
        for name, adapter in self.config.adapters.items():
            self.add_station(name, adapter, mocks, ports)
        mocks.add_nodes()
        assembly = ControlLoopAssembly(self.config, self.gateway, self.schedule, ports)
        for name, robot in self.config.robots.items():
            assembly.add(name, robot)
        add_proxies(self.config, self.gateway, ports)
        for notice in line_rates.notices(self.config):
            self.describe(f"  {notice}")

    # --- robots ------------------------------------------------------------------------------

    def add_robot(self, name: str, config: RobotConfig) -> None:
        gateway = self.gateway
        session, proxy = session_of(config.controller), proxy_of(config.controller)
        robot = Robot(name, session, gateway.timer, gateway.observer)
        add_robot(gateway.scene, name, config)
        is_passing = stepped_of(config.controller) is not None
        for device, fields in config.radios.items():
            if is_passing:
                fields = passing_fields(fields)
            if isinstance(fields, EmitterFields):
                robot.emitters[device] = self.emitter(name, device, fields)
            else:
                kind = ReceiverPort if proxy is None else ProxyReceiverPort
                robot.receivers[device] = self.receiver(robot, device, fields, kind)
        gateway.robots[name] = robot
        self.describe(f"  {name:<12} robot: {_devices(config)}")

    def emitter(self, robot: str, name: str, fields: EmitterFields) -> EmitterPort:
        gateway, schedule = self.gateway, self.schedule
        full_name, mount = f"{robot}.{name}", mount_of(fields.translation, fields.rotation)
        emitter = Emitter(
            fields, lambda text: gateway.observer.notice(full_name, text), schedule.steps
        )

        def transmit(packet: Packet) -> None:
            gateway.scene.transmit(packet, robot, mount)

        return EmitterPort(robot, name, emitter, schedule, gateway.ledger, transmit)

    def receiver(
        self, robot: Robot, name: str, fields: ReceiverFields, kind: type[ReceiverPort]
    ) -> ReceiverPort:
        gateway, schedule = self.gateway, self.schedule
        full_name = f"{robot.name}.{name}"
        receiver: Receiver[Copy] = Receiver(
            fields,
            self.config.medium.step_ms,
            notify=lambda text: gateway.observer.notice(full_name, text),
        )
        begin = schedule.steps.last(gateway.timer.now())
        if kind is ReceiverPort:  # behind a proxy the controller enables it
            receiver.enable(receiver.initial_period_ms, begin)
        port = kind(
            robot.name,
            name,
            receiver,
            schedule,
            gateway.ledger,
            robot.readable,
            gateway.observer,
        )
        port.attach(
            gateway.medium,
            Listener(
                name=port.name,
                type=fields.type,
                deliver=port.deliver,
                owner=robot.name,
                channels=None if fields.channel == BROADCAST else frozenset({fields.channel}),
                aperture=fields.aperture,
                mount=mount_of(fields.translation, fields.rotation),
                signal_strength_noise=fields.signalStrengthNoise,
                direction_noise=fields.directionNoise,
            ),
        )
        return port

    # --- hardware ----------------------------------------------------------------------------

    def add_station(self, name: str, config: AdapterConfig, mocks: MockPorts, ports: Ports) -> None:
        gateway, common = self.gateway, config.common
        adapter: Adapter = load(ADAPTERS, config.kind)
        line, notice = line_of(common)
        if notice:
            gateway.observer.notice(name, notice)
        mounted_on, mount = add_module(gateway.scene, name, common)

        def transmit(packet: Packet) -> None:
            self.schedule.catch_up()  # what departed before comes first
            gateway.scene.transmit(packet, mounted_on, mount)

        air = air_of(config, name)
        self.airs.own(air, name, ())  # it may receive the others before it is ready itself
        station = Station(
            name,
            config.kind,
            adapter.session(config.settings, common),
            common,
            type=adapter.type,
            air=air,
            pacer=LinePacer(common.baudRate, line.byteSize),
            scheduler=gateway.timer,
            ledger=gateway.ledger,
            airs=self.airs,
            window=adapter.limits.window,
            observer=gateway.observer,
            transmit=transmit,
        )
        gateway.stations[name] = station
        gateway.medium.attach(_listener(station, mounted_on, mount))
        place_mock = lambda device: mocks.place(name, config, device)  # noqa: E731
        port = ports.serial(name, common.port, line, common.boot_s, place_mock)
        self.describe(f"  {name:<12} {config.kind}: {port.where}, {common.baudRate} baud")
        if lines := ports.modem_lines(name, common.port, line, common.boot_s):
            self.describe(f"  {name:<12} {lines}")
        gateway.supervisors[name] = Supervisor(station, port, gateway.lines)


def _listener(station: Station, mounted_on: str, mount: Pose) -> Listener:
    """A station as the medium sees it. mounted_on: the object that carries the module."""
    return Listener(
        name=station.name,
        type=station.type,
        deliver=station.deliver,
        air=station.air,
        relay=station.common.relay,
        channels=station.session.channels,
        mounted_on=mounted_on,
        mount=mount,
        fits_explicitly=station.names_channel,
    )


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
