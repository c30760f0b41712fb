"""Lines on a control socket: a request and its answer, and the events behind them.

A Unix stream socket. Only the owner of the socket may connect: it has mode 0600, in a folder of
mode 0700.
"""

import json
import math
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hilgw.errors import PeerError
from hilgw.protocols.gateway.messages import ANSWER_BYTES, VERSION, VersionError, encode, version_of
from hilgw.protocols.gateway.requests import Request, encode_request

NO_ANSWER = "the gateway does not answer"
CONNECT_AGAIN_S = 0.001  # its queue of connections is full, and others wait for a place, too
Asked = Request[Any] | Mapping[str, Any]
"""A request, or its keys without `version`."""


def ask(
    path: Path, request: Asked, timeout_s: float = 5.0, *, any_version: bool = False
) -> dict[str, Any]:
    """Send one request to a running gateway; return its answer.

    With `any_version`, accept any version.

    Raises:
        PeerError: the gateway does not answer, or has another version.
    """
    end_s = time.monotonic() + timeout_s
    try:
        with connected(path, timeout_s) as connection:
            left_s = end_s - time.monotonic()
            return ask_on(connection, request, left_s, any_version=any_version)
    except VersionError as error:
        error.where = str(path)
        raise
    except (OSError, PeerError) as error:
        problem = error.what if isinstance(error, PeerError) else NO_ANSWER
        fix = "is it still running?" if problem == NO_ANSWER else ""
        raise PeerError(problem, where=str(path), fix=fix) from None


def ask_on(
    connection: socket.socket, request: Asked, timeout_s: float, *, any_version: bool = False
) -> dict[str, Any]:
    """Send one request on this connection; return its answer.

    Raises:
        PeerError: There is none.
    """
    try:
        answer = json.loads(_exchange(connection, line_of(request), timeout_s))
    except (OSError, ValueError, RecursionError):
        raise PeerError(NO_ANSWER) from None
    if not isinstance(answer, dict):
        raise PeerError("the gateway sent an invalid answer")
    if not any_version:
        demand_version(answer)
    answer.pop("version", None)
    return answer


def line_of(request: Asked) -> bytes:
    """Return the line of a request."""
    if isinstance(request, Request):
        return encode_request(request)
    return encode({"version": VERSION, **request})


def demand_version(answer: Mapping[str, Any]) -> None:
    """Raise VersionError for the answer of a gateway of another version."""
    if (version := version_of(answer)) != VERSION:
        raise VersionError(VERSION, version)


def _exchange(connection: socket.socket, line: bytes, timeout_s: float) -> bytes:
    """Send one line and return the line that answers it.

    Raises:
        OSError: the connection failed; TimeoutError: no answer.
        ValueError: the answer is too long.
    """
    end_s = time.monotonic() + timeout_s
    answer = bytearray()
    try:
        connection.settimeout(max(timeout_s, 0.001))
        connection.sendall(line)
    except ConnectionError:
        pass  # a gateway that refuses the connection, or ends, answers before it reads
    while b"\n" not in answer:
        if (left_s := end_s - time.monotonic()) <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        data = connection.recv(65536)
        if not data:
            break
        answer += data
        if len(answer) > ANSWER_BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)


def connected(path: Path, timeout_s: float) -> socket.socket:
    """Connect and wait for room in the queue of a busy gateway.

    Raises:
        OSError: There is none after timeout_s.
    """
    end_s = time.monotonic() + timeout_s
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    while True:
        try:
            connection.connect(str(path))
            return connection
        except OSError as error:
            if not isinstance(error, BlockingIOError) or time.monotonic() > end_s:
                connection.close()
                raise
            time.sleep(CONNECT_AGAIN_S)


def messages_on(
    connection: socket.socket, seconds: float | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the messages until the gateway ends, or for these seconds after the first one.

    Raises:
        TimeoutError: the first one did not come within the timeout of the connection.
    """
    received, end_s = bytearray(), 0.0
    while not end_s or time.monotonic() < end_s:
        if end_s and seconds is not None:
            connection.settimeout(max(end_s - time.monotonic(), 0.001))
        try:
            data = connection.recv(65536)
        except ConnectionError:
            return
        except TimeoutError:
            if end_s:
                return
            raise
        if not data:
            return
        received += data
        *lines, rest = received.split(b"\n")
        received = rest
        if lines and not end_s:
            connection.settimeout(None)
            end_s = math.inf if seconds is None else time.monotonic() + seconds
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                raise PeerError("the gateway sent an invalid event") from None
            if isinstance(message, dict):
                yield message
