"""Body webots: byte vectors, the mock of Webots, everything hostile, and how its motors stop."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hilgw.bodies.webots.robot import REQUEST_BYTES
from hilgw.control import events as control
from hilgw.control.events import (
    Accepted,
    Command,
    Disconnected,
    MotorCommand,
    MotorPid,
    MotorSettings,
    ProtocolFailure,
    StopPlan,
    StopReason,
    StopSent,
)
from hilgw.control.limits import check_command
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import PortError
from tests.bodies.bench import MS, WebotsLine, body, commanded
from tests.cases import cases

HELLO = b"CTR\nRobot-Name: gateway"
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
STEP = bytes.fromhex("08000000 20000000")
GOODBYE = bytes.fromhex("0f000000 00000000 0000 01000000 26")
LEAVE = bytes(4)
EMPTY = bytes.fromhex("0100 04000000 04000000 00 00000000")
QUIT = bytes.fromhex("0100 07000000 07000000 00 00000000 0000 02")


def answer(*messages: bytes, delay_ms: int = 0) -> bytes:
    data = struct.pack("<i", delay_ms) + b"".join(messages)
    return struct.pack("<HiiB", 1, len(data), len(data), 0) + data


def time_message(seconds: float) -> bytes:
    return b"\0\0\4" + struct.pack("<d", seconds)


def configuration(
    byte_rate: float = -1.0, basic_ms: float = 32.0, size: int = -1, channels: tuple[int, ...] = ()
) -> bytes:
    """A robot with a Receiver on channel 12 and an Emitter, as Webots R2025a sends it."""
    robot = b"\0\0\0" + b"gateway\0R2025a\0" + b"\0\0" + struct.pack("<HHd", 3, 34, 1.5)
    robot += struct.pack("<H", 56) + b"rx\0\0" + struct.pack("<H", 43) + b"tx\0\0"
    robot += struct.pack("<d", basic_ms) + bytes(7) + b"\0\0" + struct.pack("<i", 1)
    receiver = struct.pack("<HBiii", 1, 0, -1, 12, 0)
    allowed = struct.pack(f"<i{len(channels)}i", len(channels), *channels)
    emitter = struct.pack("<HBiiddd", 2, 0, size, 12, byte_rate, -1.0, -1.0) + allowed
    return answer(robot, receiver, emitter)


def bytes_of(events: list[control.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, control.Write))


def reasons(events: list[control.Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, control.RefusedRequest)]


def running(**fields: Any) -> Any:
    """A session after the configuration: its first step is outstanding."""
    session = body()
    session.open(0)
    session.receive(b"CONNECTED", 0)
    session.receive(configuration(**fields), 0)
    return session


def test_a_paused_webots_does_not_hold_the_goodbye() -> None:
    session = running()
    session.stop(control.StopReason.ENDED, 0)
    session.leave(0)
    due = session.next_deadline()
    assert due == 300 * 10**6 and session.expire(due - 1) == []
    assert bytes_of(session.expire(due)) == GOODBYE + LEAVE and session.is_idle()


# --- connections ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [b"FAILED", b"PROCESSING", b"FORBIDDEN"])
def test_webots_refuses_and_the_supervisor_tries_again(word: bytes) -> None:
    session = body()
    session.open(0)
    (failure,) = session.receive(word, 0)
    assert isinstance(failure, control.ProtocolFailure) and isinstance(failure.error, PortError)
    assert failure.error.reason == PortError.LOST  # tried again each second
    assert "gateway" in failure.error.where
    assert bool(failure.error.fix) == (word != b"PROCESSING")
    assert session.close() == []
    session.open(0)
    assert bytes_of(session.receive(b"CONNECTED", 0)) == FIRST


def test_a_server_that_is_not_webots() -> None:
    session = body()
    session.open(0)
    (failure,) = session.receive(b"HTTP/1.1 400", 0)
    assert "is not an answer of Webots" in failure.error.what
    session.open(0)
    (failure,) = session.expire(10_000 * MS)
    assert failure.error.what == "Webots does not answer"


def test_answers_in_any_pieces_and_an_end_at_each_byte() -> None:
    stream = b"CONNECTED" + configuration() + answer(time_message(2.0)) + QUIT
    whole = body()
    events = whole.open(0)
    for index in range(len(stream)):
        events += whole.receive(stream[index : index + 1], 0)
        if index == len(b"CONNECTED") - 1:
            assert bytes_of(events) == HELLO + FIRST
    assert bytes_of(events).endswith(STEP + LEAVE)
    assert bytes_of(body(robot=None).open(0)) == b"CTR"
    for end in range(len(stream)):
        session = body()
        session.open(0)
        session.receive(stream[: min(end, 9)], 0)
        before = session.receive(stream[9:end], 0) if end > 9 else []
        is_up = any(isinstance(event, control.Connected) for event in before)
        is_down = any(isinstance(event, control.Disconnected) for event in before)
        expected = [control.Disconnected("connection closed")] if is_up and not is_down else []
        assert session.close() == expected, end
        assert session.close() == [] and session.next_deadline() is None
        session.open(0)  # nothing is left of the connection before
        session.receive(b"CONNECTED", 0)
        assert isinstance(session.receive(configuration(), 0)[0], control.Connected), end


@pytest.mark.parametrize(
    ("basic_ms", "step_ms", "text"),
    [
        (0.0, None, "a basicTimeStep of 0 ms is invalid"),
        (math.nan, None, "a basicTimeStep of nan ms is invalid"),
        (32.0, 20, "step_ms 20 is not a multiple of the world's basicTimeStep, 32"),
        (8.0, 32, ""),
        (32.0, 32, ""),
    ],
)
def test_steps_are_multiples_of_the_worlds(basic_ms: float, step_ms: int | None, text: str) -> None:
    session = body(step_ms=step_ms)
    session.open(0)
    session.receive(b"CONNECTED", 0)
    events = session.receive(configuration(basic_ms=basic_ms), 0)
    failures = [event.error.what for event in events if isinstance(event, control.ProtocolFailure)]
    assert failures == ([text] if text else [])
    if not text:
        assert struct.unpack_from("<iI", bytes_of(events))[1] == 32


def test_a_robot_of_another_version_is_named() -> None:
    bench = WebotsLine(webots="R2023a")
    bench.connect()
    bench.steps(3)
    (failure,) = (event for event in bench.events if isinstance(event, control.ProtocolFailure))
    assert "is not a Robot" in failure.error.what or "cut off" in failure.error.what


@pytest.mark.parametrize("version", ["R2025a", "R2024a", "R2023b", "R2023a"])
def test_every_version_of_webots(version: str) -> None:
    bench = WebotsLine(body(version), webots=version).start()
    assert len(bench.session.devices) == 18


def test_a_device_that_the_world_does_not_have_is_named() -> None:
    missing = body(to_medium={"ear": "tx"}, from_medium={"mouth": "rx"}, limits={"leg": {}})
    bench = WebotsLine(missing).start()
    texts = [event.text for event in bench.events if isinstance(event, control.Notice)]
    for words in ("Receiver 'ear'", "Emitter 'mouth'", "motor 'leg'"):
        assert any(words in text for text in texts), words
    assert any("synchronization is TRUE" in text for text in texts)


@pytest.mark.parametrize("end", [QUIT, answer(time_message(0.0)), None])
def test_nothing_old_reaches_a_world_that_was_reset(end: bytes | None) -> None:
    """QUIT; a time that went back without one; a lost connection."""
    session = running()
    session.send(control.PacketOut(1, 12, b"old"), 0)
    if end is None:
        events = session.close()
    else:
        old = struct.pack("<HBi4di", 1, 1, 12, 0.0, 1.0, 0.0, 0.25, 3) + b"old"
        events = session.receive(end + answer(old), 0)
        assert [e.error.reason for e in events if isinstance(e, control.ProtocolFailure)] == [
            "lost"
        ]
        assert bytes_of(events) == LEAVE
        assert session.close() == []
    assert len([event for event in events if isinstance(event, control.Disconnected)]) == 1
    assert not [event for event in events if isinstance(event, control.PacketIn)]
    assert session.counts["packets_discarded"] == 1
    assert reasons(session.send(control.PacketOut(1, 12, b"while it is down"), 0)) == ["down"]
    session.open(0)
    session.receive(b"CONNECTED", 0)
    written = bytes_of(session.receive(configuration() + EMPTY + EMPTY, 0))
    assert b"old" not in written and b"down" not in written and written.endswith(STEP + STEP)


def test_what_an_emitter_of_webots_refuses() -> None:
    session = running(size=32, channels=(3, -1))
    events = [session.send(control.PacketOut(1, 3, bytes(size)), 0) for size in (20, 12, 1, 0)]
    assert [reasons(each) for each in events] == [[], [], ["no_room"], ["unsendable"]]
    assert reasons(session.send(control.PacketOut(1, 5, b"x"), 0)) == ["not_allowed"]
    assert reasons(session.send(control.PacketOut(0, 3, b"x"), 0)) == ["not_settable"]  # a Receiver
    assert reasons(session.send(control.PacketOut(9, 3, b"x"), 0)) == ["unknown_device"]
    session.receive(EMPTY, 0)
    assert reasons(session.send(control.PacketOut(1, -1, bytes(32)), 0)) == []


PACED = {  # golden cases of the Emitter, at 32 ms: queued before step -> sizes; when each leaves
    "B1": (1.2, {1: [30] * 3}, [1, 2, 3]),
    "B2": (1.2, {1: [50] * 5}, [2, 3, 4, 6, 7]),
    "B3": (1.2, {1: [10] * 10}, [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]),
    "B4": (1.2, {1: [10] * 10, 5: [39]}, [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 6]),
    "B5": (1.2, {1: [100, 1], 3: [1]}, [3, 3, 3]),
    "B7": (0.0, {1: [1]}, []),
    "any rate": (-1.0, {1: [30000, 1], 2: [5]}, [1, 1, 2]),
}


@pytest.mark.parametrize(("byte_rate", "queued", "steps"), PACED.values(), ids=PACED)
def test_an_emitter_paces_its_packets_as_libcontroller(
    byte_rate: float, queued: dict[int, list[int]], steps: list[int]
) -> None:
    session = running(byte_rate=byte_rate)
    sent, left = b"", []
    for step in range(1, 9):
        for size in queued.get(step, []):
            assert session.send(control.PacketOut(1, 12, bytes(size)), 0) == []
            sent += struct.pack("<Bidi", 0, 12, -1.0, size) + bytes(size)
        packets = bytes_of(session.receive(EMPTY, 0))[14:]
        assert sent.startswith(packets)
        sent = sent.removeprefix(packets)
        left += [step] * packets.count(struct.pack("<Bid", 0, 12, -1.0))
    assert left == steps


@pytest.mark.parametrize(
    ("byte_rate", "baud_rate"), [(1.2, 9600), (0.0, 0), (-1.0, -1), (math.inf, -1)]
)
def test_an_emitter_has_the_baud_rate_of_its_bytes(byte_rate: float, baud_rate: int) -> None:
    """8 bits each, as Webots counts them. What has no limit in Webots has none here."""
    emitter = running(byte_rate=byte_rate).devices.by_name("tx").fields
    assert (emitter.baudRate, emitter.byteSize) == (baud_rate, 8)


def test_a_flood_of_packets_leaves_in_requests_of_bounded_size() -> None:
    session = running()
    for _ in range(40):
        assert reasons(session.send(control.PacketOut(1, 12, bytes(10_000)), 0)) == []
    sizes = [len(bytes_of(session.receive(EMPTY, 0))) for _ in range(5)]
    assert all(size < REQUEST_BYTES + 1000 for size in sizes)
    assert sum(sizes) > 400_000 and sizes[-1] == len(STEP)


def test_a_field_that_changes_in_webots_holds() -> None:
    session = running()
    changed = b"\2\0\2" + struct.pack("<d", 2.5) + b"\2\0\3" + struct.pack("<i", 4)
    changed += b"\2\0\4" + struct.pack("<iii", 2, 5, 6) + b"\2\0\1" + struct.pack("<i", 5)
    session.receive(answer(changed), 0)
    assert reasons(session.send(control.PacketOut(1, 12, b"x"), 0)) == ["not_allowed"]
    assert reasons(session.send(control.PacketOut(1, 5, b"12345"), 0)) == ["no_room"]
    session.send(control.PacketOut(1, 6, b"1234"), 0)
    assert struct.pack("<Bid", 0, 6, 2.5) in bytes_of(session.receive(EMPTY, 0))


def test_every_sensor_reports_each_step() -> None:
    bench = WebotsLine().start()
    bench.events.clear()
    bench.steps()
    values = {e.index: e.value for e in bench.events if isinstance(e, control.SensorValue)}
    assert {bench.index(name) for name in ["ds", "light", "lift_at", "gps", "imu", "gyro"]} < set(
        values
    )
    for device in bench.session.devices:
        if device.index in values:
            value = values[device.index]
            count = len(value) if isinstance(value, tuple) else 1
            assert count == len(device.reports), device.name
    assert len(values) == 11
    x, y, *_ = values[bench.index("gps")]  # type: ignore[misc]
    assert (x, y) == (bench.robot().body.room.x, bench.robot().body.room.y)


def test_periods_indicators_brakes_and_radios_are_set() -> None:
    bench = WebotsLine().start()
    session, index = bench.session, bench.index
    session.switch(index("ds"), 0, 0)
    session.switch(index("light"), 63.2, 0)
    session.switch(index("gyro"), 1e12, 0)
    session.tune(control.LedValue(index("led"), 7), 0)
    session.tune(control.BrakeDamping(index("brake"), 0.5), 0)
    session.tune(control.FeedbackSwitch(index("left"), 32.0), 0)
    session.tune(control.EmitterSettings(index("emitter"), 3, 2.5), 0)
    session.tune(control.ReceiverSettings(index("receiver"), 9, 64), 0)
    session.send(control.PacketOut(index("emitter"), 4, b"near"), 0)
    bench.steps(2)
    device = bench.device
    assert (device("ds").period_ms, device("light").period_ms) == (0, 64)
    assert device("gyro").period_ms == 65535
    assert (device("led").value, device("brake").joint.damping) == (7, 0.5)
    assert (device("receiver").radio.channel, device("receiver").period_ms) == (9, 64)
    assert struct.pack("<Bid", 0, 4, 2.5) in bench.written
    bench.steps(2)
    assert [e for e in bench.events if isinstance(e, control.MotorFeedback)]
    session.switch(index("ds"), None, 0)
    bench.steps(2)
    assert device("ds").period_ms == 32
    for settings_ in (
        control.LedValue(index("ds"), 1),
        control.EmitterSettings(index("receiver"), 1, 1.0),
    ):
        assert reasons(session.tune(settings_, 0)) == ["not_settable"]
    assert reasons(session.switch(index("left"), 32, 0)) == ["not_settable"]
    assert reasons(commanded(session, control.MotorCommand(index("ds"), "velocity", 1.0), 0)) == [
        "not_settable"
    ]
    for wrong in (-2, 2**31):
        assert reasons(session.tune(control.ReceiverSettings(index("receiver"), wrong, 32), 0)) == [
            "not_allowed"
        ]
    assert reasons(session.tune(control.EmitterSettings(index("emitter"), 1, math.nan), 0)) == [
        "not_allowed"
    ]
    bench.steps(3)
    assert not [event for event in bench.events if isinstance(event, control.ProtocolFailure)]


CHUNKS = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([EMPTY, QUIT, configuration(), answer(time_message(math.nan))]),
        st.binary(max_size=40).map(answer),
        st.tuples(st.integers(0, 3), st.integers(0, 60), st.binary(max_size=80)).map(
            lambda each: answer(struct.pack("<HB", each[0], each[1]) + each[2])
        ),
    ),
    max_size=6,
)


@cases(6)
@given(st.booleans(), CHUNKS)
def test_no_answer_of_a_hostile_server_is_more_than_an_error(begun: bool, chunks: Any) -> None:
    session = running() if begun else body()
    if not begun:
        session.open(0)
    failed = False
    for chunk in chunks:
        assert isinstance(session.describe(chunk, received=True), str)
        events = session.receive(chunk, 0)
        assert not (failed and events)  # nothing after the end
        failed |= any(isinstance(event, control.ProtocolFailure) for event in events)
        assert not [e for e in events if isinstance(e, control.StopSent)]
        session.send(control.PacketOut(1, 12, b"x"), 0)
        session.expire(0)
    session.stop(control.StopReason.ENDED, 0)
    session.close()
    session.open(0)
    session.receive(b"CONNECTED", 0)
    assert isinstance(session.receive(configuration(), 0)[0], control.Connected)


INF = math.inf
MOTORS = ("left", "right", "lift")


def motors(bench: WebotsLine) -> dict[str, tuple[float, float]]:
    """Position that each motor in the world aims at, and velocity set."""
    return {name: (bench.device(name).target, bench.device(name).wanted) for name in MOTORS}


def test_a_robot_that_an_earlier_controller_left_moving_stops() -> None:
    bench = WebotsLine()
    left = bench.device("left")
    left.target, left.wanted = INF, 3.0
    bench.start()
    bench.steps(2)
    assert left.velocity == 0.0


def test_commands_reach_the_motors_with_the_next_request() -> None:
    bench = WebotsLine().start()
    session, index = bench.session, bench.index
    outcome, _ = session.command(MotorCommand(index("left"), "velocity", 3.0), 0)
    assert outcome is Accepted.SENT
    commanded(session, MotorSettings(index("right"), 1.5, 2.0, 4.0, 7.0), 0)
    commanded(session, MotorCommand(index("lift"), "position", 0.1), 0)
    commanded(session, MotorPid(index("lift"), 5.0, 1.0, 0.5), 0)
    bench.steps(2)
    assert motors(bench)["left"] == (INF, 3.0) and motors(bench)["right"] == (1.5, 2.0)
    right, lift = bench.device("right"), bench.device("lift")
    assert (right.acceleration, right.available) == (4.0, 7.0)
    assert lift.target == 0.1 and lift.wanted > 0 and lift.pid == (5.0, 1.0, 0.5)
    bench.steps(100)
    assert lift.position == pytest.approx(0.1)
    commanded(session, MotorCommand(index("left"), "acceleration", 9.0), 0)
    commanded(session, MotorCommand(index("left"), "available_torque", 8.0), 0)
    commanded(session, MotorCommand(index("left"), "torque", 0.5), 0)
    bench.steps(2)
    left = bench.device("left")
    assert (left.acceleration, left.available, left.force) == (9.0, 8.0, 0.5)


def test_a_stop_is_reported_when_it_has_left_not_before() -> None:
    bench = WebotsLine().start()
    session = bench.session
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    bench.steps(2)
    bench.events.clear()
    commands = tuple(MotorCommand(bench.index(name), "velocity", 0.0) for name in MOTORS)
    assert session.stop(StopReason.DISCONNECTED, 0) == StopPlan([], commands)
    assert not session.is_idle() and bench.events == []
    bench.steps()
    assert bench.events.count(StopSent()) == 1
    assert session.is_idle() and session.stop(StopReason.DISCONNECTED, 0).events == []
    bench.steps()
    assert bench.device("left").velocity == 0.0
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    session.stop(StopReason.DISCONNECTED, 0)
    bench.events.clear()
    bench.disconnect()
    assert bench.events == [Disconnected("connection closed")]  # and no stop: it was not sent


def test_the_emergency_stop_is_a_request_of_its_own_and_the_session_begins_anew() -> None:
    bench = WebotsLine().start()
    session = bench.session
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    bench.steps(2)
    stop = session.emergency()
    assert stop == session.emergency()  # changes nothing
    events = session.stop(StopReason.LATE, 0).events
    assert [event for event in events if isinstance(event, ProtocolFailure)]
    assert session.emergency() == b"" and session.stop(StopReason.LATE, 0).events == []
    waiting = WebotsLine()  # for a request: its answer is not read
    waiting.connect()
    (first,) = waiting.session.receive(b"CONNECTED", waiting.now)
    waiting.mock.receive(first.data, waiting.now)
    waiting.device("left").target, waiting.device("left").wanted = INF, 3.0
    waiting.mock.receive(stop, waiting.now)
    assert waiting.device("left").wanted == 0.0


def test_a_position_without_a_velocity_is_approached_within_the_limit_of_velocity() -> None:
    for limits, speed in ((MotorLimits(), 10.0), (MotorLimits(max_velocity=3.0), 3.0)):
        bench = WebotsLine(body(limits={"left": limits})).start()
        commanded(bench.session, MotorCommand(bench.index("left"), "position", 1.0), bench.now)
        bench.steps(2)
        assert (bench.device("left").target, bench.device("left").wanted) == (1.0, speed)


def test_a_rate_limit_holds_and_never_delays_a_stop() -> None:
    bench = WebotsLine(body(limits={"left": MotorLimits(rate=10.0)})).start()
    commanded(bench.session, MotorCommand(bench.index("left"), "velocity", 3.0), bench.now)
    seen = []
    for _ in range(18):
        bench.steps()
        seen.append(bench.device("left").wanted)
    fastest = [10.0 * 0.032 * (step + 1) + 0.2 for step in range(18)]  # a step of 20 ms at once
    assert all(value <= most for value, most in zip(seen, fastest, strict=True))
    assert seen[-1] == 3.0 and seen[0] < 1.0
    bench.session.stop(StopReason.SILENCE, bench.now)
    bench.steps(2)
    assert bench.device("left").wanted == 0.0
    bench.steps(5)
    assert bench.device("left").wanted == 0.0


VALUES = st.one_of(st.floats(-5, 5), st.sampled_from([INF, 0.0, -1.0]))
FIELDS = ("position", "velocity", "acceleration", "force", "torque", "available_torque")


class EveryMotorStops(RuleBasedStateMachine):
    """Any commands that the safety lets pass, in any order with steps, stops and connections."""

    @initialize()
    def begin(self) -> None:
        self.bench = WebotsLine().start()
        self.stopped = False
        self.settles = 40

    def command(self, command: Command) -> None:
        device = self.bench.session.devices.by_index(command.index)
        assert device is not None
        if check_command(device, command) is None:
            outcome, _ = self.bench.session.command(command, self.bench.now)
            assert outcome is Accepted.SENT
            self.stopped, self.settles = False, 40

    @rule(name=st.sampled_from(MOTORS), field=st.sampled_from(FIELDS), value=VALUES)
    def sets_one_value(self, name: str, field: str, value: float) -> None:
        self.command(MotorCommand(self.bench.index(name), field, value))

    @rule(name=st.sampled_from(MOTORS), values=st.tuples(VALUES, VALUES, VALUES, VALUES))
    def sets_all_values(self, name: str, values: tuple[Any, ...]) -> None:
        self.command(MotorSettings(self.bench.index(name), *values))

    @rule(count=st.integers(1, 3))
    def time_passes(self, count: int) -> None:
        self.bench.steps(count)

    @rule(reason=st.sampled_from([StopReason.DISCONNECTED, StopReason.COMMAND_TIMEOUT]))
    def stops(self, reason: StopReason) -> None:
        self.bench.session.stop(reason, self.bench.now)
        self.stopped = True

    @rule()
    def connects_again(self) -> None:
        self.bench.disconnect()
        self.bench.start()
        self.stopped = True

    @invariant()
    def every_motor_stands(self) -> None:
        if self.stopped:
            self.bench.steps(self.settles)  # an acceleration of its own may slow it down
            self.settles = 2
            for name in MOTORS:
                device = self.bench.device(name)
                slow = 0 <= device.acceleration < 5
                assert device.velocity == 0.0 or slow, (name, device.velocity)
                assert device.wanted == 0.0

    @invariant()
    def a_stop_is_reported_only_where_one_was_sent(self) -> None:
        sent = [event for event in self.bench.events if isinstance(event, StopSent)]
        assert len(sent) <= self.bench.session.counts["stops"]
        assert not [e for e in self.bench.events if isinstance(e, ProtocolFailure)]


TestEveryMotorStops = EveryMotorStops.TestCase
TestEveryMotorStops.settings = cases(1, stateful_step_count=20)


def test_every_mode_of_every_motor_has_its_stop() -> None:
    bench = WebotsLine().start()
    for name in MOTORS:
        for mode in MotorMode:
            assert bench.session.can_stop(bench.index(name), mode)
    assert not bench.session.can_stop(bench.index("ds"), MotorMode.VELOCITY)


@pytest.mark.parametrize("field", ["force", "torque"])
def test_a_force_of_an_earlier_connection_ends_with_the_first_stop_of_the_next(field: str) -> None:
    """The new session does not know it: the motor accelerated for ever."""
    bench = WebotsLine().start()
    bench.session.command(MotorCommand(bench.index("left"), field, 1.0), bench.now)
    bench.steps(3)
    assert bench.device("left").velocity > 0
    bench.disconnect()
    bench.start()
    bench.steps(40)
    assert bench.device("left").velocity == 0.0
