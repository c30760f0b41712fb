"""All gateways, as the pages show them.

They come in by `Bench.opened` and by the methods of `GatewayView`: from running gateways
(`hilgw.web.sources`), or from a recording.
"""

import threading
from collections.abc import Callable

from hilgw.view.gateway import GONE, GatewayView

MOST_GONE = 8


class Bench:
    """All gateways.

    now: the time that the page shows, in nanoseconds of `mono_ns`; that of a recording is where its
    slider is. problem: why gateways cannot be found.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.lock = threading.RLock()
        self.gateways: dict[str, GatewayView] = {}
        self.problem = ""

    def opened(self, key: str, config: str, pid: int) -> GatewayView:
        """Return the view of a gateway that is here now.

        One that ran the same configuration, and is gone, makes room for it.
        """
        now, old = self.now(), self.gateways.get(key)
        if old is not None and pid in (old.pid, 0):
            return old
        gone = [each for each in self.gateways.values() if each.ended == GONE]
        if old is None:
            old = next((each for each in gone if each.config == config != ""), None)
        if old is not None:
            del self.gateways[old.key]
        elif len(gone) >= MOST_GONE:
            del self.gateways[min(gone, key=lambda each: each.message_ns).key]
        restarts = old.restarts + 1 if old is not None and old.config else 0
        view = self.gateways[key] = GatewayView(key, config, pid, now, restarts)
        view.series = old.series if old is not None else {}
        return view
