"""Body `feetech`: against packets of the maker's manuals, and on its mock, which may be hostile."""

import math
from typing import Any

import pytest

from hilgw.bodies.feetech.packet import PING, Feetech, ServoAnswer, StatusReader
from hilgw.bodies.feetech.settings import ServoSettings
from hilgw.control.events import (
    Connected,
    Disconnected,
    FeedbackSwitch,
    HardwareFault,
    MotorFeedback,
    Notice,
    ProtocolFailure,
    RefusedRequest,
    StopReason,
)
from tests.bodies.bench import FEETECH, LEFT, RIGHT, BodyBench

bench, up = FEETECH.bench, FEETECH.up
SERVOS = Feetech({})
STEP = math.tau / 4096
MODE, ACCELERATION, SPEED, FORCE, LOCK = 33, 41, 46, 48, 55
ARM: dict[str, Any] = {"motors": {"arm": ServoSettings(id=1)}}


def status(number: int, error: int, data: bytes = b"") -> bytes:
    """What a servo answers, written without the package."""
    body = bytes((number, len(data) + 2, error)) + data
    return b"\xff\xff" + body + bytes((255 - sum(body) % 256,))


def stands(line: BodyBench, milliseconds: int = 300, within: float = 1.0) -> bool:
    begin = [servo.pulses for servo in line.mock.servos.values()]
    line.run(milliseconds)
    now = [servo.pulses for servo in line.mock.servos.values()]
    return all(abs(a - b) <= within for a, b in zip(begin, now, strict=True))


def driving(mock: dict[str, Any] | None = None, **settings: Any) -> BodyBench:
    line = up(mock, **settings)
    for name in (LEFT, RIGHT):
        line.command(name, "velocity", 2.0)
    line.run(200)
    assert all(servo.moves for servo in line.mock.servos.values())
    return line


def reaching(mock: dict[str, Any] | None = None, **servo: Any) -> BodyBench:
    """An arm on its way to 1.5 rad."""
    line = up(mock, motors={"arm": ServoSettings(id=1, **servo)})
    line.settings("arm", 1.5, 0.5, -1.0, 1.4)
    line.run(300)
    assert line.mock.servos[1].moves
    return line


def stopped(line: BodyBench, reason: StopReason = StopReason.SILENCE) -> None:
    line.handle(line.session.stop(reason, line.now).events)


def lost(line: BodyBench, limit_ms: int = 300) -> str:
    assert line.run(limit_ms, lambda: line.of(Disconnected)), "no loss"
    return str(line.found(Disconnected)[0].reason)


@pytest.mark.parametrize(
    ("made", "data"),
    [
        (SERVOS.packet(1, PING), "ff ff 01 02 01 fb"),
        (SERVOS.read(1, 56, 2), "ff ff 01 04 02 38 02 be"),
        (SERVOS.packet(254, 3, b"\5\1"), "ff ff fe 04 03 05 01 f4"),
        (SERVOS.write_all(46, {1: 1000, 2: -1000}),
         "ff ff fe 0a 83 2e 02 01 e8 03 02 e8 83 eb"),
        (SERVOS.read_all(56, 6, [1, 2]), "ff ff fe 06 82 38 06 01 02 38"),
    ],
)  # fmt: skip
def test_instructions_of_the_manual(made: bytes, data: str) -> None:
    """Protocol manual (SCS): ping, read, write, sync write and sync read; bit 15 is the sign."""
    assert made == bytes.fromhex(data)


def test_what_an_adapter_echoes_is_dropped() -> None:
    """Our reads and writes have 2 or 3 bytes of data, and no answer has as many."""
    echo, answer = SERVOS.read(1, 56, 6) + SERVOS.write(1, 46, 100), status(7, 4, bytes(6))
    reader = StatusReader(SERVOS)
    data = echo + answer + echo + answer
    answers = [each for byte in data for each in reader.feed(bytes((byte,)))]
    assert answers == 2 * [ServoAnswer(7, 0, True, bytes(6))]


