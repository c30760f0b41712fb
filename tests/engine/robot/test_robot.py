"""A robot's devices on the medium: set at run time, free or stepped, and as Webots does it."""

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.radios import Emitter, Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observer
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.testing.sim import Clock
from tests.cases import cases
from tests.engine.robot.stepped import (
    MS,
    ModelEmitter,
    ModelReceiver,
    ModelRobot,
    ModelWorld,
    Script,
    SteppedGateway,
)

S = 1_000_000_000


class TwoRobots:
    """An Emitter of one robot, a Receiver of another, and a clock."""

    def __init__(
        self,
        emitter: EmitterFields | None = None,
        receiver: ReceiverFields | None = None,
        step_ms: int | None = None,
    ) -> None:
        self.scheduler = Clock()
        self.start = self.scheduler.now()
        self.schedule = Schedule(self.scheduler, StepClock(self.start, (step_ms or 0) * MS))
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self.sent: list[Packet] = []
        self.read: list[tuple[int, Copy]] = []
        self.tx = EmitterPort(
            "tx",
            Emitter(emitter or EmitterFields(), steps=self.schedule.steps),
            Mount("a"),
            self.schedule,
            self.ledger,
            self.transmit,
        )
        fields = receiver or ReceiverFields()
        device: Receiver[Copy] = Receiver(fields, step_ms)
        device.enable(device.default_period_ms, self.start)
        self.rx = ReceiverPort(
            "rx", device, Mount("b"), self.schedule, self.medium, self.read_all, Observer()
        )

    def transmit(self, packet: Packet, mount: Mount) -> None:
        self.sent.append(packet)
        self.medium.transmit(packet)

    def read_all(self, port: ReceiverPort) -> None:
        while (copy := self.rx.next_packet()) is not None:
            self.read.append((self.scheduler.now() - self.start, copy))

    def at(self, after_ns: int, late_ns: int = 0) -> None:
        self.scheduler.run_until(self.start + after_ns, late_ns)

    def why(self) -> dict[str, int]:
        return dict(self.ledger.source("a.tx").not_received)


def test_set_channel_at_run_time_reaches_the_medium() -> None:
    bench = TwoRobots(receiver=ReceiverFields(allowedChannels=(0, 5, -1)))
    assert bench.tx.send(b"1") is None
    assert bench.rx.setChannel(5)
    assert bench.tx.send(b"2") is None
    assert bench.tx.setChannel(5)
    assert bench.tx.send(b"3") is None
    assert bench.rx.setChannel(-1)
    assert bench.tx.send(b"4", channel=77) is None
    assert not bench.rx.setChannel(6)
    bench.at(S)
    assert [copy.packet.data for _, copy in bench.read] == [b"1", b"3", b"4"]
    assert bench.why() == {"channel": 1}
    assert bench.rx.receiver.take_channel() is None
    assert bench.ledger.violations() == []


def test_disabled_at_run_time_it_receives_nothing_and_keeps_what_it_has() -> None:
    bench = TwoRobots()
    bench.tx.send(b"1")
    assert bench.rx.enable(0)
    bench.tx.send(b"2")
    bench.at(100 * MS)
    assert bench.read == []
    assert bench.why() == {"disabled": 1}
    assert bench.rx.enable(10)
    bench.at(200 * MS)
    assert [(when, copy.packet.data) for when, copy in bench.read] == [(110 * MS, b"1")]
    assert not bench.rx.enable(-1)
    bench.tx.send(b"3")
    bench.at(300 * MS)
    assert len(bench.read) == 2
    assert bench.ledger.violations() == []


def test_range_at_run_time_is_that_of_the_next_packet() -> None:
    bench = TwoRobots(emitter=EmitterFields(maxRange=10.0, range=2.0))
    bench.tx.send(b"1")
    assert bench.tx.setRange(50.0)
    bench.tx.send(b"2")
    assert not bench.tx.setRange(-3.0)
    assert bench.tx.setRange(0.0)
    bench.tx.send(b"3")
    assert bench.tx.emitter.range == 0.0
    bench.tx.restore()
    bench.tx.send(b"4")
    assert [packet.range for packet in bench.sent] == [2.0, 10.0, 10.0, 2.0]


