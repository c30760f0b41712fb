"""Robots, stations and their places, doing anything in any order: each observer, at
whatever instant, finds a ledger that adds up."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hilgw.adapters.base import StationSettings
from hilgw.devices.emitter import Emitter
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.receiver import Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.station.receive_filter import ReceiveFilter
from hilgw.engine.station.station import Station
from hilgw.engine.supervisor import PortListener
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.motion import Circle
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.testing.sim import Clock, FakeTransport
from tests.cases import cases
from tests.engine.fakes import EchoSession

MS = 1_000_000
ROBOTS = ("a", "b", "c")
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


class Machine(RuleBasedStateMachine):
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


TestLedger = Machine.TestCase
TestLedger.settings = cases(1, stateful_step_count=25)


def test_a_port_that_takes_no_bytes_loses_no_copy_on_the_way() -> None:
    machine = Machine()
    machine.begin(0, [-1] * 3, [-1] * 6, [False] * 3, tokens=False)
    machine.receive(name="m1", data=b"hi")
    machine.answer(name="a", times=1)
    machine.plug(name="m1", late=False)
    machine.break_down(name="m1", how="full")
    machine.wait(ms=33, late_ns=0)
    machine.adds_up()
    machine.teardown()
