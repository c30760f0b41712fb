"""What the tests of pages share."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def pages(*names: str) -> str:
    """Return the text of these pages, one after the other."""
    return "\n".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in names)


def blocks(kind: str, page: str) -> list[str]:
    """Return the blocks of this kind on a page."""
    texts = re.findall(rf"```{kind}\n(.*?)```", page, re.S)
    assert texts, f"the page has no block of {kind}"
    return texts
