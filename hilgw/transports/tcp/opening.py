"""Opens socket:// : finds out who answers at the address, before a byte of hilgw leaves.

A terminal server that is busy sends a sentence and closes the connection, and one that speaks
telnet would change each 0xFF. Both show that in their first bytes. Nothing is sent to find out: a
radio behind the address would transmit it.
"""

import asyncio
import re
import socket

from hilgw.errors import PortError
from hilgw.protocols.rfc2217 import begins_with_negotiation
from hilgw.transports.base import Transport
from hilgw.transports.serial.urls import host_and_port
from hilgw.transports.stream import READ_BYTES
from hilgw.transports.tcp.stream import PEER_CLOSED, connected, describe_peer_loss, stream_on

HELD_S = 0.3  # what comes so soon is held back
POLL_S = 0.005
# A server that has one client needs a moment until it takes the next connection.
NEXT_CONNECTION_S = 0.5
TRIES = 4
_TELNET = re.compile(rb"\xff(?:[\xfb-\xfe].|\xfa.*?\xff\xf0|.)", re.DOTALL)


async def open_socket(url: str) -> Transport:
    """Connect and return the stream once it is not telnet, and stays; raise PortError."""
    early = b""
    for last in (False,) * (TRIES - 1) + (True,):
        try:
            connection, first = await _look(url)
        except PortError:
            if last or not early:
                raise
        else:
            if not begins_with_negotiation(first, silence=True):
                return await stream_on(connection, url, early=early + first)
            connection.close()
            if early:
                break
            early = first
        await asyncio.sleep(NEXT_CONNECTION_S)
    raise PortError(
        "telnet answers here, which changes each 0xFF",
        reason=PortError.UNSUPPORTED,
        where=url,
        fix="use rfc2217://, or its raw address",
    )


async def _look(url: str) -> tuple[socket.socket, bytes]:
    loop = asyncio.get_running_loop()
    connection, first = await connected(*host_and_port(url), url), b""
    end = loop.time() + HELD_S
    try:
        while (left := end - loop.time()) > 0:
            if len(first) < READ_BYTES:
                first += receive(connection, url, first)
            await asyncio.sleep(min(left, POLL_S))
    except BaseException:
        connection.close()
        raise
    return connection, first


def receive(connection: socket.socket, url: str, before: bytes) -> bytes:
    """Return what has come now.

    Raises:
        PortError: the connection has ended. What came `before` is the reason, if it is text.
    """
    try:
        data = connection.recv(READ_BYTES)
    except (BlockingIOError, InterruptedError):
        return b""
    except OSError as error:
        raise _ended(describe_peer_loss(error), url, before) from error
    if not data:
        raise _ended(PEER_CLOSED, url, before)
    return data


def _ended(problem: str, url: str, before: bytes) -> PortError:
    text = " ".join(_TELNET.sub(b"", before).decode("utf-8", "replace").split())
    if text and text.isprintable() and "\ufffd" not in text:
        problem = f"the server says: {text[:200]}"
    return PortError(problem, reason=PortError.LOST, where=url)
