"""STOP ALL: a server of its own, in a process of its own, so that it works while the page is busy.

A POST disarms all robots of all gateways of this user, as `hilgw disarm --all` does. Its answer
names each gateway that did not confirm. A GET shows the button and does nothing.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hilgw.client.arming import NOT_CONFIRMED, Disarmed, disarm_each
from hilgw.errors import HilgwError
from hilgw.security.access import server_context
from hilgw.web.access import Visitors, visitors_of
from hilgw.web.markup import Markup, element, joined, plain_page

REQUEST_S = 2.0  # a client that sends nothing for so long is disconnected
FORM = Markup('<form method="post" action="/"><button>STOP ALL</button></form>')
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
_ALONE = "; frame-ancestors 'none'"  # no page may have the button in a frame
_STYLE = Markup(
    "<style>body{margin:0;padding:.75rem 1rem;color:#fff;background:#14532d}"
    "body:has(.bad){background:#991b1b}p{margin:0 0 .25rem}button{font:inherit}</style>"
)


def stop_all() -> Disarmed:
    """Asks all gateways to disarm all robots. An error of another kind is one more error."""
    try:
        return disarm_each((), None, None)
    except HilgwError as error:
        return Disarmed(errors=[error])
    except OSError as error:
        return Disarmed(errors=[HilgwError(f"{NOT_CONFIRMED}: {error}")])


def described(stopped: Disarmed) -> Markup:
    """Which robots are disarmed, and each stop that is not confirmed."""
    lines = [element("p", error, class_="bad") for error in stopped.errors]
    for name, gateway in stopped.robots:
        lines.append(element("p", f"{name} is disarmed{gateway.suffix()}"))
    return joined(lines)


class Handler(BaseHTTPRequestHandler):
    """server: has `visitors` and `stop`."""

    server: StopServer
    timeout = REQUEST_S
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._answer(HTTPStatus.OK, FORM)

    def do_POST(self) -> None:
        visitors, headers = self.server.visitors, self.headers
        ours = visitors.is_known_host(headers["host"]) and visitors.is_own_origin(headers["origin"])
        if not ours or visitors.grant(headers["cookie"]) is None:
            text = "NOT stopped: this request did not come from the page of hilgw web."
            self._answer(HTTPStatus.FORBIDDEN, element("p", text, class_="bad"))
            return
        stopped = self.server.stop()
        status = HTTPStatus.BAD_GATEWAY if stopped.errors else HTTPStatus.OK
        self._answer(status, described(stopped))

    def _answer(self, status: HTTPStatus, text: Markup) -> None:
        body = plain_page(joined([_STYLE, text])).encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", _POLICY + _ALONE * (self.command == "GET")),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: who pressed it sees the answer."""


class StopServer(ThreadingHTTPServer):
    """On a socket that listens. context: TLS."""

    daemon_threads = True

    def __init__(
        self,
        listening: socket.socket,
        visitors: Visitors,
        context: ssl.SSLContext | None = None,
        stop: Callable[[], Disarmed] = stop_all,
    ) -> None:
        super().__init__(listening.getsockname()[:2], Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.visitors, self.stop = listening, visitors, stop
        self._context = context

    def get_request(self) -> tuple[Any, Any]:
        connection, peer = super().get_request()
        connection.settimeout(REQUEST_S)
        if self._context is not None:  # the handshake is in the thread of this connection
            connection = self._context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, peer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left, or does not speak TLS: it needs no message."""


def tls_of(files: Sequence[str] | None) -> ssl.SSLContext | None:
    """files: the certificate, and its key or None."""
    if files is None:
        return None
    certificate, key = files
    return server_context(Path(certificate), Path(key) if key else None)


def start(listening: socket.socket, settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    """The process. settings: of `visitors_of`, and `tls`. It ends when its stdin does."""
    command = [sys.executable, "-P", "-m", "hilgw.web.stop_server", str(listening.fileno())]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, pass_fds=[listening.fileno()], start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    process.stdin.flush()
    return process


def main() -> None:
    settings = json.loads(sys.stdin.buffer.readline())
    listening = socket.socket(fileno=int(sys.argv[1]))
    server = StopServer(listening, visitors_of(settings), tls_of(settings["tls"]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()  # until the page has ended, however it did


if __name__ == "__main__":
    main()
