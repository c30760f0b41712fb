"""Every shipped configuration checks clean, runs as shipped, and its ledger adds up."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, patient, report_in, report_of, run

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def works(report: dict[str, Any]) -> bool:
    """Whether all ports were up, and packets or commands passed."""
    stations, loops = report["stations"].values(), report["control_loops"].values()
    if stations:
        passed = report["medium"]["copies"] > 0 and any(each["delivered"] for each in stations)
    else:
        passed = bool(loops) and all(loop["commands_out"] > 0 for loop in loops)
    return passed and all(port["ups"] > 0 for port in report["ports"].values())


ROBOTS = ["firmware-emulated", "epuck", "create2", "dynamixel", "feetech", "khepera", "gcode"]
ROBOTS += ["webots-plugin", "shadow"]
# A Webots behind hilgw has no simulated time, a busy machine delays the program of another, and
# these robots stand still at the end of a run. tests/golden has the bytes of their motions.
AS_SHIPPED = ["webots-proxy", "python-controller", "khepera", "gcode", "epuck"]
AT_REST = ["create2", "dynamixel", "feetech"]
EMULATED = ["firmware-emulated"]  # QEMU, and real time
TOGETHER = ["lab-simulator", "lab-bench"]  # tests/docs/test_emergency_stop.py


def drives(report: dict[str, Any]) -> bool:
    """Whether a motor of a robot is commanded to move: its last velocity or position is not 0."""
    return any(
        value not in (0, math.inf)
        for loop in report["control_loops"].values()
        for last in loop["motors"].values()
        for name, value in (last.items() if isinstance(last, dict) else [("value", last)])
        if name in ("velocity", "position", "value")
    )


def without_link(config: Path) -> list[str]:
    """An option that takes away the port for another program, which needs real time."""
    airs = yaml.safe_load(config.read_text()).get("airs", {})
    nodes = [(air, name, node) for air in airs for name, node in airs[air].get("nodes", {}).items()]
    return [
        f"--set=airs.{air}.nodes.{name}.link=null" for air, name, node in nodes if "link" in node
    ]


@pytest.mark.parametrize(
    "name", [path.stem for path in CONFIGS if path.stem not in AS_SHIPPED + EMULATED + TOGETHER]
)
def test_it_runs(name: str, tmp_path: Path) -> None:
    simulated = ["--speed", "max", "--duration", "5s", *without_link(ROOT / f"configs/{name}.yaml")]
    report = report_of(tmp_path, "--config", name, *simulated)
    assert works(report), report
    if name in ROBOTS and name not in AT_REST:
        assert drives(report), report


@pytest.mark.parametrize(
    "name",
    [
        *AS_SHIPPED,
        *(pytest.param(each, marks=pytest.mark.judge("qemu-system-arm")) for each in EMULATED),
    ],
)
def test_it_runs_as_shipped(name: str, tmp_path: Path) -> None:
    robots = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text())["robots"]
    options = ["--config", name, *(word for each in robots for word in patient(each))]
    with Gateway(tmp_path, [*options, "--report", "out.json"]) as gateway:
        wait_until(lambda: works(gateway.report()), what="packets and commands")
        if name in ROBOTS:
            wait_until(lambda: drives(gateway.report()), what="a motor that moves")
        assert gateway.stop() == 130
    assert report_in(tmp_path)


def test_all_pass_the_check(tmp_path: Path) -> None:
    done = run("check", *map(str, CONFIGS), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
