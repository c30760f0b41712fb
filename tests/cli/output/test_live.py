"""The screen of `hilgw watch`: on a fake clock, and whole on a pseudo-terminal."""

import fcntl
import os
import re
import select
import signal
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from hilgw.cli.output import live_screen
from hilgw.cli.output.federation import status_lines
from hilgw.cli.output.live_table import KEPT, LiveTable
from hilgw.cli.output.text import Style
from hilgw.client.arming import Disarmed
from hilgw.client.gateway import Gateway as RunningGateway
from hilgw.errors import PeerError
from hilgw.events.kinds import BAD, MOTORS, PORTS
from hilgw.events.words import FROM, TO, of_motors
from hilgw.testing.sim import DEADLINE_S
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.web.pages.overview import armed_state
from tests.cli.output.test_federation import federation, gateway

NOW = 10 * NS_PER_S
VELOCITY = {"units": {"velocity": "rad/s"}, "limits": {"velocity": [-6.0, 6.0]}}


def event(kind: str, at_ms: int = 9900, **keys: Any) -> dict[str, Any]:
    at_ns = at_ms * NS_PER_MS
    return {"event": kind, "mono_ns": at_ns, "time_ns": at_ns, "wall_s": at_ms / 1000, **keys}


def value(number: Any, at_ms: int = 9900, device: str = "gyro") -> dict[str, Any]:
    units = ["rad/s"] * (len(number) if isinstance(number, list) else 1)
    names = [*"xyz"][: len(units)] if isinstance(number, list) else ["value"]
    keys = {"robot": "rover", "device": device, "fields": names, "units": units}
    return event("value", at_ms, value=number, **keys)


def command(given: float, applied: float, outcome: str = "sent", body: str = "") -> dict[str, Any]:
    return event(
        "command", robot="rover", body=body, device="left", given={"velocity": given},
        outcome=outcome, reason="beyond_limit" if outcome == "refused" else "",
        applied={"velocity": applied}, **VELOCITY,
    )  # fmt: skip


def packet(data: bytes, **keys: Any) -> dict[str, Any]:
    about = {"source": "rover.tx", "channel": 5, "received_by": ["xbee0"], "missed": {}}
    about |= {"rssi_dbm": None, "not_received": ""}
    return event("packet", data=data.hex(), **{**about, **keys})


def port(name: str, state: str, at_ms: int = 9900, reason: str = "") -> dict[str, Any]:
    return event("port", at_ms, name=name, state=state, reason=reason)


def table(*events: dict[str, Any], colours: bool = False) -> LiveTable:
    made = LiveTable("hilgw watch", Style(colours), ("-", "o"), "EVENTS")
    for sample in events:
        made.take(sample)
    return made


def row(made: LiveTable, name: str, width: int = 80, now: int = NOW) -> str:
    return next(line for line in made.screen(width, 24, now) if name in line)


MIXED = {**value([0.5, -1.0, 2.0]), "units": ["m", "m", "rad"]}
UNKNOWN = {**command(9.0, 4.0, "refused"), "applied": {}}
BOTH = command(6.0, 6.0, body="body"), command(6.0, 2.0, body="remote")


@pytest.mark.parametrize("width", [36, 80])
def test_an_unknown_pose_is_unknown(width: int) -> None:
    known = event("placed", name="box", position=[1.0, 2.0, 0.5], rotation=None)
    unknown = event("placed", name="box", position=None, rotation=None)
    assert "unknown" not in row(table(unknown, known), "box", width)
    assert row(table(known, unknown), "box", width).split() == ["box", "unknown", "0.1", "s"]


@pytest.mark.parametrize(
    ("events", "width", "cells"),
    [
        ([value(0.0), value(4.0), value(2.0)], 71, "rover.gyro 2 rad/s 0.1 s"),
        ([value([0.5, -1.0, 2.0])], 71, "rover.gyro 0.5 -1 2 rad/s 0.1 s"),
        ([MIXED], 71, "rover.gyro 0.5 -1 2 m,rad 0.1 s"),
        ([command(6.0, 4.0)], 71, "rover.left 6 4 rad/s 0.1 s"),
        ([command(6.0, 4.0)], 50, "rover.left 6 rad/s 0.1 s"),
        ([command(6.0, 4.0)], 40, "rover.left 6 0.1 s"),
        (BOTH, 71, "rover.remote.left 6 2 rad/s 0.1 s"),
        ([command(4.0, 4.0), command(9.0, 4.0, "refused")], 71, "rover.left 9 4 rad/s REFUSED"),
        ([command(4.0, 4.0), command(9.0, 4.0, "refused")], 50, "rover.left 4 rad/s"),
        ([UNKNOWN], 71, "rover.left 9 rad/s REFUSED"),
        ([UNKNOWN], 50, "rover.left nan rad/s"),
    ],
)
def test_a_row_has_value_unit_and_age_and_a_narrow_screen_drops_columns(
    events: list[dict[str, Any]], width: int, cells: str
) -> None:
    shown = row(table(*events), cells.split()[0], width).split()
    assert shown[: len(cells.split())] == cells.split()