@pytest.mark.parametrize(("phase", "unit"), [(12, 1), (8, 50)])
def test_velocity_in_the_unit_of_the_servo(phase: int, unit: int) -> None:
    line = up({"registers": f"1:18:{phase}, 2:18:{phase}"})
    line.settings(LEFT, math.inf, -2.0, 5.0, 0.7)
    line.run(420)
    servo = line.mock.servos[1]
    assert servo.get(SPEED) == round(-2.0 / STEP / unit)
    assert servo.speed == pytest.approx(-2.0 / STEP, abs=unit)
    assert (servo.table[MODE], servo.table[ACCELERATION], servo.get(FORCE)) == (1, 33, 500)
    line.settings(LEFT, math.inf, 1e9, 1e9, 1e9)  # cut to what the registers take
    line.run(100)
    assert (servo.get(SPEED), servo.table[ACCELERATION], servo.get(FORCE)) == (32_767, 254, 1000)


def test_a_wheel_shows_all_its_turns_and_a_position_command_ends_that() -> None:
    line = driving()
    line.enable("left wheel sensor")
    before = line.mock.servos[1].pulses
    line.run(8_000)
    turned = (line.mock.servos[1].pulses - before) * STEP
    assert turned > 2 * math.tau
    assert line.values()["left wheel sensor"] == pytest.approx(turned + 0.4, abs=0.1)
    line.settings(LEFT, 0.5, 2.0, -1.0, 1.4)
    line.run(3_000)
    assert line.values()["left wheel sensor"] == pytest.approx(0.5, abs=0.01)


def test_a_position_never_comes_with_speed_0_which_is_unlimited() -> None:
    line = up(**ARM)
    line.enable("arm sensor")
    line.settings("arm", 1.0, 0.0005, -1.0, 1.4)
    line.run(300)
    assert line.mock.servos[1].get(SPEED) == 1
    line.command("arm", "position", -0.5)
    line.run(100)
    assert line.mock.servos[1].get(SPEED) == 1  # until the next velocity
    free = up(**ARM)
    free.command("arm", "position", 1.0)
    free.run(2_000)
    assert free.mock.servos[1].get(SPEED) == 32_767
    assert free.mock.servos[1].pulses == pytest.approx(2048 + 1.0 / STEP, abs=1)


def test_a_reversed_servo_with_another_zero_and_its_load() -> None:
    line = up(motors={"arm": ServoSettings(id=1, reverse=True, zero=1024, max_torque=2.0)})
    line.handle(line.session.tune(FeedbackSwitch(line.index("arm"), 10.0), line.now))
    line.settings("arm", 0.5, 1.0, -1.0, 1.4)
    line.run(300)
    assert line.found(MotorFeedback)[-1].value == pytest.approx(-0.2)
    line.run(2_000)
    assert line.mock.servos[1].pulses == pytest.approx(1024 - 0.5 / STEP, abs=1)


def test_a_position_beyond_the_servos_limits_is_refused() -> None:
    line = up({"registers": "1:9:232, 1:10:3, 1:11:184, 1:12:11"}, **ARM)  # 1000 to 3000
    (refused,) = line.command("arm", "position", 2.0)
    assert isinstance(refused, RefusedRequest) and "beyond the servo's limits" in refused.text


@pytest.mark.parametrize(
    ("registers", "multi_turn", "text", "fix"),
    [
        ("1:18:28", False, "Phase (register 18) 28", "multi_turn: true of 'arm', or write 12"),
        ("1:18:12", True, "Phase (register 18) 12", "multi_turn: false of 'arm', or write 28"),
        ("1:2:1", False, "high bytes first", "series STS"),
    ],
)
def test_a_servo_whose_numbers_mean_something_else_is_refused(
    registers: str, multi_turn: bool, text: str, fix: str
) -> None:
    servo = ServoSettings(id=1, multi_turn=multi_turn)
    line = bench({"registers": f"{registers}, 1:33:1, 1:40:1"}, motors={"arm": servo})
    line.open(300)
    (failure,) = line.found(ProtocolFailure)
    assert text in failure.error.what and fix in failure.error.fix
    assert registers == "1:2:1" or not line.mock.servos[1].torque  # it was let go before


def test_a_servo_of_many_turns() -> None:
    line = up({"registers": "1:18:28, 1:11:0, 1:12:0"}, motors={
        "arm": ServoSettings(id=1, multi_turn=True)
    })  # fmt: skip
    line.enable("arm sensor")
    line.settings("arm", -20.0, 5.0, -1.0, 1.4)
    line.run(5_000)
    assert line.values()["arm sensor"] == pytest.approx(-20.0, abs=0.01)
    (refused,) = line.command("arm", "position", 60.0)  # 9.5 turns: bit 15 is the sign
    assert isinstance(refused, RefusedRequest)


