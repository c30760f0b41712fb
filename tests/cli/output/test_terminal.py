"""The terminal: escaped bytes, bounded lines, colours only where they belong."""

import argparse
import asyncio
import contextlib
import dataclasses
import io
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.main import main
from hilgw.cli.output.status import short_status
from hilgw.cli.output.summary import control_loop_lines, summary_lines
from hilgw.cli.output.terminal import (
    PACKETS_PER_S,
    STATES_PER_S,
    STATES_PER_STATION,
    TROUBLES_PER_S,
    RateLimit,
    Terminal,
)
from hilgw.cli.output.text import (
    Style,
    duration,
    paragraphs,
    status_mode,
    table,
    use_colour,
)
from hilgw.config.load import load_config
from hilgw.config.shipped import found
from hilgw.devices.kinds import (
    GYRO,
    INDICATOR,
    KINDS,
    LED,
    LINEAR_MOTOR,
    MOTOR,
    ROTATIONAL_MOTOR,
    Device,
)
from hilgw.engine.observer import ControlLoopStatus, Observer, Observers, State
from hilgw.engine.reporting.latency import Latency
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.events.words import escape
from hilgw.medium.matching import OutOfRange
from hilgw.medium.packet import Packet


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal(out: io.StringIO, clock: Clock, **kwargs: Any) -> Terminal:
    return Terminal(out, clock=clock, **kwargs)


def full(out: io.StringIO) -> Terminal:
    return terminal(out, Clock(), status="full")


def shown_in(out: io.StringIO) -> str:
    """Without the line ends of a hanging indent."""
    return " ".join(out.getvalue().split())


def packet(data: bytes = b"x") -> Packet:
    return Packet(data, 5, "radio", "rover.tx", "rover")


def test_no_byte_of_a_packet_reaches_the_terminal_raw() -> None:
    out = io.StringIO()
    terminal(out, Clock()).transmitted(packet(bytes(range(256))), ["a"], None, dict)
    assert all(character == "\n" or 32 <= ord(character) < 127 for character in out.getvalue())


def test_no_text_reaches_the_terminal_raw() -> None:
    """A name of the configuration, or what a module answers; U+202E reverses what follows it."""
    out = io.StringIO()
    shown, raw = terminal(out, Clock()), "a\u202eb\x1b[2J\u2028\tc"
    shown.state("r", State.UP, raw)
    shown.refused("r", "full", raw)
    shown.notice("r", raw)
    shown.output("r", raw)
    shown.stopped("r", "late", raw)
    shown.armed("r", True, raw)
    shown.line(raw)
    lines = out.getvalue().splitlines()
    assert len(lines) == 7
    for line in lines:
        assert line.isprintable() and r"a\u202eb\x1b[2J\u2028" in line and line.endswith(" c")


def test_escape_cuts_long_payloads_and_keeps_ascii() -> None:
    assert escape(b'a"\\\x00\xff') == '"a\\x22\\x5c\\x00\\xff"'
    assert escape(b"x" * 100, 4) == '"xxxx"...'


def test_a_flood_is_counted_not_shown() -> None:
    out, clock = io.StringIO(), Clock()
    shown = terminal(out, clock)
    for _ in range(1000):
        shown.transmitted(packet(), ["a"], None, dict)
        shown.refused("xb", "overflow", "full")
    assert out.getvalue().count("\n") == PACKETS_PER_S + TROUBLES_PER_S
    clock.now += 1
    shown.transmitted(packet(), ["a"], None, dict)
    assert f"{1000 - PACKETS_PER_S} more packets" in out.getvalue()


