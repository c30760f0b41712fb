"""Mocks of XBee modules in a process of their own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hilgw.testing.sim import wait_until


def started(links: Sequence[Path], *settings: str) -> subprocess.Popen[bytes]:
    """Start a module behind each link."""
    ready = links[0].parent / "ready"
    command = [sys.executable, "-m", "hilgw", "mock", "xbee", "--ready-file", str(ready)]
    for option, values in (("--link", links), ("--set", settings)):
        for value in values:
            command += [option, str(value)]
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(root)}
    )
    wait_until(ready.exists, what="the mocks")
    return process
