"""docs/first-check.md, and that the page of each robot and module states whether it was tested."""

import re
from pathlib import Path

import pytest

from hilgw import plugins

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FORM = ROOT / ".github" / "ISSUE_TEMPLATE" / "hardware-report.yml"
LINE = re.compile(
    r"^Tested on hardware: (no|\[yes\]\(https://\S+\))\. "
    r"\[Test yours\]\((\S+)\), and \[report the result\]\((\S+)\)\.$",
    re.M,
)


def page_of(group: plugins.Group, kind: str) -> Path:
    if group is plugins.ADAPTERS:
        return DOCS / "adapters" / f"{kind}.md"
    (page,) = (
        page for page in DOCS.glob("*.md") if f"<!-- table: stop {kind} -->" in page.read_text()
    )
    return page


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        (group, kind)
        for group in (plugins.BODIES, plugins.ADAPTERS)
        for kind in plugins.names(group)
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_each_page_states_whether_it_was_tested(group: plugins.Group, kind: str) -> None:
    page = page_of(group, kind)
    (found,) = LINE.findall(page.read_text(encoding="utf-8"))
    assert (page.parent / found[1]).resolve() == DOCS / "first-check.md"
    assert (page.parent / found[2]).resolve() == FORM
