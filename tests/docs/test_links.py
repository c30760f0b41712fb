"""Every link of a page leads to a file of the repository and, behind #, to a heading in it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BESIDE = ("README", "CHANGELOG", "CONTRIBUTING", "SAFETY", "SECURITY")
PAGES = [*(ROOT / f"{name}.md" for name in BESIDE), *sorted(DOCS.rglob("*.md"))]


def prose(page: Path) -> str:
    """Without blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(link: str, page: Path) -> bool:
    target, _, anchor = link.partition("#")
    file = (page.parent / target).resolve() if target else page
    return file.exists() and (not anchor or anchor in anchors(file))


def test_links_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))
        if not link.startswith(("http://", "https://"))
    ]
    assert len(links) > len(PAGES)
    assert [f"{page.name}: {link}" for page, link in links if not leads_somewhere(link, page)] == []


def test_each_page_can_be_reached_from_the_readme() -> None:
    reached, ahead = set(), [PAGES[0]]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)", prose(page))
        ahead += {(page.parent / link).resolve() for link in links} - reached
    assert set(PAGES) - reached == set()
