"""Observers of lines and of events, and neighbours: what each gets, and what none of them costs."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.control_loop.servers.webots_server import WebotsPort
from hilgw.engine.lines import Lines, Wrapping
from hilgw.engine.neighbour import Neighbour, Outlet
from hilgw.engine.observer import Direction, LineEvent, Observer, Observers, PoseEvent, State
from hilgw.engine.proxy.server import ProxyServer
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.testing.sim import Clock, FakeTransport, Recorder, SimEventLoop, local_sockets
from hilgw.transports.base import LostHandler, ReadHandler
from tests.engine.fakes import Poses

CONFIGS = Path(__file__).parents[2] / "configs"
SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Bytes:
    """What an observer gets."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Direction, bytes, int]] = []

    def __call__(self, event: LineEvent) -> None:
        self.events.append((event.part, event.direction, event.data, event.now))

    def of(self, name: str, direction: Direction) -> bytes:
        return b"".join(e[2] for e in self.events if e[:2] == (name, direction))


def lines_of(clock: Clock) -> Lines:
    return Lines(Observer(), clock.now)


async def turn() -> None:
    await asyncio.sleep(0)


async def test_an_observer_comes_and_goes_while_a_line_is_open(clock: Clock) -> None:
    lines, transport, got, seen = lines_of(clock), FakeTransport(), list[bytes](), Bytes()
    assert lines.opened("part", transport) is transport
    transport.start(got.append, lambda error: None)
    for observer in (None, seen, None, seen, seen):
        lines.observe(observer)
        transport.send(b"in")
        transport.write(b"out")
        assert ({"write", "start"} <= set(vars(transport))) is (observer is not None)
        await turn()
    assert got == [b"in"] * 5
    assert transport.data() == b"out" * 5
    assert [event[:3] for event in seen.events] == [
        ("part", RECEIVED, b"in"),
        ("part", SENT, b"out"),
    ] * 3


async def test_an_observer_follows_a_line_to_its_next_user(clock: Clock) -> None:
    """The handshake of a controller starts its stream several times."""
    lines, transport, first, second = lines_of(clock), FakeTransport(), list[bytes](), list[bytes]()
    seen = Bytes()
    lines.observe(seen)
    lines.opened("part", transport, b"early")
    transport.start(first.append, lambda error: None)
    transport.send(b"1")
    transport.start(second.append, lambda error: None)
    transport.send(b"2")
    lines.observe(None)
    transport.send(b"3")
    await turn()
    assert (first, second) == ([b"1"], [b"2", b"3"])
    assert seen.events == []  # what was not delivered yet ends with the observation
    lines.observe(seen)
    transport.send(b"4")
    await turn()
    assert seen.of("part", RECEIVED) == b"4"


async def test_a_refused_write_is_not_sent(clock: Clock) -> None:
    lines, transport, seen = lines_of(clock), FakeTransport(), Bytes()
    lines.observe(seen)
    lines.opened("part", transport)
    transport.full = True
    with pytest.raises(Exception, match="full"):
        transport.write(b"lost")
    await turn()
    assert seen.events == []


async def test_an_observer_that_raises_or_writes_loses_no_bytes(clock: Clock) -> None:
    """Bytes of one turn are reported together; what an observer writes is reported after them."""
    lines, transport, seen = lines_of(clock), FakeTransport(), list[bytes]()
    faults: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))

    def on_bytes(event: LineEvent) -> None:
        seen.append(event.data)
        if event.data == b"1":
            transport.write(b"3")
            raise RuntimeError("a fault of the observer")

    lines.opened("part", transport)
    lines.observe(on_bytes)
    for data in (b"1", b"2"):
        transport.write(data)
    assert seen == []
    for _ in range(3):
        await turn()
    assert (seen, len(faults)) == ([b"1", b"2", b"3"], 1)


