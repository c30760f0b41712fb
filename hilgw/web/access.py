"""Who may see the page, and who may act on it: Host, Origin, and the token of a visitor.

On a loopback address a visitor without a token may look. On any other address every visitor needs a
token, as clients of a gateway do (`hilgw.security`). A visitor presents the token once, in the
URL or in the form of the page that refuses; from then on a cookie has it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from hilgw.security.access import Access, Grant, TokenCheck
from hilgw.web.markup import Markup, element, joined, plain_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRANT = "hilgw.grant"  # of the visitor, in the scope of a request
Answering = Callable[[str, str, Mapping[str, str]], tuple[HTTPStatus, str, dict[str, str]]]
STOP_PATH = "/stop/"
LOOKS = Grant("no token", "monitor")
DEFAULT_PORTS = {"http": 80, "https": 443}
NO_TOKEN = "This page needs a token. The person who started hilgw web has it, in a file."
FORM = Markup(
    '<form method="get"><p><label>Token <input name="token" type="password" required autofocus '
    'autocomplete="off"></label> <button>Open the page</button></p></form>'
)


class Visitors:
    """hosts: the names that a URL of the page may have. local: only this machine reaches it."""

    def __init__(
        self, access: Access, hosts: Iterable[str], ports: Iterable[int], *, local: bool
    ) -> None:
        self.local = local
        self._schemes = ("http", "https") if local else ("https",)
        self._access, self._hosts = access, frozenset(each.lower() for each in hosts)
        self.ports = tuple(ports)
        self.check = TokenCheck(access, "monitor", time.monotonic_ns)
        self.cookie = f"hilgw-web-{self.ports[0]}"

    def is_known_host(self, host: str | None) -> bool:
        """Whether the header Host has a name of this page; another one is of a strange page whose
        name leads to this machine."""
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False

    def is_own_origin(self, origin: str | None, host: str | None) -> bool:
        """Return whether the header Origin is that of the page: it equals Host, whose name is ours,
        or has a port of this run. `ssh -L` and a proxy have another port, and a proxy TLS."""
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
        """Return whether STOP ALL is done for this request. token: of its URL. The page itself may,
        on a loopback address without a token; who has one may in any case."""
        if self._access.grant(token) or self.grant(headers.get("cookie")) not in (None, LOOKS):
            return True
        host, origin = headers.get("host"), headers.get("origin")
        return self.local and self.is_known_host(host) and self.is_own_origin(origin, host)

    def grant(self, cookies: str | None) -> Grant | None:
        """What the visitor with this header may do; None: nothing."""
        try:
            found = SimpleCookie(cookies or "").get(self.cookie)
        except CookieError:
            found = None
        known = self._access.grant(found.value) if found is not None else None
        return known or (LOOKS if self.local else None)

    def cookie_of(self, token: str) -> str:
        """The header that makes the browser present the token."""
        more = "" if self.local else "; Secure"
        return f"{self.cookie}={token}; HttpOnly; SameSite=Strict; Path=/{more}"


def visitors_of(settings: Mapping[str, Any]) -> Visitors:
    """Of settings that are JSON, too: what `Visitors` takes, and `tokens`: name, role, token."""
    access = Access([(name, role, token) for name, role, token in settings["tokens"]])
    ports, local = settings["ports"], settings["local"]
    return Visitors(access, settings["hosts"], ports, local=local)


class Guard:
    """Asks `Visitors` before every request and every websocket of the page."""

    def __init__(self, app: ASGIApp, visitors: Visitors, policy: str, stopping: Answering) -> None:
        """policy: where the page may load from, as a header. stopping: answers below STOP_PATH, as
        at the port of STOP ALL, which a proxy or `ssh -L` need not lead to."""
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
            asked = scope["method"], target, headers
            return await self._answer(send, *await asyncio.to_thread(self._stopping, *asked))
        reads = is_http and scope["method"] in ("GET", "HEAD")
        if not visitors.is_known_host(headers.get("host")):
            text = "Wrong host name: open the URL that hilgw web printed."
            return await self._refuse(send, HTTPStatus.MISDIRECTED_REQUEST, text, is_http=is_http)
        origin = headers.get("origin")
        if not (visitors.is_own_origin(origin, headers.get("host")) or (reads and origin is None)):
            text = "Rejected: the request came from another site."
            return await self._refuse(send, HTTPStatus.FORBIDDEN, text, is_http=is_http)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if reads and "token" in query:
            return await self._enter(scope, query, send)
        grant = visitors.grant(headers.get("cookie"))
        if grant is None:
            status = HTTPStatus.UNAUTHORIZED
            return await self._refuse(send, status, NO_TOKEN, FORM, is_http=is_http)
        scope[GRANT] = grant

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

    async def _enter(self, scope: Scope, given: dict[str, str], send: Send) -> None:
        """Turns a token into the cookie, and leads to the page without the token."""
        token, client = given.pop("token"), scope.get("client") or ("", 0)
        if (why := self._visitors.check(token, f"{client[0]}:{client[1]}")) is not None:
            text = f"The token of this URL is not valid: {why.doc}. A run of hilgw web has its own."
            await self._refuse(send, HTTPStatus.UNAUTHORIZED, text, FORM, is_http=True)
            return
        where = quote("/" + scope["path"].lstrip("/")) + (f"?{urlencode(given)}" if given else "")
        headers = {"location": where, "set-cookie": self._visitors.cookie_of(token)}
        await self._answer(send, HTTPStatus.SEE_OTHER, "", headers)

    async def _refuse(
        self, send: Send, status: HTTPStatus, text: str, *more: Markup, is_http: bool
    ) -> None:
        if not is_http:
            await send({"type": "websocket.close", "code": 1008})
            return
        page = plain_page(joined([element("p", text), *more]))
        await self._answer(send, status, page, {"content-type": "text/html"})

    async def _answer(
        self, send: Send, status: HTTPStatus, text: str, headers: dict[str, str]
    ) -> None:
        given = _encoded(self._headers | {"cache-control": "no-store"} | headers)
        await send({"type": "http.response.start", "status": status, "headers": given})
        await send({"type": "http.response.body", "body": text.encode()})


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
