"""`hilgw import-world`: what it prints and writes, and its errors, with the world of its page."""

import re
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.config.load import load_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "import-world.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(vrml|yaml)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = Path("arena.wbt")
    file.write_text(BLOCKS["vrml"], encoding="utf-8")
    return file


def test_the_page_shows_what_is_printed(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-world", str(arena)]) == 0
    assert capsys.readouterr().out == BLOCKS["yaml"]


def test_the_commands_of_the_page(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^    hilgw (.*)$", PAGE, re.MULTILINE)
    assert commands == ["import-world arena.wbt -o arena.yaml", "check arena.yaml"]
    for command in commands:
        assert main(command.split()) == 0
    assert capsys.readouterr().out == "arena.yaml: ok\n"
    assert list(load_config("arena.yaml").config.robots) == ["rover", "E-puck"]


def test_a_file_is_not_replaced(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.yaml").write_text("mine")
    assert main(["import-world", str(arena), "-o", "old.yaml"]) == 1
    assert "old.yaml: exists already; " in capsys.readouterr().err
    assert Path("old.yaml").read_text() == "mine"
    assert main(["import-world", str(arena), "-o", "no/folder.yaml"]) == 1
    assert "no/folder.yaml: cannot write: No such file" in capsys.readouterr().err


def test_errors_have_a_position(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arena.write_text("#VRML_SIM R2025a utf8\nRobot {\n  name rover\n}\n")
    assert main(["import-world", str(arena)]) == 3
    assert capsys.readouterr().err.startswith("arena.wbt:3:8: 'rover' is not a value")
    assert main(["import-world", "none.wbt"]) == 3
    assert "none.wbt: cannot be read: No such file" in capsys.readouterr().err
    assert main(["import-world", "."]) == 3
    assert main(["import-world", "a\0b"]) == 3


def test_a_world_that_no_configuration_holds(
    arena: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arena.write_text("#VRML_SIM R2025a utf8\n" + "Robot { } " * 20_000)
    assert main(["import-world", str(arena)]) == 3
    assert "the world is larger than a configuration may be" in capsys.readouterr().err
