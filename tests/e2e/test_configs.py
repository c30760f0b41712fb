"""Every shipped configuration checks clean, runs as shipped, and its ledger adds up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import ROOT, report_of, run

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
AT_ONCE = 5  # they mostly wait

pytestmark = pytest.mark.xdist_group("configs")  # one worker has all their runs


def run_as_shipped(folder: Path, config: Path) -> dict[str, Any]:
    folder.mkdir()
    return report_of(folder, "--config", str(config), "--duration", "4s")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, Future[dict[str, Any]]]]:
    """The report of each, or what went wrong, as it comes."""
    folder = tmp_path_factory.mktemp("configs")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {c: pool.submit(run_as_shipped, folder / c.stem, c) for c in CONFIGS}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_it_runs_as_shipped(config: Path, runs: dict[Path, Future[dict[str, Any]]]) -> None:
    report = runs[config].result()
    if report["stations"]:
        assert report["medium"]["copies"] > 0
        assert sum(count["delivered"] for count in report["stations"].values()) > 0
    else:
        assert all(loop["commands_out"] > 0 for loop in report["control_loops"].values())
        assert report["control_loops"]
    assert all(port["ups"] > 0 for port in report["ports"].values())


def test_all_pass_the_check(tmp_path: Path) -> None:
    done = run("check", *map(str, CONFIGS), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_begins_with_its_summary() -> None:
    assert len(CONFIGS) >= 3
    for config in CONFIGS:
        lines = config.read_text().splitlines()
        comments = [line for line in lines[:3] if line.startswith("# ") and "schema" not in line]
        assert comments, f"{config.name} says nothing about itself"
