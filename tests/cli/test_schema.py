"""`hilgw schema`: what editors read."""

from __future__ import annotations

import json

import jsonschema
import pytest

from hilgw.cli.main import main
from hilgw.config.schema.file import json_schema


def test_it_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "hilgw configuration"
    assert schema == json_schema()
    assert set(schema["properties"]) > {"version", "backend", "robots", "adapters", "airs"}
