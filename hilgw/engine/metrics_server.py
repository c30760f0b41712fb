"""GET /metrics over HTTP, for Prometheus; each connection gets one answer.

By the rules of `hilgw.security`: on a loopback address for every program of this machine, on any
other one with a token (Authorization: Bearer TOKEN), which may only read.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from hilgw.protocols.gateway.metrics import CONTENT_TYPE
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import Limits
from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.listening import Listening
    from hilgw.errors import PortError
    from hilgw.transports.base import Scheduler, Transport

PATH = "/metrics"
REQUEST_BYTES = 8192
DEADLINE_NS = 5 * NS_PER_S
"""A connection is closed after this time, whatever it does."""
LIMITS = Limits(clients=16, write_bytes=16 * 1024 * 1024)


class MetricsServer:
    """text: the answer. clock: of real time."""

    def __init__(self, listening: Listening, text: Callable[[], str], clock: Scheduler) -> None:
        self.listening = listening
        self.text = text
        self.clock = clock
        self.open: set[_Exchange] = set()

    async def start(self, notify: Callable[[str], None]) -> None:
        """Listens. Raises PortError."""
        await self.listening.open(lambda *client: _Exchange(self, *client).begin(), LIMITS, notify)

    def close(self) -> None:
        """Stops listening, and ends the connections."""
        self.listening.close()
        for exchange in list(self.open):
            exchange.close()

    def answer(self, request: bytes, peer: str) -> bytes:
        """The answer to a request, whose headers are complete."""
        line, *headers = request.decode("latin-1").split("\r\n")
        method, _, rest = line.partition(" ")
        target, _, version = rest.partition(" ")
        if not version.startswith("HTTP/1."):
            return _answer(HTTPStatus.BAD_REQUEST)
        if (refused := self._refusal(headers, peer)) is not None:
            return _answer(refused)
        if target.partition("?")[0] != PATH:
            return _answer(HTTPStatus.NOT_FOUND)
        if method != "GET":
            return _answer(HTTPStatus.METHOD_NOT_ALLOWED)
        return _answer(HTTPStatus.OK, self.text())

    def _refusal(self, headers: list[str], peer: str) -> HTTPStatus | None:
        if (check := self.listening.check_token) is None:
            return None
        token = None
        for header in headers:
            name, _, value = header.partition(":")
            scheme, _, given = value.strip().partition(" ")
            if name.lower() == "authorization" and scheme.lower() == "bearer":
                token = given.strip()
        reason = check(token, peer)
        if reason is RequestRefused.TOO_MANY_TRIES:
            return HTTPStatus.TOO_MANY_REQUESTS
        return None if reason is None else HTTPStatus.UNAUTHORIZED


class _Exchange:
    """One connection: a request, its answer, the end."""

    def __init__(self, server: MetricsServer, stream: Transport, peer: str) -> None:
        self._server, self._stream, self._peer = server, stream, peer
        self._received = bytearray()
        self._is_answered = False
        clock = server.clock
        self._deadline = clock.call_at(clock.now() + DEADLINE_NS, self.close)

    def begin(self) -> None:
        self._server.open.add(self)
        self._stream.start(self._take, self._lost)

    def close(self) -> None:
        self._deadline.cancel()
        self._server.open.discard(self)
        self._stream.close()

    def _lost(self, error: PortError) -> None:
        self.close()

    def _take(self, data: bytes) -> None:
        if self._is_answered:
            return
        self._received += data
        head, end, _ = self._received.partition(b"\r\n\r\n")
        if end:
            self._send(self._server.answer(bytes(head), self._peer))
        elif len(self._received) > REQUEST_BYTES:
            self._send(_answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))

    def _send(self, answer: bytes) -> None:
        self._is_answered = True
        self._stream.on_drained = self.close
        self._stream.write(answer)
        if not self._stream.pending:
            self.close()


def _answer(status: HTTPStatus, text: str = "") -> bytes:
    body = (text or f"{status.phrase}\n").encode()
    more = "WWW-Authenticate: Bearer\r\n" if status is HTTPStatus.UNAUTHORIZED else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {CONTENT_TYPE if text else 'text/plain'}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body
