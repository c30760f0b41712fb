"""Robots, receivers and real modules doing anything in any order: what must hold at every instant.

The machine has Webots' rules of its own (`listening`), keeps its own account of what was
sent and received, and looks at the ledger after each call.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hilgw.devices.emitter import Emitter
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.receiver import Receiver
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.matching import later
from hilgw.medium.medium import Medium, Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import NotReceivedReason
from tests.cases import cases

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
        found = []
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
                found.append((robot.listener.order, robot.listener.name))
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
            found.append((place_in_order, chosen))
        return [name for _, name in sorted(found)]

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
