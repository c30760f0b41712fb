"""STOP ALL over HTTP: what it does, for whom, and what it reports."""

import errno
import http.client
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hilgw.client.arming import Disarmed
from hilgw.client.gateway import Gateway
from hilgw.errors import PeerError
from hilgw.testing.sim import DEADLINE_S, wait_until
from hilgw.web import stop_server
from hilgw.web.access import MOST_FORM
from hilgw.web.stop_server import ACCEPT_PAUSE_S, MOST, StopProcess, StopServer, answer, stop_all
from tests.e2e.running import environment
from tests.e2e.test_soak import MANY, limit_descriptors, slow_clients
from tests.web.stop_servers import runs, stop_servers
from tests.web.test_access import OWN, PORT, STOP, visitors

GATEWAY = Gateway(Path("/run/1.sock"), "arm.yaml at /run/1.sock")
RUN = "this run"
DONE = Disarmed([("<b>arm</b>", GATEWAY)])


@contextmanager
def serving(
    answered: Disarmed, *, local: bool = True, ends: threading.Event | None = None
) -> Iterator[tuple[int, list[Disarmed]]]:
    """Its port, and what it was asked for. ends: until it is set, no stop ends."""
    asked: list[Disarmed] = []

    def stop() -> Disarmed:
        asked.append(answered)
        assert ends is None or ends.wait(DEADLINE_S)
        return answered

    answering = partial(answer, visitors(local=local), RUN, stop=stop)
    server = StopServer(socket.create_server(("127.0.0.1", 0)), answering)
    thread = threading.Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(
    port: int, method: str, *, target: str = "/", form: str = "", **headers: str
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    connection.request(method, target, form, headers={"Host": f"127.0.0.1:{STOP}", **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


M, W = "m" * 32, "w" * 32  # the token of a monitor, and a wrong one
TLS = {"Origin": f"https://127.0.0.1:{PORT}"}


@pytest.mark.parametrize(
    ("local", "headers", "target", "form", "stops"),
    [
        (True, {"Origin": OWN}, "/", "", True),
        (True, {}, "/", "", False),
        (True, {"Origin": "http://evil.example"}, "/", "", False),
        (True, {"Origin": "null"}, "/", "", False),
        (True, {"Origin": OWN, "Host": "evil.example"}, "/", "", False),
        (False, TLS, "/", "", False),
        (False, TLS, "/", f"token={W}", False),
        (False, TLS, "/", f"a=b&token={M}", True),
        (False, {}, f"/?token={W}", "", False),
        (False, {}, f"/?token={M}", "", True),
        (False, {}, "/", f"{'a' * MOST_FORM}&token={M}", False),  # no more of a form is read
    ],
)
def test_who_stops(
    local: bool, headers: dict[str, str], target: str, form: str, stops: bool
) -> None:
    with serving(DONE, local=local) as (port, asked):
        assert ask(port, "GET", target=target, **headers)[0] == 200
        assert asked == []
        status, text = ask(port, "POST", target=target, form=form, **headers)
    assert (status, asked) == ((200, [DONE]) if stops else (403, []))
    done = "&lt;b&gt;arm&lt;/b&gt; is disarmed (gateway arm.yaml at /run/1.sock)"
    assert (done if stops else "NOT stopped") in text


def test_a_gateway_that_does_not_confirm_is_named_and_the_answer_is_an_error() -> None:
    silent = PeerError("stop NOT confirmed: the gateway does not answer", where="/run/2.sock")
    with serving(Disarmed(DONE.robots, [silent])) as (port, _):
        status, text = ask(port, "POST", Origin=OWN)
    assert status == 502
    assert "/run/2.sock: stop NOT confirmed" in text
    assert "is disarmed" in text


SLOW = 300  # connections


def test_slow_clients_do_not_block_it_and_few_of_them_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gives way to a newer one, long before its time is over."""
    monkeypatch.setattr(stop_server, "REQUEST_S", 1000.0)
    with serving(DONE) as (port, _), slow_clients(port, SLOW) as clients:
        assert ask(port, "POST", Origin=OWN)[0] == 200
        wait_until(lambda: sum(map(is_open, clients)) <= MOST, what="the bound")
        assert ask(port, "POST", Origin=OWN)[0] == 200


def test_of_stops_that_do_not_end_a_bounded_number_is_under_way() -> None:
    """A further one is closed: each has a thread."""
    request = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{STOP}\r\nOrigin: {OWN}\r\n\r\n".encode()
    ends = threading.Event()
    with serving(DONE, ends=ends) as (port, asked), ExitStack() as clients:
        for count in range(1, 2 * MOST + 1):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(request)
            wait_until(lambda: len(asked) == count, what="a stop")  # noqa: B023
        client = clients.enter_context(socket.create_connection(("127.0.0.1", port)))
        client.sendall(request)
        wait_until(lambda: not is_open(client), what="the end of one more")
        assert len(asked) == 2 * MOST
        ends.set()


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.wall_clock("the time of a request is real")
def test_a_request_has_its_time_however_it_comes() -> None:
    with serving(DONE) as (port, _), slow_clients(port, SLOW) as clients:
        begin = time.monotonic()
        wait_until(lambda: not any(map(is_open, clients)), what="their end")
        assert time.monotonic() - begin < DEADLINE_S / 2


def test_without_a_free_descriptor_it_pauses_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    accept = socket.socket.accept

    def fail(listening: socket.socket) -> object:
        tries.append(time.monotonic())
        if len(tries) <= 2:
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", fail)
    with serving(DONE) as (port, _):
        assert ask(port, "POST", Origin=OWN)[0] == 200
    assert len(tries) == 3
    assert tries[2] - tries[0] >= 2 * ACCEPT_PAUSE_S


@contextmanager
def process(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[tuple[int, list[str]]]:
    """The process of STOP ALL: its port, and the messages about it."""
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    notices: list[str] = []
    hosts = {"hosts": ["127.0.0.1"], "ports": [PORT, STOP], "local": True}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = {**hosts, "tokens": [], "tls": None, "id": RUN}
        running = StopProcess(listening, settings, notices.append)
        try:
            yield listening.getsockname()[1], notices
        finally:
            running.close()


def pid_of_process() -> int:
    """Of the process of STOP ALL that this one has started."""
    (pid,) = stop_servers(os.getpid())
    return pid


@pytest.mark.process
@pytest.mark.parametrize("count", [SLOW, MANY])
def test_the_process_has_descriptors_for_the_stop_whatever_slow_clients_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Of few descriptors, none is left if a connection keeps one."""
    with process(monkeypatch, tmp_path) as (port, _):
        assert ask(port, "GET")[0] == 200
        if count == MANY:
            limit_descriptors(pid_of_process())
        else:
            resource.prlimit(pid_of_process(), resource.RLIMIT_NOFILE, (64, 64))
        with slow_clients(port, count):
            for _ in range(3):
                _, text = ask(port, "POST", Origin=OWN)
                assert "no gateway of yours is running" in text


@pytest.mark.process
@pytest.mark.wall_clock("how long a process is silent")
def test_a_process_that_is_frozen_or_ends_is_started_again_and_answers_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process(monkeypatch, tmp_path) as (port, notices):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            assert ask(port, "GET")[0] == 200
            first = pid_of_process()
            os.kill(first, number)
            wait_until(lambda: not runs(first), what="its end")  # noqa: B023
            _, text = ask(port, "POST", Origin=OWN)
            assert "no gateway of yours is running" in text
            wait_until(lambda: notices, what="the message")
            assert "STOP ALL ended or did not answer (-9) and was started again" in notices[0]
            assert pid_of_process() != first
            notices.clear()


@pytest.mark.process
def test_a_process_started_while_the_page_ends_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[bytes]] = []
    closing: list[threading.Thread] = []
    closes = threading.Event()

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **named: Any) -> None:
            made.append(self)
            if len(made) == 2:
                closing.append(threading.Thread(target=stopping.close))
                closing[0].start()
                assert closes.wait(DEADLINE_S)
            super().__init__(*given, **named)

        def kill(self) -> None:
            if closing:
                closes.set()
            super().kill()

    monkeypatch.setattr(stop_server.subprocess, "Popen", Started)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        stopping = StopProcess(listening, {}, lambda text: None)  # ends: it has no settings
        wait_until(closes.is_set, what="another one")
        closing[0].join(DEADLINE_S)
    assert [each.returncode is not None for each in made] == [True, True]


def test_a_page_at_another_port_reads_whether_its_own_stop_all_answers() -> None:
    with serving(DONE) as (port, asked):
        for origin, known in ((OWN, OWN), ("http://127.0.0.1:9000", None), ("http://evil", None)):
            given = {"Host": f"127.0.0.1:{STOP}", "Origin": origin}
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
            connection.request("GET", "/alive", headers=given)
            answer = connection.getresponse()
            assert answer.read().decode() == RUN
            assert answer.getheader("Access-Control-Allow-Origin") == known
            connection.close()
    assert not asked


def test_no_gateway_reports_no_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hilgw").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    stopped = stop_all()
    assert not stopped.robots
    assert "no gateway of yours is running" in str(stopped.error())
