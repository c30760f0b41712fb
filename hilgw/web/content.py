"""The places of what changes on a page: HTML, of which the browser changes only what differs."""

import functools
from typing import Any


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
