"""TCP inside one process, without the delays of the kernel's network: on Unix sockets."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator
from typing import Any
from unittest import mock

FIRST_PORT = 50_001
_networks = itertools.count(1)


class LocalSocket(socket.socket):
    """A TCP socket that is a Unix socket: what is written is there at once, each network has port
    numbers of its own, and port 0 and each client get the next number."""

    prefix = ""
    numbers = itertools.count(FIRST_PORT)
    _address: tuple[str, int] | None = None

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        if fileno is None and family in (socket.AF_INET, socket.AF_INET6, -1):
            assert type in (socket.SOCK_STREAM, -1), "only TCP is virtual"
            family, type, proto = socket.AF_UNIX, socket.SOCK_STREAM, 0
        super().__init__(family, type, proto, fileno)

    def setsockopt(self, level: int, *rest: Any) -> None:
        if level != socket.IPPROTO_TCP:
            super().setsockopt(level, *rest)

    def bind(self, address: Any) -> None:
        if isinstance(address, tuple):
            self._address = (address[0], address[1] or next(LocalSocket.numbers))
            address = self._path(self._address[1])
        super().bind(address)

    def connect(self, address: Any) -> None:
        super().connect(self._path(address[1]) if isinstance(address, tuple) else address)

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        if self._address is not None:
            address = ("127.0.0.1", next(LocalSocket.numbers))
        return connection, address

    def getsockname(self) -> Any:
        return self._address or super().getsockname()

    def _path(self, port: int) -> str:
        return f"\0{LocalSocket.prefix}:{port}"


@contextlib.contextmanager
def local_sockets() -> Iterator[None]:
    """All new TCP sockets of this process, until the end, are in a network of their own. Not in
    this network: UDP, TCP options, resets."""
    LocalSocket.prefix = f"hilgw-sim-{os.getpid()}-{next(_networks)}"
    LocalSocket.numbers = itertools.count(FIRST_PORT)
    with mock.patch.object(socket, "socket", LocalSocket):
        yield
