"""Body `text`: declared robots on the mocks of a Khepera III and of a G-code machine."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import khepera
from firmware_mocks.base import Mock
from hilgw.bodies.text import BODY
from hilgw.bodies.text.motors import written
from hilgw.bodies.text.settings import (
    DeclaredMotion,
    DeclaredRequest,
    LedLine,
    Line,
    TextBodySettings,
    TextMotor,
    TextSensor,
    Unasked,
)
from hilgw.control.events import (
    Connected,
    Disconnected,
    LedValue,
    MotorCommand,
    MotorHeld,
    Notice,
    ProtocolFailure,
    RefusedRequest,
    SensorValue,
    StopReason,
    Write,
)
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import MismatchError
from hilgw.plugins import new_air
from hilgw.protocols.text.patterns import Step
from tests.bodies.bench import GCODE, KHEPERA, LEFT, MS, BodyBench, commanded

X, Y = "x motor", "y motor"


def minimal(**changes: Any) -> TextBodySettings:
    """A robot with one motor and one sensor."""
    given: dict[str, Any] = {
        "port": "/dev/x",
        "setup": (Step(send="V", expect="v(?P<identity>.*)", timeout_s=0.2),),
        "motors": {"m": TextMotor(scale=10)},
        "commands": (DeclaredMotion(send="M{m}", expect="m"),),
        "stop": (Line(send="M0", expect="m"),),
        "requests": (DeclaredRequest(send="S", expect="s(?P<a>.*)"),),
        "sensors": {"a": TextSensor()},
        "restarted": "BOOT",
        **changes,
    }
    return TextBodySettings(**given)


class Silent(Mock):
    def receive(self, data: bytes, now: int) -> None: ...

    def reset(self, now: int) -> None: ...


class Hand(BodyBench):
    """A session, and its robot played by the test."""

    def __init__(self, settings: TextBodySettings, quiet_ms: int = 50) -> None:
        assert BODY.check(settings) == []
        super().__init__(BODY.session(settings, "R2025a"), Silent("robot"))
        self.open(quiet_ms)
        self.emit(b"v1\r\n")
        assert Connected("text robot 1") in self.events
        self.sent()

    def sent(self) -> bytes:
        """What the session wrote; forgets it."""
        data = bytes(self.written)
        self.written.clear()
        return data

    def emit(self, data: bytes) -> None:
        self.handle(self.session.receive(data, self.now))

    def move(self, value: float, field: str = "velocity") -> None:
        self.give(MotorCommand(0, field, value))
        self.run(0)

    def stop(self) -> None:
        self.handle(self.session.stop(StopReason.SILENCE, self.now).events)

    def restart(self) -> None:
        """The robot lost its power for a moment, and is set up again."""
        self.emit(b"BOOT\r\n")
        self.run(60)
        self.sent()
        self.emit(b"v1\r\n")
        assert self.found(Disconnected) and self.events[-1] == Connected("text robot 1")


def test_only_lines_with_an_enabled_sensor_are_sent_at_its_period() -> None:
    line = KHEPERA.up(always_on=())
    line.run(200)
    assert line.written == b""
    line.enable("ds5", 400)  # of the same line
    line.enable("ds3", 100)
    line.run(1_000)
    assert 9 <= line.written.count(b"N\r") <= 11 and b"R" not in line.written
    assert set(line.values()) == {"ds3", "ds5"}
    line.enable("ds5", 0)
    line.written.clear()
    for _ in range(10):
        line.enable("ds3", 0)
        line.enable("ds3", 100)
        line.run(10)
    assert line.written.count(b"N\r") <= 2
    line.enable("ds3", 0)
    line.written.clear()
    line.run(250)
    assert line.written == b""
    assert line.session.own_period(line.index("ds3")) == 0
    assert KHEPERA.up().session.own_period(line.index("left eye")) is None


def test_leds() -> None:
    line = KHEPERA.up(always_on=())
    line.handle(line.session.tune(LedValue(line.index("left led"), 7), line.now))
    line.run(20)
    assert line.mock.leds == {0: True} and line.written == b"K,0,1\r"


def test_a_number_beyond_the_line_is_cut_and_reported() -> None:
    line = KHEPERA.up(limits={})
    line.command(LEFT, "velocity", 1e300)
    line.run(20)
    assert line.mock.speed[0] == 43_000
    assert line.found(Notice) == [Notice(f"'{LEFT}': its number is cut to the limits of its line")]


def test_another_robot_is_a_failure() -> None:
    line = GCODE.bench()
    other = khepera.create("other", new_air(), {})
    line = BodyBench(line.session, other)
    line.open(5_000)
    failures = line.found(ProtocolFailure)
    assert [type(each.error) for each in failures] == [MismatchError]
    assert failures[0].error.what == ("this is not the G-code machine: it answered '$' to '$I'")


# --- the G-code machine ---------------------------------------------------------------------------


def place(line: BodyBench) -> tuple[float, ...]:
    return tuple(round(each, 1) for each in line.mock.position)


def test_stop_cancels_the_jog_and_the_position_is_kept() -> None:
    line = GCODE.up()
    line.command(X, "position", 0.1)
    line.run(500)
    assert line.session.emergency() == b"\x85?"
    assert line.handle(line.session.stop(StopReason.COMMAND_TIMEOUT, line.now).events) == []
    stopped = line.mock.position
    line.run(2_000)
    assert line.mock.position == stopped and line.mock.state == "Idle"
    line.command(Y, "position", 0.01)  # the x axis has no target any more
    line.run(2_000)
    assert line.mock.position == (stopped[0], 10.0, 0.0)


def test_velocity_0_halts_one_axis_and_the_others_go_on() -> None:
    line = GCODE.up()
    line.command(X, "position", 0.1)
    line.command(Y, "position", 0.1)
    line.run(500)
    line.command(X, "velocity", 0.0)
    line.run(100)
    x = line.mock.position[0]
    line.run(3_000)
    assert line.mock.position == (x, 100.0, 0.0)
    line.command(Y, "velocity", 0.0)
    line.command(Y, "position", 0.0)
    line.run(500)
    assert line.mock.position == (x, 100.0, 0.0)
    line.command(X, "velocity", 0.05)
    line.run(3_000)
    assert line.mock.position == (100.0, 100.0, 0.0)


@pytest.mark.parametrize("alone", [True, False], ids=["stop_motor", "velocity 0"])
def test_a_motor_is_stopped_at_once_where_its_line_has_to_wait(alone: bool) -> None:
    """The machine answers nothing, and the window is full."""
    line = GCODE.up()
    line.command(X, "position", 0.1)
    line.command(Y, "position", 0.1)
    line.run(300)
    line.mock.take(line.now)
    for number in range(20):
        commanded(line.session, MotorCommand(line.index(Y), "position", number / 100), line.now)
        line.session.expire(line.now)
    line.written.clear()
    x = line.index(X)
    if alone:
        line.handle(line.session.stop_motor(x, line.now).events)
    else:
        line.command(X, "velocity", 0.0)
    assert bytes(line.written).startswith(b"\x85")


def test_a_stop_reaches_a_line_that_is_still_on_its_way() -> None:
    """A jog that the machine reads after the cancel would move it: the stop follows it again."""
    hand = Hand(
        minimal(
            motors={"m": TextMotor(kind="linear", mode="position", text=" X{}")},
            commands=(DeclaredMotion(send="J{m}", expect="ok"),),
            stop=(Line(send="!", realtime=True),),
        )
    )
    hand.move(3.0, "position")
    assert hand.sent() == b"J X3\r\n"
    hand.stop()
    assert hand.sent() == b"!" and not hand.session.is_idle()
    hand.emit(b"ok\r\n")
    assert hand.sent() == b"!" and hand.session.is_idle()


def test_a_line_that_was_refused_or_lost_may_move_a_motor_all_the_same() -> None:
    """A refused line stops it, and so does velocity 0; a controller may repeat itself."""
    motors = {"m": TextMotor(kind="linear", mode="position", text=" X{}")}
    jog = (DeclaredMotion(send="J{m}", expect="ok", failed="no"),)
    for answer, between in ((b"no\r\n", b"!"), (b"", b"")):
        hand = Hand(minimal(motors=motors, commands=jog, stop=(Line(send="!", realtime=True),)))
        hand.move(3.0, "position")
        hand.emit(answer)
        hand.run(0 if answer else 400)
        hand.move(3.0, "position")
        assert hand.sent() == b"J X3\r\n" + between + b"J X3\r\n"
        assert hand.of(MotorHeld) == [MotorHeld(0)] * bool(answer)
        hand.emit(answer)
        hand.move(0.0)
        assert hand.sent() == b"!"
        hand.run(400)
        assert hand.sent().startswith(b"S" if answer else b"!")  # the lost line may come late


def test_a_stop_that_was_lost_is_repeated_before_the_motions_that_followed_it() -> None:
    """Two lines of motors: the one that was not commanded again must not go on."""
    hand = Hand(
        minimal(
            motors={"m": TextMotor(), "n": TextMotor()},
            commands=(
                DeclaredMotion(send="M{m}", expect="m"),
                DeclaredMotion(send="N{n}", expect="n"),
            ),
            stop=(Line(send="STOP", expect="s"),),
            requests=(),
            sensors={},
            window=4,
        )
    )
    hand.move(1.0)
    hand.give(MotorCommand(1, "velocity", 2.0))
    hand.run(0)
    hand.emit(b"m\r\nn\r\n")
    assert hand.sent() == b"M1\r\nN2\r\n"
    hand.stop()
    hand.move(5.0)
    assert hand.sent() == b"STOP\r\nM5\r\n"
    hand.emit(b"m\r\n")  # the answer to the stop was lost, or the stop itself
    assert hand.sent() == b"STOP\r\nM5\r\n"


def test_the_stop_of_one_line_lets_the_others_go_on() -> None:
    motors = {name: TextMotor(mode="position", text=f" {name}{{}}") for name in "mn"}
    commands = tuple(DeclaredMotion(send=f"J{{{name}}}", expect="ok") for name in "mn")
    stop = (Line(send="!", realtime=True),)
    hand = Hand(minimal(motors=motors, commands=commands, stop=stop, window=2))
    hand.give(MotorCommand(1, "position", 7.0))
    hand.move(3.0, "position")
    hand.emit(b"ok\r\nok\r\n")
    assert hand.sent() == b"J m3\r\nJ n7\r\n"
    hand.move(0.0)
    assert hand.sent() == b"!J n7\r\n"


def test_a_stop_that_is_never_acknowledged_is_reported() -> None:
    stop = (Line(send="STOP", expect="s", timeout_s=0.1),)
    hand = Hand(minimal(stop=stop, silence_s=10.0))
    hand.move(1.0)
    hand.emit(b"m\r\n")
    text = "stop sent 3 times, not confirmed: the robot does not acknowledge it"
    for stops in (1, 2):
        hand.stop()
        hand.run(600)
        assert hand.found(Notice)[-1] == Notice(text, once=False)
        assert hand.session.counts["unanswered"] == 3 * stops


def test_a_stop_that_is_refused_is_written_again_and_named() -> None:
    hand = Hand(minimal(stop=(Line(send="STOP", expect="s", failed="no"),)))
    hand.stop()
    for _ in range(3):
        assert hand.sent() == b"STOP\r\n"
        hand.emit(b"no\r\n")
    assert hand.sent() == b"" and hand.session.is_idle()
    assert [event.text for event in hand.of(Notice)] == ["the robot answered 'no' to its stop"] * 3


def test_a_refusal_is_of_the_line_that_may_be_refused_so() -> None:
    """Never of one in real time, which a robot answers at any moment."""
    requests = (DeclaredRequest(send="?", expect="s(?P<a>.*)", realtime=True),)
    jog = (DeclaredMotion(send="M{m}", expect="m", failed="no"),)
    hand = Hand(minimal(requests=requests, commands=jog, failed="no|error"))
    hand.session.switch(1, 100, hand.now)
    hand.move(1.0)
    assert hand.sent() == b"M10\r\n?"
    hand.emit(b"error\r\n")
    assert not hand.of(RefusedRequest)
    hand.emit(b"no\r\ns5\r\n")
    assert [event.index for event in hand.of(RefusedRequest)] == [0]
    assert hand.session.counts["refused_lines"] == 1
    assert hand.of(SensorValue) == [SensorValue(1, 5.0)]


def test_a_lost_stop_of_one_motor_is_repeated_though_many_before_were_answered() -> None:
    stop = (Line(send="STOP", expect="s", timeout_s=0.1),)
    hand = Hand(minimal(motors={"m": TextMotor(mode="position")}, stop=stop))
    for answer in (b"s\r\n",) * 3 + (b"",):
        hand.give(MotorCommand(0, "velocity", 2.0))
        hand.move(1.0, "position")
        hand.emit(b"m\r\n")
        hand.sent()
        hand.move(0.0)
        assert hand.sent() == b"STOP\r\n"
        hand.emit(answer)
    hand.run(200)
    assert hand.sent().startswith(b"STOP\r\n")


def test_limits_hold_before_a_velocity_was_set_and_numbers_are_bounded() -> None:
    motors = {"m": TextMotor(mode="position", scale=1000)}
    motion = (DeclaredMotion(send="M{m} F{velocity}", expect="m"),)
    limits = {"m": MotorLimits(max_velocity=2.0)}
    hand = Hand(minimal(motors=motors, commands=motion, limits=limits))
    for value in (1e300, 1e308, -1e13):
        hand.move(value, "position")
    refused = [event.reason for event in hand.of(RefusedRequest)]
    assert refused == ["out_of_range"] * 3 and hand.sent() == b""
    hand.move(1.0, "position")
    assert hand.sent() == b"M1000 F2\r\n"


def test_an_error_is_refused_with_its_text() -> None:
    line = GCODE.up(limits={})
    line.command(X, "position", 9.0)
    line.run(50)
    (refused,) = line.found(RefusedRequest)
    assert (refused.index, refused.reason) == (line.index(X), "failed")
    assert refused.text == "'x motor', 'y motor', 'z motor': the robot answered 'error:15'"
    line.command(X, "position", 0.01)
    line.run(1_000)
    line.command(X, "position", 9.0)
    line.command(Y, "position", 0.02)
    line.run(20)
    assert line.found(RefusedRequest) and place(line)[0] == 10
    line.command(Y, "position", 0.03)  # of its line, the other motor waits for a command
    line.run(1_000)
    assert not line.found(RefusedRequest) and place(line) == (10, 30, 0)


def test_an_alarm_or_a_reset_needs_the_setup_again() -> None:
    line = GCODE.up()
    line.command(X, "position", 0.1)
    line.run(200)
    line.mock.receive(b"\x18", line.now)  # its reset button
    line.run(300)
    (gone,) = line.found(Disconnected)
    assert gone.reason == "the robot needs its setup again: 'ALARM:3'"
    line.run(2_000)
    assert not line.found(Connected)
    texts = {event.text for event in line.found(Notice)}
    assert "the G-code machine rejects 'G21 G90 G94': 'error:9'" in texts
    line.mock.receive(b"$X\n", line.now)
    line.run(2_000)
    assert line.found(Connected) and line.mock.state == "Idle"


def test_a_position_motor_has_no_velocity_mode() -> None:
    line = GCODE.up()
    (refused,) = line.command(X, "position", math.inf)
    assert isinstance(refused, RefusedRequest) and refused.reason == "not_settable"


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "first", "second"),
    [
        ({"window": 1}, b"M10\r\n", b"a\r\n"),
        ({"window": 3}, b"M10\r\na\r\nbb\r\n", b"c\r\n"),
        ({"window": 9, "window_bytes": 11}, b"M10\r\na\r\n", b"bb\r\nc\r\n"),
    ],
)
def test_a_window_of_lines_or_bytes(window: dict[str, int], first: bytes, second: bytes) -> None:
    """Motors go first, then the sensors in their order: a short line overtakes no long one."""
    names = ("a", "bb", "c")
    requests = tuple(DeclaredRequest(send=each, expect=f"{each}(?P<{each}>.*)") for each in names)
    sensors = {each: TextSensor() for each in names}
    hand = Hand(minimal(requests=requests, sensors=sensors, period_ms=100, **window))
    for index in (1, 2, 3):
        hand.session.switch(index, None, hand.now)
    hand.move(1.0)
    assert hand.sent() == first
    hand.emit(b"m\r\n")
    assert hand.sent() == second


def test_commands_that_wait_are_replaced_by_newer_ones() -> None:
    hand = Hand(minimal())
    for value in (1.0, 2.0, 3.0, 4.0):
        hand.move(value)
    assert hand.sent() == b"M10\r\n"
    hand.emit(b"m\r\n")
    assert hand.sent() == b"M40\r\n"
    hand.move(5.0)
    hand.run(370)  # without an answer to the line before
    assert hand.sent() == b"M50\r\n"


def test_a_lost_answer_makes_the_line_silent_and_the_command_is_sent_again() -> None:
    hand = Hand(minimal())
    hand.move(1.0)
    assert hand.sent() == b"M10\r\n"
    hand.run(310)
    assert hand.sent() == b""  # 0.3 s: late
    hand.emit(b"m\r\nm\r\n")  # no answer to anything sent later
    hand.run(45)
    assert hand.sent() == b""
    hand.run(10)
    assert hand.sent() == b"M10\r\n"
    assert hand.session.counts["late_answers"] == 2 and hand.session.counts["timeouts"] == 1
    [notice] = [event.text for event in hand.of(Notice)]
    assert notice.startswith("answers come later than timeout_s")
    hand.emit(b"m\r\n")
    hand.run(100)
    assert hand.sent() == b""


def test_a_stop_is_written_while_answers_are_lost_and_until_one_comes() -> None:
    hand = Hand(minimal())
    hand.move(1.0)
    hand.run(310)
    hand.sent()
    hand.stop()
    assert hand.sent() == b"M0\r\n"
    hand.emit(b"m\r\n")  # to the line before the stop
    assert not hand.session.is_idle()
    hand.run(60)
    assert hand.sent() == b"M0\r\n"  # after the silence
    hand.run(400)
    assert hand.sent() == b"M0\r\n" and not hand.session.is_idle()
    hand.emit(b"m\r\n")
    assert hand.session.is_idle()


def test_a_stop_in_the_setup_is_written_again_after_it() -> None:
    """The robot may have read it amid a line that was cut."""
    hand = Hand(minimal())
    hand.disconnect()
    hand.open(20)
    hand.stop()
    hand.run(60)  # the setup begins anew
    hand.sent()
    hand.emit(b"v1\r\n")
    assert len(hand.of(Connected)) == 2 and b"M0\r\n" in hand.sent()


def test_a_second_stop_does_not_cancel_the_repetition_of_the_first() -> None:
    hand = Hand(minimal(stop=(Line(send="!", realtime=True),)))
    hand.move(1.0)
    assert hand.sent() == b"M10\r\n"  # the robot may read it after the stops
    for _ in range(2):
        hand.stop()
        assert hand.sent() == b"!"
    hand.run(20)
    assert hand.sent() == b"" and not hand.session.is_idle()
    hand.emit(b"m\r\n")
    assert hand.sent() == b"!" and hand.session.is_idle()


def test_values_that_are_none_are_dropped_with_their_reason() -> None:
    hand = Hand(minimal(period_ms=10))
    hand.session.switch(1, None, hand.now)
    for text in (b"1.5", b"nan", b"1e999", b"", b"1_0", b"0x10", b"9" * 70, b" -2e1 "):
        hand.run(10)
        hand.emit(b"s" + text + b"\r\n")
    values = [event.value for event in hand.of(SensorValue)]
    assert values == [1.5, -20.0]
    reasons = [event.reason for event in hand.of(RefusedRequest)]
    assert reasons == ["no_number"] * 6


def test_scale_table_hex_counter_and_vector() -> None:
    hand = Hand(
        minimal(
            requests=(
                DeclaredRequest(send="S", expect="s(?P<a>[^,]*),(?P<b>.*),(?P<c>.*),(?P<d>.*)"),
            ),
            sensors={
                "a": TextSensor(scale=0.1, offset=1, table=((1.0, 0.0, 0.0), (11.0, 100.0, 0.0))),
                "b": TextSensor(hex=True),
                "c": TextSensor(wraps=1000, scale=2, node="PositionSensor", motor="m"),
                "v": TextSensor(node="Gyro", group=("a", "b", "c")),
            },
            period_ms=10,
        )
    )
    for index in (1, 2, 3, 4):
        hand.session.switch(index, None, hand.now)
    for answer in (b"s50,ff,990,0", b"s-1,10,20,0", b"s1e9,1,990,0"):
        hand.run(10)
        hand.emit(answer + b"\n")
    values = [(e.index, e.value) for e in hand.of(SensorValue)]
    assert values == [
        *((1, pytest.approx(50.0)), (2, 255.0), (3, 1980.0)),
        *((1, 0.0), (2, 16.0), (3, 2040.0), (4, (-1.0, 10.0, 20.0))),
        *((1, 100.0), (2, 1.0), (3, 1980.0), (4, (1e9, 1.0, 990.0))),
    ]
    assert len(hand.of(RefusedRequest)) == 1  # b is ff for the vector


def test_fixed_lines_wait_for_the_position_of_every_motor() -> None:
    motors = {name: TextMotor(mode="position", decimals=1) for name in ("a", "b")}
    commands = (DeclaredMotion(send="P{a},{b}", expect="p"),)
    hand = Hand(minimal(motors=motors, commands=commands, requests=(), sensors={}))
    hand.move(1.0, "position")
    assert hand.sent() == b""
    hand.give(MotorCommand(1, "position", -2.0))
    hand.run(0)
    assert hand.sent() == b"P1.0,-2.0\r\n"


def test_unexpected_lines_are_counted_and_reported_once() -> None:
    hand = Hand(minimal(ignore="battery.*"))
    hand.emit(b"battery low\r\nhello\r\nworld\r\n")
    notices = [event.text for event in hand.of(Notice)]
    assert notices == ["the robot sends lines that no pattern describes: 'hello'"]
    assert hand.session.counts["unexpected_lines"] == 2


def test_an_led_that_was_lost_is_set_again() -> None:
    hand = Hand(minimal(leds={"l": LedLine(send="L{value}", expect="l", failed="no")}))
    hand.handle(hand.session.tune(LedValue(2, 3), hand.now))
    hand.run(0)
    assert hand.sent() == b"L3\r\n"
    hand.run(400)
    assert hand.sent() == b"L3\r\n"
    hand.emit(b"l\r\n")
    hand.restart()
    assert b"L3\r\n" in hand.sent()
    hand.emit(b"no\r\n")
    (refused,) = hand.of(RefusedRequest)
    assert (refused.index, refused.text) == (2, "'l': the robot answered 'no'")
    hand.disconnect()
    hand.open(60)
    hand.sent()
    hand.emit(b"v1\r\n")
    assert hand.sent() == b""  # another robot may be there


@given(st.lists(st.binary(max_size=80) | st.sampled_from([b"n,1", b"s5\r\n", b"m\r\n"])))
def test_hostile_bytes_of_a_robot_give_finite_values_alone(parts: list[bytes]) -> None:
    hand = Hand(minimal(period_ms=10, requests=(DeclaredRequest(send="S", expect="s?(?P<a>.*)"),)))
    hand.session.switch(1, None, hand.now)
    for part in parts:
        hand.move(1.0)
        hand.emit(part)
        hand.run(15)
    for event in hand.events:
        assert not isinstance(event, SensorValue) or math.isfinite(event.value)
    assert len(hand.sent()) < 400 * (len(parts) + 1)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9))
def test_numbers_are_written_plainly(number: float, decimals: int) -> None:
    text = written(number, decimals)
    assert set(text) <= set("-.0123456789")
    assert float(text) == pytest.approx(number, abs=0.51 * 10**-decimals)
    assert not text.startswith("-") or float(text) < 0


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"stop": ()}, "stop", "the motors could not be stopped"),
        ({"setup": (Step(send="V"),)}, "setup", "a dead line would look alive"),
        ({"setup": (Step(send="V", expect="("),)}, "setup.0.expect", "regular expression"),
        ({"commands": ()}, "motors.m", "is in no line"),
        ({"commands": (DeclaredMotion(send="M{m}{n}"),)}, "commands.0.send", "{n} is not a motor"),
        ({"commands": (DeclaredMotion(send="M{m}{velocity}"),)}, "commands.0.send", "moves none"),
        (
            {"commands": (DeclaredMotion(send="M{m}"), DeclaredMotion(send="{m}"))},
            "motors.m",
            "in 2 lines",
        ),
        ({"commands": (DeclaredMotion(send="M"),)}, "commands.0.send", "moves no motor"),
        ({"motors": {"velocity": TextMotor()}}, "motors.velocity", "means the velocity"),
        ({"motors": {"m": TextMotor(smallest=2, largest=1)}}, "motors.m.smallest", "above largest"),
        ({"motors": {"m": TextMotor(largest=-1)}}, "motors.m", "velocity 0"),
        ({"motors": {"m": TextMotor(text="☃{}")}}, "motors.m.text", "not one byte"),
        ({"motors": {"m": TextMotor(text="X")}}, "motors.m.text", "must contain {}"),
        ({"motors": {"m": TextMotor(scale=0)}}, "motors.m.scale", "the same"),
        ({"motors": {"m": TextMotor(smallest=1, offset=0)}}, "motors.m", "velocity 0"),
        ({"sensors": {"b": TextSensor()}}, "sensors.b.group", "no answer"),
        ({"sensors": {"m": TextSensor(group="a")}}, "sensors.m", "another device"),
        ({"sensors": {"a": TextSensor(node="Gyro")}}, "sensors.a.group", "needs 3 groups"),
        ({"sensors": {"a": TextSensor(motor="m")}}, "sensors.a.motor", "not a motor with"),
        ({"sensors": {"a": TextSensor(type="sound")}}, "sensors.a.type", "no type"),
        ({"sensors": {"a": TextSensor(table=((1, 1, 0), (1, 2, 0)))}}, "sensors.a.table", "after"),
        (
            {"sensors": {"a": TextSensor(node="Gyro", group=("x", "y", "z"), wraps=9)}},
            "sensors.a.wraps",
            "does not wrap",
        ),
        (
            {"sensors": {"a": TextSensor(node="Gyro", starts_at_zero=True)}},
            "sensors.a.starts_at_zero",
            "does not start at 0",
        ),
        ({"unasked": (Unasked(expect="u(?P<a>.*)"),)}, "sensors.a.group", "several lines in"),
        ({"unasked": (Unasked(expect=""),)}, "unasked.0.expect", "is empty"),
        ({"unasked": (Unasked(expect="("),)}, "unasked.0.expect", "regular expression"),
        ({"leds": {"l": LedLine(send="L", expect="(")}}, "leds.l.expect", "regular expression"),
        ({"setup": (Step(), Step(send="V", expect="v"))}, "setup.0", "neither send nor expect"),
        ({"stop": (Line(send=""),)}, "stop.0.send", "is empty"),
        ({"requests": (DeclaredRequest(send="S"),)}, "requests.0.expect", "is empty"),
        ({"stop": (Line(send="M0\r\n"),)}, "stop.0.send", "contains the line end"),
        ({"stop": (Line(send="☃"),)}, "stop.0.send", "not one byte"),
        ({"line_end": ""}, "line_end", "is empty"),
        ({"always_on": ("nose",)}, "always_on", "no sensor 'nose'"),
        ({"limits": {"w": MotorLimits()}}, "limits.w", "no such motor"),
        ({"limits": {"m": MotorLimits(max_velocity=-1.0)}}, "limits.m.max_velocity", "must be"),
        ({"window_bytes": 3}, "window_bytes", "a line has"),
    ],
)
def test_errors_in_the_configuration(changes: dict[str, Any], path: str, message: str) -> None:
    errors = [(where, text) for where, text, _ in BODY.check(minimal(**changes))]
    assert any(where == path and message in text for where, text in errors), errors


@pytest.mark.parametrize("stop", ["m112", "\x18"])
def test_a_stop_after_which_the_robot_takes_no_command_is_a_warning(stop: str) -> None:
    latching = minimal(stop=(Line(send="M0", expect="m"), Line(send=stop)))
    assert [path for path, _, _ in BODY.doubts(latching)] == ["stop.1.send"]


def test_a_rate_of_a_position_motor_needs_the_velocity_in_its_line() -> None:
    limits = {"m": MotorLimits(rate=0.5)}
    motors = {"m": TextMotor(mode="position")}
    made = minimal(limits=limits, motors=motors)
    assert [error[0] for error in BODY.check(made)] == ["limits.m.rate"]
    motion = DeclaredMotion(send="M{m} F{velocity}", velocity_scale=10, expect="m")
    hand = Hand(minimal(limits=limits, motors=motors, commands=(motion,)))
    hand.move(3.0, "position")
    assert hand.sent() == b"M3 F5\r\n"


# --- a watchdog, reversed motors, lines that come unasked, encoders from 0, fixed lines ---------


def test_the_stop_follows_a_declared_watchdog() -> None:
    assert not BODY.stop_frame(minimal()).has_watchdog
    frame = BODY.stop_frame(minimal(watchdog_ms=500))
    assert frame.has_watchdog
    assert frame.alone == "it stops 500 ms after the last line for its motors"


def test_a_watchdog_gets_the_line_of_its_motors_again_until_they_are_stopped() -> None:
    hand = Hand(minimal(watchdog_ms=300, silence_s=30))
    hand.move(1.0)
    assert hand.sent() == b"M10\r\n"
    hand.emit(b"m\r\n")
    for _ in range(3):
        hand.run(101)
        assert hand.sent() == b"M10\r\n"
        hand.emit(b"m\r\n")
    hand.stop()
    hand.emit(b"m\r\n")
    hand.sent()
    hand.run(400)
    assert b"M10" not in hand.sent()
    without = Hand(minimal(silence_s=30))
    without.move(1.0)
    without.emit(b"m\r\n")
    without.sent()
    without.run(400)
    assert without.sent() == b""


def test_a_reversed_motor_turns_the_other_way() -> None:
    hand = Hand(minimal(motors={"m": TextMotor(scale=10, offset=90, reverse=True)}))
    hand.move(2.0)
    assert hand.sent() == b"M70\r\n"


def test_lines_that_come_unasked_have_values_and_are_a_sign_of_life() -> None:
    settings = minimal(
        requests=(),
        unasked=(Unasked(expect="D (?P<a>.*)"), Unasked(expect="B (?P<b>.*)")),
        sensors={"a": TextSensor(), "b": TextSensor(scale=0.5)},
        silence_s=1.0,
    )
    hand = Hand(settings)
    hand.emit(b"D 5\r\n")
    assert not hand.of(SensorValue)  # not enabled
    for index in (1, 2):
        hand.handle(hand.session.switch(index, 32, hand.now))
    hand.emit(b"D 7\r\nB 8\r\nD x\r\n")
    values = hand.of(SensorValue)
    assert values == [SensorValue(1, 7.0), SensorValue(2, 4.0)]
    assert hand.of(RefusedRequest)
    for _ in range(40):
        hand.run(100)
        hand.emit(b"D 1\r\n")
    assert hand.sent() == b"" and not hand.of(Disconnected)
    assert hand.session.counts["unexpected_lines"] == 0


def test_a_robot_that_never_ceases_to_send_is_set_up_all_the_same() -> None:
    settings = minimal(
        requests=(), unasked=(Unasked(expect="D (?P<a>.*)"),), sensors={"a": TextSensor()}
    )
    session = BODY.session(settings, "R2025a")
    now, events = 0, list(session.open(0))
    for _ in range(6):
        now += 10 * MS
        events += session.receive(b"D 1\r\n", now)
        due = session.next_deadline()
        events += session.expire(now) if due is not None and due <= now else []
    assert Write(b"V\r\n") in events  # after quiet_ms, 50
    events += session.receive(b"D 1\r\nv1\r\n", now)
    assert Connected("text robot 1") in events


@pytest.mark.parametrize(("wraps", "offset"), [(0, 0.0), (1000, 0.0), (1000, 200.0)])
def test_an_encoder_that_starts_at_0_goes_on_and_another_counts_anew(
    wraps: int, offset: float
) -> None:
    encoder = TextSensor(starts_at_zero=not offset, wraps=wraps, scale=0.5)
    hand = Hand(minimal(sensors={"a": encoder}))
    hand.handle(hand.session.switch(1, 32, hand.now))
    for number in (400, 410, 390):
        hand.run(40)
        hand.emit(b"s%d\r\n" % number)
    values = [event.value - offset for event in hand.found(SensorValue)]
    assert values == [0.0, 5.0, -5.0]
    hand.restart()
    for number in (0, 10):
        hand.run(40)
        hand.emit(b"s%d\r\n" % number)
    again = [0.0, 5.0] if offset else [-5.0, 0.0]
    assert [event.value for event in hand.of(SensorValue)] == again


def test_velocity_0_of_one_servo_does_not_stop_the_others_in_its_line() -> None:
    servo = TextMotor(mode="position", scale=100)
    settings = minimal(
        motors={"m": servo, "n": servo}, commands=(DeclaredMotion(send="S{m},{n}", expect="m"),)
    )
    hand = Hand(settings)
    for index, value in ((0, 1.0), (1, 2.0)):
        hand.give(MotorCommand(index, "position", value))
    hand.run(1)
    assert hand.sent() == b"S100,200\r\n"
    hand.emit(b"m\r\n")
    hand.give(MotorCommand(0, "velocity", 0.0))
    hand.give(MotorCommand(0, "position", 3.0))
    hand.give(MotorCommand(1, "position", 2.5))
    hand.run(1)
    assert hand.sent() == b"S100,250\r\n"  # no stop
    hand.emit(b"m\r\n")
    hand.give(MotorCommand(1, "velocity", 0.0))
    hand.run(1)
    assert hand.sent() == b"M0\r\n"  # now all of them stand


@pytest.mark.parametrize(
    ("mode", "answer", "stop"),
    [("velocity", "s", b"D0,20\r\n"), ("position", "", b"STOP\r\n")],
)
def test_the_stop_of_a_motor_whose_line_has_no_answer_is_written_again(
    mode: str, answer: str, stop: bytes
) -> None:
    wheel = TextMotor(mode=mode, scale=10)
    drive = (DeclaredMotion(send="D{m},{n}"),)
    halt = (Line(send="STOP", expect=answer),)
    hand = Hand(minimal(motors={"m": wheel, "n": wheel}, commands=drive, stop=halt))
    for index in (0, 1):
        hand.give(MotorCommand(index, mode, 2.0))
    hand.run(1)
    hand.sent()
    plan = hand.session.stop_motor(0, hand.now)
    hand.handle(plan.events)
    hand.run(1)
    assert hand.sent() == stop and plan.copies > 1
    hand.handle(hand.session.stop_again([0], hand.now))
    hand.run(1)
    assert hand.sent() == stop


def test_a_line_with_repeat_is_sent_for_each_command_with_the_same_numbers() -> None:
    for repeat in (True, False):
        motion = DeclaredMotion(send='{"T":1,"L":{m}}', expect="m", repeat=repeat)
        hand = Hand(minimal(commands=(motion,)))
        hand.move(1.0)
        assert hand.sent() == b'{"T":1,"L":10}\r\n'
        hand.emit(b"m\r\n")
        hand.move(1.0)
        assert bool(hand.sent()) is repeat, "the robot has a watchdog"


def test_a_slow_line_has_time_for_its_answers() -> None:
    """At 300 baud an answer of 60 bytes takes 2 s."""
    hand = Hand(minimal(baudRate=300, period_ms=20_000, always_on=("a",)), quiet_ms=1_000)
    hand.run(0)  # the sensor is asked for
    for byte in b"s" + 58 * b"1" + b"\n":
        hand.run(34)
        hand.emit(bytes((byte,)))
    assert hand.session.counts["timeouts"] == 0
    assert not hand.found(Disconnected) and hand.found(SensorValue)
    hand.run(20_000)  # silence is noticed all the same, and named as long as it was
    (lost,) = hand.found(Disconnected)
    assert lost.reason.startswith("no answer for 17.")