@pytest.mark.parametrize(("on_loss", "holds"), [("hold", True), ("release", False)])
def test_an_arm_that_is_found_with_its_torque_on(on_loss: str, holds: bool) -> None:
    line = bench({"registers": "1:40:1, 1:43:12, 1:46:200, 1:47:0"}, on_loss=on_loss, **ARM)
    line.open(300)
    assert line.found(Connected) and line.mock.servos[1].torque is holds
    assert stands(line, within=0.0) and line.mock.servos[1].pulses < 2200


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_a_stop_holds_in_a_mode_that_the_servo_was_not_set_to(mode: int) -> None:
    """Another program, or a fault, changes the mode just before the stop."""
    for line in (driving(), reaching()):
        servo = line.mock.servos[1]
        servo.table[MODE] = mode
        servo.put(44, 500)
        stopped(line)
        line.run(10)  # back to the position that was read last
        assert stands(line, 100)


def test_a_slow_start_means_no_slow_stop() -> None:
    line = up(baudRate=38_400, period_ms=19)  # no room for what the servos have
    for name in (LEFT, RIGHT):
        line.settings(name, math.inf, 2.0, 0.3, 1.4)
    line.run(6_000)
    both = line.mock.servos.values()
    assert all(each.speed > 1_000 and each.table[ACCELERATION] == 2 for each in both)
    for name in (LEFT, RIGHT):
        line.command(name, "velocity", 1.9)
    line.run(50)
    stopped(line)
    line.run(10)
    assert all(each.speed == 0 for each in both)
    for name in (LEFT, RIGHT):
        line.command(name, "velocity", 2.0)  # its acceleration is written again
    line.run(100)
    assert all(each.table[ACCELERATION] == 2 for each in both)


def test_a_stop_leaves_a_limp_servo_limp() -> None:
    """A goal position would switch its torque on."""
    line = up()
    line.command(LEFT, "velocity", 1.0)
    line.run(100)
    stopped(line)
    line.mock.receive(line.session.emergency(), line.now)
    line.run(200)
    assert [servo.torque for servo in line.mock.servos.values()] == [True, False]


@pytest.mark.exhaustive
@pytest.mark.parametrize("of", [driving, reaching])
def test_the_emergency_stop_after_any_cut(of: Any) -> None:
    line = of()
    data = SERVOS.write_all(SPEED, {1: 2000, 2: 2000}) + line.session.emergency()
    for cut in range(len(data)):
        line = of()
        line.mock.receive(data[:cut], line.now)
        line.mock.receive(2 * line.session.emergency(), line.now)
        line.cut = True
        line.run(10)
        assert stands(line, 50), cut


@pytest.mark.parametrize("baud_rate", [57_600, 1_000_000])
def test_the_emergency_stop_in_the_midst_of_a_change_of_mode(baud_rate: int) -> None:
    for delay_us in range(0, 30_000, 700):
        line = up(baudRate=baud_rate, **ARM)
        line.settings("arm", 1.5, 1.0, -1.0, 1.4)
        line.run(200)
        line.command("arm", "velocity", 3.0)
        line.run(delay_us / 1000)
        line.mock.receive(2 * line.session.emergency(), line.now)
        line.cut = True
        line.run(5)
        assert stands(line, 50), delay_us


def boot(line: BodyBench) -> None:
    line.mock.servos[1].boot()


CHANGES: dict[str, Any] = {
    "lock 1 in place of 0": boot,
    "torque 0 in place of 1": lambda line: line.mock.set("registers", "1:40:0"),
    "mode 0 in place of 1": lambda line: line.mock.set("registers", "1:33:0"),
    "mode 2 in place of 1": lambda line: line.mock.set("registers", "1:33:2"),
    "mode 3 in place of 1": lambda line: line.mock.set("registers", "1:33:3"),
}


