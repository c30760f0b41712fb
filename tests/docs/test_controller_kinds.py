"""The controller of docs/controller-kinds.md, installed as the page describes, runs in a
gateway."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from hilgw.medium.mocap import decode
from hilgw.medium.pose import Pose
from tests.config.cases import install
from tests.docs.reading import pages
from tests.e2e.running import run
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
    install(tmp_path, "hilgw-echo", f"[{group}]\n{kind} = {target}\n")
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


SEMANTICS_PAGE = pages("semantics", "emitter-receiver", "medium", "poses")


@pytest.mark.process
def test_the_page_begins_with_an_example_and_its_output(tmp_path: Path) -> None:
    assert SEMANTICS_PAGE.index("## An example") < SEMANTICS_PAGE.index("| case |")
    file = tmp_path / "example.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", SEMANTICS_PAGE, re.DOTALL)[0])
    command = re.search(
        r"`hilgw --config FILE (.*?)` prints\n\n```\n(.*?)```", SEMANTICS_PAGE, re.DOTALL
    )
    assert command
    done = run("--config", str(file), *command[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("ready\n")[1].split("summary")[0] == command[2]
    lines = [line.split()[:2] for line in command[2].splitlines()]
    assert lines[:2] == [["0.032", "rover.tx"], ["0.064", "truck.rx"]]


def test_the_datagram_it_shows() -> None:
    (shown,) = re.findall(r'^    (\{"rover".*\})$', SEMANTICS_PAGE, re.MULTILINE)
    assert decode(shown.encode()) == {"rover": Pose((1.0, 2.0, 0.0)), "wall": None}