async def test_a_tap_gets_the_bytes_within_the_write_and_beside_an_observer(clock: Clock) -> None:
    """It needs no turn of the event loop; ended, the line is as without it."""
    lines, transport, seen = lines_of(clock), FakeTransport(), Bytes()
    lines.opened("part", transport)
    transport.start(lambda data: None, lambda error: None)
    first, second = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    lines.tap(first.append)
    transport.write(b"1")
    transport.send(b"2")
    now = clock.now()
    assert first == [("bytes", now, "part", b"1", True), ("bytes", now, "part", b"2", False)]
    clock.run(1)
    lines.observe(seen)
    lines.tap(second.append)
    transport.write(b"3")
    now = clock.now()
    clock.run(1)
    assert seen.events == []  # in no write: an observer that blocks delays no emergency stop
    await turn()
    assert seen.events == [("part", SENT, b"3", now)]
    lines.untap(first.append)
    lines.observe(None)
    transport.write(b"4")
    other = lines.opened("other", FakeTransport(), b"early")
    other.write(b"5")
    assert [event[3] for event in first] == [b"1", b"2", b"3"]
    assert [event[2:4] for event in second] == [
        ("part", b"3"),
        ("part", b"4"),
        ("other", b"early"),
        ("other", b"5"),
    ]
    lines.untap(second.append)
    assert not {"write", "start"} & (set(vars(transport)) | set(vars(other)))
    transport.write(b"6")
    assert len(second) == 4


class Losing(FakeTransport):
    """A fault: nothing that is sent arrives."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._inner.start(lambda data: self._on_data(data), on_lost)

    def write(self, data: bytes) -> None:
        """Lost."""


async def test_a_wrapping_stands_in_place_of_the_connection(clock: Clock) -> None:
    lines, transport, seen = lines_of(clock), FakeTransport(), Bytes()
    lines.wrappings.append(lambda name, inner: Losing(inner) if name == "faulty" else inner)
    assert lines.opened("whole", transport) is transport
    faulty: Any = lines.opened("faulty", transport)
    got: list[bytes] = []
    faulty.start(got.append, lambda error: None)
    lines.observe(seen)
    faulty.write(b"out")
    transport.send(b"in")
    await turn()
    assert (transport.data(), got) == (b"", [b"in"])
    assert (seen.of("faulty", SENT), seen.of("faulty", RECEIVED)) == (b"out", b"in")


def broken(name: str, line: Any) -> Any:
    raise RuntimeError("no fault today")


def busy(name: str, line: Any) -> Any:
    raise PortError("another program has it", reason=PortError.BUSY)


@pytest.mark.parametrize(
    ("wrapping", "reason", "text"),
    [
        (broken, PortError.LOST, "part: the wrapping of its line failed"),
        (lambda name, line: [], PortError.LOST, "part: the wrapping of its line failed"),
        (busy, PortError.BUSY, "another program has it"),
    ],
)
async def test_a_wrapping_that_raises_is_an_opening_that_failed(
    wrapping: Wrapping, reason: str, text: str, clock: Clock
) -> None:
    lines, transport = lines_of(clock), FakeTransport()
    lines.wrappings += [lambda name, inner: Losing(inner), wrapping]
    with pytest.raises(PortError, match=text) as raised:
        lines.opened("part", transport)
    assert raised.value.reason == reason
    assert transport.closed


# --- all lines of a gateway -----------------------------------------------------------------------

REAL_TIME = "kind: python", "federation:", "program:"
SHIPPED = [
    path
    for path in sorted(CONFIGS.glob("*.yaml"))
    if not any(each in path.read_text() for each in REAL_TIME)
]

WEBOTS = (WebotsPort, ProxyServer)


class BrokenAtFirst:
    """A wrapping that raises at the first opening of each line. opened: the names of the others.
    closed: of those that failed."""

    def __init__(self) -> None:
        self.failed: set[str] = set()
        self.opened: set[str] = set()
        self.closed: set[str] = set()

    def __call__(self, name: str, line: Any) -> Any:
        if name in self.failed:
            self.opened.add(name)
            return line
        self.failed.add(name)
        close = line.close

        def closing() -> None:
            self.closed.add(name)
            close()

        line.close = closing
        raise RuntimeError("broken")


def run_observed(
    path: Path, *wrappings: Wrapping, log: Recorder | None = None, run_s: float = 3.5
) -> tuple[Bytes, Bytes, Any]:
    """What passed at the gateway's ends of its lines, and at those of the mocks."""
    airs = load_config(str(path), [], "loopback").config.airs
    without = [
        f'airs."{air}".nodes."{name}".link=null'  # they would be ptys
        for air, config in airs.items()
        for name, node in config.nodes.items()
        if node.link is not None
    ]
    config = load_config(str(path), without, "loopback").config
    time, seen, at_mocks = Clock(), Bytes(), Bytes()

    async def run() -> Any:
        watching = Observer()
        watching.line_bytes = seen
        observers = (log or Recorder(), watching)
        gateway = build(config, asyncio.get_running_loop(), *observers, timer=time)
        gateway.lines.wrappings += wrappings
        for host in gateway.hosts:
            host.lines.observe(at_mocks)
        await gateway.run(asyncio.Event(), run_s)
        gateway.close()
        return gateway

    with local_sockets(), asyncio.Runner(loop_factory=lambda: SimEventLoop(time)) as runner:
        return seen, at_mocks, runner.run(run())


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.stem)
def test_the_lines_of_all_parts_pass_here(config: Path) -> None:
    seen, _, gateway = run_observed(config)
    expected = {*gateway.supervisors, *(f"{n}.webots" for n in gateway.report().get("proxies", ()))}
    for name in expected:
        assert seen.of(name, SENT) or seen.of(name, RECEIVED), name
    assert {event[0] for event in seen.events} == expected
    times = [event[3] for event in seen.events]
    assert times == sorted(times)


