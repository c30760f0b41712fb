"""The context of one open page: the model that all share, and its visitor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hilgw.errors import HilgwError
from hilgw.security.access import Grant
from hilgw.view.gateway import GatewayView
from hilgw.web.access import Visitors
from hilgw.web.markup import content, joined, state
from hilgw.web.model import Bench
from hilgw.web.sources import Live, Recorded

REFRESH_S = 0.25
SLOWER_S = 0.5  # of pages that show much


@dataclass(frozen=True, slots=True)
class Site:
    """Parts that all pages share.

    stop_port: where STOP ALL is. run_id: of this run, which it names. visitors: what each of them
    may do.
    """

    bench: Bench
    live: Live | Recorded
    stop_port: int
    run_id: str
    visitors: Visitors


@dataclass(frozen=True, slots=True)
class Page:
    """A page of one visitor. `build` of its module makes its elements."""

    site: Site
    grant: Grant

    @property
    def bench(self) -> Bench:
        return self.site.bench

    def may(self, role: str) -> bool:
        """Return whether this visitor may do what needs the role.

        `build` makes a control that acts only then; no other visitor can use it.
        """
        return self.site.live.acts and self.grant.allows(role)

    def sections(
        self, shown: dict[str, Any], views: Mapping[str, GatewayView], make: Callable[..., Any]
    ) -> None:
        """Update the sections of these gateways: `make` makes a new one, the others go."""
        for key in shown.keys() - views.keys():
            shown.pop(key).card.delete()
        for key, view in views.items():
            if key not in shown:
                shown[key] = make(self, view)
            shown[key].update(view)

    def refresh(self, update: Callable[[], None], seconds: float = REFRESH_S) -> None:
        """Call `update` now and every so often, while the page is open.

        Nothing else reads or writes the model meanwhile.
        """

        def locked() -> None:
            with self.bench.lock:
                update()

        from nicegui import ui  # what else the room has needs no server

        locked()
        ui.timer(seconds, locked)


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
