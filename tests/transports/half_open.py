"""Run by test_tcp.py in its own network namespace: both ends are connected, then the network fails.

Prints how long the side that is idle, and the side that writes, took to notice; in seconds.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from hilgw.errors import PortError
from hilgw.transports.base import Transport
from hilgw.transports.tcp.listener import TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from tests.transports.rig import Client, until


def network(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


async def main(writes: bool) -> None:
    network("up")
    accepted: list[Transport] = []
    listener = TcpListener("127.0.0.1", 0, lambda stream, peer: accepted.append(stream))
    await listener.start()
    client = Client(await connect_tcp("127.0.0.1", listener.port))
    await until(lambda: bool(accepted))
    client.transport.write(b"hello")
    server = Client(accepted[0])
    await until(lambda: server.data == b"hello" and not client.transport.out_waiting)
    network("down")
    start = time.monotonic()
    while not client.lost and time.monotonic() - start < 10:
        if writes:
            try:
                client.transport.write(b"command")
            except PortError:
                break
        await asyncio.sleep(0.02)
    print(time.monotonic() - start)
    await client.close()
    listener.close()


asyncio.run(main(sys.argv[1] == "writes"))
