"""Access to the page: who may see it and who may act, by Host, Origin, and a visitor's token.

On a loopback address a visitor without a token may look. On any other address every visitor needs a
token, as clients of a gateway do (`hilgw.security`). A visitor presents the token once, in the
URL or in the form of the page that refuses. The browser keeps it for this tab and port
(sessionStorage; a cookie would go to every port of the machine), and sends it over the WebSocket of
each page that it opens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hilgw.security.access import Access, Grant, TokenCheck
from hilgw.web.markup import Markup, element, plain_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Answering = Callable[[str, str, Mapping[str, str], bytes], tuple[HTTPStatus, str, dict[str, str]]]
MOST_FORM = 4096  # bytes of a form
STOP_PATH = "/stop/"
LOOKS = Grant("no token", "monitor")
DEFAULT_PORTS = {"http": 80, "https": 443}
NO_TOKEN = "This page needs a token. The person who started hilgw web has it, in a file."
FORM = Markup(
    '<form method="get"><p><label>Token <input name="token" type="password" required autofocus '
    'autocomplete="off"></label> <button>Open the page</button></p></form>'
)


class Visitors:
    """The visitors of the page.

    hosts: the names that a URL of the page may have. local: only this machine reaches it.
    """

    def __init__(
        self, access: Access, hosts: Iterable[str], ports: Iterable[int], *, local: bool
    ) -> None:
        self.local = local
        self._schemes = ("http", "https") if local else ("https",)
        self._access, self._hosts = access, frozenset(each.lower() for each in hosts)
        self.ports = tuple(ports)
        self.check = TokenCheck(access, "monitor", time.monotonic_ns)

    def is_known_host(self, host: str | None) -> bool:
        """Return whether the header Host has a name of this page.

        Another name is of a strange page, which leads to this machine.
        """
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False

    def is_own_origin(self, origin: str | None, host: str | None) -> bool:
        """Return whether the header Origin is that of the page.

        It equals Host, whose name is ours, or has a port of this run. `ssh -L` and a proxy have
        another port, and a proxy TLS.
        """
        try:
            given = urlsplit(origin or "")
            if given.hostname not in self._hosts or given.scheme not in self._schemes:
                return False
            usual = DEFAULT_PORTS[given.scheme]
            port, asked = given.port or usual, urlsplit(f"//{host}")
            return port in self.ports or (given.hostname, port) == (
                asked.hostname,
                asked.port or usual,
            )
        except ValueError:
            return False

    def may_stop(self, headers: Mapping[str, str], token: str | None) -> bool:
        """Return whether STOP ALL is done for this request, or for the token of its form.

        The page itself may, on a loopback address without a token; who has one may in any case.
        """
        if self._access.grant(token):
            return True
        host, origin = headers.get("host"), headers.get("origin")
        return self.local and self.is_known_host(host) and self.is_own_origin(origin, host)

    def grant(self, token: object, peer: str) -> Grant | str:
        """Return what the visitor at `peer`, HOST:PORT, may do, or why it may do nothing.

        `token` is as it came over the WebSocket.
        """
        given = token if isinstance(token, str) and token else None
        why = self.check(given, peer)
        if why is None and (known := self._access.grant(given)) is not None:
            return known
        if self.local:
            return LOOKS
        return NO_TOKEN if given is None else f"The token is not valid: {why and why.doc}."


def visitors_of(settings: Mapping[str, Any]) -> Visitors:
    """Return the visitors of settings, which may be JSON.

    They are what `Visitors` takes, and `tokens`: name, role, token.
    """
    access = Access([(name, role, token) for name, role, token in settings["tokens"]])
    ports, local = settings["ports"], settings["local"]
    return Visitors(access, settings["hosts"], ports, local=local)


class Guard:
    """Asks `Visitors` before every request and every websocket of the page."""

    def __init__(self, app: ASGIApp, visitors: Visitors, policy: str, stopping: Answering) -> None:
        """Create it.

        Args:
            app: The application behind it.
            visitors: Who may do what.
            policy: Where the page may load from, as a header.
            stopping: Answers below STOP_PATH, as at the port of STOP ALL, which a proxy or `ssh -L`
                need not lead to.
        """
        self._app, self._visitors, self._stopping = app, visitors, stopping
        self._headers = {
            "content-security-policy": policy,
            "referrer-policy": "strict-origin",
            "x-content-type-options": "nosniff",
            "cross-origin-opener-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        visitors, headers = self._visitors, _headers(scope)
        is_http = scope["type"] == "http"
        if is_http and scope["path"].startswith(STOP_PATH):
            target = f"{scope['path']}?{scope['query_string'].decode('latin-1')}"
            asked = scope["method"], target, headers, await _form(receive)
            return await self._answer(send, *await asyncio.to_thread(self._stopping, *asked))
        reads = is_http and scope["method"] in ("GET", "HEAD")
        if not visitors.is_known_host(headers.get("host")):
            text = "Wrong host name: open the URL that hilgw web printed."
            return await self._refuse(send, HTTPStatus.MISDIRECTED_REQUEST, text, is_http=is_http)
        origin = headers.get("origin")
        if not (visitors.is_own_origin(origin, headers.get("host")) or (reads and origin is None)):
            text = "Rejected: the request came from another site."
            return await self._refuse(send, HTTPStatus.FORBIDDEN, text, is_http=is_http)
        has_left = False

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_encoded(self._headers)]
            await send(message)

        async def question() -> Message:
            nonlocal has_left
            message = await receive()
            has_left |= message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, question, answer if is_http else send)
        except RuntimeError:  # Starlette's, where a visitor leaves before the answer
            if not has_left:
                raise

    async def _refuse(self, send: Send, status: HTTPStatus, text: str, *, is_http: bool) -> None:
        if not is_http:
            await send({"type": "websocket.close", "code": 1008})
            return
        page = plain_page(element("p", text))
        await self._answer(send, status, page, {"content-type": "text/html"})

    async def _answer(
        self, send: Send, status: HTTPStatus, text: str, headers: dict[str, str]
    ) -> None:
        given = _encoded(self._headers | {"cache-control": "no-store"} | headers)
        await send({"type": "http.response.start", "status": status, "headers": given})
        await send({"type": "http.response.body", "body": text.encode()})


async def _form(receive: Receive) -> bytes:
    data, goes_on = b"", True
    while goes_on and len(data) < MOST_FORM:
        message = await receive()
        data += message.get("body", b"")
        goes_on = message.get("more_body", False)
    return data[:MOST_FORM]


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
