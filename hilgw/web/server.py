"""Serves the pages with NiceGUI, until a signal ends it."""

import contextlib
import importlib.util
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.errors import PortError, UsageError
from hilgw.security.access import read_token
from hilgw.transports.tcp.address import is_loopback
from hilgw.web.access import Guard, visitors_of
from hilgw.web.model import Bench
from hilgw.web.page import Site
from hilgw.web.sources import Live, Recorded
from hilgw.web.stop_server import StopProcess, answer, tls_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
ANY = ("0.0.0.0", "::")
RECONNECT_S = 30.0  # a busy machine or browser stands still for some; a click then is not lost
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; "
    "base-uri 'self'; frame-ancestors 'none'; form-action 'self'"
)
EVER_SAME = 50  # messages kept for a browser that comes back; then it loads the page anew


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """The settings of the page.

    name: this machine's host name for visitors. tokens: (role, file) pairs. certificate, key: PEM
    files.
    """

    host: str = "127.0.0.1"
    port: int = 0
    name: str = ""
    tokens: tuple[tuple[str, Path], ...] = ()
    certificate: Path | None = None
    key: Path | None = None


def serve(
    settings: WebSettings,
    show: Callable[[str], None],
    notify: Callable[[str], None],
    recorded: Recorded | None = None,
) -> None:
    """Serve the page until Ctrl-C (KeyboardInterrupt) or SIGTERM.

    Args:
        settings: Where it listens, and for whom.
        show: Gets the URL.
        notify: Gets what failed.
        recorded: What it shows in place of running gateways.

    Raises:
        UsageError: The package `nicegui` is missing, or the address needs tokens and TLS.
        PortError: The page or STOP ALL cannot listen.
        ConfigError: A token or certificate file is wrong.
    """
    if importlib.util.find_spec("nicegui") is None:
        raise UsageError("hilgw web needs a package", fix="pip install 'hilgw[web]'")
    live = recorded or Live(Bench(time.monotonic_ns))
    with _listening(settings) as (local, page, stop):
        ports = [each.getsockname()[1] for each in (page, stop)]
        host = settings.name or (socket.gethostname() if settings.host in ANY else settings.host)
        own = [("this run", "admin", secrets.token_urlsafe(24))]
        files = settings.certificate, settings.key
        given: dict[str, Any] = {
            "tokens": own
            if local
            else [(str(file), role, read_token(file)) for role, file in settings.tokens],
            "hosts": [host, settings.host, *LOCAL_NAMES],
            "ports": ports,
            "local": local,
            "tls": None if local else [each and str(each.resolve()) for each in files],
            "id": secrets.token_urlsafe(12),
        }
        context, visitors = tls_of(given["tls"]), visitors_of(given)
        stopping = StopProcess(stop, given, notify)
        live.start()
        name = f"[{host}]" if ":" in host else host
        token = f"?token={own[0][2]}" if local else ""
        show(f"{'http' if local else 'https'}://{name}:{ports[0]}/{token}")
        try:
            policy = f"{POLICY}; connect-src 'self' *:{ports[1]}"
            site = Site(live.bench, live, ports[1], given["id"], visitors)
            answering = partial(answer, visitors, given["id"])
            _run(Guard(_pages(site), visitors, policy, answering), page, context)
        finally:
            live.close()
            stopping.close()


@contextlib.contextmanager
def _listening(settings: WebSettings) -> Iterator[tuple[bool, socket.socket, socket.socket]]:
    """Yield whether only this machine reaches them, and the sockets of the page and of STOP ALL."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise UsageError(f"--host {host}: unknown address", fix="e.g. 127.0.0.1") from None
    local = is_loopback(str(address[0]))
    if not local and not (settings.tokens and settings.certificate):
        raise UsageError(
            f"--host {host}: other hosts reach this address, so it needs tokens and TLS",
            fix="give --token FILE (hilgw token makes one) and --certificate FILE, or use ssh -L",
        )
    with contextlib.ExitStack() as stack:
        sockets = []
        for number in (port, port and port + 1):
            try:
                where = (str(address[0]), number)
                sockets.append(stack.enter_context(socket.create_server(where, family=family)))
            except (OSError, OverflowError) as error:
                raise PortError(
                    f"cannot listen: {getattr(error, 'strerror', error)}",
                    reason=PortError.BUSY,
                    where=f"{host}:{number}",
                    fix="choose another --port; STOP ALL has the one after it",
                ) from None
        yield local, sockets[0], sockets[1]


def _pages(site: Site) -> "ASGIApp":
    from fastapi import FastAPI
    from nicegui import ui

    from hilgw.web.layout import add_pages
    from hilgw.web.pages.recordings import add_download

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_pages(site)
    add_download(app, site.bench)
    ui.run_with(
        app,
        title="hilgw",
        dark=None,
        language="en-US",
        message_history_length=EVER_SAME,
        show_welcome_message=False,
        reconnect_timeout=RECONNECT_S,
        tailwind=False,  # it marks each update in the browser's timeline, which keeps all of them
        favicon=str(Path(__file__).parent / "favicon.svg"),
    )
    return app


def _run(app: Guard, page: socket.socket, context: ssl.SSLContext | None) -> None:
    import uvicorn
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    class WebSocket(WebSocketsSansIOProtocol):
        def shutdown(self) -> None:
            # After the close of a visitor, TLS waits for its answer, and uvicorn would fail.
            if self.transport.is_closing():
                self.transport.abort()
            else:
                super().shutdown()

    config = uvicorn.Config(
        app,
        ws=WebSocket,
        log_level="warning",
        ws_max_size=1 << 20,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    config.load()
    config.ssl = context
    if context is not None:

        class Http(config.http_protocol_class):  # type: ignore[misc,name-defined]
            def shutdown(self) -> None:
                super().shutdown()
                if self.transport.is_closing():  # TLS would wait for the browser, here too
                    self.transport.abort()

        config.http_protocol_class = Http
    uvicorn.Server(config).run(sockets=[page])
