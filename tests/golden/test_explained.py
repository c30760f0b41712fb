"""`hilgw explain` of each shipped configuration prints what it printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.cli.main import main

ROOT = Path(__file__).parents[2]
NAMES = [path.stem for path in sorted((ROOT / "configs").glob("*.yaml"))]
REAL = ["epuck", "shadow"]  # the others differ in the same few words


@pytest.mark.parametrize("name", [*NAMES, *(f"{name} --backend real" for name in REAL)])
def test_its_explanation_is_what_it_was(
    name: str,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    stem, *options = name.split()
    assert main(["explain", f"configs/{stem}.yaml", *options]) == 0
    golden(f"explained/{name.replace(' --backend ', '-')}.txt", capsys.readouterr().out)


def test_no_explanation_is_left_over() -> None:
    kept = {file.stem for file in (ROOT / "tests" / "golden" / "explained").glob("*.txt")}
    assert kept == {*NAMES, *(f"{name}-real" for name in REAL)}
