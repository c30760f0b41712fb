"""The connection to the simulator: blocking sockets, the handshake, requests and answers."""

from __future__ import annotations

import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Mapping

from hilgw.api.address import LocalAddress, NotReady, TcpAddress, find
from hilgw.errors import PeerError
from hilgw.protocols.webots import (
    LEAVE,
    Acknowledgement,
    Answer,
    AnswerReader,
    ProtocolError,
    decode_acknowledgement,
    encode_hello,
)

RETRY_S = 1.0
RETRIES = 50
HANDSHAKE_S = 10.0
_READ_BYTES = 65536
_LONGEST_ACKNOWLEDGEMENT = 10


class Closed(Exception):
    """The simulator has closed the connection."""


class Connection:
    """One robot's connection; `connect` makes it. Not for several threads at once."""

    def __init__(self, connection: socket.socket, *, local: bool) -> None:
        self._socket = connection
        self._reader = AnswerReader(local=local)

    def send(self, request: bytes) -> None:
        """Raises Closed."""
        try:
            self._socket.sendall(request)
        except OSError as error:
            raise Closed(error.strerror or str(error)) from None

    def receive(self) -> Answer:
        """The next answer; waits for it. Raises Closed, ProtocolError."""
        reader = self._reader
        answer = reader.next()
        while answer is None:
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

    def leave(self) -> None:
        """Ends the session and closes the connection."""
        try:
            self._socket.sendall(LEAVE)
        except OSError:
            pass
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


def connect(
    environment: Mapping[str, str] = os.environ, pause: Callable[[float], None] = time.sleep
) -> Connection:
    """Connects as libController does: again every second, 50 times, and for ever while the
    simulator loads its world. Raises PeerError."""
    left, shown = RETRIES, ""
    while True:
        try:
            return _try(environment)
        except NotReady as error:
            text = str(error)
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
    except OSError as error:
        raise NotReady(f"cannot connect: {error.strerror or error}") from None


def _connect_local(address: LocalAddress) -> Connection:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(address.path))
    except BaseException:
        connection.close()
        raise
    return Connection(connection, local=True)


def _connect_tcp(address: TcpAddress, environment: Mapping[str, str]) -> Connection:
    connection = socket.create_connection((address.host, address.port), HANDSHAKE_S)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls:
            context = ssl.create_default_context(cafile=environment.get("HILGW_CA"))
            connection = context.wrap_socket(connection, server_hostname=address.host)
        connection.sendall(encode_hello(_named(address, environment.get("HILGW_TOKEN"))))
        _check(_acknowledgement(connection), address)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return Connection(connection, local=False)


def _named(address: TcpAddress, token: str | None) -> str | None:
    """The robot's name; for a gateway that asks for one, with the token."""
    return f"{address.robot or ''}?token={token}" if token else address.robot


def _acknowledgement(connection: socket.socket) -> Acknowledgement:
    data = b""
    while (word := decode_acknowledgement(data)) is None:
        more = connection.recv(_LONGEST_ACKNOWLEDGEMENT - len(data))
        if not more:
            raise ConnectionError("the peer closed the connection")
        data += more
    return word


def _check(word: Acknowledgement, address: TcpAddress) -> None:
    robot = f"robot '{address.robot}'" if address.robot else "the robot"
    where = f"{address.host}:{address.port}"
    if word is Acknowledgement.PROCESSING:
        raise _Loading("the simulator is loading its world")
    if word is Acknowledgement.FAILED:
        raise NotReady(f"{where} has no {robot} with an <extern> controller")
    if word is Acknowledgement.FORBIDDEN:
        what = f"{robot} has a controller already, or this machine may not connect"
        raise PeerError(what, where=where, fix="end the other controller")


__all__ = ["Closed", "Connection", "ProtocolError", "connect"]
