"""Pages and configurations use the words of the field, one word for one thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
PRIVATE = re.compile(
    r"\b(nobody|whoever|told|said|says|hears?|heard|cures?|mends?|mended|stand-ins?|tally|outbox"
    r"|failsafe|is no (?:valid|HC-12|XBee))\b"
)


def prose(page: Path) -> str:
    """Without blocks of code, code, and addresses; of a configuration the comments."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".yaml":
        return "\n".join(re.findall(r"#.*", text))
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


@pytest.mark.parametrize("page", [*PAGES, *CONFIGS], ids=lambda page: page.stem)
def test_no_private_words(page: Path) -> None:
    found = [line for line in prose(page).splitlines() if PRIVATE.search(line)]
    assert found == []


def test_settings_of_a_framing_are_on_its_page_only() -> None:
    """The rows of all framings would otherwise be on the page of each adapter that has one."""
    rows = re.compile(
        r"^\| `(?:framing\.)?(?:crc_order|leading_delimiter|length_counts|gap_ms)`", re.M
    )
    with_rows = [page.name for page in PAGES if rows.search(page.read_text(encoding="utf-8"))]
    assert with_rows == ["framing.md"]


def test_pages_link_to_what_they_speak_of() -> None:
    """Webots, the original WC2EC program, and the maker's page of each kind of module."""
    links = " ".join(
        link for page in PAGES for link in re.findall(r"https://[^)\s]+", page.read_text("utf-8"))
    )
    for site in (
        "cyberbotics.com/doc/reference/emitter",
        "cyberbotics.com/doc/reference/receiver",
        "github.com/chrissy0/sese-cab-service",
        "digi.com",
        "reyax.com",
        "vishay.com",
        "microchip.com",
        "docs.arduino.cc",
        "gctronic.com",
        "irobot",
        "robotis.com",
    ):
        assert site in links, site
