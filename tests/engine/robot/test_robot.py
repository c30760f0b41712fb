"""A robot's devices on the medium: set at run time, in steps or running free."""

from typing import Any

from hypothesis import example, given, strategies as st

from hilgw.devices.emitter import Emitter
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.receiver import Receiver
from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observer
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.engine.robot.schedule import Schedule
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount
from hilgw.testing.sim import Clock

MS = 1_000_000
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
    found = []
    for delay_ns in (0, late_ns):
        bench = TwoRobots(EmitterFields(**line), step_ms=step_ms)
        reasons, when = list[str | None](), 0
        for number, (pause, size) in enumerate(sends):
            when += pause
            bench.at(when, delay_ns)
            reasons.append(bench.tx.send(bytes([number] * size)))
        bench.at(when + 100 * S, delay_ns)
        found.append((reasons, [(packet.data, packet.sent_ns) for packet in bench.sent]))
        assert bench.ledger.violations() == []
    assert found[0] == found[1]
