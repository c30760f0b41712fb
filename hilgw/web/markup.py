"""HTML of texts that others wrote: all that is not `Markup` is escaped, here and nowhere else."""

import functools
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from hilgw.events.words import span


class Markup(str):
    """HTML that `element` made."""

    __slots__ = ()


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """Return an HTML element.

    class_ means class, and _ is - in other attributes; None leaves one out.
    """
    names = (
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{''.join(names)}>{joined(content)}</{tag}>")


def joined(content: Iterable[object]) -> Markup:
    """Return all of these, each escaped unless it is Markup."""
    return Markup("".join(e if isinstance(e, Markup) else escape(str(e)) for e in content))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return a table with a name; the first cell of each row names the row.

    Empty without rows.
    """
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", c) for c in row[1:]))
        for row in rows
    ]
    top = element("thead", element("tr", *(element("th", each, scope="col") for each in head)))
    name = element("caption", caption)
    return element("table", name, top, element("tbody", *body)) if body else Markup("")


def state(word: str, kind: str = "") -> Markup:
    """Return a word with a dot in the colour of its kind: good, bad, warn or none."""
    return element("span", word, class_=f"state {kind}")


def age(nanoseconds: float) -> str:
    """Return how long ago something was."""
    return span(max(nanoseconds, 0) / 1e9)


def plain_page(body: str) -> str:
    """Return a page without any script, with this HTML as its body."""
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>hilgw</title>"
        '<meta name=viewport content="width=device-width"><meta name=color-scheme '
        'content="light dark"><style>body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem}'
        "</style></head><body>" + body + "</body></html>"
    )


def content() -> Any:
    """Return an `ui.html` in which links, buttons, selections and the focus stay as it changes."""
    return _kind()("")


def scrolling(name: str) -> Any:
    """Return an element with a name, for what may be wider than the screen."""
    named = f'tabindex=0 role=region aria-label="{name}"'
    return content().classes("scrolls").props(named)


@functools.cache
def _kind() -> Any:
    from nicegui import ui  # slow to import, and an extra

    class Content(ui.html, component="content.js"):
        pass

    return Content
