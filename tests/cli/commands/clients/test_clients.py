"""Commands that are clients of a gateway: `arm`, `disarm`, `key`, `release` and `watch`."""

import argparse
import asyncio
import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.api import Keyboard
from hilgw.assemble.gateway import build
from hilgw.cli.commands.clients import release
from hilgw.cli.commands.clients.user import keys_of, read_keys
from hilgw.cli.main import main
from hilgw.cli.output import live_screen
from hilgw.client import arming, holding
from hilgw.client.gateway import Gateway as Client
from hilgw.config.load import load_text
from hilgw.control.events import SensorValue
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.control_socket.listener import control_folder
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.errors import HilgwError
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import VERSION
from hilgw.protocols.gateway.requests import PortReleased
from hilgw.testing.sim import wait_until
from tests.cli.conftest import Command
from tests.cli.output.test_live import command, event, packet, value
from tests.client.several import peer
from tests.e2e.running import in_process

TWO = """
version: 1
backend: mock
webots: R2020a
robots:
  cab:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1"}
    safety: {armed: false}
  bus:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:2"}
    safety: {armed: false}
"""

SERVO = """
version: 1
backend: mock
robots:
  bus:
    body: {kind: dynamixel, port: /dev/x, motors: {valve: {id: 1, multi_turn: true}}}
"""


def with_gateway(
    path: Path,
    ask: Callable[[str], object],
    text: str = TWO,
    prepare: Callable[[Gateway], None] = lambda gateway: None,
) -> set[str]:
    """Calls `ask` with the path of the control socket, in a thread; the armed robots."""

    async def run() -> set[str]:
        config = load_text(text, "f").config
        gateway = build(config, asyncio.get_running_loop(), Observer())
        prepare(gateway)
        server = ControlServer(gateway, str(path / "control"))
        await server.start()
        try:
            await asyncio.to_thread(ask, str(path / "control"))
            loops = gateway.control_loops
            return {name for name in loops.names() if loops[name].safety.state.armed}
        finally:
            await server.close()
            gateway.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("commands", "armed", "printed"),
    [
        ("arm cab", {"cab"}, "cab: armed\n"),
        ("arm bus cab", {"cab", "bus"}, "bus: armed\ncab: armed\n"),
        ("arm --all", {"cab", "bus"}, "cab: armed\nbus: armed\n"),
        ("arm --all; disarm cab", {"bus"}, "cab: armed\nbus: armed\ncab: disarmed\n"),
        ("arm cab bus; disarm --all", set(), "disarmed\n"),
        ("1 arm cab lorry", set(), "no robot 'lorry' with a control loop here"),
        ("2 arm", set(), "no robot given; name robots, or give --all"),
        ("2 disarm cab --all", set(), "robots and --all"),
    ],
)
def test_commands_arm_disarm(tmp_path: Path, commands: str, armed: set[str], printed: str) -> None:
    shown: list[str] = []

    def ask(control: str) -> None:
        for line in commands.split("; "):
            code, *words = line.split() if line[0].isdigit() else ("0", *line.split())
            returned, out, err = in_process(*words, "--control", control, cwd=tmp_path)
            assert returned == int(code)
            shown.append(out + (err if returned else ""))

    assert with_gateway(tmp_path, ask) == armed
    assert printed in "".join(shown)


def test_a_gateway_without_control_loops_has_none_to_arm(tmp_path: Path) -> None:
    def ask(control: str) -> None:
        code, _, err = in_process("arm", "--all", "--control", control, cwd=tmp_path)
        assert code == 1 and "no robot with a control loop here" in err

    with pytest.raises(HilgwError, match="no robot with a control loop here"):
        with_gateway(tmp_path, ask, "version: 1")


def test_what_keeps_an_armed_robot_from_moving_is_shown_beside_the_answer(tmp_path: Path) -> None:
    notes: list[tuple[str, str]] = []
    why = "no controller runs: the configuration has none"

    def ask(control: str) -> None:
        for word, shown in (("arm", f"cab: {why}\n"), ("disarm", "")):
            code, out, err = in_process(word, "cab", "--control", control, cwd=tmp_path)
            assert (code, out, err) == (0, f"cab: {word}ed\n", shown)
        arming.arm("bus", control=control, on_note=lambda *note: notes.append(note))

    assert with_gateway(tmp_path, ask) == {"bus"}
    assert notes == [("bus", why)]


