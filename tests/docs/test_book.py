"""The book is built without warnings, has every page, and each page has one task."""

import re
import subprocess
import sys
import zlib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PUBLIC = ("hilgw.api", "hilgw.client", "hilgw.testing", "hilgw.testing.sim")
BASES = {
    "hilgw.adapters.base": ("Adapter", "AdapterSession", "Refused", "Dropped"),
    "hilgw.bodies.base": ("Body", "BodySession"),
}
PARTS = ("start", "bench", "robots", "observing", "reference")
LONGEST = 1500  # words of a page that is not for looking things up
REFERENCE = (  # in these one looks things up
    *("config/", "adapters/", "api/", "commands.md", "config.md", "report.md", "reasons.md"),
    *("robot-functions.md", "framing.md", "glossary.md", "performance.md", "rooms.md"),
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book as tools/docs does, but plain and without a search for garbage: faster."""
    folder = tmp_path_factory.mktemp("book")
    options = ["-q", "-W", "--keep-going", "-c", "docs", "-b", "html"]
    options += ["-D", "html_theme=basic", "-D", "smartquotes=0"]
    build = "import gc; gc.disable(); from sphinx.cmd.build import main; raise SystemExit(main())"
    command = [sys.executable, "-c", build, *options]
    command += ["-d", str(folder / "doctrees"), ".", str(folder / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    return folder / "html"


@pytest.mark.process
def test_every_page_can_be_read_and_searched(book: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (book / page.relative_to(ROOT)).with_suffix(".html").is_file(), page
    assert "Search.setIndex" in (book / "searchindex.js").read_text(encoding="utf-8")
    assert 'role="search"' in (book / "docs" / "index.html").read_text(encoding="utf-8")


@pytest.mark.process
def test_every_public_name_has_its_docstring_in_the_book(book: Path) -> None:
    inventory = (book / "objects.inv").read_bytes().split(b"\n", 4)[4]
    described = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    public = {name: tuple(import_module(name).__all__) for name in PUBLIC} | BASES
    wanted = {
        f"{module}.{name}"
        for module, names in public.items()
        for name in names
        if callable(getattr(import_module(module), name))
    }
    assert wanted - described == set()


@pytest.mark.process
def test_a_link_to_a_page_beside_docs_stays_in_the_book(book: Path) -> None:
    robots = (book / "docs" / "robots.html").read_text(encoding="utf-8")
    assert 'href="../SAFETY.html"' in robots
    assert (book / "SAFETY.html").is_file()
    assert "docs/index.html" in (book / "index.html").read_text(encoding="utf-8")


def items(page: Path) -> list[Path]:
    """The pages of a page of contents: the first link of each item or row."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"^(?:\* |\| )\[[^\]]+\]\(([^)#:]+\.md)\)", text, re.M)
    return [(page.parent / link).resolve() for link in links]


def test_a_page_has_one_task_and_is_short() -> None:
    pages = {str(page.relative_to(DOCS)): page for page in DOCS.rglob("*.md")}
    tasks = {name: page for name, page in pages.items() if not name.startswith(REFERENCE)}
    words = {name: len(page.read_text(encoding="utf-8").split()) for name, page in tasks.items()}
    assert words
    assert [name for name, count in words.items() if count > LONGEST] == []  # split these


def test_a_page_without_a_part_is_an_error_of_the_build() -> None:
    """A page that no page of contents lists would be in the search alone."""
    contents = [DOCS / "index.md", DOCS / "config.md"]
    contents += [DOCS / f"{part}.md" for part in PARTS]
    entries = [entry for page in contents for entry in items(page)]
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert pages - set(entries) == set()
    assert len(entries) == len(set(entries)), "a page is in one part"
