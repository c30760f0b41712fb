"""`hilgw schema`: what editors read."""

import json
from pathlib import Path

import jsonschema
import pytest

from hilgw.cli.main import main
from hilgw.config.schema.file import json_schema
from hilgw.config.shipped import HEADER, SCHEMA


def test_it_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "hilgw configuration"
    assert schema == json_schema()
    assert set(schema["properties"]) > {"version", "backend", "robots", "adapters", "airs"}


def written(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["schema", "--write", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_it_is_written_beside_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"  {HEADER}{SCHEMA}"
    notified = written(capsys)
    assert notified == [f"wrote {SCHEMA}", notified[1], line]
    assert json.loads((tmp_path / SCHEMA).read_text()) == json_schema()
    (tmp_path / "lab").mkdir()
    file = tmp_path / "lab" / "my.yaml"
    file.write_text("version: 1\n")
    notified = written(capsys, "lab/my.yaml")
    assert notified == [f"wrote lab/{SCHEMA}", notified[1], line]
    assert "the first line of lab/my.yaml" in notified[1]
    assert (tmp_path / "lab" / SCHEMA).read_text() == (tmp_path / SCHEMA).read_text()
    file.write_text(f"{line.strip()}\nversion: 1\n")
    assert written(capsys, "lab/my.yaml") == [f"wrote lab/{SCHEMA}"]  # again, over its own


def test_what_is_not_its_own_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("{}", "[1]", "not JSON", '{"title": "mine"}'):
        (tmp_path / SCHEMA).write_text(text)
        assert main(["schema", "--write"]) == 1
        assert "this file exists and is not a schema of hilgw" in capsys.readouterr().err
        assert (tmp_path / SCHEMA).read_text() == text
    assert main(["schema", "--write", "none.yaml"]) == 2
    assert "none.yaml does not exist" in capsys.readouterr().err
