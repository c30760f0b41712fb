"""What a project shows beside its code: safety, security, citation, changelog, form of a change."""

import re
import tomllib
from pathlib import Path

import yaml

import hilgw
from hilgw.config import model
from hilgw.config.schema.describe import rows
from hilgw.control.safety import SafetySettings

ROOT = Path(__file__).parents[2]
SAFETY = (ROOT / "SAFETY.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def entries() -> dict[str, str]:
    """Version -> its entry in the changelog, newest first."""
    parts = re.split(r"^## (\S+) - .*$", CHANGELOG, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_one_version_everywhere() -> None:
    versions = {hilgw.__version__, PROJECT["version"], CITATION["version"], next(iter(entries()))}
    assert versions == {"0.2.0"}
    manual = (ROOT / "docs" / "hilgw.1").read_text(encoding="utf-8")
    assert '"hilgw 0.2.0"' in manual.splitlines()[0]


def test_an_entry_of_the_changelog_is_for_people() -> None:
    for version, entry in entries().items():
        assert len(entry.strip().splitlines()) <= 40, version


def test_the_times_of_safety_are_those_of_the_settings() -> None:
    defaults = {
        row.key: row.default
        for row in (*rows(SafetySettings), *rows(model.GatewayConfig, deep=False))
    }
    (late,) = (row.doc for row in rows(SafetySettings) if row.key == "late_s")
    assert "not set: 0.5 for a real body" in late and "0.5 s (`late_s`)" in SAFETY
    assert f"{int(defaults['guardian_ms']) / 1000} s (`guardian_ms`)" in SAFETY
    (timeout,) = (row.doc for row in rows(SafetySettings) if row.key == "command_timeout_s")
    assert "not set: 0.5 for a real body" in timeout
    assert "0.5 s (`command_timeout_s`)" in SAFETY


GLOSSARY_PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| (?:[^|]*) \| ([^|]+) \|", GLOSSARY_PAGE, re.MULTILINE)
WHERE = re.compile(r"`([\w/.]+)`: ((?:`[\w.]+`(?:, )?)+)")
NAMED = [
    (term, folder, name)
    for term, where in ROWS
    for folder, names in WHERE.findall(where)
    for name in re.findall(r"`([\w.]+)`", names)
]


def test_a_row_names_what_exists() -> None:
    assert len(NAMED) > 40
    for term, folder, name in NAMED:
        place = next(base / folder for base in (ROOT / "hilgw", ROOT) if (base / folder).exists())
        modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
        defined = rf"^\s*(?:class|def) {name.rpartition('.')[0] or name}\b|^{name}\b"
        assert any(re.search(defined, module.read_text(), re.MULTILINE) for module in modules), term
