"""A slow network between two gateways: a TCP relay with delay, loss and a rate."""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PIECE = 1400  # bytes of one segment
RETRANSMISSION_S = 0.2  # what TCP waits for at least before it sends a lost segment again


class SlowLink:
    """Relay to a server on loopback.

    delay_s: of the way, in each direction. loss: the share of segments that TCP sends again.
    rate: bytes per second in each direction; 0: not limited.
    """

    def __init__(self, server: int, delay_s: float, loss: float = 0.0, rate: float = 0.0) -> None:
        self._server, self._delay_s, self._loss, self._rate = server, delay_s, loss, rate
        self._random = random.Random(1)

    async def run(self, opened: asyncio.Future[int], end: asyncio.Event) -> None:
        """Relay until the end; `opened` gets the port."""
        listening = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=PIECE)
        opened.set_result(listening.sockets[0].getsockname()[1])
        await end.wait()
        listening.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            back, forth = await asyncio.open_connection("127.0.0.1", self._server)
            await asyncio.gather(self._carry(reader, forth), self._carry(back, writer))
        writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        on_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=64)
        arriving = asyncio.ensure_future(self._arrive(on_way, writer))
        try:
            while data := await reader.read(PIECE):
                if self._rate:
                    await asyncio.sleep(len(data) / self._rate)
                again_s = RETRANSMISSION_S if self._random.random() < self._loss else 0.0
                due_s = asyncio.get_running_loop().time() + self._delay_s + again_s
                await on_way.put((due_s, data))
            await on_way.put((0.0, b""))
            await arriving
        finally:
            arriving.cancel()
            writer.close()

    async def _arrive(
        self, on_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        while (item := await on_way.get())[1]:
            await asyncio.sleep(item[0] - asyncio.get_running_loop().time())
            writer.write(item[1])
            with suppress(OSError):  # the server has gone
                await writer.drain()


@contextmanager
def slow_link(server: int, delay_s: float, loss: float = 0.0, rate: float = 0.0) -> Iterator[int]:
    """Yield the port of a slow link to this server, which runs in a thread."""
    loop, end = asyncio.new_event_loop(), asyncio.Event()
    opened: asyncio.Future[int] = loop.create_future()
    running = loop.create_task(SlowLink(server, delay_s, loss, rate).run(opened, end))
    port = loop.run_until_complete(opened)

    def run() -> None:
        loop.run_until_complete(running)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
