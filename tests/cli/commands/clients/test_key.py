"""`hilgw key` and `hilgw say`: what a terminal types, and what the gateway refuses."""

import os
import threading
from pathlib import Path

import pytest

from hilgw.api import Keyboard
from hilgw.cli.commands.clients.user import keys_of, read_keys
from hilgw.cli.main import main
from hilgw.testing.sim import wait_until
from tests.cli.commands.clients.test_arm import with_gateway

SHIFT, CONTROL, ALT = Keyboard.SHIFT, Keyboard.CONTROL, Keyboard.ALT
ROVER = """
version: 1
backend: mock
robots:
  rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1"}}
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:2"}}
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
    import pty
    import termios

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
    ],
)
def test_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, words: str
) -> None:
    def ask(control: str) -> None:
        assert main([*command.split(), "--control", control]) == code

    with_gateway(tmp_path, ask, ROVER)
    assert words in capsys.readouterr().err
