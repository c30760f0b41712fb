"""Servers at a socket:// or rfc2217:// address: real ones, and some that do what none should."""

from __future__ import annotations

import asyncio
import shutil
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from hilgw.protocols.rfc2217 import (
    COM_PORT,
    DO,
    DONT,
    IAC,
    PURGE_DATA,
    Data,
    Purge,
    Reply,
    Server,
    Setting,
    Value,
    escape,
)
from tests.conftest import SEARCH
from tests.e2e.running import HOST, free_port
from tests.transports.rig import until

REFUSES_COM_PORT = bytes((IAC, DONT, COM_PORT))


class Peer:
    """A server in the event loop of the test. received: all bytes of each connection."""

    def __init__(self, *scripts: Callable[[Peer, asyncio.StreamWriter], Awaitable[None]]) -> None:
        """scripts: of the first connection, the second, ...; the last one is that of all others."""
        self._scripts = scripts
        self.received: list[bytearray] = []
        self.accepted_s: list[float] = []
        self.address = ""
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        index, task = len(self.received), asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.received.append(bytearray())
        self.accepted_s.append(asyncio.get_running_loop().time())
        try:
            await self._scripts[min(index, len(self._scripts) - 1)](self, writer)
            while data := await reader.read(65536):
                self.received[index] += data
                await self.answer(data, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def answer(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """What this kind of server answers."""


@asynccontextmanager
async def serving(peer: Peer) -> AsyncIterator[Peer]:
    server = await asyncio.start_server(peer.serve, HOST, 0)
    host, port = server.sockets[0].getsockname()[:2]
    peer.address = f"{host}:{port}"
    try:
        yield peer
    finally:
        server.close()
        for task in peer.tasks:
            task.cancel()
        await asyncio.gather(*peer.tasks)


def sends(
    *pieces: bytes, then: str = "stay"
) -> Callable[[Peer, asyncio.StreamWriter], Awaitable[None]]:
    """Sends these pieces, one by one. then: "stay", "close" or "reset"."""

    async def script(peer: Peer, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)  # so that each piece is a segment of its own
        if then == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if then != "stay":
            raise ConnectionError

    return script


class AccessServer(Peer):
    """An RFC 2217 server whose device returns what it gets. It answers in this way:

    rates: the rate it sets in place of another. silent: commands that it does not answer.
    one_by_one: each byte is a segment. refuses: it is telnet without RFC 2217.
    """

    def __init__(
        self,
        *,
        rates: dict[int, int] | None = None,
        silent: Iterable[int] = (),
        one_by_one: bool = False,
        refuses: bool = False,
    ) -> None:
        super().__init__(self._greet)
        self._rates, self._silent = rates or {}, set(silent)
        self._one_by_one, self._refuses = one_by_one, refuses
        self._server = Server()
        self.device = bytearray()
        self.settings: dict[str, Value] = {}

    async def _greet(self, peer: Peer, writer: asyncio.StreamWriter) -> None:
        self._server = Server()
        if self._refuses:
            writer.write(bytes((IAC, DO, 0)))
        else:
            await self._put(self._server.open(), writer)

    async def _put(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        for piece in [bytes((each,)) for each in data] if self._one_by_one else [data]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    async def answer(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.write(REFUSES_COM_PORT)
            return
        for event in self._server.feed(data):
            if isinstance(event, Reply):
                await self._put(event.data, writer)
            elif isinstance(event, Data):
                self.device += event.data
                await self._put(escape(event.data), writer)
            elif isinstance(event, Purge) and PURGE_DATA not in self._silent:
                await self._put(self._server.purged(event), writer)
            elif isinstance(event, Setting) and event.value is not None:
                value = event.value
                if event.name == "baud_rate":
                    value = self._rates.get(int(value), value)
                self.settings[event.name] = value
                answer = self._server.answer(event.name, value)
                if answer[3] - 100 not in self._silent:
                    await self._put(answer, writer)


SER2NET = """
connection: &port
  accepter: {accepter},{host},{tcp}
  connector: serialdev(nouucplock=true),{device},9600n81,local
"""


@asynccontextmanager
async def ser2net(device: str, folder: Path, accepter: str) -> AsyncIterator[str]:
    """ser2net in front of a device; gives its address."""
    port = free_port()
    config = folder / "ser2net.yaml"
    config.write_text(SER2NET.format(accepter=accepter, host=HOST, tcp=port, device=device))
    program = shutil.which("ser2net", path=SEARCH) or "ser2net"
    process = subprocess.Popen(
        [program, "-n", "-c", str(config), "-P", str(folder / "pid")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await until(lambda: listens(port))
        yield f"{HOST}:{port}"
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    """Without a connection, of which ser2net takes one at a time."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()
