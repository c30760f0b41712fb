"""`--speed`: the installed command in simulated time."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, in_process, run

SWARM = str(ROOT / "configs" / "swarm.yaml")
LOOP = str(ROOT / "configs" / "wc2ec.yaml")


def report_of(folder: Path, config: str, *options: str) -> tuple[dict[str, Any], str]:
    arguments = ["--config", config, "--backend", "mock", "--report", "out.json", *options]
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "out.json").read_text()), done.stdout


def test_a_minute_of_the_swarm_takes_less(tmp_path: Path) -> None:
    report, shown = report_of(tmp_path, SWARM, "--speed", "max", "--duration", "60")
    assert report["duration_s"] == 60.0
    assert report["ledger"] == {"adds_up": True, "violations": []}
    speed = report["speed"]
    assert speed["set"] == "max"
    assert speed["achieved"] == pytest.approx(60 / speed["real_s"], rel=0.01)
    assert speed["achieved"] > 1
    assert re.search(
        r"^summary after 60\.0 s of simulated time, in \S+ s, \S+ times real", shown, re.M
    )
    stamps = [float(stamp) for stamp in re.findall(r"^ +(\d+\.\d{3})  ", shown, re.M)]
    assert stamps == sorted(stamps)
    assert 59 < stamps[-1] <= 60


def test_equal_runs_give_equal_reports_and_lines(tmp_path: Path) -> None:
    first, lines = report_of(tmp_path, LOOP, "--speed", "max", "--duration", "5")
    second, again = report_of(tmp_path, LOOP, "--speed", "25", "--duration", "5")
    assert first.pop("speed")["set"] == "max"
    assert second.pop("speed")["set"] == 25
    assert first == second
    assert lines.split("summary")[0] == again.split("summary")[0]
    assert first["control_loops"]["cab"]["commands_out"] > 0


def test_commands_reach_a_gateway_that_races(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", SWARM, "--backend", "mock", "--speed", "max"]) as gateway:
        wait_until(lambda: "up:" in gateway.text())
        assert run("send", "bee1.tx", "by hand", cwd=tmp_path).returncode == 0
        assert run("place", "ant1", "0", "0", "0", cwd=tmp_path).returncode == 0
        assert gateway.stop() == 130
        assert "the ledger adds up" in gateway.text()


def test_hardware_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    done = run("--config", SWARM, "--backend", "real", "--speed", "2", cwd=tmp_path)
    assert done.returncode == 3
    assert "a real port runs in real time, not at speed 2; run with --backend mock" in done.stderr
    code, _, error = in_process("check", SWARM, "--backend", "real", "--speed", "max", cwd=tmp_path)
    assert (code, error.count("not at speed max")) == (3, 2)


# --- a Webots controller, which is a process of its own -------------------------------------------
