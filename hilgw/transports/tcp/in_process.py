"""Network connections between parts of one process: no port that another program could open.

Each connection is a pair of local sockets, so bytes that one end wrote are there for the other end
at once, as an event loop in simulated time needs it.
"""

import itertools
import socket
from typing import Any

from hilgw.errors import PortError
from hilgw.transports.base import Transport
from hilgw.transports.tcp.address import format_address
from hilgw.transports.tcp.listener import ClientHandler
from hilgw.transports.tcp.stream import stream_on

FIRST_PORT = 50_001  # of listeners on port 0, and of clients


class InProcessNetwork:
    """The addresses of one process. `listen` replaces TcpListener, `connect` connect_tcp."""

    def __init__(self) -> None:
        self.listeners: dict[tuple[str, int], InProcessListener] = {}
        self.numbers = itertools.count(FIRST_PORT)

    def listen(
        self, host: str, port: int, on_client: ClientHandler, *_options: Any, **_more: Any
    ) -> "InProcessListener":
        """Return a listener that is not started yet; the options of a real port have no effect."""
        return InProcessListener(self, host, port, on_client)

    async def connect(self, host: str, port: int, **_options: Any) -> Transport:
        """Connect to a listener; raises PortError (absent) if there is none at this address."""
        listener = self.listeners.get((host, port))
        name = format_address(host, port)
        if listener is None:
            raise PortError("nothing listens here", reason=PortError.ABSENT, where=name)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        peer = format_address(host, next(self.numbers))
        listener.on_client(await stream_on(theirs, peer), peer)
        return await stream_on(ours, f"socket://{name}")


class InProcessListener:
    """An address of an `InProcessNetwork`, with the interface of a `TcpListener`.

    Port 0: any free one; `port` is its number after start().
    """

    def __init__(
        self, network: InProcessNetwork, host: str, port: int, on_client: ClientHandler
    ) -> None:
        self.host = host
        self.port = port
        self.on_client = on_client
        self.refused = self.tls_failed = 0  # a mock connects once at a time
        self.tls_failure = ""
        self.clients: dict[Any, str] = {}  # and does not count
        self._network = network

    @property
    def where(self) -> str:
        return format_address(self.host, self.port)

    async def start(self) -> None:
        self.port = self.port or next(self._network.numbers)
        if (self.host, self.port) in self._network.listeners:
            raise PortError("the address is in use", reason=PortError.BUSY, where=self.where)
        self._network.listeners[self.host, self.port] = self

    def close(self) -> None:
        address = (self.host, self.port)
        if self._network.listeners.get(address) is self:
            del self._network.listeners[address]
