"""Dynamixel servos that restart, whose registers change, or that keep theirs while the line is
dead: it is noticed, the others stop, and nothing moves until the next command."""

import math
from collections.abc import Callable

import pytest

from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import Connected, Disconnected, Notice, StopReason
from hilgw.units import NS_PER_MS
from tests.bodies.bench import DYNAMIXEL, FEETECH, LEFT, RIGHT, BodyBench, Robot
from tests.bodies.servos import TORQUE, harsh, packets_of, pulses, stands, written_to

up = DYNAMIXEL.up
ARM = {"arm": ServoSettings(id=1)}
WATCHDOG = 98
STEPS = 10  # 200 ms


def driving(**settings: object) -> BodyBench:
    """Both wheels turn."""
    line = up(**settings)
    for name in (LEFT, RIGHT):
        line.command(name, "velocity", 2.0)
    line.run(300)
    assert all(servo.moves for servo in line.mock.servos.values())
    return line


def lost(line: BodyBench, limit_ms: int) -> Disconnected:
    """The next loss, which is noticed within this time."""
    assert line.run(limit_ms, lambda: line.of(Disconnected)), "no loss"
    [event] = line.found(Disconnected)
    return event


def back(line: BodyBench) -> None:
    """What the control loop does after a loss, until the servos are there again."""
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(1_500)
    assert len(line.found(Connected)) == 1


CHANGES: dict[str, Callable[[BodyBench], None]] = {
    "restart": lambda line: line.mock.servos[1].boot(),
    "watchdog 0": lambda line: line.mock.set("registers", "1:98:0"),
    "watchdog 11": lambda line: line.mock.set("registers", "1:98:11"),
    "torque": lambda line: line.mock.set("registers", "1:64:0"),
}


@pytest.mark.parametrize("baud_rate", [57_600, 1_000_000])
@pytest.mark.parametrize("change", CHANGES)
def test_another_register_stops_the_others_and_loses_the_body(change: str, baud_rate: int) -> None:
    line = driving(baudRate=baud_rate)
    CHANGES[change](line)
    line.written.clear()
    event = lost(line, 300)
    name = "torque 0 in place of 1" if change == "torque" else "bus watchdog"
    assert event.reason.startswith(f"servo 1 has {name}")
    assert line.mock.servos[2].get(104, 4) == 0  # in the same write, before the loss is reported
    begin = line.mock.servos[2].pulses
    line.run(5)
    assert line.mock.servos[2].pulses == begin
    assert line.session.counts["differences"] == 1
    back(line)


def test_the_others_hold_their_position_when_they_are_under_position_control() -> None:
    line = up()
    line.command(LEFT, "velocity", 2.0)
    line.settings(RIGHT, 1.5, 0.3, -1.0, 1.4)
    line.run(300)
    assert line.mock.servos[2].moves
    line.mock.servos[1].boot()
    lost(line, 300)
    line.run(20)
    assert stands(line, 1_000)
    assert line.mock.servos[2].pulses < 2048 + 1.5 / math.tau * 4096 - 100


def test_a_servo_that_restarts_while_no_one_drives_is_noticed_too() -> None:
    line = up()
    line.run(500)
    line.mock.servos[2].boot()
    assert lost(line, 300).reason.startswith("servo 2 has bus watchdog 0")


def test_a_restart_is_noticed_where_answers_leave_no_room_in_a_period() -> None:
    line = driving()
    line.delay_ms = 12
    line.run(500)
    line.mock.servos[1].boot()
    assert lost(line, 500).reason.startswith("servo 1 has bus watchdog 0")


def test_the_stop_of_a_servo_without_torque_follows_the_hand_that_turns_it() -> None:
    line = up()
    servo = line.mock.servos[1]
    for turned in (0, 5):  # a load may pull it so far
        servo.pulses += turned
        line.run(50)
        line.written.clear()
        line.handle(line.session.stop(StopReason.DISARMED, line.now).events)
        goals = next(data for _, _, data in packets_of(bytes(line.written)) if data[0] == 116)
        assert (goals[4], int.from_bytes(goals[5:9], "little")) == (1, servo.pulses)


