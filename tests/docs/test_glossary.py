"""Each row of the glossary that names a class, a function or a key names one that exists there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| (?:[^|]*) \| ([^|]+) \|", PAGE, re.MULTILINE)
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


def test_each_term_has_one_row() -> None:
    terms = [term for term, _ in re.findall(r"^\| ([^|]+?) \| ([^|]*)", PAGE, re.MULTILINE)]
    terms = [term for term in terms if term not in ("term", "---")]
    assert len(terms) == len(set(terms))
