"""Fills the model from the events of the running gateways of this user.

Two threads for each gateway, so that one that hangs delays no other: one reads its events, one asks
whether it is here when no event came. A further kind of events that a page needs has a thread and a
connection of its own: what is read already continues.
"""

import ctypes
import threading
from collections.abc import Callable, Set
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from hilgw.client.connection import ask
from hilgw.client.control_paths import control_sockets, is_live
from hilgw.client.gateway import Gateway
from hilgw.errors import HilgwError, PeerError
from hilgw.events.kinds import LOGGED, NAMED
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import VersionError
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import GONE, REFUSED, UP, GatewayView
from hilgw.web.model import Bench

KINDS = frozenset(NAMED) | LOGGED | {"packet", "delivered", "left_out"}
"""What all pages need."""
NEED_NS = 3 * NS_PER_S
FIND_S, PULSE_S, TRIM_S = 0.25, 0.2, 30.0
ANSWER_S = 0.5
ENOUGH = 400
"""Packets a second: more could not be looked at, and each costs the gateway and the page."""
MESSAGE_NS = 150 * NS_PER_MS


class Live:
    """Reader of live events, shared by all pages of a `Bench`."""

    acts = True  # its gateways take requests

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._needed: dict[str, int] = {}  # until when
        self._reading: set[tuple[str, str]] = set()  # of a gateway, a kind that is needed
        self._ended = threading.Event()
        self._followed: set[Path] = set()

    def start(self) -> None:
        _begin(self._find)
        _begin(lambda: give_back(self._ended))

    def need(self, kind: str) -> None:
        """Read this kind, too, of all gateways.

        It is read for a while, so that a page that is closed leaves nothing.
        """
        with self.bench.lock:
            self._needed[kind] = self.bench.now() + NEED_NS
            for view in self.bench.gateways.values():
                if view.ended == UP and (view.key, kind) not in self._reading:
                    self._reading.add((view.key, kind))
                    _begin(partial(self._read_more, view, kind))

    def close(self) -> None:
        """Ask the threads to end soon."""
        self._ended.set()

    def _find(self) -> None:
        while True:
            problems: list[Exception] = []
            try:
                paths = control_sockets(on_problem=problems.append)
            except OSError as error:
                paths, problems = [], [error]
            with self.bench.lock:
                self.bench.problem = "; ".join(map(str, problems))
                new = [path for path in paths if path not in self._followed]
                for view in self.bench.gateways.values():
                    if view.ended == REFUSED and Path(view.key) not in paths:
                        view.end(GONE, view.why)
            for path in new:
                if is_live(path):
                    self._followed.add(path)
                    _begin(lambda path=path: self._follow(path))  # type: ignore[misc]
            if self._ended.wait(FIND_S):
                return

    def _follow(self, path: Path) -> None:
        try:
            if (view := self._opened(path)) is not None:
                _begin(lambda: self._ask(view))
                self._read_events(view)
        finally:
            with self.bench.lock:
                self._followed.discard(path)

    def _opened(self, path: Path) -> GatewayView | None:
        """Return the view of a gateway; None if it cannot be read: the model has the reason."""
        bench = self.bench
        try:
            status = Gateway(path).status(ANSWER_S)
        except HilgwError as error:
            foreign = isinstance(error, VersionError)
            config = _config_of_any_version(path) if foreign else ""
            with bench.lock:
                if foreign or is_live(path):
                    bench.opened(str(path), config, 0).end(REFUSED, str(error))
            self._ended.wait(FIND_S)
            return None
        with bench.lock:
            view = bench.opened(str(path), status["config"], status["pid"])
            view.set_status(status, bench.now())
            return view

    def _read_events(self, view: GatewayView) -> None:
        why = "the gateway has ended"
        try:
            self._read(view, KINDS, self._ended.is_set)
        except (HilgwError, OSError) as error:
            why = error.what if isinstance(error, HilgwError) else str(error)
        with self.bench.lock:
            view.end(GONE, why)

    def _read_more(self, view: GatewayView, kind: str) -> None:
        with suppress(HilgwError, OSError):  # `_read_events` shows why
            self._read(view, {kind}, lambda: self.bench.now() >= self._needed[kind])
        with self.bench.lock:
            self._reading.discard((view.key, kind))

    def _read(self, view: GatewayView, kinds: Set[str], is_over: Callable[[], bool]) -> None:
        """Read these kinds until the gateway ends, or the first event after it is over."""
        bench, gateway, states = self.bench, Gateway(Path(view.key)), kinds is KINDS
        with closing(gateway.events(kinds, states=states, per_second=ENOUGH)) as events:  # type: ignore[type-var]
            for event in events:
                with bench.lock:
                    view.take(event, bench.now())
                if is_over():
                    return

    def _ask(self, view: GatewayView) -> None:
        """Ask whether the gateway is here until it has gone, again and again while it hangs."""
        bench, gateway = self.bench, Gateway(Path(view.key))
        while not self._ended.wait(PULSE_S) and view.ended != GONE:
            if bench.now() - view.message_ns < MESSAGE_NS:
                continue
            with suppress(HilgwError):  # the age of its last message shows that
                gateway.ask(requests.Identify(), timeout_s=ANSWER_S)
                with bench.lock:
                    if view.ended != GONE:
                        view.received(bench.now())


def _config_of_any_version(path: Path) -> str:
    try:
        answer = ask(path, requests.Identify(), ANSWER_S, any_version=True)
    except PeerError:
        return ""
    return str(answer.get("config", ""))


def _begin(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def give_back(ended: threading.Event) -> None:
    """Return free memory to the system until the event is set, in a thread of its own.

    At 2,000 packets a second texts of some hundred bytes come and go in several threads. The C
    library keeps what is free between those that stay, and a page that is open all day grows by it.
    A library without `malloc_trim`, as on macOS, is left alone.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None and not ended.wait(TRIM_S):
        trim(0)
