"""`hilgw example`: the shipped configurations, from a checkout and from an installed wheel."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

import hilgw as hilgw_package
from hilgw.cli.commands.configurations.example import examples, title
from hilgw.config.schema.file import json_schema
from hilgw.config.shipped import HEADER, SCHEMA
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[4]


def test_the_list(hilgw: Command) -> None:
    code, out, _ = hilgw("example")
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines] == list(examples())
    width = max(map(len, examples()))
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)
    assert all(line.endswith(".") for line in lines)  # whole sentences
    code, _, err = hilgw("example", "xbe")
    assert code == 2 and "unknown example 'xbe'; did you mean 'xbee'?" in err
    assert hilgw("example", "../pyproject")[0] == 2
    shipped = (ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8")
    for name in ("xbee", "xbee.yaml"):
        code, out, _ = hilgw("example", name)
        assert code == 0 and out.partition("\n")[2] == shipped.partition("\n")[2]


def test_the_first_line_names_a_schema_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    def named() -> str:
        return str(hilgw("example", "uart")[1].splitlines()[0].removeprefix(HEADER))

    # A path with a blank is written as an address.
    assert (tmp_path / unquote(named().removeprefix("file:"))).samefile(ROOT / "docs" / SCHEMA)
    (tmp_path / SCHEMA).write_text("{}")
    assert named() == SCHEMA
    with_blank = tmp_path / "with a blank" / "hilgw"
    (with_blank / "configs").mkdir(parents=True)
    (with_blank / "configs" / "uart.yaml").write_text(f"{HEADER}x\nversion: 1\n")
    (with_blank / SCHEMA).write_text("{}")
    (tmp_path / SCHEMA).unlink()
    monkeypatch.setattr(hilgw_package, "__file__", str(with_blank / "__init__.py"))
    assert named() == (with_blank / SCHEMA).as_uri()
    (with_blank / SCHEMA).unlink()
    assert named() == SCHEMA


def test_a_wheel_has_them_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "hilgw"
    (package / "configs").mkdir(parents=True)
    (package / "configs" / "mine.yaml").write_text(
        "# yaml-language-server: x\n#\n# Mine.\nversion: 1\n"
    )
    monkeypatch.setattr(hilgw_package, "__file__", str(package / "__init__.py"))
    assert list(examples()) == ["mine"]
    assert title(examples()["mine"]) == "Mine."
    assert title("version: 1\n") == ""


def test_an_example_is_written_with_its_program(hilgw: Command) -> None:
    code, out, _ = hilgw("example", "python-controller", "--write")
    shown = "written: python-controller.yaml, python_controller.py; hilgw python-controller.yaml"
    assert code == 0 and shown in out
    program = Path("python_controller.py")
    assert program.read_bytes() == (ROOT / "configs" / "python_controller.py").read_bytes()
    program.unlink()
    code, _, err = hilgw("example", "python-controller", "--write")
    assert code == 2 and "python-controller.yaml: this file exists" in err
    assert not program.exists()
    assert hilgw("example", "--write")[0] == 2


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_example_has_all_its_files(name: str, hilgw: Command) -> None:
    assert hilgw("example", name, "--write")[0] == hilgw("check", f"{name}.yaml")[0] == 0


def test_the_schema_is_written_beside_a_configuration(hilgw: Command) -> None:
    def written(*words: str) -> list[str]:
        code, out, _ = hilgw("schema", "--write", *words)
        assert code == 0
        return out.splitlines()

    line = f"  {HEADER}{SCHEMA}"
    first, _, last = written()
    assert (first, last) == (f"wrote {SCHEMA}", line)
    schema = json_schema()
    assert json.loads(Path(SCHEMA).read_text()) == json.loads(hilgw("schema")[1]) == schema
    Path("lab").mkdir()
    Path("lab/my.yaml").write_text("version: 1\n")
    first, next_step, last = written("lab/my.yaml")
    assert (first, last) == (f"wrote lab/{SCHEMA}", line)
    assert "the first line of lab/my.yaml" in next_step
    assert Path("lab", SCHEMA).read_text() == Path(SCHEMA).read_text()
    Path("lab/my.yaml").write_text(f"{line.strip()}\nversion: 1\n")
    assert written("lab/my.yaml") == [f"wrote lab/{SCHEMA}"]  # again, over its own


def test_what_is_not_a_schema_of_hilgw_stays(
    hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilgw.config.schema.file.json_schema", dict)  # it takes longer than a run
    for text in ("{}", "[1]", "not JSON", '{"title": "mine"}'):
        Path(SCHEMA).write_text(text)
        code, _, err = hilgw("schema", "--write")
        assert code == 1 and "this file exists and is not a schema of hilgw" in err
        assert Path(SCHEMA).read_text() == text
    code, _, err = hilgw("schema", "--write", "none.yaml")
    assert code == 2 and "none.yaml does not exist" in err