def test_states_of_a_station_that_flaps_are_counted_and_hide_no_other() -> None:
    out, clock = io.StringIO(), Clock()
    shown = terminal(out, clock)
    for number in range(500):
        shown.state("xb0", State.UP, f"{number}")
        shown.state("xb0", State.BACKOFF, f"{number}")
    shown.state("xb1", State.FAILED, "wrong module")
    assert out.getvalue().count("xb0") == STATES_PER_STATION
    assert "xb1          failed: wrong module" in out.getvalue()
    clock.now += 1
    shown.notice("gateway", "any line")
    left_out = f"... {1000 - STATES_PER_STATION} more states not shown"
    assert out.getvalue().count(left_out) == 1
    shown.state("xb0", State.UP, "again")
    assert "up: again" in out.getvalue()
    assert out.getvalue().count("more states") == 1


def test_states_of_many_stations_are_limited_together() -> None:
    out, clock = io.StringIO(), Clock()
    shown = terminal(out, clock)
    for number in range(1000):
        shown.state(f"xb{number}", State.FAILED, "")
    assert out.getvalue().count("\n") == STATES_PER_S
    parts = ("emitters", "stations", "robots", "control_loops")
    ledger = {"adds_up": True, "violations": []}
    shown.summary({"duration_s": 0.0, "ledger": ledger} | {key: {} for key in parts})
    assert f"... {1000 - STATES_PER_S} more states not shown" in out.getvalue()


def test_the_rate_limit_counts_each_second_anew() -> None:
    limit = RateLimit(2)
    assert [limit.admit(0.1 * n) for n in range(4)] == [True, True, False, False]
    assert limit.admit(1.0)
    assert limit.take_held_back() == 2
    assert limit.take_held_back() == 0


def test_two_bursts_are_a_second_apart() -> None:
    limit = RateLimit(5)
    shown = [at for at in (0.8 + 0.01 * n for n in range(300)) if limit.admit(at)]
    for at in shown:
        assert sum(at <= other < at + 1 - 1e-6 for other in shown) <= 5


def test_colours_only_on_a_terminal_and_never_against_no_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert use_colour(Tty())
    assert not use_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_colour(Tty())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not use_colour(Tty())
    assert Style(True).bad("x") == "\x1b[31mx\x1b[0m"
    assert Style(False).bad("x") == "x"


def test_quiet_shows_troubles_only() -> None:
    out = io.StringIO()
    quiet = terminal(out, Clock(), quiet=True)
    quiet.state("xb", State.UP, "module")
    assert out.getvalue() == "" and Observers(quiet).transmitted is None
    quiet.state("xb", State.FAILED, "wrong module")
    assert "failed: wrong module" in out.getvalue()


