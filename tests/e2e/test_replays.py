"""A recorded run, replayed by the commands of docs/replay.md."""

import json
from pathlib import Path

from tests.e2e.running import run

FAST = ("--speed", "max", "--duration", "3s")


def test_the_run_of_the_page_is_recorded_and_replayed(tmp_path: Path) -> None:
    record = ("run", "uart", "--backend", "loopback", *FAST, "--record", "run.pcapng")
    assert run(*record, cwd=tmp_path).returncode == 0
    reports = []
    for name in ("a.json", "b.json"):
        done = run("run", "uart", "--replay", "run.pcapng", *FAST, "--report", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        reports.append((tmp_path / name).read_bytes())
    assert reports[0] == reports[1]
    replayed = json.loads(reports[0])["replays"]["uart0"]
    assert (replayed["matched"], replayed["departures"]) == (replayed["frames"], 0)
    # Without a duration it ends with its recording.
    replay = ("run", "uart", "--replay", "run.pcapng", "--speed", "max", "--report", "c.json")
    assert run(*replay, cwd=tmp_path).returncode == 0
    assert 3.0 <= json.loads((tmp_path / "c.json").read_text())["duration_s"] < 3.5
    changed = ("--set", "robots.rover.controller.payload=other", "--on-departure", "stop")
    done = run("run", "uart", "--replay", "run.pcapng", *changed, *FAST, cwd=tmp_path)
    assert done.returncode == 8
    assert "departs from the recording at frame 1 of" in done.stderr


def test_options_of_a_replay_need_one(tmp_path: Path) -> None:
    done = run("run", "uart", "--only", "uart0", cwd=tmp_path)
    assert (done.returncode, "--only is of --replay FILE" in done.stderr) == (2, True)
