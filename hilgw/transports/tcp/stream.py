"""TCP, IPv4 and IPv6, client and server: the same byte streams as serial ports.

A peer that disappears without closing is detected within about two seconds: by keepalive while
nothing is sent, by TCP_USER_TIMEOUT while data waits for its acknowledgement. Neither covers the
other case.
"""

import asyncio
import errno
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from hilgw.errors import PortError
from hilgw.transports.asyncio_stream import AsyncioStream
from hilgw.transports.base import LostHandler, ReadHandler, Transport
from hilgw.transports.open_errors import port_error
from hilgw.transports.stream import (
    READ_BYTES,
    WRITE_LIMIT_BYTES,
    FdStream,
)
from hilgw.transports.tcp.address import format_address

CONNECT_DEADLINE_S = 5.0
# The kernel repeats a SYN after 1, 3 and 7 s. After a cut a new attempt connects sooner.
ATTEMPT_S = 1.3
KEEPALIVE_IDLE_S = 1
KEEPALIVE_INTERVAL_S = 1
KEEPALIVE_PROBES = 3
USER_TIMEOUT_MS = 2000
# Where os.write cannot send to a socket (Windows), the bytes move over asyncio's transports.
OVER_ASYNCIO = os.name != "posix"
PEER_CLOSED = "the peer closed the connection"
_PEER_LOSSES = {
    errno.ECONNRESET: "the peer reset the connection",
    errno.EPIPE: PEER_CLOSED,
    errno.ETIMEDOUT: "the peer does not answer",
}


def tune(connection: socket.socket, user_timeout_ms: int = USER_TIMEOUT_MS) -> None:
    """Disable the Nagle delay and enable the detection of dead peers, where supported."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE_S),
        ("TCP_KEEPALIVE", KEEPALIVE_IDLE_S),  # its name on macOS
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", user_timeout_ms),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


class TcpStream(FdStream):
    """A connected socket; the stream owns it from now on. early: what was received from it."""

    def __init__(
        self,
        connection: socket.socket,
        name: str,
        *,
        limit: int = WRITE_LIMIT_BYTES,
        early: bytes = b"",
    ) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            connection.fileno(),
            name,
            limit=limit,
            end=PEER_CLOSED,
            describe=describe_peer_loss,
        )
        self._connection = connection
        self._early = early
        self.on_closed: Callable[[], object] | None = None
        self._peer_ended = False
        self._deaf: OSError | None = None

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        if self.on_peer_ended is not None:
            self._hang_up.report_end = self._end_detected
            self._hang_up.ask_end = lambda: peer_has_ended(self._connection)
        super().start(on_data, on_lost)

    @property
    def silent_s(self) -> float:  # type: ignore[override]
        if sys.platform != "linux":
            return 0.0
        try:
            info = self._connection.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED.size
            )
        except OSError:  # closed, or no TCP
            return 0.0
        return float(min(_LAST_RECEIVED.unpack(info))) / 1000

    def write(self, data: bytes) -> None:
        if self._deaf is not None:
            raise self._deafness()
        super().write(data)

    def _watch(self) -> None:
        if self._early:
            self._loop.call_soon(self._deliver_early)
        else:
            super()._watch()

    def _deliver_early(self) -> None:
        if not self._early or self._paused or self._closed or self._on_data is None:
            return
        data, self._early = self._early[: self.read_bytes], self._early[self.read_bytes :]
        self._on_data(data)
        self._watch()

    def resume_reading(self) -> None:
        """Resume reading; what a peer sent before it reset the connection is not read any more."""
        self._hang_up.look_now()
        super().resume_reading()

    def discard_received(self) -> int:
        """Discard at most what the kernel holds, some megabytes."""
        return _discard(self._fd)

    def _hung_up(self) -> None:
        """Distinguish a reset that follows an end (EPIPE) from one that does not, on Linux."""
        error = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error == errno.EPIPE and self.on_peer_ended is not None:
            self._end_detected()
            self._write_failed(OSError(error, os.strerror(error)))
        elif error:
            super()._write_failed(OSError(error, os.strerror(error)))
        else:
            super()._hung_up()

    def _end_detected(self) -> None:
        """Note that the peer has ended its direction; what it sent before may still be unread."""
        self._peer_ended = True
        if self.on_peer_ended is not None:
            self.on_peer_ended()

    def _write_failed(self, error: OSError) -> PortError:
        """Return the error of a write; a peer's bytes before its end stay readable."""
        if not self._peer_ended or self._ended:
            return super()._write_failed(error)
        self._deaf = error
        self.unsent += len(self.take_unsent())
        if self.on_drained is not None:
            self._loop.call_soon(self.on_drained)
        return self._deafness()

    def _deafness(self) -> PortError:
        return PortError(PEER_CLOSED, reason=PortError.LOST, where=self.name)

    def _end_of_data(self) -> None:
        if self._deaf is not None:
            self._fail(describe_peer_loss(self._deaf), self._deaf)
        else:
            super()._end_of_data()

    def _close_descriptor(self, fd: int) -> None:
        self.unread = _discard(fd)
        self._connection.close()
        self._closed_now()
        if self.on_closed is not None:
            self.on_closed()


