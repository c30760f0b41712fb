"""What the robot itself has for a Webots controller: battery, keyboard, window, paths."""

import math
import struct

import pytest

from hilgw.api import Keyboard
from hilgw.control.events import (
    Disconnected,
    Event,
    Notice,
    ProtocolFailure,
    SensorSwitch,
    StepRequest,
    Stop,
    StopReason,
)
from hilgw.controllers.webots.robot import MOST_TEXTS, Battery
from hilgw.devices.keys import NAMES, code_of
from hilgw.errors import HilgwError
from tests.controllers.webots.test_session import (
    DEVICES,
    DS,
    EMPTY,
    FIRST,
    LEAVE,
    MS,
    NOTHING,
    QUIT,
    STEP,
    STOP,
    WHEEL,
    Run,
    block,
    f64,
    others,
    reply,
    request,
    running,
    time,
    written,
)

BATTERY = bytes.fromhex("0000 05")
KEYBOARD_ON = "22 2000"  # a period of 32 ms
HOLD_NS = 100 * MS


def keys(*codes: int) -> bytes:
    return struct.pack(f"<HBB{len(codes)}I", 0, 6, len(codes), *codes)


def text(words: str) -> bytes:
    data = words.encode() + b"\0"
    return b"\0\0\x51" + struct.pack("<i", len(data)) + data


def test_an_empty_battery_stops_the_robot_and_ends_the_controller() -> None:
    run = running(battery=Battery(10.0, 1000.0))
    run.send(request(32, block(WHEEL, b"\2\0" + f64(1.0))))
    events = run.session.answer(run.time_ns)
    assert events[0] == Stop(StopReason.BATTERY) and written(events) == EMPTY
    assert isinstance(events[-1], ProtocolFailure) and "battery is empty" in str(events[-1].error)
    assert run.session.counts["stop_battery"] == 1
    moving = request(32, block(WHEEL, b"\1\0" + f64(1.0)))
    assert written(run.session.receive(moving, 0)) == QUIT  # answered, and not executed
    assert others(run.session.receive(LEAVE, 0)) == [STOP, Disconnected("the controller ended")]
    next_one = run.open()  # it learns its robot, and moves nothing
    assert b"rob\0R2025a\0" in next_one and next_one.endswith(QUIT[-3:])
    assert others(run.session.receive(moving, 0)) == []


def test_the_battery_runs_down_in_simulated_time_and_can_be_charged() -> None:
    run = Run(battery=Battery(10.0, 1000.0, most_j=12.0))  # 10 J at 1 kW: 10 ms
    run.time_ns = 3_600_000 * MS  # it waits for the first controller
    run.open()
    run.step(4, block(0, "1f 0200"))
    assert run.step(4) == reply(time(3600.008) + BATTERY + f64(2.0))
    for energy in (-1.0, 13.0, math.inf, math.nan):
        with pytest.raises(HilgwError, match="does not hold"):
            run.session.charge(energy)
    run.session.close()
    assert run.session.charge(4.0) == []
    run.time_ns += 1000 * MS  # nothing is used up while no controller is there
    run.open()
    assert run.session.robot_report()["battery_j"] == pytest.approx(4.0)
    run.send(STEP)
    assert run.session.charge(5.0) == []
    assert run.session.robot_report()["battery_j"] == 5.0
    for other in (Battery(), Battery(sensor="charge")):
        with pytest.raises(HilgwError, match="cannot be charged"):
            Run(battery=other).session.charge(1.0)


def measured() -> Run:
    """The battery is measured, although the controller has not asked for it."""
    run = Run(battery=Battery(sensor="ds"))
    run.session.open(0)
    assert run.session.receive(FIRST, 0) == [SensorSwitch(0, 1000.0), StepRequest(0)]
    run.session.answer(0)
    return run


def test_a_sensor_of_the_body_measures_the_battery() -> None:
    run = measured()
    assert run.send(request(32, block(0, "1f 2000"))) == [SensorSwitch(0, 32.0)]
    run.session.answer(run.time_ns)
    assert run.step(32) == reply(time(0.064))  # not known yet: nothing is reported, nothing ends
    run.session.report([(0, 7.5)], 0)
    assert run.step(32) == reply(time(0.096) + BATTERY + f64(7.5))
    assert run.session.robot_report()["battery_j"] == 7.5
    off = run.send(request(32, block(DS, "01 0000")))
    assert off == [SensorSwitch(0, 1000.0)]
    run.session.answer(run.time_ns)
    run.session.report([(0, -0.1)], 0)
    run.send(STEP)
    assert run.answer() == EMPTY
    run.session.forget_values()  # they go with the body
    assert run.session.robot_report()["battery_j"] is None


def test_a_battery_sensor_that_the_robot_does_not_have() -> None:
    run = Run(battery=Battery(sensor="charge"))
    run.session.open(0)
    first = run.session.receive(FIRST, 0)
    assert first[0] == Notice("battery_sensor: the robot has no device 'charge'")


def test_keys_are_down_for_a_time_on_the_sampling_grid() -> None:
    run = running()
    run.step(32, block(0, KEYBOARD_ON))
    assert run.step(32) == reply(time(0.064) + keys())
    assert run.session.press([Keyboard.UP], HOLD_NS) == []
    for seconds in (0.096, 0.128, 0.160):  # 64 ms + 100 ms
        assert run.step(32) == reply(time(seconds) + keys(Keyboard.UP))
    assert run.step(32) == reply(time(0.192) + keys())
    run.step(32, block(0, "22 0000"))
    assert run.step(32) == reply(time(0.256))
    assert run.session.robot_report()["keys"] == 1


