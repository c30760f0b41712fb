"""docs/wc2ec.md, firmware.md and arduino.md: bytes, listings, tables, and a sketch that answers."""

import os
import re
import shutil
import struct
import subprocess
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks.wc2ec.cobs import FrameReader, crc16
from hilgw.cli.main import main
from hilgw.framing import create
from hilgw.protocols.wc2ec import Layouts, Side, describe
from hilgw.testing.sim import wait_until
from tests.docs.reading import blocks, pages
from tests.e2e.running import ROOT, Gateway, free_port, run
from tests.firmware.node import FRAMINGS, SOURCES, STRICT

PAGE = pages("wc2ec", "wc2ec-wire", "wc2ec-robots", "stops")
LAYOUTS = Layouts("R2020a", extensions=True)
SIDES = {"W": Side.WEBOTS, "E": Side.EXTERNAL}
HEX = r"((?:[0-9a-f]{2} ?)+)"


def lines_of_messages() -> list[tuple[str, str, str]]:
    lines = [line for block in blocks("wc2ec", PAGE) for line in block.splitlines()]
    matches = [re.fullmatch(rf"([WE]) {HEX} +(\S.*)", line) for line in lines]
    assert all(matches), "a line without an example"
    return [(match[1], match[2], match[3]) for match in matches if match]


@pytest.mark.parametrize(("side", "data", "words"), lines_of_messages())
def test_each_message_has_its_description(side: str, data: str, words: str) -> None:
    assert describe(bytes.fromhex(data), SIDES[side], LAYOUTS) == words


@pytest.mark.parametrize("block", blocks("frame", PAGE))
def test_each_frame_has_its_bytes(block: str) -> None:
    first, second, third = block.splitlines()
    match = re.fullmatch(rf"message  {HEX} +([WE]) (\S.*)", first)
    assert match
    message = bytes.fromhex(match[1])
    crc = bytes.fromhex(second.removeprefix("crc"))
    line = bytes.fromhex(third.removeprefix("line"))
    assert describe(message, SIDES[match[2]], LAYOUTS) == match[3]
    assert crc16(message).to_bytes(2, "big") == crc
    assert create("cobs-crc16").encode(message) == line
    assert create("cobs-crc16").feed(line) == FrameReader().feed(line) == [message]


LISTING = blocks("c", PAGE)[0]
COMMANDS = blocks("sh", PAGE)[0]


def compiled(tmp_path: Path) -> Path:
    assert (SOURCES / "examples" / "linux" / "controller.c").read_text() == LISTING
    text = COMMANDS.replace("node=tools", f"node={ROOT}/tools")
    for options in STRICT:
        text = text.replace("gcc ", f"gcc {options} ")
    subprocess.run(["sh", "-euc", text], cwd=tmp_path, check=True)
    return tmp_path / "controller"


