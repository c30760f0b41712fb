"""A slow network between two gateways: a TCP relay with delay, loss and a rate."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PIECE = 1400  # bytes of one segment
RETRANSMISSION_S = 0.2  # what TCP waits for at least before it sends a lost segment again


class SlowLink:
    """Relay between `port` on loopback and a server there.

    delay_s: of the way, in each direction. loss: the share of segments that TCP sends again.
    rate: bytes per second in each direction; 0: not limited.
    """

    def __init__(self, server: int, delay_s: float, loss: float = 0.0, rate: float = 0.0) -> None:
        self.port = 0
        self._server, self._delay_s, self._loss, self._rate = server, delay_s, loss, rate
        self._random = random.Random(1)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self._server)
        except OSError:
            writer.close()
            return
        ways = (self._carry(reader, forth), self._carry(back, writer))
        await asyncio.gather(*ways, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        on_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=64)

        async def arrive() -> None:
            while (item := await on_way.get())[1]:
                await asyncio.sleep(item[0] - loop.time())
                writer.write(item[1])
                await writer.drain()
            writer.close()

        arriving = asyncio.ensure_future(arrive())
        while data := await reader.read(PIECE):
            if self._rate:
                await asyncio.sleep(len(data) / self._rate)
            again_s = RETRANSMISSION_S if self._random.random() < self._loss else 0.0
            await on_way.put((loop.time() + self._delay_s + again_s, data))
        await on_way.put((0.0, b""))
        await arriving

    async def open(self) -> asyncio.Server:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=PIECE)
        self.port = server.sockets[0].getsockname()[1]
        return server


@asynccontextmanager
async def slow_link(
    server: int, delay_s: float, loss: float = 0.0, rate: float = 0.0
) -> AsyncIterator[int]:
    """Yield the port of a slow link to this server on loopback."""
    link = SlowLink(server, delay_s, loss, rate)
    listening = await link.open()
    try:
        yield link.port
    finally:
        listening.close()