LINES = st.fixed_dictionaries(
    {
        "baudRate": st.sampled_from([-1, 0, 300, 9600, 57_600, 921_600]),
        "byteSize": st.integers(8, 12),
        "bufferSize": st.sampled_from([-1, 20, 200]),
    }
)
SENDS = st.lists(st.tuples(st.integers(0, 300 * MS), st.integers(1, 60)), max_size=25)


@example({"baudRate": -1, "byteSize": 8, "bufferSize": 20}, [(1, 1), (0, 1), (0, 19)], 1, 0)
@example({"baudRate": 8000, "byteSize": 8, "bufferSize": 20}, [(0, 1), (MS, 20)], 8, 9)
@given(LINES, SENDS, st.sampled_from([None, 1, 8, 32, 100]), st.integers(0, 3 * MS))
def test_a_late_timer_changes_neither_which_packets_depart_nor_when(
    line: dict[str, Any], sends: list[tuple[int, int]], step_ms: int | None, late_ns: int
) -> None:
    outcomes = []
    for delay_ns in (0, late_ns):
        bench = TwoRobots(EmitterFields(**line), step_ms=step_ms)
        reasons, when = list[str | None](), 0
        for number, (pause, size) in enumerate(sends):
            when += pause
            bench.at(when, delay_ns)
            reasons.append(bench.tx.send(bytes([number] * size)))
        bench.at(when + 100 * S, delay_ns)
        outcomes.append((reasons, [(packet.data, packet.sent_ns) for packet in bench.sent]))
        assert bench.ledger.violations() == []
    assert outcomes[0] == outcomes[1]


# --- random schedules -----------------------------------------------------------------------------

EMITTERS = st.fixed_dictionaries(
    {
        "channel": st.sampled_from([0, 3, -1]),
        "baudRate": st.sampled_from([-1, -1, 0, 300, 9600, 57_600, 999_983]),
        "byteSize": st.sampled_from([8, 10]),
        "bufferSize": st.sampled_from([-1, 0, 32, 100]),
        "range": st.sampled_from([-1.0, -1.0, 0.0, 1.0, 4.0]),
        "maxRange": st.sampled_from([-1.0, -1.0, 0.0, 2.0]),
        "allowedChannels": st.sampled_from([(), (), (0, 3, -1)]),
    }
)
PERIODS = st.sampled_from([0, 1, 16, 32, 33, 50, 96])
RECEIVERS = st.fixed_dictionaries(
    {
        "channel": st.sampled_from([0, 3, -1]),
        "bufferSize": st.sampled_from([-1, 0, 16, 64]),
        "sampling_period_ms": PERIODS,
        "allowedChannels": st.sampled_from([(), (), (0, 3, -1)]),
    }
)
CHANNELS = st.sampled_from([-2, -1, 0, 3, 7, 2**31 - 1, 2**31])
CALLS = st.one_of(
    st.tuples(st.just("send"), st.integers(1, 60)),
    st.tuples(st.just("send"), st.integers(1, 60)),
    st.tuples(st.just("send"), st.integers(1, 60)),
    st.tuples(st.just("emitter_channel"), CHANNELS),
    st.tuples(st.just("range"), st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, float("inf")])),
    st.tuples(st.just("receiver_channel"), CHANNELS),
    st.tuples(st.just("enable"), PERIODS | st.just(-5)),
    st.tuples(st.just("read")),
    st.tuples(st.just("read")),
    st.tuples(st.just("length")),
)
ROBOTS = ("a", "b", "c")
STEPS_MS = st.sampled_from([1, 8, 16, 32, 100])
# (steps from the last call on, thousandths of a step) or, negative, a nanosecond before its end
WAITS = st.tuples(st.sampled_from([0, 0, 0, 1, 1, 2, 5]), st.sampled_from([0, 0, 1, 94, 500, -1]))
ACTS = st.lists(st.tuples(WAITS, st.sampled_from(ROBOTS), CALLS), min_size=5, max_size=80)


