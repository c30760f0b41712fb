#!/usr/bin/env python3
"""The reference for pacing: TCP to serial in 64-byte packets by asyncio's call_at.

python3 call_at_bridge.py PORT TCP_PORT BAUD_RATE
"""

import asyncio
import os
import sys
import tty

PACKET = 64


class Paced(asyncio.Protocol):
    """Writes a packet whenever its time on the line is over, on an absolute schedule."""

    def __init__(self, fd: int, baud_rate: int) -> None:
        self._fd = fd
        self._period_s = PACKET * 10 / baud_rate
        self._loop = asyncio.get_running_loop()
        self._queue = bytearray()
        self._due_s = 0.0
        self._waiting = False

    def data_received(self, data: bytes) -> None:
        self._queue += data
        if not self._waiting and len(self._queue) >= PACKET:
            self._waiting = True
            self._due_s = max(self._due_s, self._loop.time()) + self._period_s
            self._loop.call_at(self._due_s, self._send)

    def _send(self) -> None:
        os.write(self._fd, self._queue[:PACKET])
        del self._queue[:PACKET]
        self._waiting = len(self._queue) >= PACKET
        if self._waiting:
            self._due_s += self._period_s
            self._loop.call_at(self._due_s, self._send)


async def main() -> None:
    port, tcp_port, baud_rate = sys.argv[1:]
    fd = os.open(port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Paced(fd, int(baud_rate)), "127.0.0.1", int(tcp_port))
    await server.serve_forever()


asyncio.run(main())
