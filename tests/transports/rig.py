"""Shared code of the transport tests: an event loop, peers, and a check for leaks."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import termios
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import until
from hilgw.transports.base import LineSettings, Transport

LINE = LineSettings(baudRate=115200)
ALL_VALUES = bytes(range(256))


def run(scenario: Callable[[], Coroutine[Any, Any, None]], timeout_s: float = 20) -> None:
    """The scenario in a loop of its own; anything reported to the loop is a failure."""
    reports: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, report: reports.append(report)
        )
        async with asyncio.timeout(timeout_s):
            await scenario()

    asyncio.run(watched())
    gc.collect(1)
    assert not reports, reports


async def received_by(read: Callable[[], bytes], count: int) -> bytes:
    """Wait until this many bytes have come at an end; return all of them."""
    data = bytearray()

    def enough() -> bool:
        data.extend(read())
        return len(data) >= count

    await until(enough)
    return bytes(data)


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
        try:
            return os.read(self.master, 65536)
        except BlockingIOError:
            return b""

    async def received(self, count: int) -> bytes:
        return await received_by(self.read, count)


def descriptors() -> dict[str, str]:
    """What this process has open, the list itself left out. A port of an earlier test may be closed
    by its thread at any time: compare by `.items() <= before.items()`."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if not target.startswith("/proc/"):
            found[entry.name] = target
    return found


def call_threads() -> list[threading.Thread]:
    """Return the threads of `transports.threads` and of pySerial. A client of a federation that was
    refused has one of its own, in Zenoh, to the end of the process."""
    ours = ("hilgw-call", "pySerial")
    return [each for each in threading.enumerate() if each.name.startswith(ours)]


def with_timer(
    scenario: Callable[[Timer], Awaitable[None]],
) -> Callable[[], Coroutine[Any, Any, None]]:
    async def wrapped() -> None:
        timer = Timer(asyncio.get_running_loop())
        try:
            await scenario(timer)
        finally:
            timer.close()

    return wrapped
