"""Robots, receivers, stations and modules doing anything in any order: a ledger that adds up."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hilgw.adapters.base import StationSettings
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.radios import Emitter, Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.station.line import ReceiveFilter
from hilgw.engine.station.station import Station
from hilgw.engine.supervisor import PortListener
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener, later
from hilgw.medium.medium import Medium, Missed
from hilgw.medium.motion import Circle
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock, FakeTransport
from tests.cases import cases
from tests.engine.fakes import EchoSession

MS = 1_000_000
ROBOTS = ("a", "b", "c")
MODULES = {"m1": "x", "m2": "x", "m3": "y", "m4": "z"}
CHANNEL = st.sampled_from([-1, 0, 1, 2])
TYPE = "radio"


@dataclass
class Robot:
    name: str
    emitter: Emitter
    receiver: Receiver[Copy]
    listener: Listener
    place: float | None = 0.0  # along x; None: unknown
    answers: int = 0  # how often it answers at once from within a delivery


@dataclass
class Module:
    """A hardware station: a queue of copies to send out, of 40 bytes."""

    name: str
    listener: Listener
    queue: deque[Copy] = field(default_factory=deque)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.sent_packets = 0
        self.ledger = Ledger()
        self.medium = Medium(self.ledger, seed=1, observer=self)
        self.robots: dict[str, Robot] = {}
        self.modules: dict[str, Module] = {}
        self.last_received: dict[tuple[str, str], int] = {}
        self.current: tuple[Packet, float | None] | None = None

    @initialize(
        lines=st.lists(st.sampled_from([-1, 0, 8000, 9600]), min_size=3, max_size=3),
        buffers=st.lists(st.sampled_from([-1, 20, 200]), min_size=3, max_size=3),
        relays=st.lists(st.booleans(), min_size=4, max_size=4),
    )
    def begin(self, lines: list[int], buffers: list[int], relays: list[bool]) -> None:
        for name, baud, buffer_size in zip(ROBOTS, lines, buffers, strict=True):
            self.add_robot(name, baud, buffer_size)
        for (name, air), relay in zip(MODULES.items(), relays, strict=True):
            self.add_module(name, air, relay)

    def add_robot(self, name: str, baud: int, buffer_size: int) -> None:
        emitter = Emitter(EmitterFields(baudRate=baud, bufferSize=buffer_size))
        receiver: Receiver[Copy] = Receiver(ReceiverFields(bufferSize=buffer_size))
        receiver.enable(32, 0)
        self.ledger.emitter(f"{name}.tx", lambda: emitter.queued)
        count = self.ledger.station(f"{name}.rx", lambda: receiver.queued)

        def deliver(copy: Copy) -> None:
            self.received(f"{name}.rx", copy)
            assert copy.packet.owner != name
            reason = receiver.receive(copy, self.now)
            if reason:
                count.refuse(reason)
            self.check()
            if robot.answers:
                robot.answers -= 1
                self.offer(robot, 5)
                self.depart(robot)

        listener = Listener(
            name=f"{name}.rx",
            type=TYPE,
            owner=name,
            channels=frozenset([0]),
            pose=Pose(),
            deliver=deliver,
        )
        robot = self.robots[name] = Robot(name, emitter, receiver, listener)
        self.medium.attach(listener)

    def add_module(self, name: str, air: str, relay: bool) -> None:
        queue: deque[Copy] = deque()
        count = self.ledger.station(name, lambda: len(queue))

        def deliver(copy: Copy) -> None:
            self.received(name, copy)
            if copy.packet.air is not None:
                assert copy.packet.air != air
                assert relay
            if sum(len(each.packet.data) for each in queue) + len(copy.packet.data) > 40:
                count.refuse("overflow")
            else:
                queue.append(copy)
            self.check()

        listener = Listener(
            name=name,
            type=TYPE,
            air=air,
            relay=relay,
            channels=None if name == "m1" else frozenset([1]),
            pose=Pose((1.0, 0.0, 0.0)),
            deliver=deliver,
        )
        self.modules[name] = Module(name, listener, queue)
        self.medium.attach(listener)

    @rule(name=st.sampled_from(ROBOTS), size=st.integers(0, 30))
    def send(self, name: str, size: int) -> None:
        self.offer(self.robots[name], size)

    @rule(name=st.sampled_from(ROBOTS), channel=CHANNEL)
    def emit_on(self, name: str, channel: int) -> None:
        self.robots[name].emitter.setChannel(channel)

    @rule(name=st.sampled_from(ROBOTS), range=st.sampled_from([-1.0, 0.0, 1.0, 2.5]))
    def emit_as_far_as(self, name: str, range: float) -> None:
        self.robots[name].emitter.setRange(range)

    @rule(name=st.sampled_from(ROBOTS), channel=CHANNEL)
    def listen_on(self, name: str, channel: int) -> None:
        robot = self.robots[name]
        robot.receiver.setChannel(channel)
        asked = robot.receiver.take_channel()
        if asked is not None:
            self.medium.retune(robot.listener.name, None if asked < 0 else frozenset([asked]))

    @rule(name=st.sampled_from(ROBOTS), place=st.none() | st.sampled_from([0.0, 1.0, 2.0, 4.0]))
    def move(self, name: str, place: float | None) -> None:
        self.robots[name].place = place
        self.medium.place(name, None if place is None else Pose((place, 0.0, 0.0)))

    @rule(name=st.sampled_from(ROBOTS), period=st.sampled_from([0, 1, 32]))
    def enable(self, name: str, period: int) -> None:
        robot = self.robots[name]
        robot.receiver.enable(period, self.now)
        robot.listener.enabled = robot.receiver.enabled

    @rule(name=st.sampled_from(ROBOTS), times=st.integers(1, 3))
    def answer_at_once(self, name: str, times: int) -> None:
        self.robots[name].answers = times

    @rule(name=st.sampled_from(ROBOTS))
    def leave_and_come_back(self, name: str) -> None:
        self.medium.detach(f"{name}.rx")
        self.check()
        self.medium.attach(self.robots[name].listener)

    @rule(ms=st.integers(0, 50))
    def pass_time(self, ms: int) -> None:
        self.now += ms * MS
        for robot in self.robots.values():
            self.depart(robot)
            count = self.ledger.station(f"{robot.name}.rx")
            for reason in robot.receiver.sample(self.now).reasons:
                count.refuse(reason)

    @rule(name=st.sampled_from(ROBOTS))
    def read(self, name: str) -> None:
        if self.robots[name].receiver.nextPacket() is not None:
            self.ledger.station(f"{name}.rx").deliver()

    @rule(
        name=st.sampled_from(sorted(MODULES)),
        channel=CHANNEL,
        owner=st.none() | st.sampled_from(ROBOTS),
    )
    def hardware_receives(self, name: str, channel: int, owner: str | None) -> None:
        self.ledger.station(name).receive()
        packet = Packet(self.words(6), channel, TYPE, name, owner, MODULES[name], sent_ns=self.now)
        self.transmit(packet, 1.0)

    @rule(name=st.sampled_from(sorted(MODULES)))
    def hardware_sent(self, name: str) -> None:
        module = self.modules[name]
        if module.queue:
            module.queue.popleft()
            self.ledger.station(name).deliver()

    def words(self, size: int) -> bytes:
        """Bytes that identify which packet this is."""
        self.sent_packets += 1
        return self.sent_packets.to_bytes(5, "big") + bytes(size - 5) if size >= 5 else b""

    def offer(self, robot: Robot, size: int) -> None:
        reason = robot.emitter.send(self.words(size), self.now)
        self.ledger.emitter(f"{robot.name}.tx").offer(reason)

    def depart(self, robot: Robot) -> None:
        source = f"{robot.name}.tx"
        while (left := robot.emitter.depart(self.now)) is not None:
            assert left.departed_ns <= self.now
            self.ledger.emitter(source).depart()
            packet = Packet(left.data, left.channel, TYPE, source, robot.name, range=left.range)
            self.transmit(replace(packet, sent_ns=left.departed_ns), robot.place)

    def transmit(self, packet: Packet, place: float | None) -> None:
        self.current = (packet, place)
        pose = None if place is None else Pose((place, 0.0, 0.0))
        self.medium.transmit(packet, pose, self.now)

    def notice(self, source: str, text: str) -> None:
        return

    def transmitted(
        self, packet: Packet, names: Sequence[str], reason: NotReceivedReason | None, missed: Missed
    ) -> None:
        assert self.current is not None
        assert packet is self.current[0]
        assert names == self.listening(*self.current)
        others = missed()
        assert not others.keys() & names
        assert packet.owner not in {name.partition(".")[0] for name in others}
        assert (reason is None) == bool(names)
        if reason is not None and reason not in ("no_listener", "channel", "air"):
            assert reason in others.values()
            assert all(later(reason, each) == reason for each in others.values())
        self.check()

    def listening(self, packet: Packet, place: float | None) -> list[str]:
        """Webots' rules and the airs', once more and one by one."""
        listeners = []
        for robot in self.robots.values():
            tuned = robot.receiver.getChannel()
            far = (
                packet.range >= 0
                and place is not None
                and robot.listener.pose is not None
                and math.dist(robot.listener.pose.position, (place, 0, 0)) > packet.range
            )
            if (
                robot.receiver.enabled
                and robot.name != packet.owner
                and (tuned == packet.channel or -1 in (tuned, packet.channel))
                and not far
            ):
                listeners.append((robot.listener.order, robot.listener.name))
        modules: dict[str, list[str]] = {}
        for name, air in MODULES.items():
            listener = self.modules[name].listener
            foreign = packet.air is None or (packet.air != air and listener.relay)
            carries = name == "m1" or packet.channel in (1, -1)
            far = packet.range >= 0 and place is not None and abs(place - 1.0) > packet.range
            if foreign and carries and not far:
                modules.setdefault(air, []).append(name)
        for names in modules.values():
            chosen = "m2" if packet.channel == 1 and "m2" in names else names[0]
            place_in_order = min(self.modules[name].listener.order for name in names)
            listeners.append((place_in_order, chosen))
        return [name for _, name in sorted(listeners)]

    def received(self, name: str, copy: Copy) -> None:
        """In order per source, whole, and never twice."""
        number = int.from_bytes(copy.packet.data[:5], "big")
        assert copy.packet.data[5:] == bytes(len(copy.packet.data) - 5)
        pair = (copy.packet.source, name)
        assert self.last_received.get(pair, 0) < number
        self.last_received[pair] = number

    @invariant()
    def check(self) -> None:
        assert self.ledger.violations() == []

    def teardown(self) -> None:
        for robot in self.robots.values():
            expired = robot.emitter.expire_all()
            self.ledger.emitter(f"{robot.name}.tx").expire(expired, "stopped")
            self.check()


TestMachine = Machine.TestCase
TestMachine.settings = cases(1, stateful_step_count=30)


STATIONS = {"m1": "x", "m2": "x", "m3": "y"}
SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=6)


class Auditor(Observer, PortListener):
    """Looks at the ledger at each event. It raises nothing: stations catch that."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.wrong: list[str] = []

    def look(self, *_: object) -> None:
        self.wrong += self.ledger.violations()

    state = transmitted = delivered = refused = notice = look
    on_ready = on_failed = look


