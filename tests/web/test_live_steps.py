"""What the threads of `hilgw.web.live` do, step by step: no thread, no socket, no clock."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.gateway.messages import VersionError
from hilgw.protocols.gateway.requests import Identify
from hilgw.view.gateway import GONE, REFUSED, UP, GatewayView
from hilgw.web import live as reading
from hilgw.web.live import ANSWER_S, ENOUGH, FIND_S, KINDS, MESSAGE_NS, NEED_NS, PULSE_S, Live
from hilgw.web.model import Bench

PATH = Path("/run/hilgw/7.sock")
NOTICE = {"event": "notice", "source": "x", "text": "y"}


class Stepped:
    """A `Live` whose threads wait in `begun`, before gateways that answer as the test has it.

    waited: each pause, in which `pauses` runs; it is over after as many.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.begun = 10**10, list[Callable[[], None]]()
        self.live = Live(Bench(lambda: self.now))
        self.bench = self.live.bench
        self.paths: list[Path] = [PATH]
        self.dead: set[Path] = set()
        self.problems: list[Exception] = []
        self.status: dict[str, Any] | Exception = {"config": "arm.yaml", "pid": 7}
        self.events: list[dict[str, Any] | Exception] = []
        self.asked: list[tuple[Any, ...]] = []
        self.waited: list[float] = []
        self.pauses: list[Callable[[], object]] = []
        monkeypatch.setattr(reading, "_begin", self.begun.append)
        monkeypatch.setattr(reading, "Gateway", lambda path: FakeGateway(self, path))
        monkeypatch.setattr(reading, "is_live", lambda path: path not in self.dead)
        monkeypatch.setattr(reading, "control_sockets", self.sockets)
        monkeypatch.setattr(reading, "ask", self.ask)
        monkeypatch.setattr(self.live, "_ended", self)

    def sockets(self, on_problem: Callable[[Exception], None]) -> list[Path]:
        for each in self.problems:
            if isinstance(each, OSError):
                raise each
            on_problem(each)
        return self.paths

    def ask(self, path: Path, request: object, timeout_s: float, *, any_version: bool) -> Any:
        self.asked.append((path, request, timeout_s, any_version))
        if type(self.status) is PeerError:
            raise self.status
        return {"config": "old.yaml"}

    def wait(self, for_s: float) -> bool:
        self.waited.append(for_s)
        if self.pauses:
            self.pauses.pop(0)()
            return False
        return True

    def is_set(self) -> bool:
        return not self.pauses

    def view(self) -> GatewayView:
        view = self.live._opened(PATH)
        assert view is not None
        return view


class FakeGateway:
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
        for each in self.of.events:
            if isinstance(each, Exception):
                raise each
            yield each

    def ask(self, request: object, timeout_s: float) -> None:
        self.of.asked.append((request, timeout_s))
        if isinstance(self.of.status, Exception):
            raise self.of.status


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> Stepped:
    return Stepped(monkeypatch)


def test_each_gateway_is_followed_once_while_it_is_there(stepped: Stepped) -> None:
    stepped.live.start()
    find, _trim = stepped.begun
    stepped.pauses = [lambda: stepped.paths.append(Path("/other")), lambda: None]
    stepped.dead = {Path("/other")}
    find()
    assert stepped.waited == [FIND_S] * 3
    (follow,) = stepped.begun[2:]
    assert stepped.bench.problem == "" and not stepped.bench.gateways
    follow()
    (view,) = stepped.bench.gateways.values()
    assert (view.key, view.config, view.pid, view.ended) == (str(PATH), "arm.yaml", 7, GONE)
    assert len(stepped.begun) == 4, "one asks whether it is there"
    find()
    assert len(stepped.begun) == 5, "again, after its end"


@pytest.mark.parametrize("problem", [HilgwError("is open to others"), OSError("no memory")])
def test_why_gateways_cannot_be_found_is_shown(stepped: Stepped, problem: Exception) -> None:
    stepped.problems = [problem]
    stepped.live._find()
    assert stepped.bench.problem == str(problem)


