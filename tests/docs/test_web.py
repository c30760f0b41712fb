"""docs/web.md shows each page, as tools/screenshots took it."""

import struct
from pathlib import Path

import pytest

from hilgw.web.layout import PAGES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
MOST_BYTES = 150_000
SCREENS = [(1280, "dark"), (1280, "light"), (390, "dark"), (390, "light")]
NAMES = [name for _, name, _ in PAGES]


def picture_of(name: str, width: int, scheme: str) -> str:
    return f"web-{name.lower()}-{width}-{scheme}.png"


def shown_as(name: str) -> str:
    return f"![The page {name}](pictures/{picture_of(name, 1280, 'light')})"


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_its_pictures(name: str) -> None:
    assert shown_as(name) in (ROOT / "docs" / "web.md").read_text("utf-8"), "run tools/screenshots"
    for width, scheme in SCREENS:
        data = (FOLDER / picture_of(name, width, scheme)).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", data[16:20]) == (width,)
        assert len(data) <= MOST_BYTES


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    known = {picture_of(name, *screen) for name in NAMES for screen in SCREENS}
    assert {each.name for each in FOLDER.glob("web-*.png")} == known
