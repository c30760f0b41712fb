"""Signals before the loop begins and after it ended: the exit code, and not a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

AFTER_A_RUN = """
import os, signal, sys
import hilgw.__main__ as entry
print(*sorted({"argparse", "asyncio", "yaml"} & set(sys.modules)))
sys.argv = ["hilgw", "-q", "--config", sys.argv[1], "--duration", "10ms"]
assert entry.main() == 0
os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
while True:
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_slow_is_imported_first_and_a_late_signal_has_its_code(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_RUN, "one.yaml"],
        cwd=tmp_path,
        env=os.environ | {"SIGNAL": number.name, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], done.stderr
    assert (done.stdout.splitlines()[:1], done.stderr) == ([""], "")
