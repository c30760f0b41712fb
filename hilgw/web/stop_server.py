"""STOP ALL: a server of its own, in a process of its own, so that it works while the page is busy.

A POST disarms all robots of all gateways of this user, as `hilgw disarm --all` does. Its answer
names each gateway that did not confirm. A GET of `alive` names this run of `hilgw web`; any other
shows the button, and does nothing.

No slow client keeps others from it: a connection has REQUEST_S for its request, and a further one
than MOST takes the place of the oldest whose request has not come.
"""

import json
import math
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from hilgw.client.arming import NOT_CONFIRMED, Disarmed, disarm_each
from hilgw.errors import HilgwError
from hilgw.security.access import server_context
from hilgw.web.access import MOST_FORM, Answering, Visitors, visitors_of
from hilgw.web.markup import Markup, element, joined, plain_page

REFUSED = "NOT stopped: this request did not come from the page of hilgw web."
_BUTTON = "form{display:grid;gap:.5rem}button{font:800 14vw/1.1 system-ui,sans-serif;color:#fff;\
background:#c81e1e;border:3px solid;border-radius:1.5rem;padding:2rem 0;cursor:pointer}"
BEFORE = Markup(  # the button fills the screen, and nothing looks like a stop that was done
    f"<style>{_BUTTON}body{{margin:0}}form{{grid-template-rows:1fr auto;box-sizing:border-box;"
    "height:100vh;height:100dvh;padding:1rem}p{margin:0;text-align:center}</style>"
)
AFTER = Markup(
    f"<style>{_BUTTON}body{{margin:0;padding:1rem;color:#fff;background:#14532d}}"
    "body:has(.bad){background:#991b1b}p{margin:0 0 .5rem;overflow-wrap:anywhere}</style>"
)
_POLICY = (  # no page may have the button in a frame
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
)


def stop_all() -> Disarmed:
    """Ask all gateways to disarm all robots.

    An error of another kind is one more error.
    """
    try:
        return disarm_each((), None, None)
    except HilgwError as error:
        return Disarmed(errors=[error])
    except OSError as error:
        return Disarmed(errors=[HilgwError(f"{NOT_CONFIRMED}: {error}")])


def answer(
    visitors: Visitors,
    run_id: str,
    method: str,
    target: str,
    headers: Mapping[str, str],
    form: bytes = b"",
    stop: Callable[[], Disarmed] = stop_all,
) -> tuple[HTTPStatus, str, dict[str, str]]:
    """Return status, text and headers, after the stop where one is asked for.

    `run_id` is of this run of `hilgw web`, by which a page recognizes its own. `form` has the
    token.
    """
    path, _, query = target.partition("?")
    token = dict(parse_qsl(f"{query}&{form.decode('latin-1')}")).get("token", "")
    may_stop = visitors.may_stop(headers, token)
    origin, status = headers.get("origin", ""), HTTPStatus.OK
    more = {"content-type": "text/html", "cache-control": "no-store"}
    more["content-security-policy"] = _POLICY
    is_known = may_stop and visitors.is_known_host(origin.partition("//")[2])
    if is_known or visitors.is_own_origin(origin, headers.get("host")):
        # A page at another port reads the answer.
        more["access-control-allow-origin"] = origin
    if method == "POST":
        if not may_stop:
            status, text = HTTPStatus.FORBIDDEN, element("p", REFUSED, class_="bad")
        else:
            stopped = stop()
            lines = [element("p", error, class_="bad") for error in stopped.errors]
            for name, gateway in stopped.robots:
                lines.append(element("p", f"{name} is disarmed{gateway.suffix()}"))
            text = joined(lines)
            status = HTTPStatus.BAD_GATEWAY if stopped.errors else status
        return status, plain_page(joined([AFTER, text, _form(token)])), more
    if path.endswith("/alive"):
        return status, run_id, more | {"content-type": "text/plain"}
    return status, plain_page(joined([BEFORE, _form(token)])), more


def _form(token: str) -> Markup:
    hidden = element("input", type="hidden", name="token", value=token) if token else ""
    button = element("button", "STOP ALL", aria_describedby="hint")
    hint = element("p", "Disarms all robots of all gateways", id="hint")
    return element("form", hidden, button, hint, method="post")


REQUEST_S = 5.0  # from the connection to the end of its request
MOST = 32  # connections
ACCEPT_PAUSE_S = 0.1  # without a free descriptor, accept() fails at once, repeatedly
RESTART_S = 0.5
BEAT_S = 0.5
START_S, SILENT_S = 30.0, 3.0  # without a beat: of a process that starts, of one that runs


