"""The book: Sphinx reads the pages as GitHub shows them; `tools/docs` builds it.

A page of contents is plain Markdown: the first link of each item or row is a page of its part.
HILGW_URL names the public repository; without it, a file that is not a page can be downloaded.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import hilgw  # noqa: E402

project = "hilgw"
author = "the hilgw contributors"
project_copyright = author
version = release = hilgw.__version__

# Sphinx reads the whole checkout, so that a link to a page beside docs/ is a link in the book.
root_doc = "docs/index"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SAFETY.md", "SECURITY.md")
include_patterns = ["docs/**.md", *BESIDE]
exclude_patterns = [".*", "build", "configs", "dist", "firmware_mocks", "hilgw", "tests", "tools"]
exclude_patterns += ["node_modules", "**/.*"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4  # the anchors that GitHub makes
suppress_warnings = [
    "misc.highlighting_failure"
]  # languages that Pygments does not have: WC2EC, VRML
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
add_module_names = False
toc_object_entries = False  # the contents at the side are pages, which also builds in half the time
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"hilgw {release}"
html_show_sphinx = html_show_copyright = False
html_copy_source = False

# --- contents -------------------------------------------------------------------------------------

PARTS = ("start", "bench", "robots", "observing", "reference")
CONTENTS = {f"docs/{name}" for name in ("index", "config", *PARTS)}
ITEM = re.compile(r"^(?:\* |\| )\[([^\]]+)\]\(([^)#:]+)\.md\)", re.MULTILINE)
FORM = ".github/ISSUE_TEMPLATE/hardware-report.yml"


def with_contents(app: Any, docname: str, source: list[str]) -> None:
    """Append the table of contents of a page of contents, and link to the form of a report."""
    if docname in CONTENTS:
        entries = "".join(f"{title} <{page}>\n" for title, page in ITEM.findall(source[0]))
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:titlesonly:\n\n{entries}```\n"
    if repository := os.environ.get("HILGW_URL", "").rstrip("/"):
        form = f"{repository}/issues/new?template={Path(FORM).name}"
        source[0] = re.sub(rf"\]\([./]*{re.escape(FORM)}\)", f"]({form})", source[0])


def with_front_page(app: Any, error: Exception | None) -> None:
    """Lead from the folder of the book to its first page."""
    if error is None and app.builder.format == "html":
        page = f"{root_doc}.html"
        head = f'<meta http-equiv="refresh" content="0; url={page}"><title>{project}</title>'
        text = f'<!DOCTYPE html>{head}<a href="{page}">{project}</a>\n'
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("source-read", with_contents)
    app.connect("build-finished", with_front_page)
