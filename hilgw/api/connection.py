"""The connection to the simulator: blocking sockets, the handshake, requests and answers."""

import os
import selectors
import socket
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from ipaddress import ip_address

from hilgw.api.address import LocalAddress, NotReady, TcpAddress, find
from hilgw.errors import PeerError
from hilgw.protocols.webots.answers import Answer, AnswerReader
from hilgw.protocols.webots.handshake import (
    TOKEN,
    Acknowledgement,
    Forbidden,
    decode_acknowledgement,
    decode_reason,
    decode_robots,
    encode_hello,
    without_mock,
)
from hilgw.protocols.webots.requests import LEAVE
from hilgw.protocols.webots.wire import ProtocolError

RETRY_S = 1.0
RETRIES = 50
SOON, SOON_S = 10, 0.1
"""Robots connect within a second, worlds load for longer."""
CONNECT_S = 10.0
HANDSHAKE_S = 30.0
"""Longer than a gateway makes a controller wait in its line."""
REASON_S = 1.0
_READ_BYTES = 65536
_LONGEST_ACKNOWLEDGEMENT = 10
_LONGEST_REASON = 100
_EXPLAINED = Acknowledgement.FORBIDDEN, Acknowledgement.FAILED
_FIXES = {
    Forbidden.NO_TOKEN: f"set {TOKEN} for an address tls://, or write ?token=TOKEN behind the "
    "robot in WEBOTS_CONTROLLER_URL for a gateway with plaintext: true",
    Forbidden.WRONG_TOKEN: "use a token of `access: tokens:` of that gateway",
    Forbidden.MONITOR_TOKEN: "use a token with role: drive or admin of that gateway",
    Forbidden.TOO_MANY_TRIES: "try again after a second, with the right token",
}


class Closed(Exception):
    """The simulator has closed the connection."""


class Connection:
    """A robot's connection; `connect` makes it. Not for several threads at once.

    peer: the address that the gateway sees; on a local socket its path.
    """

    def __init__(self, connection: socket.socket, *, local: bool, peer: str = "") -> None:
        self._socket = connection
        self._end_s: float | None = None
        self._reader = AnswerReader(local=local)
        self.peer = peer

    def send(self, request: bytes) -> None:
        """Send a request, or raise Closed."""
        try:
            self._socket.sendall(request)
        except OSError as error:
            raise Closed(error.strerror or str(error)) from None

    def receive(self) -> Answer:
        """Wait for the next answer and return it, or raise Closed or ProtocolError."""
        reader = self._reader
        answer = reader.next()
        while answer is None:
            if self._end_s is not None:
                self._socket.settimeout(max(0.001, self._end_s - time.monotonic()))
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError as error:
                raise Closed(error.strerror or str(error)) from None
            if not data:
                raise Closed("the simulator closed the connection")
            answer = reader.whole(data)
            if answer is None:
                reader.feed(data)
                answer = reader.next()
        return answer

    def wait(self, wait_s: float) -> bool:
        """Wait for bytes of the simulator; return True if there are some."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(wait_s))

    def limit(self, wait_s: float) -> None:
        """Set the time after which a simulator that does not answer counts as closed."""
        self._end_s = time.monotonic() + wait_s
        self._socket.settimeout(wait_s)

    def leave(self) -> None:
        """End the session and close the connection."""
        with suppress(OSError):  # the simulator has left first
            self._socket.sendall(LEAVE)
            self._socket.shutdown(socket.SHUT_RDWR)  # another thread may wait for an answer
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


def connect(
    environment: Mapping[str, str] = os.environ, pause: Callable[[float], None] = time.sleep
) -> Connection:
    """Connect as libController does: again every second, 50 times; raise PeerError after that.

    It retries for ever while the simulator loads its world or the gateway connects to its robot; at
    first sooner and without a line.
    """
    left, soon, shown = RETRIES, SOON, ""
    while True:
        try:
            return _try(environment)
        except NotReady as error:
            text = str(error)
            if soon and isinstance(error, _Loading):
                soon -= 1
                pause(SOON_S)
                continue
            if text != shown:
                print(f"{text}; trying again every second", file=sys.stderr, flush=True)
                shown = text
            if not isinstance(error, _Loading):
                left -= 1
            if not left:
                raise PeerError(
                    text,
                    where=environment.get("WEBOTS_CONTROLLER_URL", ""),
                    fix="start the simulator or the gateway, or set WEBOTS_CONTROLLER_URL",
                ) from None
            pause(RETRY_S)


class _Loading(NotReady):
    """The simulator is there and asks for patience."""


def _try(environment: Mapping[str, str]) -> Connection:
    address = find(environment)
    try:
        if isinstance(address, LocalAddress):
            return _connect_local(address)
        return _connect_tcp(address, environment)
    except ssl.SSLError as error:  # another try ends in the same way
        raise PeerError(
            f"no TLS with this gateway: {error.reason or error}",
            where=environment.get("WEBOTS_CONTROLLER_URL", ""),
            fix="set HILGW_CA, and HILGW_CERTIFICATE where the gateway asks for one",
        ) from None
    except OSError as error:
        raise NotReady(f"cannot connect: {error.strerror or error}") from None


def _connect_local(address: LocalAddress) -> Connection:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(address.path))
    except BaseException:
        connection.close()
        raise
    return Connection(connection, local=True, peer=str(address.path))


def _connect_tcp(address: TcpAddress, environment: Mapping[str, str]) -> Connection:
    connection = _reach(_hosts_of(address, environment), address.port)
    try:
        connection.settimeout(HANDSHAKE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls:
            connection = _tls(environment).wrap_socket(connection, server_hostname=address.host)
        connection.sendall(encode_hello(_named(address, environment)))
        acknowledged, more = _acknowledgement(connection)
        if acknowledged is Acknowledgement.FORBIDDEN:
            _forbid(address, decode_reason(more + _rest(connection)))
        if (
            acknowledged is Acknowledgement.FAILED
            and address.robot is None
            and (names := decode_robots(more + _rest(connection)))
        ):
            raise PeerError(
                f"the address names no robot; the gateway has {names}",
                where=f"{address.host}:{address.port}",
                fix="write one of them behind the port, such as tcp://HOST:PORT/ROBOT",
            )
        _check(acknowledged, address)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    host, port = connection.getsockname()[:2]
    peer = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Connection(connection, local=False, peer=peer)


def _reach(hosts: list[str], port: int) -> socket.socket:
    *others, last = hosts
    for host in others:
        with suppress(OSError):
            return socket.create_connection((host, port), CONNECT_S)
    return socket.create_connection((last, port), CONNECT_S)


def _tls(environment: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context.

    HILGW_CA: PEM file of the authority that signed the gateway's certificate. HILGW_CERTIFICATE:
    that of the client, with its key.

    Raises:
        PeerError: A file is missing or wrong.
    """
    file = environment.get("HILGW_CA")
    try:
        context = ssl.create_default_context(cafile=file)
        file = environment.get("HILGW_CERTIFICATE")
        if file:
            context.load_cert_chain(file)
    except OSError as error:  # ssl.SSLError is one
        problem = f"the certificate cannot be used: {error.strerror or error}"
        raise PeerError(problem, where=file or "", fix="name a PEM file") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _named(address: TcpAddress, environment: Mapping[str, str]) -> str | None:
    token = _token_of(address, environment)
    return f"{address.robot or ''}?token={token}" if token else address.robot