class Handler(BaseHTTPRequestHandler):
    """A connection: a request and its answer."""

    server: "StopServer"
    timeout = REQUEST_S
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        form = self.rfile.read(min(max(length, 0), MOST_FORM))
        self.server.deadlines[self.request] = math.inf  # it stays until its answer has left
        given = {name.lower(): value for name, value in self.headers.items()}
        status, text, headers = self.server.answer(self.command, self.path, given, form)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: who pressed it sees the answer."""


class StopServer(ThreadingHTTPServer):
    """The server of STOP ALL, on a socket that listens.

    context: TLS. deadlines: of the open connections, oldest first.
    """

    daemon_threads = True

    def __init__(
        self,
        listening: socket.socket,
        answer: Answering,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(listening.getsockname()[:2], Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.answer, self.deadlines = listening, answer, dict[Any, float]()
        self._context = context

    def get_request(self) -> tuple[Any, Any]:
        try:
            connection, peer = super().get_request()
        except OSError:
            time.sleep(ACCEPT_PAUSE_S)
            raise
        connection.settimeout(REQUEST_S)
        if self._context is not None:  # the handshake is in the thread of this connection
            connection = self._context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        self.deadlines[connection] = time.monotonic() + REQUEST_S
        return connection, peer

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return False where more than MOST get their answers: of others there are at most MOST."""
        return len(self.deadlines) <= 2 * MOST

    def service_actions(self) -> None:
        """End connections whose time is over, and the oldest where there are more than MOST."""
        now, surplus = time.monotonic(), len(self.deadlines) - MOST
        for number, (connection, deadline) in enumerate(list(self.deadlines.items())):
            if deadline <= now or (number < surplus and deadline < math.inf):
                with suppress(OSError):  # it has ended
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def close_request(self, request: Any) -> None:
        super().close_request(request)
        self.deadlines.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that left, or does not speak TLS: it needs no message."""


def tls_of(files: Sequence[str] | None) -> ssl.SSLContext | None:
    """Return the TLS settings of the files: the certificate, and its key or None."""
    if files is None:
        return None
    certificate, key = files
    return server_context(Path(certificate), Path(key) if key else None)


class StopProcess:
    """The process, until `close`.

    Where it ends or is frozen, another one takes its place at the same socket, where connections
    wait meanwhile.
    """

    def __init__(
        self, listening: socket.socket, settings: dict[str, Any], notify: Callable[[str], None]
    ) -> None:
        """Create it.

        Args:
            listening: The socket.
            settings: Those of `visitors_of`, and `tls` and `id`.
            notify: Gets what failed.
        """
        self._listening, self._settings, self._notify = listening, settings, notify
        self._closing = threading.Event()
        self._process = self._started()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def close(self) -> None:
        self._closing.set()
        self._process.kill()
        self._watching.join()
        with self._process as last:  # one that was started meanwhile
            last.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        """Start the process, which ends when its stdin does, and writes a beat each BEAT_S."""
        number = self._listening.fileno()
        command = [sys.executable, "-P", "-m", "hilgw.web.stop_server", str(number)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, 0, stdin=pipe, stdout=pipe, pass_fds=[number], start_new_session=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self._settings).encode() + b"\n")
        return process

    def _watch(self) -> None:
        while not self._closing.is_set():
            with self._process as process:
                beats, wait_s = process.stdout, START_S
                assert beats is not None
                while select.select([beats], [], [], wait_s)[0] and beats.read(4096):
                    wait_s = SILENT_S
                process.kill()
            problem = f"the process of STOP ALL ended or did not answer ({process.returncode})"
            while not self._closing.wait(RESTART_S):
                with suppress(OSError):  # nothing is free for a process: it is tried again
                    self._process = self._started()
                    self._notify(f"{problem} and was started again")
                    break


def main() -> None:
    settings = json.loads(sys.stdin.buffer.readline())
    listening = socket.socket(fileno=int(sys.argv[1]))
    answering = partial(answer, visitors_of(settings), settings["id"])
    server = StopServer(listening, answering, tls_of(settings["tls"]))
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    has_ended: list[Any] = []  # the page, however it did
    while serving.is_alive() and not has_ended:
        os.write(1, b".")
        has_ended = select.select([sys.stdin], [], [], BEAT_S)[0]


if __name__ == "__main__":
    main()
