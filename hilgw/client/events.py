"""The events of a running gateway, as they happen (`hilgw watch`)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from hilgw.client.control_socket import Gateway, accepted, connected
from hilgw.errors import PeerError
from hilgw.protocols.gateway.messages import Do, encode

ANSWER_S = 5.0


def events(
    gateway: Gateway,
    kinds: Iterable[str] = (),
    names: Iterable[str] = (),
    *,
    lost: bool = False,
    states: bool = False,
) -> Iterator[dict[str, Any]]:
    """The events of this gateway from now on, with the keys of `hilgw.protocols.gateway.events`.

    kinds: their names; names: of robots, devices (ROBOT.DEVICE), stations and other parts; none of
    them: all. lost: only packets and requests that were lost. states: first those of ports and
    robots, as they are now. Ends when the gateway ends. HilgwError when it does not answer, or
    refuses.
    """
    request = {"do": Do.WATCH, "kinds": list(kinds), "names": list(names), "lost": lost}
    request["states"] = states
    try:
        connection = connected(gateway.path, ANSWER_S)
    except OSError:
        raise _silent(gateway) from None
    with connection:
        lines = _lines(connection)
        try:
            connection.sendall(encode(request))
            answer = next(lines, None)
            connection.settimeout(None)
        except OSError:
            answer = None
        if answer is None:
            raise _silent(gateway)
        accepted(answer, gateway, "watch")
        yield from (event for event in lines if "event" in event)


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """The messages that come, until the gateway ends."""
    received = bytearray()
    while True:
        try:
            data = connection.recv(65536)
        except ConnectionError:
            return
        if not data:
            return
        received += data
        *lines, rest = received.split(b"\n")
        received = rest
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                raise PeerError("the gateway sent an invalid event") from None
            if isinstance(message, dict):
                yield message


def _silent(gateway: Gateway) -> PeerError:
    what, fix = "the gateway does not answer", "is it still running?"
    return PeerError(what, where=str(gateway.path), fix=fix)
