"""The world lines and the settings of docs/webots-gateway-robot.md are those that run."""

import re

import pytest
import yaml

from tests.e2e.running import ROOT, run

PAGE = (ROOT / "docs" / "webots-gateway-robot.md").read_text()
CONFIG = (ROOT / "configs" / "webots.yaml").read_text()
GATEWAY = yaml.safe_load(CONFIG)["robots"]["gateway"]


def block(kind: str, number: int = 0) -> str:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[number]


def test_the_world_lines_are_those_of_the_configuration_and_fit_it() -> None:
    lines = block("wbt")
    commented = "".join(f"#   {line}\n" for line in lines.splitlines())
    assert commented in CONFIG
    body = GATEWAY["body"]
    for own in (body["robot"], *body["to_medium"], *body["from_medium"]):
        assert f'name "{own}"' in lines


def test_the_settings_on_the_page_are_accepted() -> None:
    shown = yaml.safe_load(block("yaml"))["robots"]["gateway"]
    shipped = {key: each for key, each in GATEWAY["body"].items() if key != "mock"}
    assert shown == {**GATEWAY, "body": shipped}


@pytest.mark.process
def test_the_command_of_the_page_runs() -> None:
    (line,) = block("sh").splitlines()
    done = run(*line.split()[1:], cwd=ROOT)
    assert done.returncode == 0 and '"pong' in done.stdout, done.stdout + done.stderr
