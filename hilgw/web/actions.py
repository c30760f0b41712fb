"""Actions of a visitor on a gateway: a request at a time, and its answer in words."""

from collections.abc import Callable
from typing import Any

from hilgw.errors import HilgwError
from hilgw.web.content import content
from hilgw.web.markup import joined, state
from hilgw.web.page import Page

FLAT = "no-caps unelevated"


def button(text: str, on_click: Callable[[], object], colors: str = "ink text-color=card") -> Any:
    """Return a button that looks like the others."""
    from nicegui import ui

    return ui.button(text, on_click=on_click, color=None).props(f"{FLAT} color={colors}")


class Actions:
    """Makes the place of the answers, which a screen reader reads out."""

    def __init__(self, page: Page) -> None:
        self._page, self._running = page, set[str]()
        self._answer = content().props("role=status")

    def lacks(self, text: str) -> None:
        """Show what the visitor has to give first."""
        self._answer.set_content(state(text, "warn"))

    async def do(self, done: str, request: Callable[..., object], *given: object) -> bool:
        """Send a request of `hilgw.client.Gateway`, outside the event loop, and show its outcome.

        It is not sent for a visitor who may not, nor again while the same is under way: a second
        click is none.

        Args:
            done: The request in words, once it is done.
            request: The method to call.
            *given: Its arguments.

        Returns:
            Whether it was done.
        """
        from nicegui import run

        if done in self._running or not self._page.may("drive"):
            return False
        self._running.add(done)
        try:
            note = await run.io_bound(request, *given)
            more = f"; {note}" if isinstance(note, str) and note else ""
            self._answer.set_content(joined([state(f"{done}{more}", "warn" if more else "good")]))
        except HilgwError as error:
            self._answer.set_content(state(str(error), "bad"))
            return False
        finally:
            self._running.discard(done)
        return True
