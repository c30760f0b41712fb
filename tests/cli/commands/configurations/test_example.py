"""`hilgw example`: the shipped configurations, from a checkout and from an installed wheel."""

from pathlib import Path
from urllib.parse import unquote

import pytest

import hilgw
from hilgw.cli.commands.configurations.example import examples, title
from hilgw.cli.main import main
from hilgw.config.load import load_text
from hilgw.config.shipped import HEADER, SCHEMA

ROOT = Path(__file__).parents[4]


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        f.stem for f in sorted(ROOT.glob("configs/*.yaml"))
    ]
    width = max(len(name) for name in examples())
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)
    assert all(line.endswith(".") for line in lines)  # whole sentences


@pytest.mark.parametrize("name", ["xbee", "xbee.yaml"])
def test_one(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["example", name]) == 0
    out = capsys.readouterr().out
    shipped = (ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8")
    assert out.partition("\n")[2] == shipped.partition("\n")[2]
    assert load_text(out, "f").warnings == []


def test_the_first_line_names_a_schema_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def named() -> str:
        assert main(["example", "uart"]) == 0
        return capsys.readouterr().out.splitlines()[0].removeprefix(HEADER)

    # A path with a blank is written as an address.
    assert (tmp_path / unquote(named().removeprefix("file:"))).samefile(ROOT / "docs" / SCHEMA)
    (tmp_path / SCHEMA).write_text("{}")
    assert named() == SCHEMA
    with_blank = tmp_path / "with a blank" / "hilgw"
    (with_blank / "configs").mkdir(parents=True)
    (with_blank / "configs" / "uart.yaml").write_text(f"{HEADER}x\nversion: 1\n")
    (with_blank / SCHEMA).write_text("{}")
    (tmp_path / SCHEMA).unlink()
    monkeypatch.setattr(hilgw, "__file__", str(with_blank / "__init__.py"))
    assert named() == (with_blank / SCHEMA).as_uri()
    (with_blank / SCHEMA).unlink()
    assert named() == SCHEMA


def test_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "xbe"]) == 2
    assert "unknown example 'xbe'; did you mean 'xbee'?" in capsys.readouterr().err
    assert main(["example", "../pyproject"]) == 2


def test_a_wheel_has_them_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "hilgw"
    (package / "configs").mkdir(parents=True)
    (package / "configs" / "mine.yaml").write_text(
        "# yaml-language-server: x\n#\n# Mine.\nversion: 1\n"
    )
    monkeypatch.setattr(hilgw, "__file__", str(package / "__init__.py"))
    assert list(examples()) == ["mine"]
    assert title(examples()["mine"]) == "Mine."
    assert title("version: 1\n") == ""


def test_an_example_is_written_with_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["example", "python-controller", "--write"]) == 0
    shown = "written: python-controller.yaml, python_controller.py; hilgw python-controller.yaml"
    assert shown in capsys.readouterr().out
    program = tmp_path / "python_controller.py"
    assert program.read_bytes() == (ROOT / "configs" / "python_controller.py").read_bytes()
    program.unlink()
    assert main(["example", "python-controller", "--write"]) == 2
    assert "python-controller.yaml: this file exists" in capsys.readouterr().err
    assert not program.exists()
    assert main(["example", "--write"]) == 2


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_example_has_all_its_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["example", name, "--write"]) == 0
    assert main(["check", f"{name}.yaml"]) == 0