@pytest.mark.parametrize("leases", [False, True])
def test_a_lost_zero_is_named_until_its_position_is_accepted(tmp_path: Path, leases: bool) -> None:
    def prepare(gateway: Gateway) -> None:
        safety = gateway.control_loops["bus"].safety
        for position in (8.5, 2.217):
            safety.positions.begin()
            safety.place([SensorValue(1, position)], 0)
        assert not safety.state.armed

    def ask(control: str, *accepted: str) -> list[str]:
        if not leases:
            return arming.arm("bus", control=control, accept_positions=accepted)
        (held,) = holding.take(["bus"], None, control, None, accept_positions=accepted)
        held.close()
        return held.robots

    def ask_all(control: str) -> None:
        for accepted in ((), ("lamp",)):
            with pytest.raises(HilgwError, match=r"'valve' was 8\.5 rad, is 2\.217: home it"):
                ask(control, *accepted)
        with pytest.raises(HilgwError, match="no motor 'lamp'; known here: valve"):
            ask(control, "valve", "lamp")
        assert ask(control, "valve") == ["bus"]
        assert ask(control) == ["bus"]  # it stays accepted
        with pytest.raises(HilgwError, match="no motor 'valvw'; did you mean 'valve'"):
            ask(control, "valvw")

    with_gateway(tmp_path, ask_all, SERVO, prepare)


def test_the_option_names_the_motors_whose_position_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[requests.Arm] = []
    monkeypatch.setattr(Client, "ask", lambda _, request, *rest: asked.append(request))
    with pytest.raises(AttributeError):  # there is no answer
        main(["arm", "bus", "--accept-positions", "valve", "--control", str(tmp_path)])
    assert asked == [requests.Arm(["bus"], False, ["valve"])]


@pytest.mark.parametrize("option", ["--hold", "--for=5s"])
def test_so_it_does_where_the_command_holds_the_robot(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted: list[list[str]] = []

    def take(*given: object, accept_positions: list[str], **named: object) -> None:
        accepted.append(accept_positions)
        raise HilgwError("there is no gateway")

    monkeypatch.setattr(holding, "take", take)
    assert main(["arm", "bus", option, "--accept-positions", "valve"]) == 1
    assert accepted == [["valve"]]


SHIFT, CONTROL, ALT = Keyboard.SHIFT, Keyboard.CONTROL, Keyboard.ALT
ROVER = """
version: 1
backend: mock
robots:
  rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1", battery: [10, 2000, 0]}}
  bare: {controller: {kind: webots, listen: "tcp://127.0.0.1:3"}}
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:2"}}
  lamp: {position: [0, 0, 0], devices: {ir: {node: Emitter, type: infra-red}}}
  eye: {devices: {ir: {node: Receiver, type: infra-red}}}
"""


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", [Keyboard.UP, Keyboard.DOWN, Keyboard.RIGHT, Keyboard.LEFT]),
        (b"\x1bOA\x1bOH\x1b[F", [Keyboard.UP, Keyboard.HOME, Keyboard.END]),
        (b"\x1b[5~\x1b[6~\x1b[1~", [Keyboard.PAGEUP, Keyboard.PAGEDOWN, Keyboard.HOME]),
        (b"\x1b[1;5A\x1b[1;2D", [CONTROL | Keyboard.UP, SHIFT | Keyboard.LEFT]),
        (b"\x1b[6;3~", [ALT | Keyboard.PAGEDOWN]),
        (b"aA7 +", [ord("A"), SHIFT | ord("A"), ord("7"), ord(" "), ord("+")]),
        (b"\x02\x1bb", [CONTROL | ord("B"), ALT | ord("B")]),
        (b"\x1b[Z\x1b[15~\r\t\x7f\x1b\xff", []),
    ],
)
def test_what_a_terminal_sends(data: bytes, codes: list[int]) -> None:
    assert keys_of(data) == codes