class Fragile(EchoSession):
    """A session that may raise."""

    raises = False

    def receive(self, data: bytes, now: int) -> Any:
        if self.raises:
            raise ZeroDivisionError
        return super().receive(data, now)

    def send(self, packet: Packet, now: int) -> Any:
        if self.raises:
            raise ZeroDivisionError
        return super().send(packet, now)


class StationMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Clock()
        self.ledger = Ledger()
        self.auditor = Auditor(self.ledger)
        self.airs = Airs()
        self.medium = Medium(self.ledger, seed=3, observer=self)
        self.emitters: dict[str, EmitterPort] = {}
        self.receivers: dict[str, ReceiverPort] = {}
        self.stations: dict[str, Station] = {}
        self.transports: dict[str, FakeTransport] = {}
        self.buffers: dict[str, int] = {}
        self.answers: dict[str, int] = dict.fromkeys(ROBOTS, 0)

    @initialize(
        step_ms=st.sampled_from([0, 8, 32]),
        bauds=st.lists(st.sampled_from([-1, 0, 9600]), min_size=3, max_size=3),
        buffers=st.lists(st.sampled_from([-1, 40]), min_size=6, max_size=6),
        relays=st.lists(st.booleans(), min_size=3, max_size=3),
        tokens=st.booleans(),
    )
    def begin(
        self, step_ms: int, bauds: list[int], buffers: list[int], relays: list[bool], tokens: bool
    ) -> None:
        steps = StepClock(self.scheduler.now(), step_ms * MS)
        schedule = Schedule(self.scheduler, steps)
        self.scene = Scene(self.medium, self.scheduler, 2, schedule, self.auditor)
        self.scene.add("a", Circle(center=(0.0, 0.0, 0.0), radius=2.0))
        self.scene.add("b", Pose((1.0, 0.0, 0.0)))
        self.scene.add("c", None)
        for name, baud, buffer in zip(ROBOTS, bauds, buffers, strict=False):
            self.add_robot(name, baud, buffer, step_ms, schedule)
        for (name, air), relay, buffer in zip(STATIONS.items(), relays, buffers[3:], strict=True):
            self.add_station(name, air, relay, buffer, tokens)

    def add_robot(
        self, name: str, baud: int, buffer: int, step_ms: int, schedule: Schedule
    ) -> None:
        fields = EmitterFields(baudRate=baud, bufferSize=buffer, channel=5)
        mount = Mount(name)
        self.emitters[name] = EmitterPort(
            "tx",
            Emitter(fields, self.auditor.look, schedule.steps),
            mount,
            schedule,
            self.ledger,
            self.scene.transmit,
        )
        device: Receiver[Copy] = Receiver(
            ReceiverFields(bufferSize=buffer, channel=5, signalStrengthNoise=0.1),
            step_ms or None,
            self.auditor.look,
        )
        device.enable(32, self.scheduler.now())
        self.receivers[name] = ReceiverPort(
            "rx", device, mount, schedule, self.medium, lambda port: self.read(name), self.auditor
        )

    def add_station(self, name: str, air: str, relay: bool, buffer: int, tokens: bool) -> None:
        common = StationSettings(
            port="fake", baudRate=9600, bufferSize=buffer, relay=relay, sources={"AB12": "a"}
        )
        statistics = StationStatistics(name, self.ledger.station(name), self.auditor)
        receive_filter = ReceiveFilter(
            "radio", air, self.airs, common, statistics, Mount(name), self.scene.transmit
        )
        session = Fragile(tokens=tokens)
        station = Station(session, common, 3, receive_filter, statistics, self.scheduler)
        self.stations[name] = station
        self.buffers[name] = buffer
        station.supervisor = self.auditor
        self.medium.attach(station.listener)

    @rule(name=st.sampled_from(ROBOTS), sizes=SIZES)
    def send(self, name: str, sizes: list[int]) -> None:
        for size in sizes:
            self.emitters[name].send(bytes(size))

    @rule(name=st.sampled_from(ROBOTS), channel=st.sampled_from([-2, -1, 4, 5]))
    def retune(self, name: str, channel: int) -> None:
        self.emitters[name].send(b"once", channel)
        self.receivers[name].setChannel(channel)

    @rule(name=st.sampled_from(ROBOTS), period=st.sampled_from([-1, 0, 1, 64]))
    def enable(self, name: str, period: int) -> None:
        self.receivers[name].enable(period)

    @rule(name=st.sampled_from(ROBOTS), x=st.none() | st.sampled_from([0.0, 3.0]))
    def place(self, name: str, x: float | None) -> None:
        self.scene.place(name, None if x is None else Pose((x, 0.0, 0.0)))

    @rule(name=st.sampled_from(ROBOTS), times=st.integers(1, 3))
    def answer(self, name: str, times: int) -> None:
        self.answers[name] = times

    @rule(name=st.sampled_from(sorted(STATIONS)), late=st.booleans())
    def plug(self, name: str, late: bool) -> None:
        station = self.stations[name]
        station.detach()
        self.transports.pop(name, None)
        station.session.raises = False  # type: ignore[attr-defined]
        if not late:
            self.transports[name] = FakeTransport()
            station.attach(self.transports[name])  # type: ignore[arg-type]

    @rule(name=st.sampled_from(sorted(STATIONS)))
    def unplug(self, name: str) -> None:
        self.stations[name].detach()
        self.transports.pop(name, None)

    @rule(name=st.sampled_from(sorted(STATIONS)), how=st.sampled_from(["full", "gone", "raises"]))
    def break_down(self, name: str, how: str) -> None:
        station = self.stations[name]
        if how == "raises":
            station.session.raises = True  # type: ignore[attr-defined]
        elif name in self.transports:
            setattr(self.transports[name], how, True)

    @rule(name=st.sampled_from(sorted(STATIONS)), data=st.sampled_from([b"ack", b"nak", b"hi"]))
    def receive(self, name: str, data: bytes) -> None:
        station = self.stations[name]
        asks = data in (b"ack", b"nak")
        if not asks or station.session.open_tokens:  # type: ignore[attr-defined]
            station.data_received(data)

    @rule(ms=st.integers(0, 70), late_ns=st.sampled_from([0, 300_000, 40 * MS]))
    def wait(self, ms: int, late_ns: int) -> None:
        self.scheduler.run_until(self.scheduler.now() + ms * MS, late_ns)

    def read(self, name: str) -> None:
        self.auditor.look()
        while self.receivers[name].next_packet() is not None and self.answers[name]:
            self.answers[name] -= 1
            self.emitters[name].send(b"answer")

    def transmitted(
        self, packet: Packet, names: Sequence[str], reason: str | None, missed: Any
    ) -> None:
        missed()
        self.auditor.look()

    def notice(self, source: str, text: str) -> None:
        """Of an unknown position; a fault of a listener would be one, too."""
        self.auditor.look()
        assert source == "medium", text

    @invariant()
    def adds_up(self) -> None:
        self.auditor.look()
        assert self.auditor.wrong == []
        for name, station in self.stations.items():
            assert self.buffers[name] < 0 or station.queued_bytes <= self.buffers[name]

    def teardown(self) -> None:
        for end in (*self.emitters.values(), *self.receivers.values(), *self.stations.values()):
            end.close()
            self.adds_up()
        assert all(station.queued == 0 for station in self.stations.values())


TestLedger = StationMachine.TestCase
TestLedger.settings = cases(1, stateful_step_count=25)


def test_a_port_that_takes_no_bytes_loses_no_copy_on_the_way() -> None:
    machine = StationMachine()
    machine.begin(0, [-1] * 3, [-1] * 6, [False] * 3, tokens=False)
    machine.receive(name="m1", data=b"hi")
    machine.answer(name="a", times=1)
    machine.plug(name="m1", late=False)
    machine.break_down(name="m1", how="full")
    machine.wait(ms=33, late_ns=0)
    machine.adds_up()
    machine.teardown()
