"""The context of one open page: the model that all share, and its visitor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hilgw.security.access import Grant
from hilgw.view.gateway import GatewayView
from hilgw.web.access import Visitors
from hilgw.web.live import Live
from hilgw.web.model import Bench
from hilgw.web.recorded import Recorded

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
