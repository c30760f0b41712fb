"""The page about the proxy: its configuration checks clean, its commands run, its names agree."""

import re
from pathlib import Path

import pytest
import yaml

from hilgw.cli.main import main
from tests.e2e.running import ROOT, report_of, run

PAGE = (ROOT / "docs" / "webots-proxy.md").read_text(encoding="utf-8")
SHIPPED = yaml.safe_load((ROOT / "configs" / "webots-proxy.yaml").read_text())


def block(kind: str) -> str:
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return "\n".join(line.removeprefix("   ") for line in found.splitlines())


def test_the_world_has_the_devices_of_the_configuration() -> None:
    world = block("vrml")
    for name, fields in SHIPPED["robots"]["rover"]["devices"].items():
        assert f'{fields["node"]} {{ name "{name}" channel {fields["channel"]} }}' in world
    assert 'name "rover"' in world and 'controller "<extern>"' in world


@pytest.mark.process
def test_the_commands_it_shows(tmp_path: Path) -> None:
    commands = re.findall(r"^ +hilgw (.*)$", PAGE, re.MULTILINE)
    first, second = (each.split() for each in commands)
    assert second == [*first[:2], "--backend", "real"]  # needs Webots and a module
    first[1] = str(ROOT / first[1])
    report = report_of(tmp_path, *first)
    assert report["proxies"]["rover"]["packets_out"] > 0
    assert report["proxies"]["rover"]["packets_in"] > 0
    (url,) = re.findall(r"WEBOTS_CONTROLLER_URL=(\S+)/rover", PAGE)
    assert url == SHIPPED["robots"]["rover"]["controller"]["listen"]


@pytest.mark.parametrize(
    ("page", "config", "parts"),
    [
        ("webots-proxy", "webots-proxy", ["rover.controller", "rover.webots"]),
        ("webots-gateway-robot", "webots", ["gateway.body"]),
    ],
)
def test_only_the_module_is_a_mock(
    page: str, config: str, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (given,) = re.findall(r"`--set '(real=.*?)'`", (ROOT / f"docs/{page}.md").read_text())
    assert yaml.safe_load(given.removeprefix("real=")) == parts
    assert main(["explain", str(ROOT / f"configs/{config}.yaml"), "--set", given]) == 0
    shown = capsys.readouterr().out
    assert "mock xbee" in shown and "mock webots_simulator" not in shown


GATEWAY_PAGE = (ROOT / "docs" / "webots-gateway-robot.md").read_text()
CONFIG = (ROOT / "configs" / "webots.yaml").read_text()
GATEWAY = yaml.safe_load(CONFIG)["robots"]["gateway"]


def block_gateway(kind: str, number: int = 0) -> str:
    return re.findall(rf"```{kind}\n(.*?)```", GATEWAY_PAGE, re.DOTALL)[number]


def test_the_world_lines_are_those_of_the_configuration_and_fit_it() -> None:
    lines = block_gateway("wbt")
    commented = "".join(f"#   {line}\n" for line in lines.splitlines())
    assert commented in CONFIG
    body = GATEWAY["body"]
    for own in (body["robot"], *body["to_medium"], *body["from_medium"]):
        assert f'name "{own}"' in lines


def test_the_settings_on_the_page_are_accepted() -> None:
    shown = yaml.safe_load(block_gateway("yaml"))["robots"]["gateway"]
    shipped = {key: each for key, each in GATEWAY["body"].items() if key != "mock"}
    assert shown == {**GATEWAY, "body": shipped}


@pytest.mark.process
def test_the_command_of_the_page_runs() -> None:
    (line,) = block_gateway("sh").splitlines()
    done = run(*line.split()[1:], cwd=ROOT)
    assert done.returncode == 0 and '"pong' in done.stdout, done.stdout + done.stderr
