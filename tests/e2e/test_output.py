"""The output of a run: a reader that leaves ends it, unless the output is not needed."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import COMMAND, DEADLINE_S, XBEE, environment


def start(cwd: Path, *options: str) -> tuple[subprocess.Popen[bytes], int]:
    """A gateway whose output goes to a pipe; the other end of the pipe."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, XBEE, "--report", "report.json", "--ready-file", "ready", *options],
        cwd=cwd,
        env=environment(cwd),
        stdin=subprocess.DEVNULL,
        stdout=writer,
    )
    os.close(writer)
    return process, reader


def test_a_reader_that_leaves_ends_the_run_in_order(tmp_path: Path) -> None:
    process, reader = start(tmp_path)
    wait_until((tmp_path / "ready").exists)
    os.close(reader)
    assert process.wait(DEADLINE_S) == 130
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["exit_code"] == 130 and report["ledger"]["adds_up"]


@pytest.mark.parametrize("options", [("-q",), ("--log", "run.log")], ids=" ".join)
def test_a_run_whose_output_is_not_needed_goes_on(options: tuple[str, ...], tmp_path: Path) -> None:
    process, reader = start(tmp_path, *options)
    wait_until((tmp_path / "ready").exists)
    os.close(reader)
    report = tmp_path / "run.log"
    if report.exists() or "--log" in options:
        size = report.stat().st_size
        wait_until(lambda: report.stat().st_size > size + 500, "the log goes on")
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 143