def describe_peer_loss(error: OSError) -> str:
    """Return the text of a PortError for this error of a connection."""
    words = _PEER_LOSSES.get(error.errno or 0)
    return words or f"the connection was lost: {error.strerror or error}"


def _discard(fd: int) -> int:
    size = 0
    try:
        while data := os.read(fd, READ_BYTES):
            size += len(data)
    except OSError:
        pass  # nothing more; or the end of a connection that was reset
    return size


async def stream_on(
    connection: socket.socket, name: str, *, limit: int = WRITE_LIMIT_BYTES, early: bytes = b""
) -> Transport:
    """Return a stream on a connected socket that does not block.

    `early` was received from it.
    """
    if not OVER_ASYNCIO:
        return TcpStream(connection, name, limit=limit, early=early)
    stream = AsyncioStream(
        name,
        limit=limit,
        end=PEER_CLOSED,
        describe=describe_peer_loss,
        on_made=lambda made: made.data_received(early),
    )
    await asyncio.get_running_loop().create_connection(lambda: stream, sock=connection)
    return stream


async def connect_local(path: str, _port: int = 0) -> Transport:
    """Connect to the local socket at this path (AF_UNIX), which has no port; raises PortError."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, path)
    except OSError as error:
        connection.close()
        raise port_error(error, path) from error
    except BaseException:
        connection.close()
        raise
    return await stream_on(connection, path)


async def connect_tcp(
    host: str,
    port: int,
    *,
    deadline_s: float = CONNECT_DEADLINE_S,
    limit: int = WRITE_LIMIT_BYTES,
) -> Transport:
    """Connect to the first address of `host` that answers; raises PortError."""
    name = f"socket://{format_address(host, port)}"
    connection = await connected(host, port, name, deadline_s=deadline_s)
    return await stream_on(connection, name, limit=limit)


async def connected(
    host: str, port: int, name: str, *, deadline_s: float = CONNECT_DEADLINE_S
) -> socket.socket:
    """Return a socket that is connected to the first address of `host` that answers, tuned.

    The socket does not block. `name` is that of the port, in errors.

    Raises:
        PortError: no address answers.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(deadline_s):
            addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            connection = await _connect_to_first(addresses)
    except (OSError, UnicodeError, OverflowError) as error:  # TimeoutError is an OSError
        raise port_error(error, name) from error
    tune(connection)
    return connection


async def _connect_to_first(addresses: list[Any]) -> socket.socket:
    loop = asyncio.get_running_loop()
    last: OSError = OSError("the name has no address")
    while True:
        for family, kind, protocol, _, address in addresses:
            connection = socket.socket(family, kind, protocol)
            connection.setblocking(False)
            try:
                async with asyncio.timeout(ATTEMPT_S):
                    await loop.sock_connect(connection, address)
            except OSError as error:
                connection.close()
                last = error
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        if not isinstance(last, TimeoutError):
            raise last


# tcp_info of linux/tcp.h: tcpi_last_data_recv and tcpi_last_ack_recv, milliseconds.
_LAST_RECEIVED = struct.Struct("=52xII")


_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY: type of the request and of its answer
_REQUEST = 1  # NLM_F_REQUEST
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_ALL_STATES = 0xFFF
# States of an end that sends no more: FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSE, LAST_ACK, CLOSING.
_ENDED = frozenset({4, 5, 6, 7, 9, 11})


def peer_has_ended(connection: socket.socket) -> bool:
    """Return whether the peer of a loopback connection has closed its end, before that arrives.

    The end of a stream comes after its bytes, so it stays hidden until they are read. The kernel
    has both ends of a loopback connection, and sock_diag(7) reports the state of the other one.
    False also where the state is not available: another system, another host, another namespace.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return False
    try:
        request = _request(connection)
        with socket.socket(family, socket.SOCK_RAW, _SOCK_DIAG) as netlink:
            netlink.setblocking(False)
            netlink.send(request)
            answer = netlink.recv(4096)
    except OSError:
        return False
    kind = _HEADER.unpack_from(answer)[1] if len(answer) > _HEADER.size + 1 else 0
    return kind == _BY_FAMILY and answer[_HEADER.size + 1] in _ENDED


def _request(connection: socket.socket) -> bytes:
    """Return inet_diag_req_v2 for the peer's socket: its address is the source."""
    here, there = connection.getsockname(), connection.getpeername()
    addresses = [
        socket.inet_pton(connection.family, host.partition("%")[0]).ljust(16, b"\0")
        for host in (there[0], here[0])
    ]
    ports = struct.pack(">HH", there[1], here[1])
    anywhere = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface, no cookie
    body = struct.pack("=BBBBI", connection.family, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
    body += ports + b"".join(addresses) + anywhere
    return _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body