@pytest.mark.parametrize(
    ("error", "is_dead", "config"),
    [
        (PeerError("closed"), False, ""),
        (PeerError("closed"), True, None),
        (VersionError(2, 1), True, "old.yaml"),
    ],
)
def test_a_gateway_that_cannot_be_read_is_shown_where_it_is_there(
    stepped: Stepped, error: HilgwError, is_dead: bool, config: str | None
) -> None:
    stepped.status, stepped.dead = error, {PATH} if is_dead else set()
    assert stepped.live._opened(PATH) is None
    shown = [(v.config, v.pid, v.ended, v.why) for v in stepped.bench.gateways.values()]
    assert shown == ([] if config is None else [(config, 0, REFUSED, str(error))])
    assert stepped.asked == [(PATH, Identify(), ANSWER_S, True)] * (config == "old.yaml")
    assert stepped.waited == [FIND_S]
    stepped.live._find()
    assert [v.ended for v in stepped.bench.gateways.values()] == [REFUSED] * len(shown)
    stepped.paths = []
    stepped.live._find()
    assert [v.ended for v in stepped.bench.gateways.values()] == [GONE] * len(shown)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (None, "the gateway has ended"),
        (PeerError("it hangs", where="x"), "it hangs"),
        (OSError("broken"), "broken"),
    ],
)
def test_events_are_taken_until_the_end_which_has_a_reason(
    stepped: Stepped, last: Exception | None, why: str
) -> None:
    view = stepped.view()
    assert view.status["config"] == "arm.yaml" and view.status_ns == stepped.now
    stepped.pauses = [lambda: None]
    stepped.events = [NOTICE, NOTICE, *([last] if last else [])]
    stepped.live._read_events(view)
    assert stepped.asked == [(KINDS, {"states": True, "per_second": ENOUGH})]
    assert (view.log.end, view.ended, view.why) == (2, GONE, why)


def test_no_event_is_taken_after_the_end_of_the_page(stepped: Stepped) -> None:
    view, stepped.events = stepped.view(), [NOTICE, NOTICE]
    stepped.live._read_events(view)
    assert view.log.end == 1


def test_a_kind_is_read_once_for_a_while(stepped: Stepped) -> None:
    view = stepped.view()
    for _ in range(2):
        stepped.live.need("frame")
    (read,) = stepped.begun
    stepped.events = [NOTICE] * 3
    stepped.now += NEED_NS - 1
    read()
    assert view.log.end == 3 and view.ended == UP
    assert stepped.asked == [({"frame"}, {"states": False, "per_second": ENOUGH})]
    stepped.live.need("frame")
    assert len(stepped.begun) == 2, "its reader has ended"
    stepped.now += NEED_NS
    stepped.begun[1]()
    assert view.log.end == 4, "no page needs it any more"
    view.end(GONE, "")
    stepped.live.need("frame")
    assert len(stepped.begun) == 2


def test_who_sends_nothing_is_asked_whether_it_is_there(stepped: Stepped) -> None:
    view = stepped.view()

    def pass_ns(ns: int) -> Callable[[], object]:
        return lambda: setattr(stepped, "now", stepped.now + ns)

    begin = view.message_ns = stepped.now
    stepped.pauses = [pass_ns(MESSAGE_NS - 1), pass_ns(1)]
    stepped.live._ask(view)
    assert stepped.asked == [(Identify(), ANSWER_S)]
    assert stepped.waited == [PULSE_S] * 3 and view.message_ns == begin + MESSAGE_NS
    stepped.status = PeerError("no answer")
    stepped.pauses = [pass_ns(MESSAGE_NS), pass_ns(1)]
    stepped.live._ask(view)
    assert len(stepped.asked) == 3 and view.message_ns == begin + MESSAGE_NS
    stepped.pauses = [lambda: view.end(GONE, ""), pass_ns(1)]
    stepped.live._ask(view)
    assert len(stepped.asked) == 3 and len(stepped.pauses) == 1


def test_the_configuration_of_a_gateway_that_does_not_answer_is_unknown(stepped: Stepped) -> None:
    assert reading._config_of_any_version(PATH) == "old.yaml"
    stepped.status = PeerError("closed")
    assert reading._config_of_any_version(PATH) == ""
