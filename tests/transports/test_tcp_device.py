"""The hardware's end of TCP: one client at a time, connection events, retries."""

from typing import Any

import pytest

from hilgw.testing.sim import until
from hilgw.transports.base import ConnectionSide, Transport
from hilgw.transports.tcp.device import TcpClientDevice, TcpListenerDevice, TcpServerDevice
from hilgw.transports.tcp.listener import TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from tests.transports import rig


class Notified:
    """What a device reported to its mock."""

    def __init__(self, device: ConnectionSide) -> None:
        self.events: list[str] = []
        self.data = b""
        device.start(self.receive)
        device.on_open = lambda: self.events.append("open")
        device.on_close = lambda: self.events.append("close")

    def receive(self, data: bytes, host_baud: int | None) -> None:
        assert host_baud is None
        self.data += data


class Client(rig.Client):
    async def gone(self) -> None:
        await until(lambda: bool(self.lost))


async def connected(device: Any) -> Client:
    return Client(await connect_tcp("127.0.0.1", int(device.path.rpartition(":")[2])))


async def listening() -> tuple[TcpServerDevice, Notified]:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    return device, notified


async def test_a_server_serves_one_client_and_then_the_next() -> None:
    device, notified = await listening()
    assert device.path == f"127.0.0.1:{device.port}"
    device.write(b"nobody hears this")
    first = await connected(device)
    first.transport.write(b"hello")
    await until(lambda: notified.data == b"hello")
    device.write(b"welcome")
    assert await first.received(7) == b"welcome"
    second = await connected(device)
    await second.gone()
    assert notified.events == ["open"]
    await first.close()
    await until(lambda: notified.events == ["open", "close"])
    third = await connected(device)
    await until(lambda: notified.events == ["open", "close", "open"])
    device.hang_up()
    await third.gone()
    assert notified.events[-1] == "close"
    device.close()


async def test_a_peer_that_does_not_read_is_hung_up_on() -> None:
    device, notified = await listening()
    stream = await connect_tcp("127.0.0.1", device.port)
    await until(lambda: bool(notified.events))
    for _ in range(400):
        device.write(bytes(65536))
    await until(lambda: notified.events == ["open", "close"])
    stream.close()
    device.close()


async def test_a_client_tries_until_somebody_listens_and_after_each_loss() -> None:
    tries: list[int] = []

    async def counted(host: str, port: int) -> Transport:
        tries.append(port)
        return await connect_tcp(host, port)

    streams: list[Any] = []
    listener = TcpListener("127.0.0.1", 0, lambda stream, peer: streams.append(stream))
    await listener.start()
    port = listener.port
    listener.close()
    device = TcpClientDevice(0.02, counted)
    notified = Notified(device)
    device.aim("127.0.0.1", port)
    await until(lambda: len(tries) > 2)  # refused
    assert notified.events == []
    again = TcpListener("127.0.0.1", port, lambda stream, peer: streams.append(stream))
    await again.start()
    await until(lambda: notified.events == ["open"])
    streams[-1].close()
    await until(lambda: notified.events == ["open", "close", "open"])
    device.write(b"here")
    client = Client(streams[-1])
    assert await client.received(4) == b"here"
    device.close()
    await client.gone()
    assert notified.events[-1] == "close"
    again.close()
    for stream in streams:
        stream.close()


async def test_a_stalled_device_reads_nothing_until_it_is_unstalled() -> None:
    device, notified = await listening()
    device.stall()  # before the connection, then during it
    first = await connected(device)
    await until(lambda: bool(notified.events))
    first.transport.write(b"one")
    device.write(b"answer")
    await first.received(6)
    assert not notified.data
    device.unstall()
    await until(lambda: notified.data == b"one")
    device.stall()
    first.transport.write(b"two")
    device.unstall()
    await until(lambda: notified.data == b"onetwo")
    device.close()
    await first.close()


async def test_a_listener_bounds_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.transports.tcp.device.MOST_CLIENTS", 1)
    listener = TcpListenerDevice("127.0.0.1", 0)
    served: list[Notified] = []
    listener.on_client = lambda device: served.append(Notified(device))
    await listener.listen()
    first = await connected(listener)
    await until(lambda: bool(served))
    await (await connected(listener)).gone()
    await first.close()
    await until(lambda: served[0].events == ["open", "close"])
    await connected(listener)
    await until(lambda: len(served) == 2)
    listener.close()
