"""Every shipped configuration checks clean, runs as shipped, and its ledger adds up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.running import ROOT, report_of, run

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_it_runs_as_shipped(config: Path, tmp_path: Path) -> None:
    done = run("check", str(config), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = report_of(tmp_path, "--config", str(config), "--duration", "4s")
    assert report["medium"]["copies"] > 0
    assert sum(count["delivered"] for count in report["stations"].values()) > 0
    assert all(port["ups"] > 0 for port in report["ports"].values())


def test_each_begins_with_what_it_shows() -> None:
    assert len(CONFIGS) >= 3
    for config in CONFIGS:
        lines = config.read_text().splitlines()
        comments = [line for line in lines[:3] if line.startswith("# ") and "schema" not in line]
        assert comments, f"{config.name} says nothing about itself"