def test_a_terminal_is_read_key_by_key_and_set_back() -> None:
    outside, inside = pty.openpty()
    pressed: list[list[int]] = []
    reader = threading.Thread(target=read_keys, args=(inside, pressed.append), daemon=True)
    try:
        before = termios.tcgetattr(inside)
        reader.start()
        single = termios.ICANON | termios.ECHO
        wait_until(lambda: not termios.tcgetattr(inside)[3] & single)
        os.write(outside, b"w")  # without a new line
        wait_until(lambda: pressed)
        os.write(outside, b"\x04zz")
        wait_until(lambda: not reader.is_alive())
        assert pressed == [[ord("W")]]
        assert termios.tcgetattr(inside) == before
    finally:
        os.close(outside)
        os.close(inside)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "typed").write_bytes(b"\x1b[A\x1b[Aabcdefgh")
    pressed: list[list[int]] = []
    with (tmp_path / "typed").open("rb") as stream:
        read_keys(stream.fileno(), pressed.append)
    assert pressed == [[Keyboard.UP, *range(ord("A"), ord("G"))]]  # seven keys


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("key rover up", 5, "no controller is connected"),
        ("say rover hello", 5, "no controller is connected"),
        ("key cab up", 1, "the robot has no Webots controller"),
        ("key lorry up", 1, "no robot 'lorry'"),
        ("key rover hyper+up", 2, "'hyper+up' is not a key"),
        ("key rover up --hold -1", 2, "hold_s must be 0 to 60 s"),
        ("key rover up --hold nan", 2, "hold_s must be 0 to 60 s"),
        ("set rover --battery 1500", 0, "rover: battery 1500 J"),
        ("set rover --battery 2001", 1, "does not hold 2001 J; write 0 to 2000"),
        ("set bare --battery 1", 1, "cannot be charged: it has none"),
        ("set nobody --battery 1", 1, "nobody"),
        ("set rover --battery 1 --channel 3", 2, "--battery is of a robot alone"),
        ("place lump 1 2 3", 1, "no object 'lump' here; did you mean 'lamp'?"),
        ("place lamp 1 2", 2, "give X Y Z in metres"),
        ("place lamp 1 2 1e300", 3, "is not a valid position"),
        ("place lamp 1 2 3 --rotation 0 0 0 1", 2, "no axis"),
        ("set lamp.ir", 2, "give --channel N or --range M"),
        ("set lamp.ir --channel -2", 1, "refused: channel"),
        ("set eye.ir --range 2", 1, "a Receiver has no range"),
        ("set lamp.xx --range 2", 1, "no device 'lamp.xx' here; did you mean"),
    ],
)
def test_what_a_gateway_answers(tmp_path: Path, command: str, code: int, words: str) -> None:
    def ask(control: str) -> None:
        returned, out, err = in_process(*command.split(), "--control", control, cwd=tmp_path)
        assert returned == code and words in out + err

    with_gateway(tmp_path, ask, ROVER)


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    "command", ["arm rover", "place rover 1 2 3", "send rover.tx hello", "set rover.tx --range 2"]
)
def test_the_socket_named_is_the_one_asked(command: str, before: bool, tmp_path: Path) -> None:
    option, words = ["--control", "none.sock"], command.split()
    all_words = [*option, *words] if before else [*words, *option]
    code, _, err = in_process(*all_words, cwd=tmp_path)
    assert code == 5 and "none.sock" in err


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Changing:
    """It hands the port over, and runs another configuration when it is asked again."""

    @contextmanager
    def released(self, port: str, command: str) -> Iterator[PortReleased]:
        yield PortReleased("/dev/null", "")

    def report(self) -> dict[str, Any]:
        return {"ports": {"other": {"state": "up", "reason": ""}}}