@pytest.mark.parametrize("text", CHANGES)
def test_a_restart_or_a_changed_register_stops_the_others_and_loses_the_body(text: str) -> None:
    line = driving()
    CHANGES[text](line)
    assert lost(line).startswith(f"servo 1 has {text}")
    line.run(5)
    assert not line.mock.servos[2].moves and line.session.counts["differences"] == 1
    stopped(line, StopReason.BODY)
    line.run(1_500)
    assert len(line.found(Connected)) == 1 and stands(line)
    assert line.mock.servos[1].table[LOCK] == 0
    assert line.mock.servos[1].torque is (text == "mode 0 in place of 1")  # it holds its position


def test_an_arm_that_was_silent_is_not_pulled_back_and_the_other_holds() -> None:
    """It may have restarted, and sunk: nothing may pull it to its last position."""
    line = up(motors={"arm": ServoSettings(id=1), "hand": ServoSettings(id=2)})
    for name in ("arm", "hand"):
        line.settings(name, 0.5, 2.0, -1.0, 1.4)
    line.run(1_000)
    silent = line.mock.servos.pop(1)
    assert lost(line, 600) == "servo 1 is silent for 0.3 s"
    silent.boot()
    silent.pulses = 1_000.0
    line.mock.servos[1] = silent
    stopped(line, StopReason.BODY)
    line.run(1_500)
    assert line.found(Connected)
    assert silent.pulses == 1_000.0 and not silent.torque
    assert line.mock.servos[2].torque and line.mock.servos[2].pulses > 2_300


@pytest.mark.parametrize(
    ("name", "value", "words", "limp"),
    [("volts", "15", "input voltage", False), ("errors", "32", "overload", True)],
)
def test_an_error_of_a_servo_is_named_and_a_stop_still_works(
    name: str, value: str, words: str, limp: bool
) -> None:
    line = driving()
    line.mock.set(name, value)
    line.run(100)
    assert {each.index for each in line.found(HardwareFault)} == {0, 2}
    assert f"'{LEFT}': hardware error: {words}" in {each.text for each in line.found(Notice)}
    assert any(isinstance(each, RefusedRequest) for each in line.command(LEFT, "velocity", 1.0))
    stopped(line)
    line.run(5)
    assert stands(line) and line.mock.servos[1].torque is not limp
    line.run(600)
    assert not line.of(Disconnected) and len(line.session.faults()) == 2


@pytest.mark.parametrize("delay_ms", [25, 60, 110])
def test_a_late_answer_is_never_that_of_another_question(delay_ms: int) -> None:
    """Neither a restart nor a wrong position is made of it, also of that to a write."""
    line = driving(silence_s=3.0)
    line.enable("right wheel sensor")
    for _ in range(5):
        line.delay_ms = delay_ms
        line.settings(LEFT, 0.3, 2.0, -1.0, 1.4)  # a change of mode writes
        line.run(7)
        line.delay_ms = 0
        line.run(400)
        line.command(LEFT, "velocity", 2.0)
        line.run(200)
    assert not any("in place of" in each.reason for each in line.of(Disconnected))
    assert line.session.counts["late_answers"]
    line.run(1_500)
    angle = line.mock.servos[2].pulses * STEP
    shown = line.values()["right wheel sensor"] + 2048 * STEP
    assert math.remainder(shown - angle, math.tau) == pytest.approx(0, abs=0.1)


class BusyServos:
    """Servos that take nothing for 10 ms after a write to their EEPROM, which Lock 0 keeps."""

    def __init__(self, line: BodyBench) -> None:
        self._receive, self._servos, self._until = line.mock.receive, line.mock.servos, 0
        line.mock.receive = self.receive

    def receive(self, data: bytes, now: int) -> None:
        for packet in data.split(b"\xff\xff"):
            if packet and now >= self._until:
                is_kept = packet[2:3] in (b"\x03", b"\x83") and packet[3] < 40
                if is_kept and not self._servos[1].table[LOCK]:
                    self._until = now + 10_000_000
                self._receive(b"\xff\xff" * (packet != b"\0\0") + packet, now)


def test_servos_that_are_busy_with_their_eeprom_change_their_mode() -> None:
    line = bench({"registers": "1:55:0, 2:55:0"})
    BusyServos(line)
    line.open(600)
    assert len(line.of(Connected)) == 1, "the handshake writes the Response Level"
    for name in (LEFT, RIGHT):
        line.command(name, "velocity", 2.0)
    line.run(200)
    assert all(servo.speed for servo in line.mock.servos.values())
    assert not line.of(Disconnected)
    stopped(line)
    line.run(100)
    assert stands(line)