def _acknowledgement(connection: socket.socket) -> tuple[Acknowledgement, bytes]:
    data = b""
    while (acknowledged := decode_acknowledgement(data)) is None:
        more = connection.recv(_LONGEST_ACKNOWLEDGEMENT - len(data))
        if not more:
            raise ConnectionError("the peer closed the connection")
        data += more
        for reason in _EXPLAINED:
            if data.startswith(word := reason.encode()):
                return reason, data[len(word) :]
    return acknowledged, b""


def _rest(connection: socket.socket) -> bytes:
    """Return the peer's last bytes, in limited time and size: a gateway sends its reason."""
    data, end_s = b"", time.monotonic() + REASON_S
    with suppress(OSError):
        while len(data) < _LONGEST_REASON and (left_s := end_s - time.monotonic()) > 0:
            connection.settimeout(left_s)
            more = connection.recv(_LONGEST_REASON)
            if not more:
                break
            data += more
    return data


def _forbid(address: TcpAddress, reason: Forbidden | None) -> None:
    where = f"{address.host}:{address.port}"
    if reason is not None:
        fix = _FIXES.get(reason) or without_mock(address.robot or "ROBOT")
        raise PeerError(reason.text, where=where, fix=fix)
    problem = f"{_robot(address)} has a controller already, or this machine may not connect"
    raise PeerError(problem, where=where, fix="end the other controller")


def _robot(address: TcpAddress) -> str:
    return f"robot '{address.robot}'" if address.robot else "single robot"


def _check(acknowledged: Acknowledgement, address: TcpAddress) -> None:
    where = f"{address.host}:{address.port}"
    if acknowledged is Acknowledgement.PROCESSING:
        raise _Loading("the simulator loads its world, or the gateway waits for the robot")
    if acknowledged is Acknowledgement.FAILED:
        raise NotReady(f"{where} has no {_robot(address)} with an <extern> controller")


def _token_of(address: TcpAddress, environment: Mapping[str, str]) -> str | None:
    return address.token or environment.get(TOKEN) or None


def _hosts_of(address: TcpAddress, environment: Mapping[str, str]) -> list[str]:
    """Return the hosts to connect to.

    The token of the environment leaves this machine inside TLS only: without TLS, these are the
    present addresses of the host.

    Raises:
        PeerError: one of them is not of this machine.
        OSError: the host has none.
    """
    if address.tls or address.token or _token_of(address, environment) is None:
        return [address.host]
    addresses = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    hosts = list(dict.fromkeys(str(each[0]) for *_, each in addresses))
    if all(_is_loopback(host) for host in hosts):
        _warn(f"{TOKEN} goes to {address.host}:{address.port}, whichever program listens there")
        return hosts
    raise PeerError(
        f"{TOKEN} would leave this machine in clear text: the address is tcp://",
        where=f"{address.host}:{address.port}",
        fix="write tls:// into WEBOTS_CONTROLLER_URL; for a gateway with plaintext: true, write "
        f"?token=TOKEN behind the robot there; for any other simulator, unset {TOKEN}",
    )


@cache
def _warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _is_loopback(host: str) -> bool:
    address = ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


__all__ = ["Closed", "Connection", "ProtocolError", "connect"]