# An adapter, robots on a line and on TCP, and each kind of server.
EACH_KIND = ("uart", "shadow", "wc2ec", "webots", "webots-controller", "webots-proxy")


@pytest.mark.parametrize("config", EACH_KIND)
def test_every_line_whose_wrapping_failed_is_opened_again(config: str) -> None:
    first, log = BrokenAtFirst(), Recorder()
    _, _, gateway = run_observed(CONFIGS / f"{config}.yaml", first, log=log, run_s=4)
    ended = first.failed - first.opened  # as a Webots controller does that is disconnected
    assert ended <= {name for name, port in gateway.supervisors.items() if type(port) in WEBOTS}
    assert not any(state is State.UP for name, state, _ in log.states if name in ended)
    assert first.closed == first.failed
    failed = "the wrapping of its line failed"
    shown = [f"{name}: {reason}" for name, _, reason in log.states] + log.notices
    for name in first.failed:
        assert any(f"{name}: {failed}" in text for text in shown), name


EVENT = PoseEvent("rover", None, 5)


def test_without_an_observer_a_kind_costs_one_test() -> None:
    stream, poses = Observers(Recorder()), Poses()
    often = (stream.motor_command, stream.sensor_value, stream.line_bytes, stream.transmitted)
    assert often == (None, None, None, None) and stream.pose_change is None
    stream.add(poses)
    assert stream.pose_change is not None
    stream.pose_change(EVENT)
    stream.remove(poses)
    assert stream.pose_change is None and poses.events == [EVENT]
    stream.remove(poses)  # once more: nothing to do


def test_each_event_goes_to_all_that_take_its_kind_and_a_failing_one_harms_no_other() -> None:
    class Failing(Observer):
        def notice(self, source: str, text: str) -> None:
            raise ValueError(text)

    first, second, poses, failing = Recorder(), Recorder(), Poses(), Failing()
    faults: list[tuple[Observer, str]] = []
    stream = Observers(
        first,
        failing,
        poses,
        second,
        on_fault=lambda each, error: faults.append((each, str(error))),
    )
    stream.notice("a", "one")
    stream.notice("a", "two")
    stream.state("a", State.UP, "")
    assert first.notices == second.notices == ["one", "two"]
    assert first.states == second.states == [("a", State.UP, "")]
    assert poses.events == []
    assert faults == [(failing, "one")]  # reported once


@dataclass
class EqualToOthers(Observer):
    seen: int = 0

    def notice(self, source: str, text: str) -> None:
        self.seen += 1


def test_equal_observers_are_two() -> None:
    one, two = EqualToOthers(), EqualToOthers()
    stream = Observers(one, two)
    stream.notice("a", "text")
    stream.remove(one)
    stream.notice("a", "text")
    assert (one.seen, two.seen) == (1, 2)


def test_an_observer_may_take_some_kinds_only() -> None:
    recorder, stream = Recorder(), Observers()
    stream.add(recorder, ["state"])
    stream.notice("a", "text")
    stream.state("a", State.UP, "")
    stream.add(recorder, ["notice"])
    stream.notice("a", "more")
    stream.state("a", State.CLOSED, "")
    assert (recorder.notices, recorder.entered) == (["more"], [State.UP])