def test_a_servo_that_restarted_is_set_up_anew_and_gets_no_command_from_before() -> None:
    line = driving()
    line.mock.servos[1].boot()
    while not line.found(Disconnected):  # there is always a command that waits
        line.command(LEFT, "velocity", 3.0)
        line.command(RIGHT, "velocity", 3.0)
        line.run(0.1)
    line.written.clear()
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    assert stands(line, 1_500)
    assert len(line.found(Connected)) == 1
    # Goals of a stop only: velocity 0, and no position for the one that restarted.
    for _, instruction, data in packets_of(bytes(line.written)):
        if instruction == 0x83 and data[0] == 116:
            assert 1 not in data[4::5]
        if instruction == 0x83 and data[0] == 104:
            assert all(set(data[at + 1 : at + 5]) == {0} for at in range(4, len(data), 5))
    servo = line.mock.servos[1]
    assert (servo.torque, servo.table[WATCHDOG]) == (0, STEPS)
    line.command(LEFT, "velocity", 2.0)
    line.run(200)
    assert servo.moves and servo.torque
    line.session.close()  # the gateway is killed
    line.run(250)
    assert not servo.moves


# --- the handshake --------------------------------------------------------------------------------


def arm(mock: dict[str, object] | None = None, **settings: object) -> BodyBench:
    """An arm on its way to 1.5 rad, under position control."""
    line = up(mock, motors=ARM, **settings)
    line.settings("arm", 1.5, 1.0, -1.0, 1.4)
    line.run(400)
    assert line.mock.servos[1].moves
    return line


@pytest.mark.parametrize("position", [-3, 4_100])
def test_a_servo_beyond_its_limits_goes_to_the_limit(position: int) -> None:
    """It takes no other goal, and would resume the old one."""
    line = arm()
    line.cut = True
    line.run(600)
    line.mock.servos[1].pulses = position
    line.cut = False
    line.run(1_500)
    assert line.found(Connected) and line.mock.servos[1].torque
    assert abs(line.mock.servos[1].pulses - position) <= 5


def cable_comes_off(line: BodyBench) -> None:
    line.cut = True
    lost(line, 1_000)
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(300)
    assert line.mock.servos[1].tripped
    line.cut = False


def usb_comes_off(line: BodyBench) -> None:
    line.session.close()
    line.run(400)
    assert line.mock.servos[1].tripped
    line.handle(line.session.open(line.now))


def gateway_is_restarted(line: BodyBench) -> None:
    """So soon that the watchdog has not stopped the servo."""
    line.session.close()
    line.run(20)
    line.handle(line.session.open(line.now))
    line.run(60)  # it moves on until it is asked
    assert not line.mock.servos[1].tripped


LOSSES = pytest.mark.parametrize("lose", [cable_comes_off, usb_comes_off, gateway_is_restarted])
MODES = pytest.mark.parametrize(
    ("mock", "servo", "mode"),
    [
        ({}, ServoSettings(id=1), 3),
        ({}, ServoSettings(id=1, multi_turn=True), 4),
        ({"model": 1020}, ServoSettings(id=1), 5),
        ({"model": 2020}, ServoSettings(id=1, series="P"), 3),
    ],
    ids=["position", "extended", "current", "P"],
)


@LOSSES
@MODES
def test_a_servo_under_position_control_keeps_its_torque_and_its_place(
    mock: dict[str, object], servo: ServoSettings, mode: int, lose: Callable[[BodyBench], None]
) -> None:
    line = up(mock, motors={"arm": servo})
    line.settings("arm", 1.5, 1.0, -1.0, 1.4)
    line.run(400)
    mocked = line.mock.servos[1]
    assert mocked.moves and mocked.table[11] == mode
    lose(line)
    line.written.clear()
    begin = mocked.pulses
    for _ in range(1_500):
        line.run(1)
        assert mocked.torque
        # Its goal is a whole pulse.
        assert lose is gateway_is_restarted or abs(mocked.pulses - begin) <= 1
    assert len(line.found(Connected)) == 1
    assert stands(line, within=mocked.traits.turn / 4096) and mocked.table[WATCHDOG] == STEPS
    assert not written_to(bytes(line.written)) & {TORQUE, 512, 11}
    line.written.clear()
    line.settings("arm", 0.2, 1.0, -1.0, 1.4)
    line.run(2_000)
    turn = mocked.traits.turn
    zero = 0 if servo.series == "P" else 2048
    assert mocked.pulses == pytest.approx(zero + 0.2 / math.tau * turn, abs=turn / 1000)
    assert not written_to(bytes(line.written)) & {TORQUE, 512, 11}  # it never let go


