"""STOP ALL over HTTP: what it does, for whom, and what it reports."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilgw.client.arming import Disarmed
from hilgw.client.gateway import Gateway
from hilgw.errors import PeerError
from hilgw.testing.sim import DEADLINE_S
from hilgw.web.stop_server import StopServer, stop_all
from tests.web.test_access import OWN, PORT, STOP, cookie, visitors

GATEWAY = Gateway(Path("/run/1.sock"), "arm.yaml at /run/1.sock")
DONE = Disarmed([("<b>arm</b>", GATEWAY)])


@contextmanager
def serving(answer: Disarmed, *, local: bool = True) -> Iterator[tuple[int, list[Disarmed]]]:
    """Its port, and what it was asked for."""
    asked: list[Disarmed] = []

    def stop() -> Disarmed:
        asked.append(answer)
        return answer

    server = StopServer(socket.create_server(("127.0.0.1", 0)), visitors(local=local), stop=stop)
    thread = threading.Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(port: int, method: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    connection.request(method, "/", headers={"Host": f"127.0.0.1:{STOP}", **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_a_post_of_the_page_stops_all_and_names_them_as_text() -> None:
    with serving(DONE) as (port, asked):
        status, text = ask(port, "POST", Origin=OWN)
    assert (status, asked) == (200, [DONE])
    assert "&lt;b&gt;arm&lt;/b&gt; is disarmed (gateway arm.yaml at /run/1.sock)" in text


def test_a_gateway_that_does_not_confirm_is_named_and_the_answer_is_an_error() -> None:
    silent = PeerError("stop NOT confirmed: the gateway does not answer", where="/run/2.sock")
    with serving(Disarmed(DONE.robots, [silent])) as (port, _):
        status, text = ask(port, "POST", Origin=OWN)
    assert status == 502
    assert "/run/2.sock: stop NOT confirmed" in text
    assert "is disarmed" in text


def test_no_other_page_stops_and_a_get_shows_the_button_alone() -> None:
    with serving(DONE) as (port, asked):
        assert ask(port, "GET")[0] == 200
        for headers in (
            {},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": OWN, "Host": "evil.example"},
        ):
            status, text = ask(port, "POST", **headers)
            assert (status, asked) == (403, [])
            assert "NOT stopped" in text


def test_from_other_hosts_it_needs_a_token() -> None:
    own = f"https://127.0.0.1:{PORT}"
    with serving(DONE, local=False) as (port, asked):
        assert ask(port, "POST", Origin=own)[0] == 403
        assert not asked
        assert ask(port, "POST", Origin=own, Cookie=cookie("m" * 32))[0] == 200


def test_a_client_that_sends_nothing_does_not_block_it() -> None:
    with serving(DONE) as (port, _):
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        assert ask(port, "POST", Origin=OWN)[0] == 200
        for each in idle:
            each.close()


def test_without_a_gateway_no_stop_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hilgw").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    stopped = stop_all()
    assert not stopped.robots
    assert "no gateway of yours is running" in str(stopped.error())
