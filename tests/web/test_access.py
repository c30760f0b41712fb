"""Who may see the page and act on it, and what keeps `hilgw web` from its start."""

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.errors import PeerError
from hilgw.security.access import Access, Grant
from hilgw.web.access import MOST_FORM, Guard, Visitors
from hilgw.web.page import Actions, Page, Site
from tests.e2e.running import HOST, in_process

TOKEN = "t" * 32
PORT, STOP = 8090, 8091
OWN = f"http://127.0.0.1:{PORT}"


def visitors(*, local: bool = True) -> Visitors:
    access = Access([("run", "admin", TOKEN), ("class", "monitor", "m" * 32)])
    return Visitors(access, ["127.0.0.1", "localhost", "lab.local"], [PORT, STOP], local=local)


def stopping(
    method: str, target: str, headers: Mapping[str, str], form: bytes
) -> tuple[HTTPStatus, str, dict[str, str]]:
    """Stands for STOP ALL."""
    given = f"{method} {target} {headers['host']} {len(form)}"
    return HTTPStatus.ACCEPTED, given, {"content-security-policy": "none", "x-seen": given}


def ask(
    method: str = "GET", path: str = "/", *, local: bool = True, kind: str = "http", **headers: str
) -> tuple[Any, dict[str, str], str]:
    """The status (or why a websocket was closed), the headers, and whether the page was asked."""
    sent: list[dict[str, Any]] = []
    seen: list[str] = []

    async def page(scope: Any, _receive: Any, send: Any) -> None:
        seen.append("asked")
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 3000, "more_body": True}

    path, _, query = path.partition("?")
    given = {"host": f"127.0.0.1:{PORT}", **headers}
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value],
        "client": ("192.0.2.1", 5),
    }
    guard = Guard(page, visitors(local=local), "default-src 'self'", stopping)
    asyncio.run(guard(scope, receive, send))
    back = {name.decode(): value.decode() for name, value in sent[0].get("headers", ())}
    return sent[0].get("status", sent[0].get("code")), back, "".join(seen)


def role(token: object, *, local: bool = True) -> str:
    """The role of a visitor, or why there is none."""
    grant = visitors(local=local).grant(token, "192.0.2.1:5")
    return grant.role if isinstance(grant, Grant) else grant


def test_without_a_token_a_visitor_looks_and_with_it_acts() -> None:
    given = (TOKEN, "m" * 32, "wrong", "", None, 5, {"a": "b"})
    assert [role(each) for each in given] == ["admin", *["monitor"] * 6]


def test_wrong_tokens_are_not_tried_without_end() -> None:
    known = visitors(local=False)
    texts = [known.grant("wrong", "192.0.2.1:5") for _ in range(4)]
    assert len(set(texts)) == 2
    assert known.grant(TOKEN, "192.0.2.1:6") == texts[-1]


@pytest.mark.parametrize("host", ["evil.example:8090", "", "127.0.0.1.evil.example", "[::1"])
def test_another_host_is_refused(host: str) -> None:
    assert ask(host=host)[::2] == (421, "")


FORWARDED = [  # Origin and Host: its own, of `ssh -L` and of proxies
    (OWN, f"127.0.0.1:{PORT}"),
    ("http://127.0.0.1:9000", "127.0.0.1:9000"),
    ("http://localhost:9000", "LOCALHOST:9000"),
    ("https://lab.local", "lab.local"),
    ("http://lab.local", "lab.local:80"),
]
OWN_HOST = f"127.0.0.1:{PORT}"
FOREIGN = [
    ("", OWN_HOST),
    ("null", OWN_HOST),
    ("http://evil.example", OWN_HOST),
    ("http://127.0.0.1:9999", OWN_HOST),
    ("ws://127.0.0.1:8090", OWN_HOST),
    ("http://evil.example:9000", "evil.example:9000"),  # a name that leads to this machine
    ("http://127.0.0.1:9000", "127.0.0.1:9001"),
    ("http://localhost:9000", "127.0.0.1:9000"),
    ("https://lab.local", "lab.local:80"),
    ("http://127.0.0.1:x", "127.0.0.1:9000"),
    ("http://127.0.0.1:9000", "127.0.0.1:x"),
]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(("origin", "host"), FORWARDED)
def test_a_page_on_a_forwarded_port_is_the_page_itself(origin: str, host: str, kind: str) -> None:
    assert ask("POST", kind=kind, origin=origin, host=host)[2] == "asked"
    assert visitors().may_stop({"origin": origin, "host": host}, None)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(("origin", "host"), FOREIGN)
def test_only_the_page_itself_sends_what_acts(origin: str, host: str, kind: str) -> None:
    status, _, seen = ask("POST", kind=kind, origin=origin, host=host)
    assert seen == ""
    assert status in ((403, 421) if kind == "http" else (1008,))
    assert not visitors().may_stop({"origin": origin, "host": host}, None)


def test_elsewhere_only_a_page_over_tls_is() -> None:
    host = "lab.local:9000"
    for scheme, seen in (("https", "asked"), ("http", "")):
        given = {"origin": f"{scheme}://{host}", "host": host}
        assert ask("POST", local=False, **given)[2] == seen


