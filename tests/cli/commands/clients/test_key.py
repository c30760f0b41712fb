"""What a terminal types for `hilgw key`, and what a gateway answers to commands."""

import os
import pty
import termios
import threading
from pathlib import Path

import pytest

from hilgw.api import Keyboard
from hilgw.cli.commands.clients.user import keys_of, read_keys
from hilgw.testing.sim import wait_until
from tests.cli.commands.clients.test_arm import with_gateway
from tests.e2e.running import in_process

SHIFT, CONTROL, ALT = Keyboard.SHIFT, Keyboard.CONTROL, Keyboard.ALT
ROVER = """
version: 1
backend: mock
robots:
  rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1", battery: [10, 2000, 0]}}
  bare: {controller: {kind: webots, listen: "tcp://127.0.0.1:3"}}
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
