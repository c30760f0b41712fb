"""docs/remote-control.md: its commands run in their order, its output is the real one, its names
exist."""

import re
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.parser import parse
from hilgw.config.shipped import found
from tests.docs.reading import pages
from tests.e2e.running import Gateway, patient, run, wait_until

ROOT = Path(__file__).parents[2]
PAGE = pages("remote-control", "refused-commands", "robots")
COMMANDS = re.findall(r"^    hilgw (.*)$", PAGE, re.MULTILINE)
# A busy machine is not a fault of the robot or the program.
PATIENT = patient("e-puck", "body.silence_s")
PATIENT.append("--set=robots.e-puck.body.answer_ms=5000")


@pytest.mark.process
def test_the_commands_in_their_order(tmp_path: Path) -> None:
    simulated, _, mock, start, arm, disarm, at_once = COMMANDS
    # tests/e2e/test_configs.py runs the first one.
    assert found(parse(simulated.split()).config) == str(ROOT / "configs" / "epuck.yaml")
    with Gateway(tmp_path, mock.split()):
        with Gateway(tmp_path, [*start.split(), *PATIENT]) as gateway:
            wait_until(lambda: loop_of(gateway)["refused"].get("disarmed", 0) > 3)
            assert not loop_of(gateway)["armed"]
            assert run(*arm.split(), cwd=tmp_path).returncode == 0
            wait_until(lambda: loop_of(gateway)["armed"] and moved(gateway))
            assert run(*disarm.split(), cwd=tmp_path).returncode == 0
            wait_until(lambda: loop_of(gateway)["stops"].get("disarmed") == 1)
        with Gateway(tmp_path, [*at_once.split(), *PATIENT]) as gateway:
            wait_until(lambda: loop_of(gateway)["armed"] and moved(gateway))


def loop_of(gateway: Gateway) -> dict[str, Any]:
    loop: dict[str, Any] = gateway.report()["control_loops"]["e-puck"]
    return loop


def moved(gateway: Gateway) -> bool:
    """Whether the last commands turn the wheels."""
    return any(loop_of(gateway)["motors"].values())
