"""The subscribers of a control socket: what each gets, and what it costs the others."""

import asyncio
import json
import math
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control.events import Accepted, MotorCommand, MotorField, MotorSettings
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits, Refusal
from hilgw.engine.control_socket.subscriptions import (
    BUFFER_BYTES,
    EVENT_BYTES,
    IN_WINDOW,
    SEND_NS,
    TOGETHER,
    WINDOW_NS,
    Filter,
    Subscriber,
    Subscriptions,
    in_window,
)
from hilgw.engine.observer import (
    KINDS,
    CommandEvent,
    Direction,
    FrameEvent,
    LineEvent,
    Observers,
    PoseEvent,
    State,
    ValueEvent,
)
from hilgw.engine.recording import event_stream
from hilgw.events import kinds as events, wire
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import NotReceivedReason, RequestRefused
from hilgw.testing.sim import Clock
from hilgw.units import NS_PER_S
from tests.cli.output.test_federation import gateway

PACKET = Packet(b"\x00\xff", 4, "radio", "rover.emitter", rssi_dbm=-40.0)

DEVICES = {
    ("rover", "distance"): Device(name="distance", kind="PositionSensor", index=1),
    ("rover", "wheel"): Device(
        name="wheel", kind="RotationalMotor", index=3, limits=MotorLimits(max_velocity=6.0)
    ),
}