@pytest.mark.parametrize("local", [True, False])
def test_who_has_a_token_may_stop_wherever_the_request_comes_from(local: bool) -> None:
    known = visitors(local=local)
    for headers in ({}, {"origin": "null"}, {"origin": "https://proxy.example", "host": "x"}):
        assert known.may_stop(headers, TOKEN)
        assert known.may_stop(headers, "m" * 32)
        assert not known.may_stop(headers, "wrong")
    assert known.may_stop({"origin": OWN, "host": f"127.0.0.1:{STOP}"}, None) is local


def test_stop_all_is_below_a_path_of_the_page_and_asks_for_itself_who_may() -> None:
    status, headers, seen = ask("POST", "/stop/?a=b", host="proxy.example")
    assert (status, seen) == (202, "")
    assert headers["x-seen"] == f"POST /stop/?a=b proxy.example {MOST_FORM}"
    assert headers["content-security-policy"] == "none"


class Answers:
    """The place of the answers."""

    def __init__(self) -> None:
        self.text = ""

    def props(self, _: str) -> "Answers":
        return self

    def set_content(self, text: str) -> None:
        self.text = text


def test_an_action_is_done_for_who_may_and_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser may send the click of a button that its page does not have; a second click is
    none."""
    shown, done = Answers(), list[str]()

    async def io_bound(request: Callable[..., Any], *given: str) -> Any:
        await asyncio.sleep(0)
        return request(*given)

    def request(text: str) -> str:
        done.append(text)
        if text == "fails":
            raise PeerError("no answer")
        return text

    def actions(role: str, *, acts: bool = True) -> Actions:
        live: Any = SimpleNamespace(acts=acts, bench=None)
        return Actions(Page(Site(live.bench, live, 0, "", visitors()), Grant("x", role)))

    async def run() -> None:
        for may_not in (actions("monitor"), actions("admin", acts=False)):
            assert not await may_not.do("it is armed", request, "a")
        assert (done, shown.text) == ([], "")
        may = actions("drive")
        clicks = (may.do("it is armed", request, each) for each in ("a", "b"))
        other = may.do("it is disarmed", request, "c")
        assert await asyncio.gather(*clicks, other) == [True, False, True]
        assert done == ["a", "c"]
        assert await may.do("it is armed", request, "later")
        assert "it is armed; later" in shown.text
        assert not await may.do("it is armed", request, "fails")
        assert "no answer" in shown.text

    monkeypatch.setattr("hilgw.web.page.content", lambda: shown)
    nicegui = SimpleNamespace(run=SimpleNamespace(io_bound=io_bound))
    monkeypatch.setitem(sys.modules, "nicegui", nicegui)
    asyncio.run(run())


def test_from_other_hosts_every_visitor_needs_a_token() -> None:
    given = ("m" * 32, TOKEN, None, "wrong")
    monitor, admin, without, wrong = (role(each, local=False) for each in given)
    assert (monitor, admin) == ("monitor", "admin")
    assert "needs a token" in without and "not valid" in wrong


@pytest.mark.parametrize("kind", ["http.disconnect", "http.request"])
def test_a_visitor_who_leaves_before_the_answer_raises_nothing(kind: str) -> None:
    async def page(_scope: Any, receive: Any, _send: Any) -> None:
        await receive()
        raise RuntimeError("No response returned.")

    async def receive() -> dict[str, Any]:
        return {"type": kind}

    async def send(_message: Any) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
    headers = [(b"host", f"127.0.0.1:{PORT}".encode())]
    with nullcontext() if kind == "http.disconnect" else pytest.raises(RuntimeError):
        guard = Guard(page, visitors(), "", stopping)
        asyncio.run(guard({**scope, "headers": headers}, receive, send))


def test_the_page_loads_from_itself_alone_sets_no_cookie_and_hides_its_address() -> None:
    status, headers, seen = ask(path=f"/x?token={TOKEN}")
    assert (status, seen) == (200, "asked")
    assert "set-cookie" not in headers  # a browser would send it to every port of the machine
    assert headers["content-security-policy"] == "default-src 'self'"
    assert headers["referrer-policy"] == "strict-origin"


def error(*arguments: str) -> str:
    code, out, err = in_process("web", *arguments, cwd=Path())
    assert code != 0
    assert out == ""
    return err


def test_without_its_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert error() == "hilgw: hilgw web needs a package; pip install 'hilgw[web]'\n"


@pytest.mark.parametrize("more", [[], ["--token", "t"], ["--certificate", "c"]])
def test_an_address_of_other_hosts_needs_tokens_and_tls(more: list[str]) -> None:
    text = error("--host", "0.0.0.0", *more)
    assert "other hosts reach this address, so it needs tokens and TLS" in text
    assert "ssh -L" in text


def test_a_file_that_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pcapng").write_bytes(b"none")
    assert error(str(tmp_path / "x.pcapng")).startswith(f"hilgw: {tmp_path}/x.pcapng: ")
    assert "No such file" in error(str(tmp_path / "absent.pcapng"))


def test_a_token_of_other_users_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lab.token"
    file.write_text("t" * 32)
    file.chmod(0o644)
    text = error("--host", "0.0.0.0", "--token", f"drive:{file}", "--certificate", "c")
    assert str(file) in text


def test_a_role_that_is_none_an_unknown_address_and_a_port_in_use() -> None:
    assert "'boss' is not a role" in error("--token", "boss:t")
    assert "--host nowhere.invalid: unknown address" in error("--host", "nowhere.invalid")
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        text = error("--host", HOST, "--port", str(port))
    assert f"{HOST}:{port}" in text
    assert "choose another --port" in text
