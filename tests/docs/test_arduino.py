"""docs/arduino.md: its sketch, compiled for this machine, answers its gateway on a port."""

import os
import re
import subprocess
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, run

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "arduino.md").read_text(encoding="utf-8")
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
    [line] = re.findall(rf"^    hilgw ({start}.*)$", PAGE, re.M)
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
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    path = folder / "arduino.yaml"
    path.write_text(text)
    return path


@pytest.mark.judge("g++")
def test_the_sketch_answers_and_sees_the_end(board: Board, tmp_path: Path) -> None:
    configuration(tmp_path)
    words = [*command("--config"), "--set", f"adapters.arduino.port={board.path}"]
    with Gateway(tmp_path, words) as gateway:
        *by_hand, text = (word.strip('"') for word in command("send"))
        for each in (text, "ping " + "x" * 80, "ping after it"):
            assert run(*by_hand, each, cwd=tmp_path).returncode == 0
        for answer in ("pong 2", "pong by hand", "pong after it"):
            shown = re.compile(rf'arduino +ch 1 +"{answer}" \d+ B +-> rover.rx')
            wait_until(lambda shown=shown: shown.search(gateway.text()) is not None, what=answer)
        assert "pong x" not in gateway.text()
        assert board.led.read_text().startswith("led 1\n")
    wait_until(lambda: board.led.read_text().endswith("led 0\n"), what="the LED goes off")


def test_the_steps_without_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(command("ports")) == main(command("check")) == 0
    more = ["--backend", "mock", "--duration", "1200ms"]
    done = run(*command("--config"), *more, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (example,) = re.findall(r"```text\n(.*?)```", PAGE, re.S)
    printed = done.stdout.splitlines()
    for line in example.splitlines():
        assert without_time(line) in map(without_time, printed)


def without_time(line: str) -> list[str]:
    return line.split()[1:]
