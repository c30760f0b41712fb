"""`hilgw schema`: what editors read."""

import json
from pathlib import Path

from hilgw.config.schema.file import json_schema
from hilgw.config.shipped import HEADER, SCHEMA
from tests.cli.conftest import Command


def test_it_is_written_beside_a_configuration(hilgw: Command) -> None:
    def written(*words: str) -> list[str]:
        code, out, _ = hilgw("schema", "--write", *words)
        assert code == 0
        return out.splitlines()

    line = f"  {HEADER}{SCHEMA}"
    first, _, last = written()
    assert (first, last) == (f"wrote {SCHEMA}", line)
    assert json.loads(Path(SCHEMA).read_text()) == json_schema()
    assert json.loads(hilgw("schema")[1]) == json_schema()
    Path("lab").mkdir()
    Path("lab/my.yaml").write_text("version: 1\n")
    first, next_step, last = written("lab/my.yaml")
    assert (first, last) == (f"wrote lab/{SCHEMA}", line)
    assert "the first line of lab/my.yaml" in next_step
    assert Path("lab", SCHEMA).read_text() == Path(SCHEMA).read_text()
    Path("lab/my.yaml").write_text(f"{line.strip()}\nversion: 1\n")
    assert written("lab/my.yaml") == [f"wrote lab/{SCHEMA}"]  # again, over its own


def test_what_is_not_its_own_stays(hilgw: Command) -> None:
    for text in ("{}", "[1]", "not JSON", '{"title": "mine"}'):
        Path(SCHEMA).write_text(text)
        code, _, err = hilgw("schema", "--write")
        assert code == 1 and "this file exists and is not a schema of hilgw" in err
        assert Path(SCHEMA).read_text() == text
    code, _, err = hilgw("schema", "--write", "none.yaml")
    assert code == 2 and "none.yaml does not exist" in err
