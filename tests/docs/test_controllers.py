"""The program and the configuration of docs/controllers.md run, and do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hilgw.api
from hilgw.api.robot import CLASSES
from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, run

PAGE = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text()
FILES = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert set(FILES) == {"brain.py", "rover.yaml"}
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_program_drives_to_the_wall_and_reports_it_by_radio(folder: Path) -> None:
    assert run("check", "rover.yaml", cwd=folder).stderr == ""
    with Gateway(folder, ["--config", "rover.yaml"]) as gateway:
        wait_until(lambda: re.search(r"rover\.tx +ch 12 +\"wall at \d+\"", gateway.text()))


def test_the_commands_of_the_page_find_the_robot(folder: Path) -> None:
    """On a port where nothing listens: each one gets as far as the connection of its program."""
    for command in re.findall(r"^    hilgw (exec [^#\n]*\S)", PAGE, re.MULTILINE):
        arguments = command.split()
        (folder / "brain.py").write_text("import os; print(os.environ['WEBOTS_CONTROLLER_URL'])")
        yaml = FILES["rover.yaml"].replace(
            "kind: python\n", 'kind: webots\n      listen: "tcp://127.0.0.1:1234"\n'
        )
        lines = [
            line for line in yaml.splitlines() if "file:" not in line and "restart:" not in line
        ]
        (folder / "rover.yaml").write_text("\n".join(lines))
        done = run(*arguments, cwd=folder)
        assert (done.stdout, done.stderr) == ("tcp://127.0.0.1:1234/rover\n", "")


def test_the_page_names_every_supported_class() -> None:
    names = {each.__name__ for each in CLASSES}
    assert all(re.search(rf"\b{name}\b", PAGE) for name in names)
    assert names <= set(hilgw.api.__all__)