def timed(acts: list[Any], step_ns: int) -> dict[str, list[tuple[Any, ...]]]:
    """The calls of each robot, with the instant of each."""
    calls: dict[str, list[tuple[Any, ...]]] = {robot: [] for robot in ROBOTS}
    step = last = 0
    for number, ((steps, part), robot, (word, *given_)) in enumerate(acts):
        step += steps
        last = max(last, step * step_ns + (part * step_ns // 1000 if part >= 0 else step_ns - 1))
        if word == "send":
            given_ = [number.to_bytes(1, "big") * given_[0]]
        calls[robot].append((last, word, *given_))
    return calls


@example(
    [{"bufferSize": 32, "baudRate": -1}] * 3,
    [{}] * 3,
    3000,
    [((0, part), "a", ("send", 20)) for part in (0, 300, 600)],
    0,
)
@example([{"baudRate": 9600}] * 3, [{}] * 3, 32, [((0, 94), "a", ("send", 38))], 0)
@example([{}] * 3, [{}] * 3, 32, [((1, 500), "a", ("send", 1)), ((1, 0), "b", ("read",))], 0)
@example(
    [{}] * 3,
    [{}] * 3,
    32,
    [((0, 0), "a", call) for call in (("send", 1), ("range", 2.0), ("send", 1))]
    + [((1, 0), "a", call) for call in (("range", 0.0), ("send", 1))],
    0,
)
@cases(2)
@given(
    st.lists(EMITTERS, min_size=3, max_size=3),
    st.lists(RECEIVERS, min_size=3, max_size=3),
    STEPS_MS,
    ACTS,
    st.sampled_from([0, 0, 300_000, 70 * MS]),
)
def test_a_stepped_gateway_is_the_model(
    emitters: list[dict[str, Any]],
    receivers: list[dict[str, Any]],
    step_ms: int,
    acts: list[Any],
    late_ns: int,
) -> None:
    """Every call gives back what Webots' gives, and the ledger adds up after each event."""
    for fields in (*emitters, *receivers):
        if fields.get("allowedChannels") and fields["channel"] not in fields["allowedChannels"]:
            fields["channel"] = 0
    robots, models = {}, {}
    for x, name, emitter, receiver in zip((0, 1, 3), ROBOTS, emitters, receivers, strict=True):
        devices = {"tx": {"node": "Emitter", **emitter}, "rx": {"node": "Receiver", **receiver}}
        robots[name] = {"position": [x, 0, 0], "devices": devices}
        model = ModelReceiver(**{"sampling_period_ms": step_ms, **receiver})
        models[name] = ModelRobot(x, ModelEmitter(**emitter), model)
    running, world = SteppedGateway(step_ms, robots, late_ns), ModelWorld(step_ms, models)
    step_ns = step_ms * MS
    calls = timed(acts, step_ns)
    # All look at their queues right after each step, and read them at last, some steps later.
    end = max((each[-1][0] for each in calls.values() if each), default=0) // step_ns + 12
    looks = [(step * step_ns + 1, "length") for step in range(1, end)]
    for number, name in enumerate(ROBOTS):
        calls[name] = sorted(calls[name] + looks, key=lambda call: call[0])
        calls[name] += [(end * step_ns + number, "read")] * (len(acts) + 1)
    scripts = [Script(running, name, calls[name]) for name in ROBOTS]
    running.begin()
    running.at((end + 1) * step_ns + 2 * late_ns + 100 * MS)
    made = sorted(
        ((when, order, name, call, result))
        for name, script in zip(ROBOTS, scripts, strict=True)
        for order, (when, call, result) in enumerate(script.made)
    )
    assert len(made) == sum(map(len, calls.values()))
    for when, _, name, call, result in made:
        expected = world.call(when, name, *call)
        assert result == expected, (when / step_ns, name, call)
    running.settle()
    world.run_until(running.now())
    assert world.departed == [
        ((packet.sent_ns - running.start) // step_ns, packet.owner, packet.data, packet.channel)
        for packet in running.auditor.sent
    ]
    stations = running.gateway.report()["stations"]
    for name, robot in world.robots.items():
        assert stations[f"{name}.rx"]["refused"].get("overflow", 0) == robot.receiver.overflows
    running.close()


# --- what schedules do not show -------------------------------------------------------------------


def test_notices_are_those_of_the_device() -> None:
    """What the library prints, here under the name of the station."""
    devices = {"tx": {"node": "Emitter", "channel": 3, "allowedChannels": [3]}}
    running = SteppedGateway(32, {"a": {"devices": {**devices, "rx": {"node": "Receiver"}}}})
    robot = running.gateway.robots["a"]
    assert robot.emitters["tx"].send(b"") is not None
    assert not robot.receivers["rx"].enable(-5)
    assert running.auditor.notices == [
        ("a.tx", "wb_emitter_send(): invalid size=0 argument."),
        ("a.rx", "wb_receiver_enable() called with negative sampling period."),
    ]
    running.close()


@pytest.mark.parametrize("step_ms", [32, None])
def test_a_beacon_reads_its_queue_to_the_end_and_others_what_they_want(step_ms: int | None) -> None:
    """Both get 2 packets of 6 bytes in each 32 ms, and have room for 16."""
    receiver = {"node": "Receiver", "bufferSize": 16, "sampling_period_ms": 32}
    beacon = {"kind": "beacon", "emitter": "tx", "receiver": "rx", "period_ms": 86_400_000}
    robots = {
        "a": {"devices": {"tx": {"node": "Emitter"}}},
        "b": {
            "devices": {"rx": receiver, "tx": {"node": "Emitter", "channel": 99}},
            "controller": beacon,
        },
        "c": {"devices": {"rx": receiver, "tx": {"node": "Emitter"}}},
        "d": {"devices": {"rx": receiver}},
    }
    running = SteppedGateway(step_ms, robots)
    reader = Script(running, "c", [(5 * 32 * MS + 9 * MS, "read")])
    running.begin()
    for period in range(10):
        running.at(period * 32 * MS + 1)
        for _ in range(2):
            assert running.gateway.robots["a"].emitters["tx"].send(b"123456") is None
    running.at(11 * 32 * MS)
    stations = running.gateway.report()["stations"]
    assert running.gateway.robots["b"].summary() == "sent 1, received 20"
    assert stations["b.rx"]["refused"] == {}
    ((_, _, first_read),) = reader.made
    assert first_read is not None and first_read[0] == b"123456"
    assert (stations["c.rx"]["delivered"], stations["c.rx"]["queued"]) == (1, 2)
    assert stations["c.rx"]["refused"] == {"overflow": 17}
    # Nothing controls it: the gateway reads, so that what reached it is seen.
    assert (stations["d.rx"]["delivered"], stations["d.rx"]["refused"]) == (20, {})
    running.close()


@pytest.mark.parametrize("station", ["a.tx", "u"])
def test_a_channel_beyond_32_bits_is_refused(station: str) -> None:
    uart = {"kind": "uart", "port": "loop://", "mapping": {"by": "header"}}
    robots = {"a": {"devices": {"tx": {"node": "Emitter"}}}}
    running = SteppedGateway(None, robots, adapters={"u": uart})
    assert running.gateway.send(station, b"x", 2**31) == "channel"
    assert running.gateway.send(station, b"x", 2**31 - 1) is None
    assert station != "u" or running.gateway.report()["stations"]["u"]["queued"] == 1
    running.close()


def test_a_pose_set_behind_a_step_end_is_not_that_of_its_packets() -> None:
    """The timer is late: the packets of the step have not left when the pose is set."""
    robots = {
        "a": {"position": [0, 0, 0], "devices": {"tx": {"node": "Emitter", "range": 1.0}}},
        "b": {"position": [0.5, 0, 0], "devices": {"rx": {"node": "Receiver"}}},
    }
    running = SteppedGateway(32, robots, late_ns=5 * MS)
    running.begin()
    gateway = running.gateway
    assert gateway.robots["a"].emitters["tx"].send(b"before") is None
    running.at(32 * MS + 1)
    assert running.auditor.sent == []
    gateway.place("b", Pose((5.0, 0.0, 0.0)))
    assert gateway.robots["a"].emitters["tx"].send(b"after") is None
    running.at(96 * MS)
    assert gateway.report()["stations"]["b.rx"]["delivered"] == 1
    assert gateway.report()["medium"]["not_received"] == {"range": 1}
    running.close()