@pytest.mark.parametrize(
    ("events", "share"),
    [
        ([value(0.0), value(4.0), value(2.0)], 0.5),  # of the range that was seen
        ([command(6.0, 4.0)], 10 / 12),  # within its limits
        ([command(4.0, 4.0), command(9.0, 4.0, "refused")], 10 / 12),
    ],
)
def test_a_bar_shows_the_place_in_the_range(events: list[dict[str, Any]], share: float) -> None:
    bar = row(table(*events), "rover.").split()[-1]
    assert bar.index("o") == round(share * (len(bar) - 1))


def test_the_time_of_a_simulation_is_shown_where_it_is_not_real_time() -> None:
    real, fast = packet(b"a"), packet(b"a")
    for sample in (real, fast):
        sample["time_ns"] = 2_000_000_000
    later = {"mono_ns": real["mono_ns"] + NS_PER_S, "time_ns": 3_010_000_000}
    assert "simulated" not in table(real, {**real, **later}).screen(80, 12, NOW)[0]
    shown = table(fast, {**fast, **later, "time_ns": 12_000_000_000})
    assert shown.screen(80, 12, NOW)[0].endswith("simulated 12.0 s, 2 events")
    shown.key(" ", NOW)
    for _ in range(1200):  # a pause keeps the screen
        shown.take({**fast, "time_ns": 13_000_000_000})
    assert shown.screen(80, 12, NOW)[0].endswith("simulated 12.0 s, PAUSED, 1,200 events since")


def test_what_is_of_before_a_loss_or_a_stop_never_looks_current() -> None:
    shown = table(value(1.0), command(6.0, 4.0), port("rover.controller", "back-off", 9950))
    assert "DOWN" not in row(shown, "rover.gyro")
    shown.take(event("stopped", 9950, robot="rover", reason="disarmed", text=""))
    assert row(shown, "rover.left").split()[-1] == "STOPPED"
    old = row(table(value(1.0), colours=True), "rover.gyro", now=NOW + 5 * NS_PER_S)
    assert old.startswith("\x1b[2m") and "5.1 s" in old  # dimmed, without an event
    shown.take(port("rover.body", "back-off", 9960))
    shown.take(port("rover.body", "up", 9970))
    assert row(shown, "rover.gyro").split()[-1] == "DOWN"
    shown.take(value(2.0, 9980))
    assert "DOWN" not in row(shown, "rover.gyro")


def test_the_loss_or_stop_of_one_of_two_bodies_marks_the_rows_of_that_body_alone() -> None:
    left, right = command(2.0, 2.0, body="body"), command(2.0, 2.0, body="remote")
    shared = {**value(1.0), "robot": "rover.remote"}
    shown = table(left, right, value(1.0), shared, port("rover.remote", "failed", 9950))
    assert row(shown, "rover.body.left").split()[1:4] == ["2", "2", "rad/s"]
    assert "DOWN" in row(shown, "rover.remote.left") and "DOWN" in row(shown, "rover.remote.gyro")
    assert "DOWN" not in row(shown, "rover.gyro")  # of the body that its controller has
    shown.take(event("mode", robot="rover", mode="remote"))
    assert "DOWN" in row(shown, "rover.gyro")
    shown = table(left, right, event("stopped", 9950, robot="rover.remote", reason="", text=""))
    assert "STOPPED" in row(shown, "rover.remote.left")
    assert "STOPPED" not in row(shown, "rover.body.left")
    shown.take(event("stopped", 9960, robot="rover", reason="late", text=""))
    assert "STOPPED" in row(shown, "rover.body.left")