def test_a_reader_that_left_does_not_stop_the_gateway() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    terminal(Broken(), Clock()).line("lost")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("2min", 120), ("2m", 120), ("1h", 3600), ("1.5", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 day", "ten", "1e3", "nan"])
def test_no_durations(text: str) -> None:
    with pytest.raises(Exception, match="is not a duration"):
        duration(text)


def test_who_missed_a_packet_is_shown_by_reason_the_nearest_first() -> None:
    out = io.StringIO()
    missed = {"a": "range", "b": "obstacle", "c": "range", "d": "cone", "e": "range", "f": "range"}
    terminal(out, Clock()).transmitted(packet(), ["x"], None, lambda: missed)
    assert "-> x; not b (obstacle); d (cone); a, c, e and 1 more (range)" in out.getvalue()
    terminal(out, Clock(), verbose=True).transmitted(packet(), [], "obstacle", lambda: missed)
    assert (
        "not received: obstacle; not b (obstacle); d (cone); a, c, e, f (range)" in out.getvalue()
    )


def test_the_medium_is_not_asked_who_missed_what_is_not_shown() -> None:
    def never() -> dict[str, str]:
        raise AssertionError("asked")

    shown = terminal(io.StringIO(), Clock())
    for number in range(PACKETS_PER_S + 5):
        shown.transmitted(packet(), ["x"], None, never if number >= PACKETS_PER_S else dict)


def test_a_line_names_only_so_many_listeners() -> None:
    out = io.StringIO()
    terminal(out, Clock()).transmitted(packet(), [f"r{n}" for n in range(20)], None, dict)
    assert "r0, r1, r2, r3, r4, r5, r6, r7 and 12 more" in out.getvalue()


# --- loops ----------------------------------------------------------------------------------------


DEVICES = {
    "left": Device(name="left", kind=ROTATIONAL_MOTOR, index=1),
    "lift": Device(name="lift", kind=LINEAR_MOTOR, index=2),
    "lamp": Device(name="lamp", kind=LED, index=3),
    "gyro": Device(name="gyro", kind=GYRO, index=4),
}


def status(sensors: int = 2) -> ControlLoopStatus:
    latency = Latency()
    latency.add(1_500_000)
    return ControlLoopStatus(
        {f"ds{n}": n + 0.25 for n in range(sensors)},
        {"left": {"velocity": 5.0}, "lift": {"position": 0.1, "velocity": 0.2}},
        150.0,
        100.0,
        latency,
        DEVICES,
    )


def test_a_loop_is_shown_in_one_line() -> None:
    out = io.StringIO()
    full(out).control_loop("cab", status())
    assert shown_in(out).endswith(
        "cab left 5 rad/s, lift position 0.1 m velocity 0.2 m/s | ds0 0.25, ds1 1.25 | "
        "150 values/s, 100 commands/s | sensor to motor p50 1.50 ms, p99 1.50 ms"
    )
    first, *others = out.getvalue().splitlines()
    assert others and max(map(len, (first, *others))) <= 80
    assert all(line.startswith(" " * 24) and line[24] != " " for line in others)


def test_what_a_lost_body_reported_and_was_given_is_not_current() -> None:
    out, up = io.StringIO(), status()
    shown = full(out)
    past = {"past_sensors": up.sensors, "past_motors": up.motors}
    down = dataclasses.replace(up, sensors={}, motors={}, **past, body_down_s=3.2)
    shown.control_loop("cab", down)
    assert "body DOWN 3 s | last applied: left 5 rad/s, lift to 0.1 m | ds0 -, ds1 - |" in shown_in(
        out
    )
    shown.control_loop("cab", dataclasses.replace(down, past_motors={}))
    assert "at rest when it was lost" in shown_in(out)
    shown.control_loop("cab", dataclasses.replace(down, body_down_s=None))
    assert "left -, lift - | ds0 -, ds1 - |" in shown_in(out)


def test_of_many_devices_only_some_are_shown() -> None:
    out = io.StringIO()
    full(out).control_loop("cab", status(250))
    assert "ds7 7.25, 242 more sensors |" in shown_in(out)


def test_a_loop_that_has_nothing_to_show_is_shown_once() -> None:
    """Such as that of a gateway robot, whose packets are shown one by one."""
    out = io.StringIO()
    shown = full(out)
    idle = ControlLoopStatus({}, {}, 0.0, 0.0, Latency())
    for each in (idle, idle, status(), idle, idle):
        shown.control_loop("cab", each)
    shown.control_loop("other", idle)
    lines = [line for line in out.getvalue().splitlines() if "0.000" in line]
    assert ["no sensor values" in line for line in lines] == [True, False, True, True]
    disarmed = dataclasses.replace(idle, armed=False)
    for each in (disarmed, disarmed):
        shown.control_loop("cab", each)
    assert out.getvalue().count("DISARMED") == 2


def test_a_loop_that_no_controller_has_shows_it() -> None:
    out = io.StringIO()
    shown = full(out)
    alone = dataclasses.replace(status(), controller=False)
    for each in (alone, dataclasses.replace(alone, armed=False), status()):
        shown.control_loop("cab", each)
    heads = [line.split("left")[0].strip() for line in shown_in(out).split("cab ")[1:]]
    assert heads == ["no controller |", "DISARMED | no controller |", ""]


def test_a_loop_with_nothing_else_to_show_shows_when_its_controller_comes_and_goes() -> None:
    out = io.StringIO()
    shown = full(out)
    idle = ControlLoopStatus({}, {}, 0.0, 0.0, Latency())
    alone = dataclasses.replace(idle, controller=False)
    for each in (alone, alone, idle, idle, alone, alone):
        shown.control_loop("cab", each)
    lines = [line for line in out.getvalue().splitlines() if "0.000" in line]
    assert ["no controller" in line for line in lines] == [True, False, True]


def test_a_stop_is_shown_whatever_else_is_reported_and_to_the_quiet_too() -> None:
    out = io.StringIO()
    shown = terminal(out, Clock(), quiet=True)
    for number in range(100):
        shown.notice("cab", f"notice {number}")
    shown.control_loop("cab", status())
    shown.stopped("cab", "silence", "the controller is silent")
    assert "motors stopped: the controller is silent" in out.getvalue()
    assert "values/s" not in out.getvalue()


def test_what_is_reported_once_is_not_lost_among_refusals() -> None:
    out = io.StringIO()
    shown = terminal(out, Clock())
    for _ in range(100):
        shown.refused("eye.rx", "overflow", "the receiver's buffer is full")
    shown.notice("medium", "eye.rx: position unknown")
    assert "position unknown" in out.getvalue()
    assert out.getvalue().count("overflow") < 10


def test_the_summary_of_a_loop() -> None:
    loop = {
        "values_in": 9,
        "commands_out": 4,
        "values_superseded": 2,
        "late_steps": 3,
        "refused": {"nan": 1, "beyond_limit": 3},
        "stops": {"command_timeout": 2},
        "armed": False,
        "latched": "command_timeout",
        "sensor_to_motor": {"count": 1, "p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 3.0},
    }
    text = "\n".join(control_loop_lines({"cab": loop}))
    assert "9 sensor values, 4 motor commands, 2 values superseded, 3 late steps" in text
    assert "refused 1 nan, 3 beyond limit" in text
    assert "p50 1.00 ms, p99 2.00 ms, max 3.00 ms" in text
    assert "safety stops: 2 command timeout; LATCHED: command timeout" in text


def test_a_table_follows_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("xbee", "Digi XBee radio modules on a serial port"), ("uart", "a wire")]
    monkeypatch.setenv("COLUMNS", "30")
    assert table(rows) == ["xbee  Digi XBee radio modules on a serial port", "uart  a wire"]
    monkeypatch.setattr(sys, "stdout", Tty())
    lines = table(rows, indent="  ")
    assert lines == [
        "  xbee  Digi XBee radio",
        "        modules on a serial",
        "        port",
        *lines[3:],
    ]
    monkeypatch.setenv("COLUMNS", "10")  # narrower than the first column: still readable
    assert max(map(len, table(rows))) <= 6 + 20


class LeftReader(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("quiet", [True, False])
def test_the_loss_of_the_output_is_reported_once(quiet: bool) -> None:
    lost: list[OSError] = []
    shown = Terminal(LeftReader(), quiet=quiet, on_lost=lost.append)
    for _ in range(3):
        shown.line("ready")
        shown.notice("xb0", "still there")
    assert len(lost) == (0 if quiet else 1)


# --- what left the port ---------------------------------------------------------------------------


def test_an_arrow_leads_only_to_what_may_leave() -> None:
    out = io.StringIO()
    shown = terminal(out, Clock())
    shown.expect(["arduino", "xb0"])
    shown.transmitted(packet(), ["arduino", "a.rx"], None, dict)
    shown.state("xb0", State.HANDSHAKE, "port open")
    shown.state("arduino", State.UP, "")
    shown.transmitted(packet(), ["arduino", "xb0"], None, dict)
    shown.state("arduino", State.WAITING, "no such device")
    shown.transmitted(packet(), ["arduino"], None, dict)
    ways = [line.split("1 B")[1].strip() for line in out.getvalue().splitlines() if "1 B" in line]
    assert ways == [
        "-> a.rx  waits for arduino (port down)",
        "-> arduino  waits for xb0 (handshake)",
        "waits for arduino (port down)",
    ]


def a_station(**counts: Any) -> dict[str, Any]:
    usual = {"accepted": 7, "delivered": 0, "refused": {}, "queued": 0, "expired": 7}
    return {**usual, "expired_by": {"stopped": 7}, **counts}


def summary_of(station: dict[str, Any], ups: int) -> str:
    emitter = {"departed": 7, "offered": 7, "not_received": {}, "rejected": {}, "queued": 0}
    report = {
        "duration_s": 1.0,
        "emitters": {"rover.tx": {**emitter, "expired": 0}},
        "stations": {"arduino": station},
        "received_by": {"rover.tx": {"arduino": 7}},
        "ports": {"arduino": {"ups": ups, "port": "/dev/ttyUSB0"}},
        "latency": {},
        "robots": {},
        "control_loops": {},
        "ledger": {"adds_up": True, "violations": []},
    }
    return "\n".join(summary_lines(report))


def test_the_summary_counts_what_left_the_port() -> None:
    text = summary_of(a_station(left_from={}), ups=0)
    assert "arduino        queued 7, sent 0 (/dev/ttyUSB0 was never up)\n" in text
    assert "received by" not in text and "delivered" not in text
    some = {"delivered": 4, "expired": 3, "left_from": {"rover.tx": 4}}
    expired = {"stopped": 2, "in_flight": 1}
    text = summary_of(a_station(**some, expired_by=expired), ups=1)
    assert "received 7, delivered 4, 1 in flight at the end, expired 2" in text
    assert "received by arduino 4" in text
    text = summary_of(a_station(delivered=7, expired=0, expired_by={}), ups=1)
    assert "received by arduino 7" in text


# --- the short status, and lines that are too long ------------------------------------------------


def test_the_short_status_is_one_line_of_80_columns() -> None:
    up = status(250)
    many = {f"motor_with_a_long_name_{n}": {"velocity": 1.0} for n in range(9)}
    down = {"sensors": {}, "motors": {}, "past_motors": many, "body_down_s": 3.2}
    for each in (
        status(),
        up,
        dataclasses.replace(up, motors=many, armed=False, controller=False, mode="shadow"),
        dataclasses.replace(up, **down),
    ):
        out = io.StringIO()
        terminal(out, Clock()).control_loop("cab", each)
        (line,) = out.getvalue().splitlines()
        assert len(line) <= 80, line
    out = io.StringIO()
    terminal(out, Clock()).control_loop("cab", status())
    assert out.getvalue().endswith(
        "cab          left 5 rad/s, lift to 0.1 m | ds0 0.25, ds1 1.25\n"
    )


def short_line(**changes: Any) -> str:
    """What a terminal of 80 columns has after the time and the name."""
    out = io.StringIO()
    terminal(out, Clock()).control_loop("cab", dataclasses.replace(status(), **changes))
    (line,) = out.getvalue().splitlines()
    return line[24:]


def test_the_short_line_leaves_out_what_matters_least_first() -> None:
    wheels = {f"wheel{number}": {"velocity": 5.0} for number in range(9)}
    lit = {"lamp": {"value": 1.0}, "left": {"velocity": 5.0}}
    gyro = {"gyro": (1.0, 0.5, 0.0)}
    shown = {
        "left 5 rad/s | 150 values/s, 100 commands/s": {
            "motors": {"left": {"velocity": 5.0}},
            "sensors": {},
        },
        "left 5 rad/s, lamp 1 | gyro x 1 y 0.5 z 0 rad/s": {"motors": lit, "sensors": gyro},
        "left 5 rad/s, lift to 0.1 m | ds0 0.25, 8 more sensors": {"sensors": status(9).sensors},
        "DISARMED | left 5 rad/s, lift to 0.1 m | 99 sensors": {
            "sensors": {f"a_long_name{number}": 1.0 for number in range(99)},
            "armed": False,
        },
        "wheel0 5, wheel1 5, wheel2 5, wheel3 5, 5 more motors": {"motors": wheels},
    }
    for line, changes in shown.items():
        assert short_line(**changes) == line
    names = {f"a_motor_with_a_long_name_{number}": {"velocity": 5.0} for number in range(3)}
    assert short_line(motors=names | lit, sensors={}).endswith(" more actuators")


class Statuses(Observer):
    """The state of each robot, with all its motors and LEDs commanded and all its sensors read."""

    def __init__(self) -> None:
        self.all: list[ControlLoopStatus] = []

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        motors: dict[str, dict[str, float]] = {}
        sensors: dict[str, float | tuple[float, ...]] = {}
        for name, device in status.devices.items():
            if device.role == MOTOR:
                motors[name] = {"position": math.inf, "velocity": -3.25}
            elif device.role == INDICATOR:
                motors[name] = {"value": 1.0}
            elif device.reports:
                numbers = (1234.5,) * len(device.reports)
                sensors[name] = numbers if len(numbers) > 1 else 1234.5
        up = dataclasses.replace(status, sensors=sensors, motors=motors)
        lost = {"sensors": {}, "motors": {}, "past_sensors": sensors, "past_motors": motors}
        self.all += [up, dataclasses.replace(up, **lost, body_down_s=2.0)]


async def statuses_of(config: str) -> list[ControlLoopStatus]:
    shown = Statuses()
    loaded = load_config(found(config), [], "loopback", "max")
    gateway = build(loaded.config, asyncio.get_running_loop(), shown)
    try:
        await gateway.run(asyncio.Event(), 1.5)
    finally:
        gateway.close()
    return shown.all


@pytest.mark.parametrize("config", ["create2", "epuck", "dynamixel", "khepera", "gcode", "wc2ec"])
def test_no_line_of_a_shipped_robot_is_too_long_or_counts_without_a_noun(config: str) -> None:
    with asyncio.Runner(loop_factory=lambda: PacedLoop("max")) as runner:
        statuses = runner.run(statuses_of(config))
    assert any(each.motors and each.sensors for each in statuses)
    noun = r"\d+ (?:more )?(?:sensor|motor|actuator)s?|\d+ values/s|\d+ commands/s"
    for state in statuses:
        for width in range(30, 200):
            line = short_status(state, width)
            assert len(line) <= width
            counts = [each for each in re.split(", | \\| ", line) if each[0].isdigit()]
            assert line.endswith("...") or all(re.fullmatch(noun, each) for each in counts), line
        wide = short_status(state, 10_000)
        moving = {name: state.devices[name] for name in (*state.motors, *state.past_motors)}
        for name in (name for name, device in moving.items() if device.role == MOTOR):
            unit = KINDS[moving[name].kind].quantity["velocity"].unit
            assert f"{name} -3.25 {unit}" in wide, wide


def test_the_short_line_of_a_body_that_is_gone_shows_what_was_applied() -> None:
    wheels = {"left_wheel": {"velocity": 5.0}, "right_wheel": {"velocity": 5.0}}
    down = dataclasses.replace(
        status(), sensors={}, motors={}, past_motors=wheels | {"lift": {"velocity": 0.0}}
    )
    for gone, words in (
        ({}, "body DOWN 3 s | applied: left_wheel 5, right_wheel 5\n"),
        ({"armed": False}, "body DOWN 3 s | DISARMED | applied: 2 motors\n"),
    ):
        out = io.StringIO()
        gone_status = dataclasses.replace(down, body_down_s=3, **gone)
        terminal(out, Clock()).control_loop("cab", gone_status)
        assert out.getvalue().endswith(words)


def test_the_status_can_be_off_and_is_whole_in_a_log() -> None:
    out = io.StringIO()
    terminal(out, Clock(), status="off").control_loop("cab", status())
    assert out.getvalue() == ""
    log = Terminal(out, is_log=True, status="off", stamp=lambda: "12:00")
    log.control_loop("cab", status())
    assert out.getvalue() == ""
    Terminal(out, is_log=True, stamp=lambda: "12:00").control_loop("cab", status())
    assert out.getvalue().count("\n") == 1 and "100 commands/s" in out.getvalue()
    with pytest.raises(argparse.ArgumentTypeError, match="off, short or full"):
        status_mode("long")


def test_a_log_keeps_every_packet() -> None:
    out = io.StringIO()
    log = Terminal(out, verbose=True, is_log=True, stamp=lambda: "12:00")
    for number in range(1000):
        log.transmitted(packet(), ["a"], None, dict)
        log.refused("xb", "overflow", "full")
        log.state("xb", State.UP, f"{number}")
    assert out.getvalue().count("\n") == 3000


def test_the_last_second_is_not_cut_off() -> None:
    out = io.StringIO()
    shown = terminal(out, Clock())
    for _ in range(PACKETS_PER_S + 3):
        shown.transmitted(packet(), ["a"], None, dict)
    parts = ("emitters", "stations", "robots", "control_loops")
    ledger = {"adds_up": True, "violations": []}
    shown.summary({"duration_s": 0.0, "ledger": ledger} | {key: {} for key in parts})
    assert "... 3 more packets not shown" in out.getvalue()


def test_the_description_has_a_hanging_indent() -> None:
    out, log = io.StringIO(), io.StringIO()
    line = "  guardian     stops the motors " + ", ".join(["not after a power failure"] * 6)
    terminal(out, Clock()).describe([line])
    first, *others = out.getvalue().splitlines()
    assert max(map(len, (first, *others))) <= 80
    assert others and all(
        other.startswith(" " * 15 + "not") or other[15] != " " for other in others
    )
    assert " ".join(out.getvalue().split()) == " ".join(line.split())
    Terminal(log, is_log=True, stamp=lambda: "12:00").describe([line])
    assert log.getvalue() == f"12:00  {line}\n"


def test_events_hang_on_a_terminal_and_colours_take_no_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out, pipe = Tty(), io.StringIO()
    for each in (out, pipe):
        Terminal(each, clock=Clock()).notice("cab", "words " * 20)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert len(plain) > 1 and max(map(len, plain)) <= 60
    assert all(line.startswith(" " * 24 + "words") for line in plain[1:])
    assert pipe.getvalue().count("\n") == 1  # for programs that read it


def test_a_range_has_its_numbers() -> None:
    out = io.StringIO()
    near, far = OutOfRange.of(1.0, 5.0), OutOfRange.of(1.0, 1234.5)
    terminal(out, Clock()).transmitted(packet(), [], "range", lambda: {"b": far, "a": near})
    terminal(out, Clock()).transmitted(packet(), [], "range", lambda: {"a": near})
    assert "not b, a (range 1 m, distance 5 m and more)" in out.getvalue()
    assert "not a (range 1 m, distance 5 m)" in out.getvalue()
    assert near == "range" and f"{near}" == "range"


def test_help_texts_are_wrapped() -> None:
    for name in ("run", "arm", "send", "mode", "exec", "doctor", "mock", "bridge", "mocap-send"):
        with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
            main([name, "--help"])
        assert max(map(len, shown.getvalue().splitlines())) <= 80, name
    text = "one two three four\nfive\n  hilgw mock a --set b c d\n-x: an option of it"
    assert paragraphs(text, 12).splitlines() == [
        "one two",
        "three four",
        "five",
        "  hilgw mock",
        "    a --set",
        "    b c d",
        "-x: an",
        "option of it",
    ]


def test_no_banner_before_a_configuration_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("version: 1\nrobot: {}\n")
    assert main(["-c", str(file)]) == 3
    shown = capsys.readouterr()
    assert shown.out == "" and "bad.yaml:2" in shown.err
