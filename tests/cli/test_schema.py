"""`hilgw schema`: what editors read."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from hilgw.cli.main import main

ROOT = Path(__file__).parents[2]


def test_it_prints_the_schema_the_docs_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "hilgw configuration"
    assert out == (ROOT / "docs" / "hilgw.schema.json").read_text(encoding="utf-8")
