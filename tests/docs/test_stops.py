"""The page of each kind of body declares its stop, in bold where the robot has no watchdog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hilgw import plugins
from tests.engine.control_loop.on_mocks import kinds, shipped

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("kind", kinds())
def test_a_page_has_the_stop_of_each_body(kind: str) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md")))
    marked = rf"<!-- table: stop {kind} -->\n(.*?)<!-- end -->"
    sections = re.findall(marked, text, re.DOTALL)
    assert len(sections) == 1, f"no page of docs/ has <!-- table: stop {kind} --> <!-- end -->"
    frame = plugins.load(plugins.BODIES, kind).stop_frame(shipped(kind)[0])
    assert f"\n    {frame.form}\n" in sections[0] and frame.words in sections[0]
    assert ("**The robot has no watchdog: " in sections[0]) is not frame.has_watchdog
    assert frame.alone in sections[0]
