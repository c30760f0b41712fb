"""STOP ALL: a server of its own, in a process of its own, so that it works while the page is busy.

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
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hilgw.security.access import server_context
from hilgw.web.access import MOST_FORM, Answering, visitors_of
from hilgw.web.stop_answer import answer

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
