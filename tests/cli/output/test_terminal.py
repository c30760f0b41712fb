"""The terminal: escaped bytes, bounded lines, colours only where they belong."""

import argparse
import dataclasses
import io
from typing import Any

import pytest

from hilgw.cli.output.status import short_status
from hilgw.cli.output.summary import control_loop_lines, summary_lines
from hilgw.cli.output.terminal import (
    PACKETS_PER_S,
    STATES_PER_S,
    STATES_PER_STATION,
    TROUBLES_PER_S,
    Terminal,
)
from hilgw.cli.output.text import Style, duration, status_mode, use_colour
from hilgw.devices.kinds import GYRO, LED, LINEAR_MOTOR, ROTATIONAL_MOTOR, Device
from hilgw.engine.observer import ControlLoopStatus, Observers, State
from hilgw.engine.reporting.latency import Latency
from hilgw.events.words import escape
from hilgw.medium.listeners import OutOfRange
from hilgw.medium.packet import Packet


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Screen(Terminal):
    """A terminal whose output can be read, on a clock that a test sets."""

    def __init__(self, **options: Any) -> None:
        self.written, self.now = io.StringIO(), 100.0
        super().__init__(self.written, clock=lambda: self.now, **options)

    @property
    def text(self) -> str:
        return self.written.getvalue()

    @property
    def joined(self) -> str:
        """Without the line ends of a hanging indent."""
        return " ".join(self.text.split())

    def end(self) -> None:
        parts = ("emitters", "stations", "robots", "control_loops")
        ledger = {"adds_up": True, "violations": []}
        self.summary({"duration_s": 0.0, "ledger": ledger} | {key: {} for key in parts})


def packet(data: bytes = b"x") -> Packet:
    return Packet(data, 5, "radio", "rover.tx", "rover")


def test_no_text_reaches_the_terminal_raw() -> None:
    """A name of the configuration, or what a module answers; U+202E reverses what follows it."""
    shown, raw = Screen(), "a\u202eb\x1b[2J\u2028\tc"
    shown.state("r", State.UP, raw)
    shown.refused("r", "full", raw)
    shown.notice("r", raw)
    shown.output("r", raw)
    shown.stopped("r", "late", raw)
    shown.armed("r", True, raw)
    shown.line(raw)
    lines = shown.text.splitlines()
    assert len(lines) == 7
    for line in lines:
        assert line.isprintable() and r"a\u202eb\x1b[2J\u2028" in line and line.endswith(" c")
    shown.transmitted(packet(bytes(range(256))), ["a"], None, dict)
    assert all(character == "\n" or character.isprintable() for character in shown.text)
    assert escape(b'a"\\\x00\xff') == '"a\\x22\\x5c\\x00\\xff"'
    assert escape(b"x" * 100, 4) == '"xxxx"...'


def test_a_flood_is_counted_not_shown() -> None:
    """Who missed a packet that is not shown is not asked; what is reported once is shown."""

    def never() -> dict[str, str]:
        raise AssertionError("asked")

    shown = Screen()
    for number in range(1000):
        shown.transmitted(packet(), ["a"], None, never if number >= PACKETS_PER_S else dict)
        shown.refused("xb", "overflow", "full")
    assert shown.text.count("\n") == PACKETS_PER_S + TROUBLES_PER_S
    shown.notice("medium", "eye.rx: position unknown")
    shown.stopped("cab", "silence", "the controller is silent")
    assert "position unknown" in shown.text and "stopped: the controller is silent" in shown.text
    shown.now += 1
    shown.transmitted(packet(), ["a"], None, dict)
    assert f"{1000 - PACKETS_PER_S} more packets" in shown.text
    for _ in range(PACKETS_PER_S + 2):
        shown.transmitted(packet(), ["a"], None, dict)
    shown.end()
    assert "... 3 more packets not shown" in shown.text  # the last second is not cut off


def test_each_kind_has_a_limit_of_its_own_and_what_is_left_out_is_counted() -> None:
    """Two bursts are a second apart: a second begins with a line."""
    shown = Screen()
    for number in range(150):
        shown.now += 0.001
        shown.stopped("cab", "late", f"{number}")
        shown.notice("medium", f"{number}")
        shown.output("brain", f"{number}")
    assert [shown.text.count(name) for name in ("cab", "medium", "brain")] == [5, 20, 100]
    shown.now = 101.0005
    shown.output("brain", "not yet")
    assert "not yet" not in shown.text
    shown.now = 101.1
    shown.output("brain", "again")
    assert "... 51 more lines of output not shown\n" in shown.text and "again" in shown.text
    shown.end()
    assert "... 145 more stops not shown\n" in shown.text
    assert "... 130 more notices not shown\n" in shown.text


