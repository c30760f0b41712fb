"""Local sockets of this machine (AF_UNIX), as streams."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from hilgw.transports.open_errors import port_error
from hilgw.transports.tcp.stream import stream_on

if TYPE_CHECKING:
    from hilgw.transports.base import Transport


async def connect_local(path: str) -> Transport:
    """Connects to the local socket at this path. Raises PortError."""
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
