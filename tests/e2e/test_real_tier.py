"""The tests of real devices, run on virtual ones: they exist, and they can fail."""

import os
import subprocess
import sys
import threading
import tty
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.running import ROOT, Gateway


def pytest_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/real"]
    return subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_a_device_there_are_none() -> None:
    done = pytest_of("--collect-only")
    assert "no tests collected" in done.stdout


class LoopPlug:
    """A line that returns its bytes, complete or not."""

    def __init__(self, wrong: bytes, right: bytes) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self._table = bytes.maketrans(right, wrong)
        self._thread = threading.Thread(target=self._repeat)
        self._thread.start()

    def _repeat(self) -> None:
        while data := os.read(self.master, 4096):
            if data == b"\x04the end":
                return
            os.write(self.master, data.translate(self._table))

    def end(self) -> None:
        os.write(self.slave, b"\x04the end")
        self._thread.join()
        os.close(self.master)
        os.close(self.slave)


@pytest.mark.parametrize(("wrong", "passes"), [(b"a", True), (b"b", False)])
def test_a_loop_plug(wrong: bytes, passes: bool) -> None:
    plug = LoopPlug(wrong, b"a")
    picked = () if passes else ("-k", "all_values and posix and 115200")
    try:
        done = pytest_of("--loop-plug", plug.path, *picked)
    finally:
        plug.end()
    assert (done.returncode == 0) == passes, done.stdout + done.stderr


def test_an_xbee_and_robots(tmp_path: Path) -> None:
    kinds = ("xbee", "epuck", "create2", "dynamixel")
    options: list[str] = []
    with ExitStack() as running:
        for kind in kinds:
            bench = tmp_path / kind
            bench.mkdir()
            running.enter_context(Gateway(bench, ["mock", kind, "--link", "./robot"]))
            options += [f"--{kind}", str(bench / "robot")]
        done = pytest_of(*options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "5 passed" in done.stdout
