"""A port on a slow network that is cut: how soon the device has a stop once it is back."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import ROOT

SOON_S = 5.0  # less than a second on an idle machine


@pytest.mark.needs_root
@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="no /dev/net/tun")
@pytest.mark.process
@pytest.mark.wall_clock("cuts of the network, and the time-outs of TCP")
@pytest.mark.parametrize(("kind", "cuts"), [("socket", ["3", "8"]), ("rfc2217", ["3", "20"])])
def test_a_stop_arrives_soon_after_the_network_is_back(kind: str, cuts: list[str]) -> None:
    """At the bridge the new connection is the writer at once, in the place of the dead one."""
    script = ["unshare", "-n", sys.executable, "-m", "tests.transports.cut_network", kind, *cuts]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    after = dict(line.split() for line in lines if line.split()[:1] and line.split()[0] in cuts)
    assert done.returncode == 0 and list(after) == cuts, done.stdout + done.stderr
    assert all(float(each) < SOON_S for each in after.values()), after