class Subscribed:
    """Subscribers of a gateway whose time is simulated; the real one is another clock."""

    def __init__(self) -> None:
        self.observers = Observers()
        self.clock, self.real = Clock(), Clock()
        self.real.run(5)
        self.began = self.real.now()
        self.status: dict[str, Any] = {}
        times = self.clock, self.real
        self.subscriptions = Subscriptions(
            *(self.observers, *times, lambda *names: DEVICES.get(names), lambda: 1.5),
            status=self.status_steps,
        )
        self.ends: list[socket.socket] = []

    def status_steps(self) -> Iterator[events.StatusJson | None]:
        made = json.dumps(self.status)
        yield from [*[None] * 20, events.StatusJson(made)] if self.status else ()

    def subscribe(self, **chosen: Any) -> Callable[[], list[dict[str, Any]]]:
        """Returns what reads the events that have come since the last call."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
            self.ends.append(end)
        chosen = {
            name: value if isinstance(value, int) else frozenset(value)
            for name, value in chosen.items()
        }
        self.subscriber = Subscriber(ours, Filter(**chosen), asyncio.get_running_loop())
        self.subscriptions.add(self.subscriber)
        self.theirs = theirs
        data = bytearray()

        def read() -> list[dict[str, Any]]:
            try:
                while got := theirs.recv(1 << 20):
                    data.extend(got)
            except BlockingIOError:
                pass
            *lines, rest = bytes(data).split(b"\n")
            data[:] = rest
            return [json.loads(line) for line in lines]

        return read


@pytest.fixture
def bench() -> Iterator[Subscribed]:
    made = Subscribed()
    yield made
    for end in made.ends:
        end.close()


def transmit(bench: Subscribed, *, source: str = "rover.emitter", lost: bool = False) -> None:
    report = bench.observers.transmitted
    if report is not None:
        reason = NotReceivedReason.NO_LISTENER if lost else None
        to = [] if lost else ["xbee0"]
        report(replace(PACKET, source=source), to, reason, lambda: {"far": NotReceivedReason.RANGE})


async def encoded() -> None:
    """What is encoded and written in later turns of the event loop has been."""
    for _ in range(BUFFER_BYTES // EVENT_BYTES // TOGETHER + 3):
        await asyncio.sleep(0)


async def sent(bench: Subscribed) -> None:
    """So has what waits for more, to be sent together."""
    await encoded()
    bench.real.run(SEND_NS)
    await encoded()


async def test_every_kind_of_event(bench: Subscribed) -> None:
    read = bench.subscribe()
    bench.clock.run(7)
    to: Any = bench.observers
    to.sensor_value(ValueEvent("rover", "gps", (1.0, math.nan), 0))
    to.sensor_value(ValueEvent("rover", "distance", 1.0, 0))
    wheel = MotorCommand(3, MotorField.POSITION, math.inf)
    to.motor_command(CommandEvent("rover", "", "wheel", wheel, Accepted.SENT, {"velocity": 3.0}, 0))
    refusal = Refusal(RequestRefused.DISARMED, "the robot is not armed")
    arm = MotorSettings(1, 0.5, 2.0, -1.0, 10.0)
    to.motor_command(CommandEvent("rover", "remote", "arm", arm, refusal, {}, 0))
    to.line_bytes(LineEvent("xbee0", Direction.SENT, b"\x7e", 0))
    to.frame(FrameEvent("xbee0", Direction.RECEIVED, b"\x7e", lambda data: f"{len(data)} B"))
    to.mode("rover", RobotMode.REMOTE)
    to.pose_change(PoseEvent("rover", Pose((1.0, 2.0, 3.0)), 0))
    to.pose_change(PoseEvent("rover", None, 0))
    to.delivered("xbee0", Copy(PACKET, 0))
    to.refused("xbee0", "queue_full", "full")
    to.state("xbee0", State.UP, "XBee 3")
    to.armed("rover", True, "armed")
    to.stopped("rover", "disarmed", "the user disarmed the robot")
    to.link("gateway@bench", gateway())
    to.output("rover.controller", "hello")
    to.notice("xbee0", "a remark")
    transmit(bench)
    await sent(bench)
    got = read()
    times = {"mono_ns", "wall_s", "time_ns"}
    assert [got[-1][name] for name in sorted(times)] == [bench.began, bench.clock.now(), 1.5]
    shown = [{name: value for name, value in each.items() if name not in times} for each in got]
    identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    settings = {"position": 0.5, "velocity": 2.0, "acceleration": -1.0, "available": 10.0}
    assert shown == [
        {"event": "value", "robot": "rover", "device": "gps",
         "value": [1.0, "nan"], "fields": [], "units": []},
        {"event": "value", "robot": "rover", "device": "distance",
         "value": 1.0, "fields": ["value"], "units": ["rad"]},
        {"event": "command", "robot": "rover", "body": "", "device": "wheel",
         "given": {"position": "inf"}, "outcome": "sent", "reason": "",
         "applied": {"velocity": 3.0}, "units": {"position": "rad", "velocity": "rad/s"},
         "limits": {"velocity": [-6.0, 6.0]}},
        {"event": "command", "robot": "rover", "body": "remote", "device": "arm",
         "given": settings, "outcome": "refused", "reason": "disarmed",
         "applied": {}, "units": {}, "limits": {}},
        {"event": "bytes", "part": "xbee0", "direction": "sent", "data": "7e"},
        {"event": "frame", "station": "xbee0", "direction": "received", "data": "7e",
         "text": "1 B"},
        {"event": "mode", "robot": "rover", "mode": "remote"},
        {"event": "placed", "name": "rover", "position": [1.0, 2.0, 3.0], "rotation": identity},
        {"event": "placed", "name": "rover", "position": None, "rotation": None},
        {"event": "delivered", "station": "xbee0", "source": "rover.emitter", "data": "00ff"},
        {"event": "refused", "name": "xbee0", "reason": "queue_full", "text": "full"},
        {"event": "port", "name": "xbee0", "state": "up", "reason": "XBee 3"},
        {"event": "armed", "robot": "rover", "armed": True, "text": "armed"},
        {"event": "stopped", "robot": "rover", "reason": "disarmed",
         "text": "the user disarmed the robot"},
        {"event": "link", "name": "gateway@bench", "state": "up", "reason": "",
         "p50_ms": 0.2123, "p99_ms": 1.5, "round_trip_ms": 0.4, "clock_offset_s": -12.5,
         "counts": {"sent": 9, "delivered": 7, "lost": 2, "unsettled": 0, "unconfirmed": 0,
                    "received": 5, "missed": 1, "late": 0, "entered": 4, "dropped": 1},
         "robots": ["rover"], "listeners": {"rover.rx": "radio", "xbee0": "radio"}},
        {"event": "output", "source": "rover.controller", "line": "hello"},
        {"event": "notice", "source": "xbee0", "text": "a remark"},
        {"event": "packet", "source": "rover.emitter", "channel": 4, "type": "radio",
         "data": "00ff", "received_by": ["xbee0"], "not_received": "",
         "missed": {"far": "range"}, "rssi_dbm": -40.0},
    ]  # fmt: skip
    assert {each["event"] for each in got} == set(events.LIVE) - {"left_out", "status"}


async def test_a_status_comes_at_once_and_then_once_a_second(bench: Subscribed) -> None:
    bench.status = {"number": 1}
    others, read = bench.subscribe(kinds={"armed"}), bench.subscribe(kinds={"status", "port"})
    bench.subscriptions.show(bench.subscriber, [events.Port("xbee0", "up", "", since_ns=0)])
    await sent(bench)
    first, second = read()
    assert second["event"] == "port"  # all robots are in the status: before what may be many
    assert (first["status"], first["since_ns"]) == ({"number": 1}, first["time_ns"])
    bench.status = {"number": 2}
    for seconds, expected in ((0.9, []), (0.2, [{"number": 2}]), (2.0, [{"number": 2}] * 2)):
        bench.real.run(int(seconds * NS_PER_S))
        await sent(bench)
        messages = read()
        assert [each["status"] for each in messages] == expected
        assert not any("since_ns" in each for each in messages)
    assert not others()


async def test_a_status_that_is_longer_than_all_that_may_wait_comes_too(bench: Subscribed) -> None:
    bench.status = {"long": "x" * (2 * BUFFER_BYTES)}
    read = bench.subscribe(kinds={"status"})
    bench.subscriptions.show(bench.subscriber, [])
    messages: list[dict[str, Any]] = []
    for _ in range(1000):
        await asyncio.sleep(0)
        messages += read()
    assert [len(each["status"]["long"]) for each in messages] == [2 * BUFFER_BYTES]


async def test_filters_of_kinds_names_and_losses(bench: Subscribed) -> None:
    lost = bench.subscribe(kinds=["packet"], lost=True)
    of_robot = bench.subscribe(names=["rover"])
    of_station = bench.subscribe(kinds=["packet"], names=["xbee0"])
    of_device = bench.subscribe(names=["other.emitter"])
    transmit(bench)
    transmit(bench, source="other.emitter", lost=True)
    bench.observers.notice("rover.controller", "a remark")
    await sent(bench)
    assert [each["source"] for each in lost()] == ["other.emitter"]
    assert [each["event"] for each in of_robot()] == ["packet", "notice"]
    assert [each["source"] for each in of_station()] == ["rover.emitter"]
    assert [each["source"] for each in of_device()] == ["other.emitter"]


async def test_without_a_subscriber_nothing_is_observed(bench: Subscribed) -> None:
    assert bench.observers.transmitted is None
    bench.subscribe(kinds=["value"])
    assert bench.observers.transmitted is None
    assert bench.observers.sensor_value is not None
    bench.subscriptions.remove(bench.subscriber)
    assert all(kind not in vars(bench.observers) for kind in KINDS)
    bench.real.run(2 * WINDOW_NS)
    transmit(bench)  # it is reported to no observer


async def test_of_an_event_that_no_subscriber_takes_nothing_is_made(
    bench: Subscribed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All kinds are taken, of another robot: a packet waits for that, and is not encoded."""
    read, to = bench.subscribe(names=["other"]), bench.subscriptions
    for made in ("state_of", "placed", "replace"):
        monkeypatch.setattr(event_stream, made, None)
    for made in ("link", "encode_event", "encode_with_data"):
        monkeypatch.setattr(wire, made, None)
    wheel = MotorCommand(3, MotorField.VELOCITY, 1.0)
    unread: Any = None
    to.sensor_value(ValueEvent("rover", "distance", 1.0, 0))
    to.motor_command(CommandEvent("rover", "", "wheel", wheel, Accepted.SENT, {}, 0))
    to.line_bytes(LineEvent("xbee0", Direction.SENT, unread, 0))
    to.frame(FrameEvent("xbee0", Direction.SENT, unread, unread))
    to.pose_change(PoseEvent("rover", unread, 0))
    to.link("gateway@bench", unread)
    to.notice("xbee0", "a remark")
    to.transmitted(PACKET, ["xbee0"], None, dict)
    to.encode()
    assert read() == []


