"""What the threads that fill the model do: step by step, and on a real control socket."""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.gateway.messages import VersionError
from hilgw.protocols.gateway.requests import Identify
from hilgw.testing.sim import wait_until
from hilgw.view.gateway import GONE, REFUSED, UP, GatewayView
from hilgw.web import sources as reading
from hilgw.web.model import Bench
from hilgw.web.sources import ANSWER_S, ENOUGH, FIND_S, KINDS, MESSAGE_NS, NEED_NS, PULSE_S, Live
from tests.client.several import running, with_robots


@pytest.mark.wall_clock("the threads wait for sockets")
def test_free_memory_goes_back_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, kept = threading.Event(), []

    def trim(pad: int) -> None:
        kept.append(pad)
        if len(kept) == 3:
            ended.set()

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(malloc_trim=trim))
    monkeypatch.setattr(reading, "TRIM_S", 0.001)
    reading.give_back(ended)
    assert kept == [0, 0, 0]


@pytest.mark.wall_clock("the threads wait for sockets")
def test_it_finds_a_gateway_reads_it_and_notices_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    live = Live(Bench(time.monotonic_ns))

    def shown(state: str) -> GatewayView:
        def there() -> bool:
            with live.bench.lock:
                views = list(live.bench.gateways.values())
            return [each.state(live.bench.now()) for each in views] == [state]

        wait_until(there, what=state)
        (view,) = live.bench.gateways.values()
        return view

    live.start()
    with running(control_folder(), a=with_robots("cab")):
        view = shown(UP)
        assert (view.config, view.pid) == ("/a.yaml", os.getpid())
        wait_until(lambda: "cab" in view.newest["armed"], what="the events")
    shown(GONE)
    live.close()


PATH = Path("/run/hilgw/7.sock")
NOTICE = {"event": "notice", "source": "x", "text": "y"}


