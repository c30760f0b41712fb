"""`hilgw example`: the shipped configurations, from a checkout and from an installed wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

import hilgw
from hilgw.cli.commands.example import examples, title
from hilgw.cli.main import main
from hilgw.config.load import load_text

ROOT = Path(__file__).parents[2]


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        f.stem for f in sorted(ROOT.glob("configs/*.yaml"))
    ]
    width = max(len(name) for name in examples())
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)


@pytest.mark.parametrize("name", ["xbee", "xbee.yaml"])
def test_one(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["example", name]) == 0
    out = capsys.readouterr().out
    assert out == (ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8")
    assert load_text(out, "f").warnings == []


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
