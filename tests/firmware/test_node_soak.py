"""The C library under AddressSanitizer and UBSan: a part of `tools/soak node`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.firmware.node import FRAMINGS, SOURCES

SOAK = SOURCES.parents[1] / "bench" / "node_soak.py"


@pytest.mark.process
@pytest.mark.judge("gcc")
def test_each_decoder_takes_damaged_streams() -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK), "--inputs", "500"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert lines == [[name, "500"] for name in (*FRAMINGS, "controller", "body")]