class Stepped:
    """A `Live` whose threads wait in `begun`, before gateways that answer as the test has it.

    waited: each pause, in which `pauses` runs; it is over after as many. events: what a gateway
    sends; a function among them is called when its turn comes.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.begun = 10**10, list[Callable[[], None]]()
        threading = SimpleNamespace(Thread=self.thread, Event=lambda: self)
        monkeypatch.setattr(reading, "threading", threading)
        monkeypatch.setattr(reading, "Gateway", lambda path: SteppedGateway(self, path))
        monkeypatch.setattr(reading, "is_live", lambda path: path not in self.dead)
        monkeypatch.setattr(reading, "control_sockets", self.sockets)
        monkeypatch.setattr(reading, "ask", self.ask)
        self.live = Live(Bench(lambda: self.now))
        self.bench = self.live.bench
        self.paths: list[Path] = [PATH]
        self.dead: set[Path] = set()
        self.problems: list[Exception] = []
        self.status: dict[str, Any] | Exception = {"config": "arm.yaml", "pid": 7}
        self.events: list[Any] = []
        self.asked: list[tuple[Any, ...]] = []
        self.waited: list[float] = []
        self.pauses: list[Callable[[], object]] = []
        self.live.start()
        self.find, _trim = self.begun
        self.begun.clear()

    def thread(self, *, target: Callable[[], None], daemon: bool) -> SimpleNamespace:
        return SimpleNamespace(start=lambda: self.begun.append(target))

    def sockets(self, on_problem: Callable[[Exception], None]) -> list[Path]:
        for problem in self.problems:
            if isinstance(problem, OSError):
                raise problem
            on_problem(problem)
        return self.paths

    def ask(self, path: Path, request: object, timeout_s: float, *, any_version: bool) -> Any:
        self.asked.append((path, request, timeout_s, any_version))
        if self.answer is None:
            raise PeerError("closed")
        return self.answer

    answer: dict[str, Any] | None = {"config": "old.yaml"}

    def wait(self, for_s: float) -> bool:
        self.waited.append(for_s)
        if self.pauses:
            self.pauses.pop(0)()
            return False
        return True

    def is_set(self) -> bool:
        return not self.pauses

    def read(self, *events: Any, pauses: int = 1) -> GatewayView:
        """Find the gateway, and read these events of it until it ends."""
        self.find()
        (follow,) = self.begun
        self.begun.clear()
        self.events, self.pauses = list(events), [lambda: None] * pauses
        follow()
        (view,) = self.views()
        return view

    def views(self) -> list[GatewayView]:
        return list(self.bench.gateways.values())


class SteppedGateway:
    def __init__(self, of: Stepped, path: Path) -> None:
        self.of = of
        assert path == PATH

    def status(self, timeout_s: float) -> dict[str, Any]:
        assert timeout_s == ANSWER_S
        if isinstance(self.of.status, Exception):
            raise self.of.status
        return self.of.status

    def events(self, kinds: Any, **how: Any) -> Iterator[dict[str, Any]]:
        self.of.asked.append((kinds, how))
        events, self.of.events = self.of.events, []
        for event in events:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, dict):
                yield event
            else:
                event()

    def ask(self, request: object, timeout_s: float) -> None:
        self.of.asked.append((request, timeout_s))
        if isinstance(self.of.status, Exception):
            raise self.of.status


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> Stepped:
    return Stepped(monkeypatch)


def test_each_gateway_is_followed_once_while_it_is_there(stepped: Stepped) -> None:
    stepped.pauses = [lambda: stepped.paths.append(Path("/other")), lambda: None]
    stepped.dead = {Path("/other")}
    stepped.find()
    assert stepped.waited == [FIND_S] * 3
    (follow,) = stepped.begun
    assert stepped.bench.problem == "" and not stepped.views()
    follow()
    (view,) = stepped.views()
    assert (view.key, view.config, view.pid, view.ended) == (str(PATH), "arm.yaml", 7, GONE)
    assert len(stepped.begun) == 2, "one asks whether it is there"
    stepped.find()
    assert len(stepped.begun) == 3, "again, after its end"


@pytest.mark.parametrize("problem", [HilgwError("is open to others"), OSError("no memory")])
def test_why_gateways_cannot_be_found_is_shown(stepped: Stepped, problem: Exception) -> None:
    stepped.problems = [problem]
    stepped.find()
    assert stepped.bench.problem == str(problem)
    stepped.problems = []
    stepped.find()
    assert stepped.bench.problem == ""


@pytest.mark.parametrize(
    ("error", "is_dead", "answer", "config"),
    [
        (PeerError("closed"), False, None, ""),
        (PeerError("closed"), True, None, None),
        (VersionError(2, 1), True, {"config": "old.yaml"}, "old.yaml"),
        (VersionError(2, 1), True, None, ""),
    ],
)
def test_a_gateway_that_cannot_be_read_is_shown_where_it_is_there(
    stepped: Stepped,
    error: HilgwError,
    is_dead: bool,
    answer: dict[str, Any] | None,
    config: str | None,
) -> None:
    stepped.find()
    stepped.status, stepped.answer = error, answer
    stepped.dead = {PATH} if is_dead else set()
    stepped.begun.pop()()
    shown = [(v.config, v.pid, v.ended, v.why) for v in stepped.views()]
    assert shown == ([] if config is None else [(config, 0, REFUSED, str(error))])
    is_foreign = isinstance(error, VersionError)
    assert stepped.asked == [(PATH, Identify(), ANSWER_S, True)] * is_foreign
    assert stepped.waited == [FIND_S] * 2 and not stepped.begun
    stepped.find()
    assert [v.ended for v in stepped.views()] == [REFUSED] * len(shown)
    stepped.paths = []
    stepped.find()
    assert [v.ended for v in stepped.views()] == [GONE] * len(shown)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (lambda: None, "the gateway has ended"),
        (PeerError("it hangs", where="x"), "it hangs"),
        (OSError("broken"), "broken"),
    ],
)
def test_events_are_taken_until_the_end_which_has_a_reason(
    stepped: Stepped, last: Any, why: str
) -> None:
    view = stepped.read(NOTICE, NOTICE, last)
    assert view.status["config"] == "arm.yaml" and view.status_ns == stepped.now
    assert stepped.asked == [(KINDS, {"states": True, "per_second": ENOUGH})]
    assert (view.log.end, view.ended, view.why) == (2, GONE, why)


def test_no_event_is_taken_after_the_end_of_the_page(stepped: Stepped) -> None:
    assert stepped.read(NOTICE, NOTICE, pauses=0).log.end == 1


def test_a_kind_is_read_once_for_a_while(stepped: Stepped) -> None:
    def meanwhile() -> None:
        stepped.begun.clear()
        (view,) = stepped.views()
        for _ in range(2):
            stepped.live.need("frame")
        (read,) = stepped.begun
        stepped.events = [NOTICE] * 3
        stepped.now += NEED_NS - 1
        read()
        assert "frame" not in KINDS, "it comes beside those"
        assert view.log.end == 3 and view.ended == UP
        assert stepped.asked[1:] == [({"frame"}, {"states": False, "per_second": ENOUGH})]
        stepped.live.need("frame")
        assert len(stepped.begun) == 2, "its reader has ended"
        stepped.now += NEED_NS
        stepped.events = [NOTICE] * 3
        stepped.begun.pop()()
        assert view.log.end == 4, "no page needs it any more"

    stepped.read(meanwhile)
    assert len(stepped.asked) == 3
    count = len(stepped.begun)
    stepped.live.need("frame")
    assert len(stepped.begun) == count == 1, "a gateway that is gone is not read"


def test_who_sends_nothing_is_asked_whether_it_is_there(stepped: Stepped) -> None:
    def pass_ns(ns: int) -> Callable[[], object]:
        return lambda: setattr(stepped, "now", stepped.now + ns)

    def meanwhile() -> None:
        (ask,), (view,) = stepped.begun, stepped.views()
        stepped.asked.clear()
        stepped.waited.clear()
        begin = view.message_ns = stepped.now
        stepped.pauses = [pass_ns(MESSAGE_NS - 1), pass_ns(1)]
        ask()
        assert stepped.asked == [(Identify(), ANSWER_S)]
        assert stepped.waited == [PULSE_S] * 3 and view.message_ns == begin + MESSAGE_NS
        stepped.status = PeerError("no answer")
        stepped.pauses = [pass_ns(MESSAGE_NS), pass_ns(1)]
        ask()
        assert len(stepped.asked) == 3 and view.message_ns == begin + MESSAGE_NS
        stepped.pauses = [lambda: view.end(GONE, ""), pass_ns(1)]
        ask()
        assert len(stepped.asked) == 3 and len(stepped.pauses) == 1

    stepped.read(meanwhile)
    assert len(stepped.asked) == 3
