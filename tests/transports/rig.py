"""Shared code of the transport tests: an event loop, peers, and a check for leaks."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilgw.errors import PortError
from hilgw.testing.sim import until
from hilgw.transports.base import DeviceSide, LineSettings, Transport

LINE = LineSettings(baudRate=115200)
ALL_VALUES = bytes(range(256))


def waiting(read: Callable[[int], bytes]) -> bytes:
    """Return what a read that does not block finds."""
    try:
        return read(65536)
    except BlockingIOError:
        return b""


def reset(connection: socket.socket) -> None:
    """Close a connection without an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


async def received_by(read: Callable[[], bytes], count: int) -> bytes:
    """Wait until this many bytes have come at an end; return all of them."""
    data = bytearray()

    def enough() -> bool:
        data.extend(read())
        return len(data) >= count

    await until(enough)
    return bytes(data)


@contextmanager
def refuses(reason: str) -> Iterator[pytest.ExceptionInfo[PortError]]:
    """What is done here is refused with a PortError of this reason."""
    with pytest.raises(PortError) as caught:
        yield caught
    assert caught.value.reason == reason


async def turns(count: int = 10) -> None:
    """Lets the loop do what it has to do now."""
    for _ in range(count):
        await asyncio.sleep(0)


class Client:
    """What a station does with a transport: keeps what it receives."""

    def __init__(self, transport: Transport, *, start: bool = True) -> None:
        self.transport = transport
        self.data = bytearray()
        self.lost: list[PortError] = []
        if start:
            transport.start(self.data.extend, self.lost.append)

    async def received(self, count: int) -> bytes:
        await until(lambda: len(self.data) >= count or bool(self.lost))
        return bytes(self.data)

    async def close(self) -> None:
        self.transport.close()
        await self.transport.wait_closed()


class Device:
    """Keeps what it receives on its side of a port, and when."""

    def __init__(self, port: DeviceSide) -> None:
        self.data = bytearray()
        self.bauds: list[int | None] = []
        self.last_at = 0.0
        port.start(self._received)

    def _received(self, data: bytes, baud: int | None) -> None:
        self.last_at = time.monotonic()
        self.data += data
        self.bauds.append(baud)


class Pty:
    """A pty as it comes: cooked, unpaced, its slave kept open. The test plays the device."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self.slave)

    def __enter__(self) -> Pty:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        os.close(self.slave)

    def hang_up(self) -> None:
        """What unplugging looks like."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def unlock(self) -> None:
        """What the kernel does when the last program closes a real port: here the test still has
        its slave open."""
        fcntl.ioctl(self.slave, termios.TIOCNXCL)

    def read(self) -> bytes:
        return waiting(lambda size: os.read(self.master, size))

    async def received(self, count: int) -> bytes:
        return await received_by(self.read, count)


def descriptors() -> dict[str, str]:
    """What this process has open, the list itself left out. A port of an earlier test may be closed
    by its thread at any time: compare by `.items() <= before.items()`."""
    targets = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if not target.startswith("/proc/"):
            targets[entry.name] = target
    return targets


def call_threads() -> list[threading.Thread]:
    """Return the threads of `transports.threads` and of pySerial. A client of a federation that was
    refused has one of its own, in Zenoh, to the end of the process."""
    ours = ("hilgw-call", "pySerial")
    return [each for each in threading.enumerate() if each.name.startswith(ours)]