def test_events_that_do_not_pass_a_half_typed_filter_are_kept_and_bounded() -> None:
    shown = table()

    def typed(keys: str) -> None:
        for key in keys:
            assert shown.key(key, NOW) == ""

    def has(word: str) -> bool:
        return any(word in line for line in shown.screen(80, 12, NOW))

    typed("/zz")
    shown.take(packet(b"ping"))
    assert not has("ping") and has("filter: zz")
    typed("\x7f\x7fpi")
    shown.take(packet(b"pong"))
    assert has("ping") and not has("pong")
    for number in range(2 * KEPT):  # a filter keeps what passes it, whatever else comes
        shown.take(packet(b"pong %d" % number))
    assert has("ping")
    typed("\rf\x1b")
    lines = shown.screen(80, 3 * KEPT, NOW)
    assert not [line for line in lines if "ping" in line]
    assert len([line for line in lines if "pong" in line]) == KEPT
    assert (shown.key("d", NOW), shown.key("q", NOW)) == ("disarm", "quit")


def test_the_outcome_of_a_key_is_shown_at_once_and_that_of_an_older_one_never_later() -> None:
    shown = table(colours=True)
    shown.report(2, "rover: disarmed", is_bad=False)
    shown.report(1, "stop NOT confirmed", is_bad=True)
    assert shown.screen(80, 12, NOW)[1] == "\x1b[32mrover: disarmed\x1b[0m"
    shown.report(3, "stop NOT confirmed", is_bad=True)
    assert shown.screen(80, 12, NOW)[1] == "\x1b[31mstop NOT confirmed\x1b[0m"


def test_ports_and_robots_with_what_is_down_first() -> None:
    states = [port("xbee0", "up"), port("uart0", "waiting", reason="no such port")]
    states += [event("armed", robot=name, armed=name == "a", text="") for name in "ab"]
    shown = table(*states, event("mode", robot="a", mode="shadow"))
    text = " ".join(" ".join(shown.screen(80, 24, NOW)[1:3]).split())
    assert text == "uart0 waiting: no such port xbee0 up a armed shadow b disarmed"


@pytest.mark.parametrize(
    ("robot", "word"),
    [
        ({"armed": True, "latched": None}, "armed"),
        ({"armed": False, "latched": None}, "disarmed"),
        ({"armed": False, "latched": "late"}, "latched"),
        ({"armed": True, "latched": "late"}, "armed"),  # since the status
    ],
)
def test_whether_motors_may_move_has_one_word_and_one_colour(
    robot: dict[str, Any], word: str
) -> None:
    style = Style(True)
    assert of_motors(robot) == word
    made = f"{armed_state(robot)}"
    assert f"state {MOTORS[word]}" in made and f">{word}<" in made
    shown = table(event("status", status={"robots": {"rover": robot}}), colours=True)
    assert style.of(MOTORS[word], word) in " ".join(shown.screen(80, 24, NOW)[1:3])


@pytest.mark.parametrize("state", [*PORTS, "failed", "stalled"])
def test_a_state_has_the_colour_of_its_severity_in_watch_and_in_status(state: str) -> None:
    style, separator = Style(True), " " if state == "released" else ": "
    shown = style.of(PORTS.get(state, BAD), f"{state}{separator}why")
    status = status_lines(federation(lab=gateway(state=state, reason="why")), style)
    assert f" {shown}; " in [*status][1]
    watched = "up" if state == "up" else f"{state}{separator}why"  # one that is up has no reason
    expected = f"lab {style.of(PORTS.get(state, BAD), watched)}"
    screen = table(port("lab", state, reason="why"), colours=True).screen(80, 24, NOW)
    assert any(line.endswith(expected) for line in screen)


@pytest.mark.parametrize("width", [30, 40, 46, 58, 72, 80, 200])
@pytest.mark.parametrize("height", [4, 10, 24])
def test_it_fits_each_screen(width: int, height: int) -> None:
    wide = port("a" * 90 + ".body", "back-off", reason="\x1b[31mred")
    devices = [value([1.5] * 9, device=f"{'long name ' * 3}{at}") for at in range(30)]
    shown = table(wide, command(1.0, 1.0), *devices, packet(bytes(200)), colours=True)
    shown.report(1, "stop NOT confirmed " * 5, is_bad=True)
    lines = shown.screen(width, height, NOW)
    assert len(lines) == height
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in lines]
    assert all("\x1b" not in line for line in plain)
    assert width < 46 or max(map(len, plain[:1] + plain[-1:])) <= width
    assert not any(len(line) > width for line in plain if "a" * 90 not in line)


