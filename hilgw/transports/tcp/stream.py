"""TCP, IPv4 and IPv6, client and server: the same byte streams as serial ports.

A peer that disappears without closing is detected within about two seconds: by keepalive while
nothing is sent, by TCP_USER_TIMEOUT while data waits for its acknowledgement. Neither covers the
other case.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

from hilgw.transports.asyncio_stream import AsyncioStream
from hilgw.transports.base import Transport
from hilgw.transports.open_errors import port_error
from hilgw.transports.stream import WRITE_LIMIT_BYTES, FdStream
from hilgw.transports.tcp.address import format_address

CONNECT_DEADLINE_S = 5.0
KEEPALIVE_IDLE_S = 1
KEEPALIVE_INTERVAL_S = 1
KEEPALIVE_PROBES = 3
USER_TIMEOUT_MS = 2000
# Where os.write cannot send to a socket (Windows), the bytes move over asyncio's transports.
OVER_ASYNCIO = os.name != "posix"
PEER_CLOSED = "the peer closed the connection"


def tune(connection: socket.socket) -> None:
    """Disables the Nagle delay and enables the detection of dead peers, where supported."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE_S),
        ("TCP_KEEPALIVE", KEEPALIVE_IDLE_S),  # its name on macOS
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", USER_TIMEOUT_MS),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


class TcpStream(FdStream):
    """A connected socket; the stream owns it from now on."""

    def __init__(
        self, connection: socket.socket, name: str, *, limit: int = WRITE_LIMIT_BYTES
    ) -> None:
        super().__init__(
            asyncio.get_running_loop(), connection.fileno(), name, limit=limit, end=PEER_CLOSED
        )
        self._connection = connection
        self.on_closed: Callable[[], None] | None = None

    def _close_descriptor(self, fd: int) -> None:
        self._connection.close()
        self._closed_now()
        if self.on_closed is not None:
            self.on_closed()


async def wrap(
    connection: socket.socket, name: str, *, limit: int = WRITE_LIMIT_BYTES
) -> Transport:
    """A stream on a connected socket."""
    connection.setblocking(False)
    tune(connection)
    if not OVER_ASYNCIO:
        return TcpStream(connection, name, limit=limit)
    stream = AsyncioStream(name, limit=limit, end=PEER_CLOSED)
    await asyncio.get_running_loop().create_connection(lambda: stream, sock=connection)
    return stream


async def connect_tcp(
    host: str,
    port: int,
    *,
    deadline_s: float = CONNECT_DEADLINE_S,
    limit: int = WRITE_LIMIT_BYTES,
) -> Transport:
    """Connects to the first address of `host` that answers. Raises PortError."""
    name = f"socket://{format_address(host, port)}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(deadline_s):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            connection = await _connect_to_first(found)
    except (OSError, UnicodeError, OverflowError) as error:  # TimeoutError is an OSError
        raise port_error(error, name) from error
    return await wrap(connection, name, limit=limit)


async def _connect_to_first(found: list[Any]) -> socket.socket:
    """found: the result of getaddrinfo()."""
    loop = asyncio.get_running_loop()
    last: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            last = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise last