def test_a_servo_that_was_turned_meanwhile_stays_where_it_is_now() -> None:
    line = arm()
    line.cut = True
    line.run(600)
    line.mock.servos[1].pulses -= 300
    line.cut = False
    assert stands(line, 1_500, within=1.0)
    line.mock.servos[1].pulses -= 20  # by hand: it returns slowly
    line.run(1_000)
    assert line.mock.servos[1].moves


@pytest.mark.parametrize("mode", [0, 1, 5, 16])
@pytest.mark.parametrize("tripped", [False, True])
def test_a_servo_of_others_lets_go_before_its_watchdog_is_cleared(mode: int, tripped: bool) -> None:
    """A servo that another program left, or whose goals nothing from here has set."""
    line = DYNAMIXEL.bench({"model": 1020, "registers": f"1:11:{mode}, 2:11:{mode}"})
    for servo in line.mock.servos.values():
        servo.put(TORQUE, 1, 1)
        servo.put(104, 100, 4)
        servo.put(116, 9_000, 4)
        if tripped:
            servo.tripped, servo.table[WATCHDOG] = True, 255
    line.open(0)
    if not tripped:
        line.run(3_000 if mode == 5 else 100)  # it was on its way, and returns slowly
    assert stands(line, 1_000, within=1.0) and len(line.found(Connected)) == 1
    for servo in line.mock.servos.values():
        assert servo.torque == (mode == 5) and servo.table[WATCHDOG] == STEPS


def test_a_wheel_lets_go_as_soon_as_its_mode_is_known_also_when_another_servo_is_missing() -> None:
    line = DYNAMIXEL.bench({"ids": "1"})
    servo = line.mock.servos[1]
    for register, value, size in ((11, 1, 1), (TORQUE, 1, 1), (104, 100, 4)):
        servo.put(register, value, size)
    line.open(15)
    assert not servo.torque
    line.run(3_000)
    assert "servo 2" in line.found(Notice)[0].text and not line.found(Connected)


def test_a_wheel_that_does_not_let_go_keeps_its_watchdog() -> None:
    line = DYNAMIXEL.bench({"registers": "1:11:1"})
    servo = line.mock.servos[1]
    servo.put(TORQUE, 1, 1)
    servo.put(104, 100, 4)
    servo.tripped, servo.table[WATCHDOG] = True, 255
    write = servo.write
    servo.write = lambda address, data: 3 if address == TORQUE else write(address, data)
    line.open(0)
    assert stands(line, 2_500)
    assert not line.found(Connected) and servo.tripped and servo.table[WATCHDOG] == 255
    assert line.found(Notice)[0].text == "servo 1 did not let go, or its position is not known"
    servo.write = write
    assert stands(line, 1_500) and len(line.found(Connected)) == 1


@pytest.mark.parametrize("on_loss", ["hold", "release"])
def test_harsh_servos_that_were_cut_off_do_not_move(on_loss: str) -> None:
    """Each byte takes its time there: between two packets a servo may go on to its old goal."""
    line = harsh(on_loss=on_loss)
    line.settings(LEFT, 1.4, 1.0, -1.0, 1.4)
    line.command(RIGHT, "velocity", 2.0)
    line.run(500)
    begin = pulses(line)
    line.run(50)
    assert all(now > was for now, was in zip(pulses(line), begin, strict=True))
    line.cut = True
    line.run(700)
    assert all(servo.tripped for servo in line.mock.servos.values())
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(100)
    line.cut = False
    assert stands(line, 3_000, within=1.0)
    assert line.found(Connected)
    first, second = line.mock.servos.values()
    assert (first.table[TORQUE], second.table[TORQUE]) == (int(on_loss == "hold"), 0)
    assert not first.tripped and first.table[WATCHDOG] == STEPS


def test_a_harsh_servo_that_restarts_stands_until_its_next_goal() -> None:
    line = harsh()
    for name in (LEFT, RIGHT):
        line.settings(name, 1.4, 1.0, -1.0, 1.4)
    line.run(500)
    line.mock.servos[1].restart()
    lost(line, 350)
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(80)
    assert stands(line, 1_500, within=1.0)
    assert line.found(Connected)
    servo = line.mock.servos[1]
    line.settings(LEFT, (servo.pulses - 2048) / 4096 * math.tau, 1.0, -1.0, 1.4)
    assert stands(line, 500, 1, within=2.0)  # a torque that comes back has no old goal
    assert servo.table[TORQUE] and servo.torque_on == 2