def test_states_are_limited_by_station_and_together() -> None:
    shown = Screen()
    for number in range(500):
        shown.state("xb0", State.UP, f"{number}")
        shown.state("xb0", State.BACKOFF, f"{number}")
    shown.state("xb1", State.FAILED, "wrong module")
    assert shown.text.count("xb0") == STATES_PER_STATION
    assert "xb1          failed: wrong module" in shown.text
    shown.now += 1
    shown.notice("gateway", "any line")
    assert shown.text.count(f"... {1000 - STATES_PER_STATION} more states not shown") == 1
    shown.state("xb0", State.UP, "again")
    assert "up: again" in shown.text
    many = Screen()
    for number in range(1000):
        many.state(f"xb{number}", State.FAILED, "")
    assert many.text.count("\n") == STATES_PER_S
    many.end()
    assert f"... {1000 - STATES_PER_S} more states not shown" in many.text


def test_colours_only_on_a_terminal_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("2min", 120), ("1h", 3600)])
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 day", "ten", "1e3", "nan", "9" * 400])
def test_no_durations(text: str) -> None:
    with pytest.raises(Exception, match="is not a duration"):
        duration(text)


FAR = OutOfRange.of(1.0, 1234.5)
NEAR = OutOfRange.of(1.0, 5.0)
SIX = {"a": "range", "b": "obstacle", "c": "range", "d": "cone", "e": "range", "f": "range"}


@pytest.mark.parametrize(
    ("received_by", "reason", "missed", "words"),
    [
        (["x"], None, SIX, "-> x; not b (obstacle); d (cone); a, c, e and 1 more (range)"),
        ([f"r{n}" for n in range(20)], None, {}, "r0, r1, r2, r3, r4, r5, r6, r7 and 12 more"),
        ([], "range", {"b": FAR, "a": NEAR}, "not b, a (range 1 m, distance 5 m and more)"),
        ([], "range", {"a": NEAR}, "not received: range; not a (range 1 m, distance 5 m)"),
    ],
)
def test_who_missed_a_packet_is_shown_by_reason_the_nearest_first(
    received_by: list[str], reason: str | None, missed: dict[str, str], words: str
) -> None:
    shown = Screen()
    shown.transmitted(packet(), received_by, reason, lambda: missed)
    assert words in shown.text
    shown = Screen(verbose=True)
    shown.transmitted(packet(), ["x"], None, lambda: SIX)
    assert "; a, c, e, f (range)" in shown.text


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
    shown = Screen(status="full")
    shown.control_loop("cab", status())
    assert shown.joined.endswith(
        "cab left 5 rad/s, lift position 0.1 m velocity 0.2 m/s | ds0 0.25, ds1 1.25 | "
        "150 values/s, 100 commands/s | sensor to motor in p50 1.50 ms, p99 1.50 ms, max 1.50 ms"
    )
    first, *others = shown.text.splitlines()
    assert others and max(map(len, (first, *others))) <= 80
    assert all(line.startswith(" " * 24) and line[24] != " " for line in others)
    shown.control_loop("cab", status(250))
    assert "ds7 7.25, 242 more sensors |" in shown.joined


def test_what_a_lost_body_reported_and_was_given_is_not_current() -> None:
    shown, up = Screen(status="full"), status()
    past = {"past_sensors": up.sensors, "past_motors": up.motors}
    down = dataclasses.replace(up, sensors={}, motors={}, **past, body_down_s=3.2)
    shown.control_loop("cab", down)
    line = "body DOWN 3 s | last applied: left 5 rad/s, lift to 0.1 m | ds0 -, ds1 - |"
    assert line in shown.joined
    shown.control_loop("cab", dataclasses.replace(down, past_motors={}))
    assert "at rest when it was lost" in shown.joined
    shown.control_loop("cab", dataclasses.replace(down, body_down_s=None))
    assert "left -, lift - | ds0 -, ds1 - |" in shown.joined


IDLE = ControlLoopStatus({}, {}, 0.0, 0.0, Latency())
NO_CONTROLLER = dataclasses.replace(IDLE, controller=False)


def test_a_loop_that_has_nothing_to_show_is_shown_once() -> None:
    """Such as that of a gateway robot, whose packets are shown one by one."""
    shown = Screen(status="full")
    for report in (IDLE, IDLE, status(), IDLE, IDLE):
        shown.control_loop("cab", report)
    shown.control_loop("other", IDLE)
    lines = [line for line in shown.text.splitlines() if "0.000" in line]
    assert ["no sensor values" in line for line in lines] == [True, False, True, True]
    for _ in range(2):
        shown.control_loop("cab", dataclasses.replace(IDLE, armed=False))
    assert shown.text.count("DISARMED") == 2
    shown = Screen(status="full")
    for report in (NO_CONTROLLER, IDLE, NO_CONTROLLER, NO_CONTROLLER):
        shown.control_loop("cab", report)
    heads = ["no controller" in line for line in shown.text.splitlines() if "0.000" in line]
    assert heads == [True, False, True]


def test_quiet_shows_troubles_only() -> None:
    shown = Screen(quiet=True)
    shown.state("xb", State.UP, "module")
    for number in range(100):
        shown.notice("cab", f"notice {number}")
    shown.control_loop("cab", status())
    assert "values/s" not in shown.text and "module" not in shown.text
    assert Observers(shown).transmitted is None
    shown.state("xb", State.FAILED, "wrong module")
    shown.stopped("cab", "silence", "the controller is silent")
    assert "failed: wrong module" in shown.text
    assert "motors stopped: the controller is silent" in shown.text


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