@pytest.mark.parametrize(
    ("encoder", "emits"), [("encode_with_data", True), ("encode_event", False)]
)
async def test_each_event_is_encoded_once_for_all(
    bench: Subscribed, monkeypatch: pytest.MonkeyPatch, encoder: str, emits: bool
) -> None:
    encoded: list[object] = []
    encode = getattr(wire, encoder)

    def counted(*event: Any) -> bytes:
        encoded.append(event)
        return bytes(encode(*event))

    monkeypatch.setattr(wire, encoder, counted)
    reads = [bench.subscribe() for _ in range(10)]
    if emits:
        transmit(bench)
    else:
        bench.observers.notice("xbee0", "a remark")
    await sent(bench)
    assert len(encoded) == 1
    assert all(len(read()) == 1 for read in reads)


TEXTS = st.text(max_size=4)


@given(
    st.lists(
        st.tuples(
            TEXTS,
            st.integers(0, 9),
            TEXTS,
            st.binary(max_size=4),
            st.lists(TEXTS, max_size=2),
            TEXTS,
            st.dictionaries(TEXTS, TEXTS, max_size=2),
            st.sampled_from([None, -40.0, -70.5]),
        ),
        max_size=5,
    )
)
def test_what_is_encoded_by_parts_is_as_what_is_encoded_at_once(given_: list[Any]) -> None:
    for source, channel, type_, data, to, why, missed, rssi_dbm in given_:
        kept = (source, channel, type_, data, (*to,), why, (*missed.items(),), rssi_dbm)
        packet = events.Packet(source, channel, type_, data.hex(), to, why, missed, rssi_dbm)
        delivered = events.Delivered(source, type_, data.hex())
        for event, values in ((packet, kept), (delivered, (source, type_, data))):
            line = wire.encode_with_data(type(event), values, 1, 2.5, 3)
            assert line == wire.encode_event(event, 1, 2.5, 3)


