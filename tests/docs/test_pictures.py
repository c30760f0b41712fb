"""The pictures are those that tools/draw_pictures draws, and can be read."""

import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.web.layout import PAGES as WEB_PAGES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
MOVIE = FOLDER / "terminal.svg"
PICTURES = sorted(FOLDER.glob("*.svg"))
STILLS = [path for path in PICTURES if path != MOVIE]
SVG = "{http://www.w3.org/2000/svg}"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Width of a letter of a wide sans-serif (DejaVu Sans), in its size: most letters are narrower.
PLAIN_EM, BOLD_EM = 0.60, 0.69


@pytest.mark.process
def test_none_is_stale() -> None:
    command = [sys.executable, str(ROOT / "tools" / "draw_pictures"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0), "run tools/draw_pictures"


def width_of(text: ET.Element) -> float:
    em, size = (BOLD_EM, 15) if text.get("class") == "title" else (PLAIN_EM, 13)
    return len(text.text or "") * em * size


@pytest.mark.parametrize("path", STILLS, ids=lambda path: path.stem)
def test_words_fit_their_box_and_all_fits_the_picture(path: Path) -> None:
    root = ET.parse(path).getroot()
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    texts = {id(text) for text in root.iter(f"{SVG}text")}
    for group in root.iter(f"{SVG}g"):
        (rect,) = group.findall(f"{SVG}rect")
        left, top, wide, high = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        assert 0 < left < left + wide < width and 0 < top < top + high < height
        for text in group.findall(f"{SVG}text"):
            texts.discard(id(text))
            assert width_of(text) <= wide - 4, text.text
            assert top + 12 < float(text.attrib["y"]) < top + high - 4, text.text
    for text in root.iter(f"{SVG}text"):
        if id(text) in texts:  # outside a box
            x, half = float(text.attrib["x"]), width_of(text) / 2
            assert x - half >= 0 and x + half <= width, text.text
            assert 12 < float(text.attrib["y"]) < height - 4, text.text
    assert root.findtext(f"{SVG}title")


def test_each_is_on_a_page_and_each_picture_of_a_page_exists() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", page.read_text("utf-8"))
        if not target.startswith("https:")
    }
    assert shown >= set(PICTURES)
    assert all(path.is_file() for path in shown)
    assert "pictures/idea.svg" in (ROOT / "README.md").read_text("utf-8")[:1500]


def test_each_kind_of_hardware_has_its_wiring() -> None:
    page = (ROOT / "docs" / "wiring.md").read_text("utf-8")
    drawn = {path.stem.removeprefix("wiring-") for path in FOLDER.glob("wiring-*.svg")}
    assert drawn >= set(plugins.find(plugins.ADAPTERS)) - {"uart", "text"}
    assert {"rs485", "arduino"} <= drawn
    for name in drawn:
        assert f"(pictures/wiring-{name}.svg)" in page


MOST_BYTES = 150_000
SCREENS = [(1280, "dark"), (1280, "light"), (390, "dark"), (390, "light")]
NAMES = [name for _, name, _ in WEB_PAGES]


def picture_of(name: str, width: int, scheme: str) -> str:
    return f"web-{name.lower()}-{width}-{scheme}.png"


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_its_pictures(name: str) -> None:
    line = f"![The page {name}](pictures/{picture_of(name, 1280, 'light')})"
    assert line in (ROOT / "docs" / "web.md").read_text("utf-8"), "run tools/screenshots"
    for width, scheme in SCREENS:
        data = (FOLDER / picture_of(name, width, scheme)).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", data[16:20]) == (width,)
        assert len(data) <= MOST_BYTES


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    known = {picture_of(name, *screen) for name in NAMES for screen in SCREENS}
    assert {each.name for each in FOLDER.glob("web-*.png")} == known
