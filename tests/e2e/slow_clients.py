"""Clients of an HTTP server that keep their connections, and never end a request."""

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ORDINARY = 1024
"""The limit of descriptors that programs have as a rule."""
MANY = 1020
"""Connections that use all descriptors of an ordinary program."""
SPARE = 32
"""Descriptors that the test itself needs beside them."""


def limit_descriptors(pid: int) -> None:
    """A process has as few descriptors as programs have as a rule."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(ORDINARY, hard), hard))


@contextmanager
def slow_clients(port: int, count: int, host: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """So many connections, as far as this process may have them, that send one byte of a request
    after the other, and no end."""
    limits = _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len([*Path("/dev/fd").iterdir()])
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients: list[socket.socket] = []
    done = threading.Event()

    def drip() -> None:
        while not done.wait(0.2):
            for each in clients:
                with suppress(OSError):  # it was ended
                    each.send(b"X")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        while len(clients) < min(count, hard - used - SPARE):
            clients.append(socket.create_connection((host, port)))
        yield clients
    finally:
        done.set()
        dripping.join()
        for each in clients:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