@pytest.mark.process
@pytest.mark.judge("gcc")
def test_the_listing_is_a_program_that_controls(tmp_path: Path) -> None:
    """As on the page: garbage and other messages are ignored; far: 5 rad/s, near: the stop."""
    framing = create("cobs-crc16")
    program = subprocess.Popen(
        [compiled(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert program.stdin and program.stdout
    names = (b"ds_front", 38), (b"left_wheel", 53)
    head = b"\xffnoise\0" + bytes([9] * 400 + [0])
    head += b"".join(framing.encode(bytes((0, n, i, len(t))) + t) for i, (t, n) in enumerate(names))
    reader = FrameReader()
    for value, wanted in ((250.0, 5), (99.9, 0), (100.0, 5), (-3.0, 0)):
        seen: list[str] = []
        while f"setValue RotationalMotor 1 = {wanted}" not in seen:
            program.stdin.write(head + framing.encode(b"\x01\x26\0" + struct.pack("<d", value)))
            data = program.stdout.read(65536)
            assert data, "it has ended"
            seen = [describe(each, Side.EXTERNAL, LAYOUTS) for each in reader.feed(data)]
        head = b""
    program.stdin.close()
    assert program.wait(10) == 0
    program.stdout.close()


@pytest.mark.process
@pytest.mark.judge("gcc")
@pytest.mark.wall_clock("a program on TCP")
def test_the_listing_controls_over_tcp(tmp_path: Path, gateway: Any) -> None:
    port = free_port()
    robot = {
        "body": {"kind": "wc2ec", "connect": "tcp://127.0.0.1:27015", "original_peer": True},
        "controller": {"kind": "wc2ec", "listen": f"tcp://127.0.0.1:{port}"},
    }
    config = {
        "version": 1,
        "webots": "R2020a",
        "real": ["cab.controller"],
        "robots": {"cab": robot},
    }
    program = compiled(tmp_path)
    running = gateway(config, ready=False)
    cab = running.mock("cab")
    running.wait_for(lambda: running.state("cab.body") == "up", timeout_s=30)
    with subprocess.Popen([program, "127.0.0.1", str(port)]) as process:
        cab.wait_for(lambda mock: mock.body.wheels == (5.0, 0.0), 30)
        process.kill()
    cab.wait_for(lambda mock: mock.body.wheels == (0.0, 0.0), 30)


FIRMWARE_PAGE = pages("firmware")


def test_the_sketch_is_the_example() -> None:
    sketch = (SOURCES / "examples" / "Ping" / "Ping.ino").read_text()
    assert sketch.endswith(blocks("cpp", FIRMWARE_PAGE)[0])
    (loop,) = blocks("c", FIRMWARE_PAGE)
    assert (
        loop.splitlines()[0].strip()
        in (SOURCES / "examples" / "firmware" / "wall_follower.c").read_text()
    )


def test_the_table_of_framings() -> None:
    rows = re.findall(r"^\| (`.+?) \| (`hilgw.+?) \| ([\d, ]+) \|$", FIRMWARE_PAGE, re.MULTILINE)
    listed = {
        name.strip("` "): (symbol.strip("` "), int(spare))
        for row in rows
        for name, symbol, spare in zip(*(each.split(",") for each in row), strict=True)
    }
    assert listed == {name: each for name, each in FRAMINGS.items() if name != "wc2ec"}


@pytest.mark.process
@pytest.mark.judge("avr-gcc")
@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
def test_the_examples_compile_as_shown(tmp_path: Path) -> None:
    target = tmp_path / "tools" / "firmware" / "hilgw_node"
    shutil.copytree(SOURCES, target, ignore=shutil.ignore_patterns("build"))
    text = blocks("sh", FIRMWARE_PAGE)[0]
    subprocess.run(["sh", "-euc", text], cwd=tmp_path, check=True, capture_output=True)
    built = {path.name for path in (target / "build").iterdir()}
    assert {"ping.uno.elf", "motor_node.netduinoplus2.elf"} <= built
    assert (ROOT / "configs" / "firmware-emulated.yaml").is_file()


ARDUINO_PAGE = pages("arduino")
SKETCH = ROOT / "docs" / "arduino" / "rover" / "rover.ino"
MAIN = """
#include "Arduino.h"
#include "rover.ino"
int main(int, char** arguments) {
  port = atoi(arguments[1]);
  for (setup();;) loop();
}
"""


def command(start: str) -> list[str]:
    """The words of the only command of the page that begins so, after `hilgw`."""
    [line] = re.findall(rf"^    hilgw ({start}.*)$", ARDUINO_PAGE, re.M)
    return re.findall(r'"[^"]*"|\S+', line)


@dataclass(frozen=True)
class Board:
    """path: of its port. led: the file to which the sketch prints each level of its LED."""

    path: str
    led: Path


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A port with the sketch behind it, which sees silence a little sooner."""
    sketch = SKETCH.read_text(encoding="utf-8")
    assert "SILENCE_MS = 2000;" in sketch
    (tmp_path / "rover.ino").write_text(sketch.replace("SILENCE_MS = 2000;", "SILENCE_MS = 800;"))
    (tmp_path / "board.cpp").write_text(MAIN)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{Path(__file__).parent / 'arduino'}"]
    program, led = tmp_path / "board", tmp_path / "led.txt"
    subprocess.run(["g++", *flags, "-o", program, tmp_path / "board.cpp"], check=True)
    master, slave = os.openpty()
    tty.setraw(slave)
    with led.open("w") as levels:
        process = subprocess.Popen([program, str(master)], pass_fds=[master], stdout=levels)
    try:
        yield Board(os.ttyname(slave), led)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def configuration(folder: Path) -> Path:
    (text,) = blocks("yaml", ARDUINO_PAGE)
    path = folder / "arduino.yaml"
    path.write_text(text)
    return path


@pytest.mark.process
@pytest.mark.judge("g++")
def test_the_sketch_answers_and_sees_the_end(board: Board, tmp_path: Path) -> None:
    configuration(tmp_path)
    words = [*command("--config"), "--set", f"adapters.arduino.port={board.path}"]
    with Gateway(tmp_path, words) as gateway:
        *by_hand, text = (word.strip('"') for word in command("send"))
        for line in (text, "ping " + "x" * 80, "ping after it"):
            assert run(*by_hand, line, cwd=tmp_path).returncode == 0
        for answer in ("pong 2", "pong by hand", "pong after it"):
            shown = re.compile(rf'arduino +ch 1 +"{answer}" \d+ B +-> rover.rx')
            wait_until(lambda shown=shown: shown.search(gateway.text()) is not None, what=answer)
        assert "pong x" not in gateway.text()
        assert board.led.read_text().startswith("led 1\n")
    wait_until(lambda: board.led.read_text().endswith("led 0\n"), what="the LED goes off")


@pytest.mark.process
def test_the_steps_without_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(command("ports")) == main(command("check")) == 0
    more = ["--backend", "mock", "--duration", "1200ms"]
    done = run(*command("--config"), *more, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (example,) = blocks("text", ARDUINO_PAGE)
    printed = done.stdout.splitlines()
    for line in example.splitlines():
        assert without_time(line) in map(without_time, printed)


def without_time(line: str) -> list[str]:
    return line.split()[1:]
