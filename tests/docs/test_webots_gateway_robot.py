"""The world lines and the settings of docs/webots-gateway-robot.md are those that run."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.bodies.webots import BODY
from hilgw.config.load import load_config
from tests.e2e.running import ROOT, run

PAGE = (ROOT / "docs" / "webots-gateway-robot.md").read_text()
CONFIG = (ROOT / "configs" / "webots.yaml").read_text()
GATEWAY = yaml.safe_load(CONFIG)["robots"]["gateway"]


def block(kind: str, number: int = 0) -> str:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[number]


def node(text: str) -> dict[str, Any]:
    """One node of a world file: strings, numbers, words, and children."""
    tokens = re.findall(r'"[^"]*"|[\[\]{}]|[^\s\[\]{}"]+', text)

    def fields(at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {"children": []}
        while tokens[at] != "}":
            name, at = tokens[at], at + 1
            if tokens[at] == "[":
                at += 1
                while tokens[at] != "]":
                    kind = tokens[at]
                    assert tokens[at + 1] == "{"
                    child, at = fields(at + 2)
                    found["children"].append({"node": kind, **child})
                at += 1
                continue
            found[name] = tokens[at].strip('"')
            at += 1
            while re.fullmatch(r"-?[\d.]+", tokens[at]) and name == "translation":
                found[name] += " " + tokens[at]
                at += 1
        return found, at + 1

    assert tokens[1] == "{"
    found, end = fields(2)
    assert end == len(tokens)
    return {"node": tokens[0], **found}


def test_the_world_lines_are_those_of_the_configuration_and_fit_it() -> None:
    lines = block("wbt")
    commented = "".join(f"#   {line}\n" for line in lines.splitlines())
    assert commented in CONFIG
    robot, body = node(lines), GATEWAY["body"]
    assert (robot["node"], robot["controller"]) == ("Robot", "<extern>")
    assert (robot["name"], robot["synchronization"]) == (body["robot"], "FALSE")
    assert [float(each) for each in robot["translation"].split()] == GATEWAY["position"]
    devices = {each["name"]: each for each in robot["children"]}
    for name, own in body["to_medium"].items():
        assert devices[name]["node"] == "Receiver" and GATEWAY["devices"][own]["node"] == "Emitter"
    for name, own in body["from_medium"].items():
        assert devices[name]["node"] == "Emitter" and GATEWAY["devices"][own]["node"] == "Receiver"
    assert {each["channel"] for each in devices.values()} == {"12"}
    assert {each["type"] for each in devices.values()} == {"radio"}


def test_the_settings_on_the_page_are_accepted(tmp_path: Path) -> None:
    given = yaml.safe_load(block("yaml"))
    shown, shipped = given["robots"]["gateway"], dict(GATEWAY)
    shipped["body"] = {key: each for key, each in GATEWAY["body"].items() if key != "mock"}
    assert shown == shipped
    given["robots"]["gateway"]["body"] |= yaml.safe_load(block("yaml", 1))
    path = tmp_path / "config.yaml"
    adapter = {"kind": "xbee", "port": "/dev/ttyS8", "channel": 12}  # what its packets are for
    path.write_text(yaml.safe_dump({"version": 1, **given, "adapters": {"xb": adapter}}))
    assert load_config(str(path), [], "real").warnings == []
    for name in ("to_medium", "from_medium", "channels", "step_ms", "limits"):
        assert f"`{name}" in PAGE and name in BODY.Settings.__dataclass_fields__


@pytest.mark.process
def test_the_command_of_the_page_runs() -> None:
    (line,) = block("sh").splitlines()
    done = run(*line.split()[1:], cwd=ROOT)
    assert done.returncode == 0 and '"pong' in done.stdout, done.stdout + done.stderr
