"""`record: {poses_hz: N}`: of each object that moves, so many poses a second at most."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hilgw.record.recording import Recording
from tests.e2e.running import in_process, run

CONFIG = """
version: 1
backend: loopback
robots:
  rover:
    devices:
      tx: {node: Emitter, channel: 5}
    controller: {kind: beacon, emitter: tx, period_ms: 10}
    motion: {kind: waypoints, points: [[0, 0, 0], [2, 0, 0]], speed: 1, closed: false}
  mast:
    devices:
      rx: {node: Receiver, channel: 5}
    position: [1, 0, 0]
"""
RUN = ("run", "lab.yaml", "--speed", "max", "--duration", "3s", "--report", "report.json")


def poses_of(path: Path) -> list[dict[str, Any]]:
    return [each for each in Recording(path).events() if each["event"] == "placed"]


@pytest.mark.process
def test_poses_of_a_moving_object_have_a_rate(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(CONFIG)
    assert run(*RUN, "--record", "all.pcapng", cwd=tmp_path).returncode == 0
    few = ("--set", "record={poses_hz: 10, at_start: false}", "--record", "few.pcapng")
    done = run(*RUN, *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    every, some = (poses_of(tmp_path / f"{name}.pcapng") for name in ("all", "few"))
    moving = [each["time_ns"] for each in some if each["name"] == "rover"]
    assert len(every) > 150 and 18 <= len(moving) <= 23
    assert all(later - now >= 90_000_000 for now, later in pairwise(moving[1:-1]))
    assert some[-1]["position"] == every[-1]["position"] == [2, 0, 0]  # where it stands at the end
    recorded = json.loads((tmp_path / "report.json").read_text())["recordings"]["few.pcapng"]
    assert recorded["poses_left_out"] == len(every) - len(some)
    assert f"{recorded['poses_left_out']} poses left out" in done.stdout
    left_out = [e for e in Recording(tmp_path / "few.pcapng").events() if e["event"] == "left_out"]
    assert sum(each["sampled"]["placed"] for each in left_out) == recorded["poses_left_out"]
    code, shown, _ = in_process("show", "few.pcapng", cwd=tmp_path)
    assert code == 0 and "left out: " in shown and " of placed" in shown