def test_packets_below_with_their_loss_and_what_was_left_out() -> None:
    lost = packet(bytes(range(40)), received_by=[], not_received="out_of_range")
    refused = command(9.0, 4.0, "refused", body="remote")
    left_out = event("left_out", sampled={"packet": 1240}, slow=3)
    shown = table(packet(b"ping"), lost, refused, left_out).screen(80, 16, NOW)
    text = " ".join(" ".join(shown).split())
    for words in ('"ping" 4 B -> xbee0', "not received: out of range", "refused: beyond limit"):
        assert words in text
    assert "1,243 left out" in text


def link(at_ms: int = 9900, **keys: Any) -> dict[str, Any]:
    fields = {"state": "up", "reason": "", "p50_ms": 0.25, "p99_ms": 2.0, "round_trip_ms": 0.5}
    counts = dict.fromkeys((*TO, *FROM, "dropped"), 0)
    listeners = {"rover.rx": "radio", "xbee0": "radio"}
    more = {"counts": counts, "clock_offset_s": None, "robots": [], "listeners": listeners}
    return event("link", at_ms, name="gateway@bench", **{**fields, **more, **keys})


def test_another_gateway_has_its_latency_as_a_row_and_its_listeners_beside_its_state() -> None:
    made = table(port("gateway@bench", "up"), link(p50_ms=0.5), link())
    lines = made.screen(80, 24, NOW)
    assert lines[1] == "gateway@bench up: listeners rover.rx, xbee0"
    words = next(line.split() for line in lines[2:] if line.startswith("gateway@bench"))
    assert words[:4] == ["gateway@bench", "0.25", "ms", "0.1"]
    assert lines[-2] == ""  # none of it is below
    made.take(link(listeners={"\x1b[2J\u202e": "radio"}))
    assert all(line.isprintable() for line in made.screen(80, 24, NOW))
    made = table(link(p50_ms=None))
    assert "0.25" in row(made, "gateway@bench")  # half its round trip
    made.take(port("gateway@bench", "waiting", reason="lost"))
    made.take(link(9950, state="waiting", reason="lost"))
    state, latency, *_ = (line for line in made.screen(80, 24, NOW) if "gateway@bench" in line)
    assert "waiting: lost" in state and "DOWN" in latency


def test_a_state_of_before_has_its_age_and_is_not_new() -> None:
    """As of a gateway that is watched from now on: its motor turns since 8 s."""
    older, old = ({"mono_ns": at, "time_ns": at, "since_ns": at} for at in (NS_PER_S, 2 * NS_PER_S))
    refused = command(9.0, 2.0, "refused", "remote")
    made = table(command(3.0, 3.0) | old, refused | old, port("rover.body", "up") | old)
    assert row(made, "rover.left ").split()[1:5] == ["3", "3", "rad/s", "8.0"]
    screen = "\n".join(made.screen(80, 24, NOW))
    assert " 0 events" in screen
    assert "refused:" not in screen
    stopped = event("stopped", robot="rover", reason="disconnected", text="") | old
    shown = row(table(stopped, command(3.0, 0.0) | older), "rover.left")
    assert "STOPPED" in shown
    assert "o" not in shown.removeprefix("rover.left")  # no bar


