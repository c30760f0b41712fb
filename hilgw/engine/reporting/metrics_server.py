"""GET /metrics over HTTP, for Prometheus; each connection gets one answer.

By the rules of `hilgw.security`: on a loopback address for every program of this machine, on any
other one with a token (Authorization: Bearer TOKEN), which may only read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

from hilgw.engine.reporting.parts import Parts, fill
from hilgw.errors import PortError
from hilgw.protocols.gateway.metrics import CONTENT_TYPE, texts_of
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Scheduler, Transport
from hilgw.transports.tcp.listener import ListenerLimits
from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from hilgw.engine.listening import Listening

REQUEST_BYTES = 8192
DEADLINE_NS = 5 * NS_PER_S  # a connection is closed then, whatever it does
LIMITS = ListenerLimits(clients=16, replaces=True, write_bytes=16 * 1024 * 1024)
_REQUEST = re.compile(rb"(\S+) ([^\s?]+)(?:\?\S*)? HTTP/1\.\d\r\n")
_TOKEN = re.compile(rb"\r\nauthorization:[ \t]*bearer +(\S+)[ \t]*\r\n", re.IGNORECASE)


class MetricsServer:
    """The HTTP server of the metrics.

    texts: makes the answer, a text in each turn of the event loop. clock: of real time.
    """

    def __init__(
        self, listening: Listening, texts: Callable[[], Iterator[str]], clock: Scheduler
    ) -> None:
        self.listening, self._texts, self._clock = listening, texts, clock
        self._open: set[Transport] = set()

    async def start(self, notify: Callable[[str], None]) -> str:
        """Start to listen, and return where. Raises PortError."""
        await self.listening.open(self._serve, LIMITS, notify)
        return f"http{'s' if self.listening.tls else ''}://{self.listening.where}/metrics"

    def close(self) -> None:
        """Stop listening, and end the connections."""
        self.listening.close()
        for stream in self._open:
            stream.close()

    def _serve(self, stream: Transport, peer: str) -> None:
        received = bytearray()

        def close(_error: PortError | None = None) -> None:
            deadline.cancel()
            self._open.discard(stream)
            stream.close()

        def take(data: bytes) -> None:
            if stream.on_drained is not None:
                return  # it is answered
            received.extend(data)
            if b"\r\n\r\n" in received or len(received) > REQUEST_BYTES:
                stream.on_drained = close
                reply(*self.answer(bytes(received), peer), [])

        def reply(status: HTTPStatus, texts: Iterator[str], made: list[str]) -> None:
            for text in islice(texts, stream in self._open):
                made.append(text)
                asyncio.get_running_loop().call_soon(reply, status, texts, made)
                return
            with suppress(PortError):  # it left
                stream.write(_encoded(status, "".join(made)))
            if not stream.pending:
                close()

        deadline = self._clock.call_at(self._clock.now() + DEADLINE_NS, close)
        self._open.add(stream)
        stream.start(take, close)

    def answer(self, request: bytes, peer: str) -> tuple[HTTPStatus, Iterator[str]]:
        """Return the status and the texts for a request; none: that of the status."""
        head, end, _ = request.partition(b"\r\n\r\n")
        match = _REQUEST.match(head + b"\r\n")
        if len(head) > REQUEST_BYTES or not end:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, iter(())
        if match is None:
            return HTTPStatus.BAD_REQUEST, iter(())
        given = _TOKEN.search(head + b"\r\n")
        token, check = given and given[1].decode("latin-1"), self.listening.check_token
        if check is not None and (refused := check(token, peer)) is not None:
            many = refused is RequestRefused.TOO_MANY_TRIES
            return (HTTPStatus.TOO_MANY_REQUESTS if many else HTTPStatus.UNAUTHORIZED), iter(())
        if match[2] != b"/metrics":
            return HTTPStatus.NOT_FOUND, iter(())
        if match[1] != b"GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, iter(())
        return HTTPStatus.OK, self._texts()


def metrics_of(status: Parts) -> Iterator[str]:
    """Yield the metrics of a gateway's status: "" where a part of it was made."""
    made: dict[str, Any] = {}
    for _ in fill(made, status):
        yield ""
    yield from texts_of([({}, made)])


def _encoded(status: HTTPStatus, text: str) -> bytes:
    body = (text or f"{status.phrase}\n").encode(errors="replace")  # a path need not be valid
    more = {HTTPStatus.UNAUTHORIZED: "WWW-Authenticate: Bearer\r\n"}.get(status, "")
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {CONTENT_TYPE if text else 'text/plain'}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body
