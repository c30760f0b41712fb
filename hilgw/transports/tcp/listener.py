"""The listening end of TCP, with a limit of clients in total and per address."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from hilgw.errors import PortError
from hilgw.transports.accepting import Accepting
from hilgw.transports.asyncio_stream import AsyncioStream
from hilgw.transports.base import Transport
from hilgw.transports.open_errors import port_error
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.tcp import stream as tcp
from hilgw.transports.tcp.address import format_address, is_loopback
from hilgw.transports.tcp.stream import PEER_CLOSED, TcpStream, describe_peer_loss, tune
from hilgw.transports.tls import HANDSHAKE_S, TlsStream

BACKLOG = 64

ClientHandler = Callable[[Transport, str], object]


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """Limits of the connections of one listener.

    clients, per_address: how many it accepts. replaces: a further one takes the place of the
    oldest, in place of being refused.

    write_bytes: what may wait for a client that does not read. kernel_bytes: size of the kernel's
    buffer for it; None: the kernel's default, up to megabytes. silent_ms: a client that
    acknowledges or receives nothing for this time is disconnected by the kernel; 0: never.
    tls_handshake_s: how long it may take.
    """

    clients: int = 64
    per_address: int = 8
    replaces: bool = False
    write_bytes: int = WRITE_LIMIT_BYTES
    kernel_bytes: int | None = None
    silent_ms: int = tcp.USER_TIMEOUT_MS
    tls_handshake_s: float = HANDSHAKE_S


class Listener(Protocol):
    """Listener on an address, for connections from other programs or from this one."""

    host: str
    port: int
    refused: int
    tls_failed: int
    tls_failure: str
    clients: dict[Any, str]

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
    addresses; `port` is its number after start(). clients: the hosts of the open connections,
    oldest first. tls: on_client gets the stream inside TLS, after the handshake; a client without
    one in time is closed and counted in `refused`, and in `tls_failed`. tls_failure: the last why.
    """

    def __init__(
        self,
        host: str,
        port: int,
        on_client: ClientHandler,
        loopback_only: bool = True,
        limits: ListenerLimits = ListenerLimits(),
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.refused = self.tls_failed = 0
        self.tls_failure = ""
        self._on_client = on_client
        self._loopback_only = loopback_only
        self._limits = limits
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._listening: list[Accepting | asyncio.Server] = []
        self.clients: dict[Any, str] = {}

    @property
    def where(self) -> str:
        return format_address(self.host, self.port)

    async def start(self) -> None:
        """Start listening.

        Raises:
            PortError: busy, denied, absent (no such address).
        """
        try:
            infos = await self._loop.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except (OSError, UnicodeError, OverflowError) as error:
            raise port_error(error, self.where) from error
        addresses = sorted({(family, str(address[0])) for family, _, _, _, address in infos})
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
        """Stop listening.

        Accepted connections stay open.
        """
        for listening in self._listening:
            listening.close()
        self._listening.clear()

    async def _listen(self, family: socket.AddressFamily, address: str) -> None:
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._bind(listening, address)
        except BaseException:
            listening.close()
            raise
        if tcp.OVER_ASYNCIO:
            self._listening.append(await self._loop.create_server(self._new_stream, sock=listening))
        else:
            self._listening.append(Accepting(listening, self._accepted))

    def _bind(self, listening: socket.socket, address: str) -> None:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listening.family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if self._limits.kernel_bytes is not None:  # accepted sockets inherit it
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.kernel_bytes)
        listening.bind((address, self.port))
        self.port = listening.getsockname()[1]
        listening.listen(BACKLOG)

    # --- with descriptors -------------------------------------------------------------------------

    def _accepted(self, connection: socket.socket, address: Any) -> None:
        try:
            tune(connection, self._limits.silent_ms)
        except OSError:  # closed by the peer already
            connection.close()
            return
        host, number = str(address[0]), int(address[1])
        stream = TcpStream(connection, format_address(host, number), limit=self._limits.write_bytes)
        self._admit(stream, host, connection)

    # --- with asyncio, which accepts itself -------------------------------------------------------

    def _new_stream(self) -> AsyncioStream:
        return AsyncioStream(
            "",
            limit=self._limits.write_bytes,
            end=PEER_CLOSED,
            describe=describe_peer_loss,
            on_made=self._made,
        )

    def _made(self, stream: AsyncioStream) -> None:
        try:
            tune(stream.extra("socket"), self._limits.silent_ms)
        except OSError:  # closed by the peer already
            stream.close()
            return
        host, number = stream.extra("peername")[:2]
        stream.name = format_address(host, number)
        self._admit(stream, host, stream.extra("socket"))

    # --- in both cases ----------------------------------------------------------------------------

    def _admit(self, stream: TcpStream | AsyncioStream, host: str, connection: Any) -> None:
        full = len(self.clients) >= self._limits.clients
        if full or [*self.clients.values()].count(host) >= self._limits.per_address:
            self.refused += 1
            if not self._limits.replaces:
                stream.close()
                return
            oldest = next(each for each, other in self.clients.items() if full or other == host)
            del self.clients[oldest]
            with suppress(OSError):  # its peer has ended it; else who has it notices now
                oldest.shutdown(socket.SHUT_RDWR)
        self.clients[connection] = host
        stream.on_closed = lambda: self.clients.pop(connection, None)
        if self._tls is None:
            self._on_client(stream, stream.name)
        else:
            TlsStream(
                stream,
                self._tls,
                lambda secured: self._on_client(secured, secured.name),
                self._not_secured,
                limit=self._limits.write_bytes,
                handshake_s=self._limits.tls_handshake_s,
            )

    def _not_secured(self, error: PortError) -> None:
        self.refused += 1
        self.tls_failed += 1
        self.tls_failure = error.what