class Screen:
    """A terminal with a person at it, in a thread: `act` is called with each screen that is drawn,
    and ends when it returns True."""

    def __init__(self) -> None:
        self.keys, self.inside = os.openpty()
        self.before = termios.tcgetattr(self.inside)
        self.events: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        self.text = self.all = ""
        self.size(24, 80)

    def size(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.inside, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def source(self) -> Iterator[dict[str, Any]]:
        while (event := self.events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def see(self, wanted: str) -> list[str]:
        """The lines of the next screen that has these words."""
        while True:
            for shown in reversed(self.text.split("\x1b[H")[1:]):
                if wanted in shown and shown.endswith("\x1b[J"):
                    self.text = ""
                    return re.sub(r"\x1b\[[KJ]", "", shown).split("\r\n")
            self.read()

    def read(self) -> None:
        assert select.select([self.keys], [], [], DEADLINE_S)[0], self.text
        read = os.read(self.keys, 65536).decode().replace("\r\r\n", "\r\n")
        self.text, self.all = self.text + read, self.all + read

    def type(self, keys: str) -> None:
        os.write(self.keys, keys.encode())

    def run(self, act: Callable[[], object]) -> None:
        table = LiveTable("hilgw watch", Style(False), ("-", "o"), "EVENTS")
        self.events = SimpleQueue()

        def watched() -> None:
            try:
                act()
            except BaseException as error:  # the screen would wait for the person
                self.events.put(AssertionError(repr(error)))
                raise

        person = threading.Thread(target=watched)
        person.start()
        try:
            with os.fdopen(os.dup(self.inside), "w") as out:
                live_screen.watch(table, self.source(), self.inside, out)
        finally:
            person.join()
            self.events.put(None)

    def check_restored(self) -> None:
        while "\x1b[?1049l" not in self.text:
            self.read()
        assert self.all.startswith("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J")
        assert self.text.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l")
        assert termios.tcgetattr(self.inside) == self.before


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    os.close(made.keys)
    os.close(made.inside)


@pytest.mark.wall_clock
def test_it_follows_keys_and_sizes_until_q(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def disarmed(*names: Any) -> Disarmed:
        asked.append(names)
        error = PeerError("stop NOT confirmed: the gateway does not answer", where="other")
        return Disarmed([("rover", RunningGateway(screen_path))], [error])

    screen_path: Any = "/nowhere"
    monkeypatch.setattr(live_screen, "disarm_each", disarmed)

    def person() -> None:
        screen.events.put(packet(b"ping"))
        assert len(screen.see('"ping" 4 B  -> xbee0')) == 24
        screen.size(10, 40)
        while len(lines := screen.see("hilgw watch")) != 10:
            pass
        assert max(map(len, lines)) <= 40
        screen.size(24, 100)
        screen.type("\x1b[A\x1b[1;5D")  # an arrow does nothing
        os.write(screen.keys, b"\xe4")  # nor does a byte of a Latin-1 terminal
        screen.type("/pong\r")
        lines = screen.see("filter: pong")
        assert not [line for line in lines if '"ping"' in line]
        screen.type(" ")
        screen.see("PAUSED")
        screen.type("d")
        assert "other: stop NOT confirmed" in screen.see("NOT confirmed")[1]
        screen.type("q")

    screen.run(person)
    screen.check_restored()
    assert asked == [([], None, None)]


@pytest.mark.wall_clock
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(screen: Screen, number: signal.Signals) -> None:
    def person() -> None:
        screen.see("0 events")
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended:
        screen.run(person)
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is before
    screen.check_restored()


@pytest.mark.wall_clock
def test_it_stops_with_ctrl_z_and_goes_on(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[tuple[int, signal.Signals, bool]] = []

    def stop(group: int, number: signal.Signals) -> None:
        stopped.append((group, number, termios.tcgetattr(screen.inside) == screen.before))

    def person() -> None:
        screen.see("0 events")
        screen.type("\x1a")
        while live_screen.LEAVE + live_screen.ENTER not in screen.text:
            screen.read()
        screen.see("0 events")
        screen.type("q")

    monkeypatch.setattr(live_screen.os, "killpg", stop)
    screen.run(person)
    assert stopped == [(0, signal.SIGTSTP, True)]
    screen.check_restored()


@pytest.mark.wall_clock
def test_the_outcome_is_of_the_second_key(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request is answered after the second, which fails."""
    threads, is_second = list[threading.Thread](), threading.Event()

    def disarmed(*names: Any) -> Disarmed:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            assert is_second.wait(DEADLINE_S)
            return Disarmed([("rover", RunningGateway(screen_path))], [])
        return Disarmed([], [PeerError("stop NOT confirmed", where="other")])

    def person() -> None:
        screen.see("0 events")
        screen.type("d")
        while not threads:
            screen.type("\x1b[A")
        screen.type("d")
        screen.see("other: stop NOT confirmed")
        is_second.set()
        threads[0].join()
        screen.events.put(packet(b"ping"))
        assert "other: stop NOT confirmed" in screen.see('"ping"')[1]
        screen.type("q")

    screen_path: Any = "/nowhere"
    monkeypatch.setattr(live_screen, "disarm_each", disarmed)
    screen.run(person)
    screen.check_restored()


@pytest.mark.wall_clock
def test_the_end_of_the_events_and_an_error_of_them(screen: Screen) -> None:
    screen.run(lambda: screen.events.put(None))
    screen.check_restored()
    screen.text = ""
    with pytest.raises(PeerError, match="is gone"):
        screen.run(lambda: screen.events.put(PeerError("the gateway is gone")))
    screen.check_restored()