def test_an_arrow_leads_only_to_what_may_leave() -> None:
    shown = Screen()
    shown.expect(["arduino", "xb0"])
    shown.transmitted(packet(), ["arduino", "a.rx"], None, dict)
    shown.state("xb0", State.HANDSHAKE, "port open")
    shown.state("arduino", State.UP, "")
    shown.transmitted(packet(), ["arduino", "xb0"], None, dict)
    shown.state("arduino", State.WAITING, "no such device")
    shown.transmitted(packet(), ["arduino"], None, dict)
    shown.transmitted(packet(), ["arduino", "xb0"], None, dict)
    ways = [line.split("1 B")[1].strip() for line in shown.text.splitlines() if "1 B" in line]
    assert ways == [
        "-> a.rx  waits for arduino (port down)",
        "-> arduino  waits for xb0 (handshake)",
        "waits for arduino (port down)",
        "waits for arduino (port down); xb0 (handshake)",
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


WHEELS = {f"wheel{number}": {"velocity": 5.0} for number in range(9)}
LIT = {"lamp": {"value": 1.0}, "left": {"velocity": 5.0}}
LONG = {f"a_motor_with_a_long_name_{number}": {"velocity": 5.0} for number in range(3)}
ON_A_BOARD = {f"a_long_name{number}": 1.0 for number in range(99)}
TWO = {"left_wheel": {"velocity": 5.0}, "right_wheel": {"velocity": 5.0}}
GONE = {"sensors": {}, "motors": {}, "body_down_s": 3,
        "past_motors": TWO | {"lift": {"velocity": 0.0}}}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("left 5 rad/s, lift to 0.1 m | ds0 0.25, ds1 1.25", {}),
        (
            "left 5 rad/s | 150 values/s, 100 commands/s",
            {"motors": {"left": {"velocity": 5.0}}, "sensors": {}},
        ),
        (
            "left 5 rad/s, lamp 1 | gyro x 1 y 0.5 z 0 rad/s",
            {"motors": LIT, "sensors": {"gyro": (1.0, 0.5, 0.0)}},
        ),
        (
            "left 5 rad/s, lift to 0.1 m | ds0 0.25, 8 more sensors",
            {"sensors": {f"ds{n}": n + 0.25 for n in range(9)}},
        ),
        (
            "DISARMED | left 5 rad/s, lift to 0.1 m | 99 sensors",
            {"sensors": ON_A_BOARD, "armed": False},
        ),
        ("wheel0 5, wheel1 5, wheel2 5, wheel3 5, 5 more motors", {"motors": WHEELS}),
        (" more actuators", {"motors": LONG | LIT, "sensors": {}}),
        ("body DOWN 3 s | applied: left_wheel 5, right_wheel 5", GONE),
        ("body DOWN 3 s | DISARMED | applied: 2 motors", {**GONE, "armed": False}),
    ],
)
def test_the_short_line_leaves_out_what_matters_least(line: str, changes: dict[str, Any]) -> None:
    shown, state = Screen(), dataclasses.replace(status(), **changes)
    shown.control_loop("cab", state)
    (shown_line,) = shown.text.splitlines()
    assert shown_line.endswith(line) and (line[0] == " " or shown_line[24:] == line)
    assert len(shown_line) <= 80
    assert all(len(short_status(state, width)) <= width for width in range(30, 200))


def test_the_status_can_be_off_and_is_whole_in_a_log() -> None:
    shown, log = Screen(status="off"), Screen(is_log=True, status="off")
    for terminal in (shown, log):
        terminal.control_loop("cab", status())
        assert terminal.text == ""
    log = Screen(is_log=True, stamp=lambda: "12:00")
    log.control_loop("cab", status())
    assert log.text.count("\n") == 1 and "100 commands/s" in log.text
    with pytest.raises(argparse.ArgumentTypeError, match="off, short or full"):
        status_mode("long")


def test_a_log_keeps_every_packet_and_does_not_wrap() -> None:
    log = Screen(verbose=True, is_log=True, stamp=lambda: "12:00")
    for number in range(1000):
        log.transmitted(packet(), ["a"], None, dict)
        log.refused("xb", "overflow", "full")
        log.state("xb", State.UP, f"{number}")
    assert log.text.count("\n") == 3000
    line = "  guardian     stops the motors " + ", ".join(["not after a power failure"] * 6)
    shown, log = Screen(), Screen(is_log=True, stamp=lambda: "12:00")
    shown.describe([line])
    log.describe([line])
    assert log.text == f"12:00  {line}\n"
    first, *others = shown.text.splitlines()
    assert others and max(map(len, (first, *others))) <= 80
    assert all(other.startswith(" " * 15) and other[15] != " " for other in others)
    assert shown.joined == " ".join(line.split())
    pipe = io.StringIO()
    Terminal(pipe).notice("cab", "words " * 20)
    assert pipe.getvalue().count("\n") == 1  # for programs that read it
