"""Run by test_tcp.py in its own network namespace: both ends are connected, then the network fails.

Exits with 0 when the side that writes, or is idle, has noticed it.
"""

import asyncio
import subprocess
import sys

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

    def noticed() -> bool:
        if writes and not client.lost:
            try:
                client.transport.write(b"command")
            except PortError:
                return True
        return bool(client.lost)

    await until(noticed, what="the end of the connection")
    await client.close()
    listener.close()


asyncio.run(main(sys.argv[1] == "writes"))
