"""The threads that fill the model, against a gateway of the test on a real control socket."""

import contextlib
import ctypes
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.protocols.gateway.messages import VERSION
from hilgw.testing.sim import wait_until
from hilgw.view.gateway import GONE, REFUSED, SILENT, UP, GatewayView
from hilgw.web import live as reading
from hilgw.web.live import ENOUGH, NEED_NS, Live
from hilgw.web.model import Bench

pytestmark = pytest.mark.wall_clock("the threads wait for sockets")


class FakeGateway:
    """Answers each request; `hangs`: none. watched: the kinds of each subscriber;
    enough: packets a second that it asks for."""

    def __init__(self, folder: Path, name: str, *, pid: int = 7, version: int = VERSION) -> None:
        self.path, self.pid, self.version = folder / f"{name}.sock", pid, version
        self.hangs = False
        self.watched: list[list[str]] = []
        self.enough: list[int] = []
        self.asked: list[str] = []
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listening.accept()[0]
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        left = contextlib.suppress(OSError, ValueError)  # the client left, or the test ended
        with left, connection, connection.makefile("rwb") as file:
            for line in file:
                request = json.loads(line)
                self.asked.append(request["do"])
                answer = {"ok": True, "version": self.version, "config": "/lab/arm.yaml"}
                if request["do"] == "status":
                    answer["status"] = {"config": "/lab/arm.yaml", "pid": self.pid}
                if request["do"] == "identify":
                    answer["pid"] = self.pid
                if self.hangs:
                    continue
                file.write(json.dumps(answer).encode() + b"\n")
                file.flush()
                if request["do"] == "watch":
                    self.watched.append(request["kinds"])
                    self.enough.append(request["per_second"])
                    self.emit = lambda event: (
                        file.write(json.dumps(event).encode() + b"\n"),
                        file.flush(),
                    )

    def end(self) -> None:
        self.path.unlink()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "hilgw").mkdir(mode=0o700)
    return tmp_path / "hilgw"


@pytest.fixture
def live(folder: Path) -> Iterator[Live]:
    live = Live(Bench(time.monotonic_ns))
    live.start()
    yield live
    live.close()


def wait_for_state(live: Live, state: str) -> GatewayView:
    def there() -> bool:
        with live.bench.lock:
            views = list(live.bench.gateways.values())
        return [each.state(live.bench.now()) for each in views] == [state]

    wait_until(there, what=state)
    (view,) = live.bench.gateways.values()
    return view


def test_it_finds_a_gateway_reads_it_and_notices_its_end_and_its_restart(
    folder: Path, live: Live
) -> None:
    gateway = FakeGateway(folder, "7")
    view = wait_for_state(live, UP)
    assert (view.config, view.pid) == ("/lab/arm.yaml", 7)
    wait_until(lambda: gateway.watched, what="a subscriber")
    gateway.emit({"event": "armed", "robot": "arm", "armed": True, "text": "", "mono_ns": 1})
    wait_until(lambda: view.newest["armed"], what="the event")
    gateway.end()
    wait_for_state(live, GONE)
    again = FakeGateway(folder, "8", pid=8)
    assert wait_for_state(live, UP).restarts == 1
    again.end()


def test_the_status_comes_with_the_events_and_is_asked_for_once(folder: Path, live: Live) -> None:
    gateway = FakeGateway(folder, "7")
    view = wait_for_state(live, UP)
    wait_until(lambda: gateway.watched, what="a subscriber")
    wait_until(lambda: gateway.asked.count("identify") > 6, what="more than a second")
    assert gateway.asked.count("status") == 1
    gateway.emit({"event": "status", "status": {"queues": {"x": 2}}, "mono_ns": 5, "time_ns": 9})
    wait_until(lambda: view.status_ns == 5, what="the event")
    assert view.status["queues"] == {"x": 2}
    assert view.status["config"] == "/lab/arm.yaml"
    gateway.end()


def test_a_gateway_that_hangs_is_silent_and_delays_no_other(folder: Path, live: Live) -> None:
    gateway = FakeGateway(folder, "7")
    wait_for_state(live, UP)
    gateway.hangs = True
    wait_for_state(live, SILENT)
    gateway.hangs = False
    wait_for_state(live, UP)
    gateway.end()


def test_a_gateway_of_another_version_shows_what_to_do(folder: Path, live: Live) -> None:
    gateway = FakeGateway(folder, "7", version=VERSION + 1)
    view = wait_for_state(live, REFUSED)
    assert view.config == "/lab/arm.yaml"
    assert "use the hilgw that the gateway runs with" in view.why
    gateway.end()
    wait_for_state(live, GONE)


def test_a_kind_that_a_page_needs_is_read_at_once_beside_the_others(
    folder: Path, live: Live
) -> None:
    gateway = FakeGateway(folder, "7")
    view = wait_for_state(live, UP)
    wait_until(lambda: gateway.watched, what="a subscriber")
    first = gateway.emit
    for _ in range(2):
        live.need("frame")  # no event comes: it is asked for all the same, once
    wait_until(lambda: len(gateway.watched) == 2, what="the second subscription")
    assert gateway.watched[1] == ["frame"]
    assert "frame" not in gateway.watched[0]
    first({"event": "notice", "source": "x", "text": "of the first subscription"})
    frame = {"event": "frame", "station": "x", "direction": "sent", "data": "00", "text": ""}
    gateway.emit(frame)
    wait_until(lambda: view.log.end == view.traces.end == 1, what="both events")
    now = live.bench.now
    live.bench.now = lambda: now() + NEED_NS
    gateway.emit(frame)  # the last one: no page needs it
    wait_until(lambda: view.traces.end == 2, what="the last frame")
    live.bench.now = now

    def is_asked_again() -> bool:
        live.need("frame")
        return len(gateway.watched) == 3

    wait_until(is_asked_again, what="the third subscription")
    first({"event": "notice", "source": "x", "text": "still of the first subscription"})
    wait_until(lambda: view.log.end == 2, what="the event")
    assert gateway.enough == [ENOUGH] * 3
    gateway.end()
    wait_for_state(live, GONE)
    live.need("frame")
    assert len(gateway.watched) == 3


def test_a_folder_that_others_may_change_is_a_problem(folder: Path, live: Live) -> None:
    folder.chmod(0o777)
    wait_until(lambda: live.bench.problem, what="the problem")
    folder.chmod(0o700)
    wait_until(lambda: not live.bench.problem, what="no problem")


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