async def test_one_turn_of_the_event_loop_encodes_few_events_in_their_order(
    bench: Subscribed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left out, too, is reported where it was: others have their turn in between."""
    turn, turns = 0, list[int]()
    encode = wire.encode_event

    def counted(event: Any, *times: Any) -> bytes:
        turns.append(turn)
        return encode(event, *times)

    monkeypatch.setattr(wire, "encode_event", counted)
    read = bench.subscribe()
    for number in range(IN_WINDOW + 3):
        bench.observers.output("rover", str(number))
        bench.clock.run(0.001)
    assert turns == []
    bench.real.run(WINDOW_NS)
    bench.observers.output("rover", "last")
    for turn in range(IN_WINDOW // TOGETHER + 3):  # noqa: B007 - `counted` reads it
        await asyncio.sleep(0)
    got = read()
    assert [each.get("line", "left out") for each in got] == [
        *map(str, range(IN_WINDOW)),
        "left out",
        "last",
    ]
    assert got[-2]["sampled"] == {"output": 3}
    assert len({each["time_ns"] for each in got[:IN_WINDOW]}) == IN_WINDOW  # of when it happened
    assert {turns.count(each) for each in turns[:-TOGETHER]} == {TOGETHER}


async def test_events_with_much_data_do_not_wait_in_memory(bench: Subscribed) -> None:
    read, data = bench.subscribe(), bytes(BUFFER_BYTES // 8)
    for _ in range(20):
        report = bench.observers.line_bytes
        assert report is not None
        report(LineEvent("xbee0", Direction.SENT, data, 0))
    assert bench.subscriber.slow > 0  # encoded, and no subscriber has room for all
    lost = bench.subscriber.slow
    await sent(bench)
    assert len(read()) + bench.subscriber.slow == 20
    assert bench.subscriber.slow - lost <= 4


async def test_fewer_packets_are_some_of_each_sender_and_of_each_loss(bench: Subscribed) -> None:
    """Who sends much hides no one; who asks for all gets all; states are not sampled."""
    few = bench.subscribe(kinds=["packet", "output"], per_second=200)
    sampled = bench.subscriber
    everything = bench.subscribe(kinds=["packet"])
    for _ in range(2):
        for _ in range(100):
            transmit(bench)
        for _ in range(3):
            transmit(bench, source="quiet.emitter")
            transmit(bench, lost=True)
        for number in range(50):
            bench.observers.output("rover", str(number))
        await sent(bench)
        got = few()
        packets = of_kind(got, "packet")
        assert [(each["source"], each["not_received"]) for each in packets] == [
            *[("rover.emitter", "")] * in_window(200),
            ("quiet.emitter", ""),
            ("rover.emitter", "no_listener"),
        ]
        assert len(of_kind(got, "output")) == 50
        assert sampled.sampled == {"packet": 106 - 27}
        assert len(of_kind(everything(), "packet")) == 106
        bench.real.run(WINDOW_NS)
        await sent(bench)
        (left_out,) = few()
        assert left_out["sampled"] == {"packet": 106 - 27}


@pytest.mark.exhaustive
async def test_what_each_subscriber_gets_and_what_is_left_out_add_up(bench: Subscribed) -> None:
    """Of a flood that two take in part, one of them reads nothing for long."""
    packets = bench.subscribe(kinds=["packet"], names=["rover"])
    first, read, emitted, reported = bench.subscriber, 0, 0, 0
    lines = bench.subscribe(kinds=["output", "packet"], names=["other"])
    second, other, others = bench.subscriber, 0, 0

    def take(slow: bool) -> None:
        nonlocal read, reported, other
        for event in [] if slow else packets():
            left_out = event["event"] == "left_out"
            assert not left_out or set(event["sampled"]) <= {"packet"}
            reported += left_out and sum(event["sampled"].values()) + event["slow"]
            read += not left_out
        for event in lines():
            other += sum(event["sampled"].values()) if event["event"] == "left_out" else 1

    for window in range(60):
        for _ in range(2 * IN_WINDOW):
            transmit(bench)
            emitted += 1
        transmit(bench, source="other.emitter")
        bench.observers.output("other", "x" * 10)
        others += 2
        bench.real.run(WINDOW_NS)
        await sent(bench)
        take(slow=window < 30)
        assert others == other + sum(second.sampled.values())
    for _ in range(20):  # a call takes what the kernel has of what waits
        take(slow=False)
        await sent(bench)
    bench.real.run(2 * WINDOW_NS)
    await sent(bench)
    take(slow=False)
    assert first.slow == first.sampled.total() == 0
    assert emitted == read + reported


async def test_the_end_of_a_subscriber_raises_no_error(bench: Subscribed) -> None:
    bench.subscribe()
    bench.theirs.close()
    for _ in range(3):
        bench.observers.notice("xbee0", "a remark")
        await sent(bench)
    bench.subscriptions.remove(bench.subscriber)
    bench.subscriptions.remove(bench.subscriber)


async def test_the_first_event_is_sent_at_once_and_the_next_together(bench: Subscribed) -> None:
    """A reader that wakes takes the processor from what the events are about."""
    read = bench.subscribe()
    for number in range(3):
        transmit(bench)
        await encoded()
        assert len(read()) == (number == 0)
        bench.real.run(SEND_NS // 4)
    bench.real.run(SEND_NS // 4)
    await encoded()
    assert len(read()) == 2
    bench.real.run(SEND_NS)
    transmit(bench)
    await encoded()
    assert len(read()) == 1
    transmit(bench)
    bench.subscriptions.remove(bench.subscriber)
    assert len(read()) == 1


async def got_in(
    bench: Subscribed, read: Callable[[], list[dict[str, Any]]], windows: int
) -> list[dict[str, Any]]:
    """What is read in these windows."""
    got: list[dict[str, Any]] = []
    for _ in range(windows):
        await sent(bench)
        got += read()
        bench.real.run(WINDOW_NS)
    await sent(bench)
    return got + read()


def of_kind(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in messages if each["event"] == kind]


def value(bench: Subscribed, name: str, number: float) -> None:
    to: Any = bench.observers
    to.sensor_value(ValueEvent("rover", name, number, bench.clock.now()))


def left_out(messages: list[dict[str, Any]]) -> int:
    lost = of_kind(messages, "left_out")
    return sum(sum(each["sampled"].values()) + each["slow"] for each in lost)


async def test_of_more_states_than_pass_the_newest_of_each_name_comes_and_the_rest_counts(
    bench: Subscribed,
) -> None:
    read = bench.subscribe(kinds=["value", "stopped", "left_out"])
    for number in range(4 * IN_WINDOW):
        value(bench, f"ds{number % 10}", number)
    bench.observers.stopped("rover", "disarmed", "by hand")
    got = await got_in(bench, read, 3)
    values = of_kind(got, "value")
    newest = {each["device"]: each["value"] for each in values}
    assert newest == {f"ds{number % 10}": number for number in range(4 * IN_WINDOW)}
    assert len(values) + left_out(got) == 4 * IN_WINDOW
    assert len(of_kind(got, "stopped")) == 1
    assert all("since_ns" not in each for each in got)


async def test_while_states_are_owed_no_newer_one_overtakes_them(bench: Subscribed) -> None:
    read = bench.subscribe(kinds=["value", "left_out"])
    got: list[dict[str, Any]] = []
    total = 0
    for window in range(6):
        for number in range(2 * IN_WINDOW):
            value(bench, f"ds{number % (IN_WINDOW + 50)}", window * 1e6 + number)
            total += 1
            bench.clock.run(1)
        await sent(bench)
        got += read()
        bench.real.run(WINDOW_NS)
    got += await got_in(bench, read, 4)
    values, seen = of_kind(got, "value"), dict[str, float]()
    for event in values:
        assert event["value"] > seen.get(event["device"], -1)
        seen[event["device"]] = event["value"]
    assert len(seen) == IN_WINDOW + 50
    assert len(values) + left_out(got) == total


async def test_a_slow_reader_gets_the_newest_state_once_it_reads(bench: Subscribed) -> None:
    read = bench.subscribe(kinds=["output", "armed", "left_out"])
    while not bench.subscriber.slow:
        bench.observers.output("rover", "x" * 5000)
        bench.real.run(WINDOW_NS // 10)
        await sent(bench)
    for number in range(1001):
        bench.observers.armed("rover", number % 2 == 0, str(number))
    got = await got_in(bench, read, 40)
    armed = of_kind(got, "armed")
    assert [int(each["text"]) for each in armed] == sorted({int(each["text"]) for each in armed})
    assert armed[-1]["text"] == "1000"
    sampled = sum(each["sampled"].get("armed", 0) for each in of_kind(got, "left_out"))
    assert len(armed) + sampled == 1001


async def test_a_repeated_state_has_the_times_of_its_origin(bench: Subscribed) -> None:
    read = bench.subscribe(names=["rover.wheel", "xbee0"])
    bench.clock.run(5)
    now, real = bench.clock.now(), bench.real.now()
    origin = now - 2 * 10**9
    wheel = events.Command("rover", "", "wheel", {"velocity": 3.0}, "sent", "", {}, {}, {})
    states = [
        events.Port("xbee0", "up", "", since_ns=origin),
        replace(wheel, since_ns=origin),
        replace(wheel, device="other", since_ns=origin),
    ]
    bench.subscriptions.show(bench.subscriber, states)
    await sent(bench)
    port, command = read()
    for event in (port, command):
        assert (event["since_ns"], event["time_ns"]) == (origin, origin)
        assert (event["mono_ns"], event["wall_s"]) == (real - 2 * 10**9, 1.5 - 2)
    assert (port["name"], command["device"]) == ("xbee0", "wheel")


async def test_states_are_made_in_turns_and_no_faster_than_read(bench: Subscribed) -> None:
    """Of a hundred robots with a thousand devices each; and the ports and robots come first."""
    turn, made = -2, Counter[int | str]()

    def states() -> Iterator[events.Cell]:
        for number in range(100_000):
            made[turn] += 1
            made["all"] += 1
            yield events.Value("rover", f"ds{number}", 1.0, ["value"], ["m"], since_ns=0)

    read = bench.subscribe()
    bench.subscriptions.show(bench.subscriber, states())
    for turn in range(2500):  # noqa: B007 - `states` reads it
        await asyncio.sleep(0)
        bench.real.run(SEND_NS)
    waiting = made.pop("all")
    assert waiting < 4000  # as nothing is read
    assert max(made.values()) <= TOGETHER
    bench.observers.output("rover", "a stream loses nothing by that")
    bench.observers.armed("rover", True, "now")
    got = list[dict[str, Any]]()
    new = list[dict[str, Any]]()
    while not any(each["event"] == "armed" for each in new):
        new = read()
        got += new
        await asyncio.sleep(0)
        bench.real.run(SEND_NS)
    assert waiting - 1 <= len(got) < waiting + 1000
    assert [each["event"] for each in got if each["event"] in ("output", "left_out")] == ["output"]
    while len(got) < waiting + 3000:  # it goes on
        got += read()
        await asyncio.sleep(0)
        bench.real.run(SEND_NS)
    bench.subscriptions.remove(bench.subscriber)


async def test_a_state_without_room_does_not_follow_a_newer_one(bench: Subscribed) -> None:
    read = bench.subscribe(kinds=["output", "armed", "left_out"])
    while not bench.subscriber.slow:
        bench.observers.output("rover", "x" * 50_000)
        await sent(bench)
    bench.observers.armed("rover", False, "y" * 60_000)  # there is no room for it
    bench.observers.armed("rover", True, "z")
    await encoded()
    got = await got_in(bench, read, 10)
    assert [each["text"] for each in of_kind(got, "armed")] == ["z"]
    sampled = [each["sampled"] for each in of_kind(got, "left_out")]
    assert [each for each in sampled if each] == [{"armed": 1}]