class Program:
    """A program; while it starts, the signal comes."""

    def __init__(self, *_of: Any, **_named: Any) -> None:
        self.got: list[int] = []
        os.kill(os.getpid(), signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        self.got.append(number)

    def wait(self) -> int:
        return -self.got[0]


def test_a_signal_while_the_command_starts_reaches_it_and_the_port_may_be_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hilgw.client.gateway.gateway_with", lambda *_of, **_named: Changing())
    monkeypatch.setattr(subprocess, "Popen", Program)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        args = argparse.Namespace(name="xbee0", words=["flash"], control=None, config=None)
        assert release.run(args) == 128 + signal.SIGTERM
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    text = capsys.readouterr().err
    assert "xbee0 is not up after" in text and "gone with the configuration" in text


EVENTS = {
    "value": value(1.0),
    "sent": command(6.0, 4.0),
    "refused": command(9.0, 4.0, "refused"),
    "frame": event("frame", station="uart0", direction="sent", data="01", text="one"),
    "bytes": event("bytes", part="uart0", direction="sent", data="02"),
    "received": packet(b"ping"),
    "lost": packet(b"pong", received_by=[], not_received="range"),
    "port": event("port", name="uart0", state="up", reason=""),
}
LOSSES = ("refused", "lost")


def answer(request: dict[str, Any]) -> bytes:
    """A gateway with the station uart0 and the robot rover, and one event of each kind."""
    names = [] if request["do"] == "watch" else request["names"]
    if request.get("kind") == "hardware station":
        names = [name for name in names if name == "uart0"]
    kinds, is_lost = request.get("kinds"), request.get("lost")
    taken = [
        each
        for name, each in EVENTS.items()
        if request["do"] == "watch" and each["event"] in kinds and (not is_lost or name in LOSSES)
    ]
    lines = [{"ok": True, "version": VERSION, "found": names, "fix": ""}, *taken]
    return "".join(f"{json.dumps(each)}\n" for each in lines).encode()


@pytest.fixture
def folder(hilgw: Command) -> Path:
    return control_folder()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("uart0 --frames", "frame port"),
        ("uart0 --frames --lost", "frame lost port"),
        ("--bytes --lost", "bytes lost port"),
        ("--lost", "refused lost"),
        ("", "sent refused received lost port"),
        ("rover", "value sent refused bytes received lost port"),
    ],
)
def test_the_options_choose_events(options: str, names: str, folder: Path, hilgw: Command) -> None:
    with peer(folder / "a.sock", answer):
        code, out, _ = hilgw("watch", "--json", *options.split())
    assert code == 0
    assert list(map(json.loads, out.splitlines())) == [EVENTS[name] for name in names.split()]


class Output(io.TextIOWrapper):
    """A standard output, which may be a terminal."""

    is_terminal = False

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("options", "is_terminal", "has_states"),
    [("", True, True), ("--json", True, False), ("", False, False), ("--pcapng", False, True)],
)
def test_a_table_and_a_capture_begin_with_the_states(
    options: str,
    is_terminal: bool,
    has_states: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a table that is opened late would not have what was commanded once."""
    asked, shown, out = list[Any](), list[Any](), Output(io.BytesIO(), encoding="utf-8")

    def asks(request: dict[str, Any]) -> bytes:
        asked.append(request.get("states", False))
        return answer(request)

    out.is_terminal = is_terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(live_screen, "watch", lambda table, events, *_: shown.extend(events))
    with peer(folder / "a.sock", asks), Path(os.devnull).open() as keys:
        monkeypatch.setattr(sys, "stdin", keys)
        with contextlib.redirect_stdout(out):
            assert main(["watch", *options.split()]) == 0
    assert asked == [has_states]
    assert bool(shown) is (is_terminal and not options)


FRAME, BYTES, LOST = "uart0,sent,hex:01,", "uart0,sent,hex:02,", "rover.tx,range,hex:706f6e67,"
REFUSED = ["rover.left,velocity refused,9.0,rad/s", "rover.left,velocity applied,4.0,rad/s"]


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("--frames", [FRAME]),
        ("--bytes", [BYTES]),
        ("--frames --lost", [FRAME, LOST]),
        ("--lost", [*REFUSED, LOST]),
    ],
)
def test_csv_has_the_lines_and_losses_that_are_asked_for(
    options: str, rows: list[str], folder: Path, hilgw: Command
) -> None:
    with peer(folder / "a.sock", answer):
        code, out, _ = hilgw("watch", "--csv", *options.split())
    assert code == 0
    assert [line.split(",", 3)[3] for line in out.splitlines()[1:]] == rows


def test_frames_of_what_has_none_are_refused(folder: Path, hilgw: Command) -> None:
    with peer(folder / "a.sock", answer):
        code, _, error = hilgw("watch", "uart0", "rover.body", "--frames")
    assert code == 1 and "rover.body has no frames" in error
    assert "hilgw watch rover.body --bytes" in error
