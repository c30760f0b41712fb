"""The controller of docs/controller-kinds.md, installed as the page describes, runs in a
gateway."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors
from tests.engine.robot.stepped_gateway import MS, SteppedGateway

PAGE = (Path(__file__).parents[2] / "docs" / "controller-kinds.md").read_text(encoding="utf-8")


def shown(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group, points = next(iter(tomllib.loads(shown("toml"))["project"]["entry-points"].items()))
    ((kind, target),) = points.items()
    (tmp_path / f"{target.partition(':')[0]}.py").write_text(shown("python"))
    metadata = tmp_path / "hilgw_echo-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hilgw-echo\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{kind} = {target}\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_the_example_returns_packets() -> None:
    running = SteppedGateway(None, yaml.safe_load(shown("yaml"))["robots"])
    running.begin()
    running.at(1000 * MS)
    robots = running.gateway.robots
    received = [packet.data for packet in running.auditor.sent if packet.source == "rover.tx"]
    assert received[:2] == [b"re: ping 1", b"re: ping 2"]
    assert robots["rover"].summary() == f"returned {len(received)}, refused 0"
    assert len(received) >= 8
    assert running.gateway.report()["stations"]["rover.rx"]["refused"] == {}
    assert ("rover", "echo is ready") in running.auditor.notices
    running.close()


@pytest.mark.usefixtures("installed")
def test_its_own_check_has_a_position() -> None:
    robots = yaml.safe_load(shown("yaml"))["robots"]
    robots["rover"]["controller"]["prefix"] = "ré"
    with pytest.raises(ConfigErrors, match=r"f:1:\d+: robots.rover.controller.prefix: is not ASC"):
        load_text(json.dumps({"version": 1, "robots": robots}, ensure_ascii=False), "f")
