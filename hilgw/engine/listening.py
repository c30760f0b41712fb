"""An address where others connect to a server of the gateway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hilgw.errors import PortError
from hilgw.transports.tcp.listener import (
    ClientHandler,
    Listen,
    Listener,
    ListenerLimits,
    TcpListener,
)

if TYPE_CHECKING:
    import ssl

    from hilgw.engine.control_loop.servers.webots_handshake import TokenCheck


class Listening:
    """An address that is listened to from `open` to `close`.

    any_port: on any free port when this one is busy.

    check_token: why the token of a connection lets it command no robot; None: a loopback address,
    where none is needed. new_listener: how it listens, on TCP or in this process. aims: each is
    called with host and port when it listens.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        any_port: bool = False,
        check_token: TokenCheck | None = None,
        tls: ssl.SSLContext | None = None,
        new_listener: Listen = TcpListener,
        aims: Sequence[Callable[[str, int], None]] = (),
    ) -> None:
        self.host = host
        self.check_token = check_token
        self._number = port
        self._any_port = any_port
        self.tls = tls
        self._new_listener = new_listener
        self._aims = aims
        self._listener: Listener | None = None

    @property
    def where(self) -> str:
        """The address as HOST:PORT; empty before it is open."""
        return "" if self._listener is None else self._listener.where

    @property
    def port(self) -> int:
        return self._number if self._listener is None else self._listener.port

    async def open(
        self, on_client: ClientHandler, limits: ListenerLimits, notify: Callable[[str], None]
    ) -> None:
        """Start to listen.

        Raises PortError. notify: gets the reason when it listens on another port.
        """
        listener = self._new_listener(
            self.host, self._number, on_client, self.check_token is None, limits, tls=self.tls
        )
        try:
            await listener.start()
        except PortError as error:
            if not self._any_port or error.reason != PortError.BUSY:
                raise
            notify(f"{error}; listening on another port")
            listener.port = 0
            await listener.start()
        self._listener = listener
        for aim in self._aims:
            aim(self.host, listener.port)

    @property
    def clients(self) -> int:
        """The number of open connections."""
        return 0 if self._listener is None else len(self._listener.clients)

    def take_refused(self) -> tuple[int, int, str]:
        """Return how many connections were too many since the last call.

        And with how many TLS failed, with the last reason of these.
        """
        listener = self._listener
        if listener is None:
            return 0, 0, ""
        failed, over = listener.tls_failed, listener.refused - listener.tls_failed
        listener.refused = listener.tls_failed = 0
        return over, failed, listener.tls_failure

    def close(self) -> None:
        """Stop listening. Accepted connections stay open."""
        if self._listener is not None:
            self._listener.close()
