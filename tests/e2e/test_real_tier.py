"""The tests of real devices, run on virtual ones: they exist, and they can fail."""

import os
import subprocess
import sys
import threading
import tty
from contextlib import ExitStack
from pathlib import Path

from tests.e2e.running import ROOT, Gateway, run_program


def pytest_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/real"]
    return run_program(*command, *arguments, cwd=ROOT, timeout_s=180)


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


def test_a_line_that_alters_a_byte_fails() -> None:
    plug = LoopPlug(b"b", b"a")
    try:
        done = pytest_of("--loop-plug", plug.path, "-k", "all_values and posix and 115200")
    finally:
        plug.end()
    assert "1 failed" in done.stdout, done.stdout + done.stderr


def test_a_loop_plug_an_xbee_and_robots(tmp_path: Path) -> None:
    kinds = ("xbee", "epuck", "create2", "dynamixel")
    with ExitStack() as running:
        plug = LoopPlug(b"a", b"a")
        running.callback(plug.end)
        options = ["--loop-plug", plug.path]
        for kind in kinds:
            bench = tmp_path / kind
            bench.mkdir()
            running.enter_context(Gateway(bench, ["mock", kind, "--link", "./robot"]))
            options += [f"--{kind}", str(bench / "robot")]
        done = pytest_of(*options)
    assert done.returncode == 0, done.stdout + done.stderr