def test_a_short_press_is_not_lost_between_two_samples() -> None:
    run = running()
    run.step(32, block(0, "22 8000"))  # 128 ms
    run.session.press([65, 66], 0)
    answers = [run.step(32) for _ in range(8)]
    assert [keys(65, 66) in each for each in answers].count(True) == 1
    assert keys() in answers[-2]


def test_keys_and_battery_are_sampled_within_a_step_and_sent_at_its_end() -> None:
    run = running(battery=Battery(12.5))
    run.step(32, block(0, "22 6000 1f 6000"))
    run.session.press([65], 10 * MS)
    run.send(request(96))
    assert run.session.next_sample() == 96 * MS
    run.session.sample(96 * MS)
    run.session.press([66], 0)  # after the sample: for the next one
    battery = BATTERY + f64(12.5)
    assert run.answer() == reply(time(0.128) + keys(65) + battery)
    assert run.step(32) == reply(time(0.16))
    assert run.step(32) == reply(time(0.192) + keys(66) + battery)
    assert run.step(96) == reply(time(0.288) + keys() + battery)


def test_at_most_seven_keys_are_down() -> None:
    run = running()
    run.step(32, block(0, KEYBOARD_ON))
    run.session.press(range(65, 72), HOLD_NS)
    run.session.press([65], HOLD_NS)  # again
    with pytest.raises(HilgwError, match="more than 7 keys"):
        run.session.press([90], HOLD_NS)
    assert run.step(32) == reply(time(0.064) + keys(*range(65, 72)))


def test_keys_that_nothing_reads_are_refused() -> None:
    run = Run()
    with pytest.raises(HilgwError, match="no controller is connected"):
        run.session.press([65], HOLD_NS)
    run.open()
    with pytest.raises(HilgwError, match="does not read its keyboard"):
        run.session.press([65], HOLD_NS)
    run.step(32, block(0, KEYBOARD_ON))
    run.session.press([65], HOLD_NS)
    run.session.receive(LEAVE, 0)
    run.open()  # the next controller gets no key of the last one
    run.step(32, block(0, KEYBOARD_ON))
    assert keys() in run.step(32)


def test_a_key_ends_a_wait_for_user_input() -> None:
    run = running()
    run.send(request(0, block(0, "50 04000000 64000000")))
    assert written(run.session.answer(0)) == NOTHING
    events = run.session.press([Keyboard.UP], HOLD_NS)
    event = bytes.fromhex("0000 50 04000000")
    assert written(events) == reply(keys(Keyboard.UP) + event)
    assert run.session.next_deadline() is None


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("up", Keyboard.UP),
        ("a", ord("A")),
        ("A", ord("A")),
        ("7", ord("7")),
        ("+", ord("+")),
        ("shift++", Keyboard.SHIFT | ord("+")),
        ("Ctrl+Alt+b", Keyboard.CONTROL | Keyboard.ALT | ord("B")),
        ("control+pageup", Keyboard.CONTROL | Keyboard.PAGEUP),
        ("é", None),
        ("hyper+a", None),
        ("", None),
        ("shift+", None),
        ("a+b", None),
    ],
)
def test_the_names_of_keys(word: str, code: int | None) -> None:
    assert code_of(word) == code


def test_the_key_codes_are_those_of_webots() -> None:
    for name, code in NAMES.items():
        if name != "space":
            assert getattr(Keyboard, name.upper().replace("-", "_")) == code


def shown(run: Run, data: bytes) -> list[Event]:
    return run.send(request(32, block(0, b"\x51" + struct.pack("<i", len(data)) + data)))


def test_texts_of_the_window_go_both_ways() -> None:
    run = running()
    assert shown(run, b"one\0h\xc3\xa9\x1b[2J\0") == [
        Notice("window: one", once=False),
        Notice("window: hé\\x1b[2J", once=False),
    ]
    run.session.answer(run.time_ns)
    assert run.session.say("go") == run.session.say("höme") == []
    assert run.step(0) == reply(text("go") + text("höme"))
    assert run.step(0) == NOTHING
    events = shown(run, 500 * b"x\0")
    assert len(events) == 101 and "left out" in str(events[-1])
    report = run.session.robot_report()
    assert report["window_texts_out"] == 2


def test_texts_that_wait_are_bounded_and_end_with_the_controller() -> None:
    run = running()
    for _ in range(MOST_TEXTS):
        run.session.say("x")
    with pytest.raises(HilgwError, match="too many texts"):
        run.session.say("x")
    run.session.receive(LEAVE, 0)
    with pytest.raises(HilgwError, match="no controller"):
        run.session.say("x")
    run.open()
    assert run.step(0) == NOTHING
    with pytest.raises(HilgwError, match="NUL"):
        run.session.say("a\0b")


def test_paths_and_custom_data_are_in_the_configuration() -> None:
    run = running(DEVICES[:1])
    run.session.show_paths("/lab", "/lab/rover.yaml")
    run.step(0, block(0, "25 0300 616200"))
    assert run.session.robot_report()["custom_data"] == "ab"
    run.session.receive(LEAVE, 0)
    configuration = run.open()
    assert b"/lab\0/lab/rover.yaml\0" in configuration and b"\0ab\0" in configuration