def test_an_observer_may_leave_and_another_come_during_an_event() -> None:
    class Leaving(Recorder):
        def notice(self, source: str, text: str) -> None:
            super().notice(source, text)
            stream.remove(self)
            stream.add(late)

    leaving, last, late = Leaving(), Recorder(), Recorder()
    stream = Observers(leaving, last)
    stream.notice("a", "one")
    stream.notice("a", "two")
    assert (leaving.notices, last.notices, late.notices) == (["one"], ["one", "two"], ["two"])


def test_a_source_learns_whether_its_kind_is_taken() -> None:
    seen: list[bool] = []
    stream, first, second = Observers(), Poses(), Poses()
    stream.switch("pose_change", lambda report: seen.append(report is not None))
    for change in (stream.add, stream.remove):
        for observer in (first, second):
            change(observer)
    assert seen == [False, True, True, True, False]


class CountedNeighbour:
    def __init__(self) -> None:
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self.carried: list[Copy] = []
        self.refuses: RefusedReason | None = None
        lines = Lines(Observer(), lambda: 0)
        self.neighbour = Neighbour("field", lines, "tcp/field", self.carry, self.medium)

    def carry(self, copy: Copy, outlet: Outlet) -> RefusedReason | None:
        if self.refuses is None:
            self.carried.append(copy)
        return self.refuses

    def send(self, channel: int = 1, pose: Pose | None = None, **more: object) -> None:
        emitter = self.ledger.emitter("tx")
        emitter.offer(None)
        emitter.depart()
        packet = Packet(b"x", channel, "radio", "tx", **more)  # type: ignore[arg-type]
        self.medium.transmit(packet, pose, mounted_on="rover")

    def counts(self) -> tuple[int, int, int, dict[str, int]]:
        assert self.ledger.violations() == []
        counts = self.ledger.station("radio@field").as_dict()
        return counts["accepted"], counts["delivered"], counts["queued"], counts["refused"]


def test_it_gets_what_it_listens_to_while_it_is_there() -> None:
    bench = CountedNeighbour()
    bench.send()
    bench.neighbour.listen({"radio": frozenset({1})})
    assert (bench.neighbour.state, bench.neighbour.is_up) == (State.UP, True)
    bench.send()
    bench.send(2)
    bench.neighbour.listen({"radio": None})
    bench.send(2)
    bench.neighbour.listen({"infra-red": None})
    bench.send()
    bench.neighbour.leave(State.WAITING, "lost")
    bench.send()
    assert [each.packet.channel for each in bench.carried] == [1, 2]
    assert (bench.neighbour.ups, bench.neighbour.reason) == (1, "lost")


def test_range_and_pose_are_for_the_neighbour_to_judge() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    pose = Pose((1000.0, 0.0, 0.0))
    bench.send(pose=pose, range=0.1)
    (copy,) = bench.carried
    assert (copy.origin, copy.mounted_on) == (pose, "rover")


def test_what_came_from_another_gateway_does_not_go_to_one() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    bench.medium.transmit(Packet(b"x", 1, "radio", "tx@desk", gateway="desk"), None)
    assert bench.carried == []


def test_copies_wait_until_they_are_settled() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    for _ in range(5):
        bench.send()
    assert bench.counts() == (5, 0, 5, {})
    outlet = bench.neighbour.outlet("radio")
    outlet.settle(2, 1)
    assert bench.counts() == (5, 2, 2, {"link": 1})
    outlet.settle(0, 2, PacketRefused.UNCONFIRMED)
    assert bench.counts() == (5, 2, 0, {"link": 1, "unconfirmed": 2})
    outlet.settle(1, -1, PacketRefused.UNCONFIRMED)  # it is back, and reports on one of them
    assert bench.counts() == (5, 3, 0, {"link": 1, "unconfirmed": 1})
    bench.refuses = PacketRefused.OVERFLOW
    bench.send()
    assert bench.counts() == (6, 3, 0, {"link": 1, "unconfirmed": 1, "overflow": 1})
    bench.refuses = None
    bench.send()
    outlet.expire()
    assert bench.ledger.violations() == []
    assert bench.ledger.station("radio@field").as_dict()["expired"] == 1
