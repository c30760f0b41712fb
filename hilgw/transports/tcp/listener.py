"""The listening end of TCP, with a limit of clients in total and per address."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from hilgw.errors import PortError
from hilgw.transports.asyncio_stream import AsyncioStream
from hilgw.transports.base import Transport
from hilgw.transports.open_errors import port_error
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.tcp import stream as tcp
from hilgw.transports.tcp.address import format_address, is_loopback
from hilgw.transports.tcp.stream import PEER_CLOSED, TcpStream, describe_peer_loss, tune
from hilgw.transports.tls import HANDSHAKE_S, TlsStream

MAX_CLIENTS = 64
MAX_PER_ADDRESS = 8
BACKLOG = 64
# Without a free descriptor accept() fails at once, repeatedly: pause after a failure.
ACCEPT_PAUSE_S = 0.1

ClientHandler = Callable[[Transport, str], None]


class Listener(Protocol):
    """What listens on an address, for connections from other programs or from this one."""

    host: str
    port: int
    refused: int

    @property
    def where(self) -> str: ...

    async def start(self) -> None: ...

    def close(self) -> None: ...


# host, port, on_client; and options of a real port
Listen = Callable[..., Listener]


class TcpListener:
    """Accepts on every address of `host` and calls on_client(stream, peer) for each client.

    loopback_only: refuses any other address, because a client can move motors. Connections over
    the limits are closed at once and counted in `refused`. Port 0: any free port, the same for all
    addresses; `port` is its number after start(). send_buffer_bytes: size of the kernel's buffer
    for a client that does not read; None: the kernel's default, up to megabytes. user_timeout_ms:
    a client that acknowledges or receives nothing for this time is disconnected by the kernel.
    tls: on_client gets the stream inside TLS, after the handshake; a client without one within
    tls_handshake_s is closed and counted in `refused`.
    """

    def __init__(
        self,
        host: str,
        port: int,
        on_client: ClientHandler,
        loopback_only: bool = True,
        *,
        max_clients: int = MAX_CLIENTS,
        max_per_address: int = MAX_PER_ADDRESS,
        limit: int = WRITE_LIMIT_BYTES,
        send_buffer_bytes: int | None = None,
        user_timeout_ms: int = tcp.USER_TIMEOUT_MS,
        tls: ssl.SSLContext | None = None,
        tls_handshake_s: float = HANDSHAKE_S,
    ) -> None:
        self.host = host
        self.port = port
        self.refused = 0
        self._on_client = on_client
        self._loopback_only = loopback_only
        self._max_clients = max_clients
        self._max_per_address = max_per_address
        self._limit = limit
        self._send_buffer_bytes = send_buffer_bytes
        self._user_timeout_ms = user_timeout_ms
        self._tls = tls
        self._tls_handshake_s = tls_handshake_s
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._clients: Counter[str] = Counter()

    @property
    def where(self) -> str:
        return format_address(self.host, self.port)

    async def start(self) -> None:
        """Starts listening. Raises PortError: busy, denied, absent (no such address)."""
        try:
            found = await self._loop.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except (OSError, UnicodeError, OverflowError) as error:
            raise port_error(error, self.where) from error
        addresses = sorted({(family, str(address[0])) for family, _, _, _, address in found})
        for _, address in addresses:
            if self._loopback_only and not is_loopback(address):
                raise PortError(
                    "not a loopback address",
                    reason=PortError.DENIED,
                    where=self.where,
                    fix="listen on 127.0.0.1 or ::1",
                )
        try:
            for family, address in addresses:
                await self._listen(family, address)
        except OSError as error:
            self.close()
            raise port_error(error, self.where) from error

    def close(self) -> None:
        """Stops listening. Accepted connections stay open."""
        for server in self._servers:
            server.close()
        for listening in self._sockets:
            if not self._servers:
                self._loop.remove_reader(listening)
            listening.close()
        self._servers.clear()
        self._sockets.clear()

    async def _listen(self, family: socket.AddressFamily, address: str) -> None:
        listening = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(listening)
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if self._send_buffer_bytes is not None:  # accepted sockets inherit it
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        listening.bind((address, self.port))
        self.port = listening.getsockname()[1]
        listening.listen(BACKLOG)
        if tcp.OVER_ASYNCIO:
            self._servers.append(await self._loop.create_server(self._new_stream, sock=listening))
        else:
            self._loop.add_reader(listening, self._accept, listening)

    # --- with descriptors -------------------------------------------------------------------------

    def _accept(self, listening: socket.socket) -> None:
        try:
            connection, address = accept(listening)
        except (BlockingIOError, InterruptedError, ConnectionError):
            return
        except OSError:
            self._loop.remove_reader(listening)
            self._loop.call_later(ACCEPT_PAUSE_S, self._listen_again, listening)
            return
        try:
            connection.setblocking(False)
            tune(connection, self._user_timeout_ms)
        except OSError:  # closed by the peer already
            connection.close()
            return
        host, number = str(address[0]), int(address[1])
        stream = TcpStream(connection, format_address(host, number), limit=self._limit)
        self._admit(stream, host)

    def _listen_again(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    # --- with asyncio, which accepts itself -------------------------------------------------------

    def _new_stream(self) -> AsyncioStream:
        return AsyncioStream(
            "",
            limit=self._limit,
            end=PEER_CLOSED,
            describe=describe_peer_loss,
            on_made=self._made,
        )

    def _made(self, stream: AsyncioStream) -> None:
        try:
            tune(stream.extra("socket"), self._user_timeout_ms)
        except OSError:  # closed by the peer already
            stream.close()
            return
        host, number = stream.extra("peername")[:2]
        stream.name = format_address(host, number)
        self._admit(stream, host)

    # --- in both cases ----------------------------------------------------------------------------

    def _admit(self, stream: TcpStream | AsyncioStream, host: str) -> None:
        full = self._clients.total() >= self._max_clients
        if full or self._clients[host] >= self._max_per_address:
            self.refused += 1
            stream.close()
            return
        self._clients[host] += 1
        stream.on_closed = lambda: self._clients.subtract({host: 1})
        if self._tls is None:
            self._on_client(stream, stream.name)
        else:
            TlsStream(
                stream,
                self._tls,
                self._secured,
                self._not_secured,
                limit=self._limit,
                handshake_s=self._tls_handshake_s,
            )

    def _secured(self, stream: TlsStream) -> None:
        self._on_client(stream, stream.name)

    def _not_secured(self, error: PortError) -> None:
        self.refused += 1


def accept(listening: socket.socket) -> tuple[socket.socket, Any]:
    """The next connection and its address; a function, so that tests can make it fail."""
    return listening.accept()