# --- answers that come late -----------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("late_ms", [15, 25, 60, 95])
@pytest.mark.parametrize("wait_ms", [0, 130, 245, 250, 255])
def test_a_late_answer_is_not_that_of_the_next_question(wait_ms: int, late_ms: int) -> None:
    """The torque of servo 1 was "10" for one late answer: the body was lost, and latched."""
    line = up()
    line.command(LEFT, "velocity", 3.0)
    line.command(RIGHT, "velocity", 3.0)
    line.run(300 + wait_ms)
    line.events.clear()
    line.delay_ms = late_ms
    line.run(60)
    line.delay_ms = 0
    line.run(1_500)
    assert line.of(Disconnected) == [] and line.session.counts["differences"] == 0
    assert all(servo.moves for servo in line.mock.servos.values())
    if late_ms > 20 + 5:
        assert line.session.counts["late_answers"] > 0
        (notice,) = {each.text for each in line.of(Notice)}
        assert "latency timer" in notice
    angle = line.mock.servos[1].pulses
    line.run(40)
    assert line.mock.servos[1].pulses != angle


@pytest.mark.parametrize(("bus", "length"), [(DYNAMIXEL, 5), (FEETECH, 3)])
def test_an_answer_with_a_length_that_lies_takes_no_other_with_it(bus: Robot, length: int) -> None:
    """It is damaged, and none is late: its rest is not waited for."""
    line = bus.up()
    take, answers = line.mock.take, []

    def lying(now: int) -> bytes:
        data = bytearray(take(now))
        if data and not answers:
            answers.append(bytes(data))
            data[length] = 200
        return bytes(data)

    line.mock.take = lying
    line.run(400)
    assert answers and line.of(Disconnected) == line.of(Notice) == []
    assert line.session.counts["late_answers"] == 0
    assert line.session.counts["damaged"] == 1


def test_after_a_missing_answer_nothing_is_asked_but_a_ping() -> None:
    line = up()
    line.run(300)
    line.delay_ms = 60
    line.written.clear()
    line.run(75)
    asked = [instruction for _, instruction, _ in packets_of(bytes(line.written))]
    assert asked.count(0x01) == 1 and asked[-1] == 0x01


def test_servos_whose_answers_are_always_late_are_lost_and_stand() -> None:
    """Without fresh positions no servo drives on."""
    line = up()
    line.command(LEFT, "velocity", 3.0)
    line.run(300)
    line.delay_ms = 60
    line.run(400)
    assert "silent" in lost(line, 1).reason
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(500)
    assert not any(servo.moves for servo in line.mock.servos.values())


def test_a_stop_in_the_silence_after_a_ping_leaves_at_once_and_again_after_the_silence() -> None:
    line = harsh()
    line.command(LEFT, "velocity", 3.0)
    line.run(300)
    for servo in line.mock.servos.values():
        servo.mute = True
    line.written.clear()
    assert line.run(100, lambda: 0x01 in [kind for _, kind, _ in packets_of(bytes(line.written))])
    line.run(40)  # the ping has no answer either
    line.written.clear()
    line.handle(line.session.stop(StopReason.DISARMED, line.now).events)
    assert written_to(bytes(line.written)) == {104, 116}
    line.run(30)
    line.written.clear()
    assert not line.session.is_idle()
    assert line.run(100, lambda: {104, 116} <= written_to(bytes(line.written)))
    assert line.session.is_idle()


def test_without_an_answer_to_the_ping_nothing_is_asked_before_silence() -> None:
    line = harsh()
    for servo in line.mock.servos.values():
        servo.mute = True
    reads, pings = (0x02, 0x82), (0x01,)

    def asked(kinds: tuple[int, ...]) -> int:
        return sum(each in kinds for _, each, _ in packets_of(bytes(line.written)))

    assert line.run(100, lambda: asked(pings))
    before = asked(reads)
    line.run(100)
    assert asked(reads) == before and asked(pings) == 1
    assert line.run(60, lambda: asked(reads) > before)


def test_servos_that_a_late_event_loop_has_not_asked_are_not_silent() -> None:
    """On a busy machine: between two readings nothing was asked for longer than silence_s."""
    line = driving()
    line.run(3)  # the last reading is answered
    late_ns = line.now + 400 * NS_PER_MS
    line.handle(line.session.expire(late_ns))
    assert not line.of(Disconnected)
    for milliseconds in range(400):  # now they are asked, and no answer comes
        line.handle(line.session.expire(late_ns + milliseconds * NS_PER_MS))
    assert "silent" in lost(line, 1).reason
