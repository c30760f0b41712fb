"""The hardware's end of TCP: one client at a time, connection events, retries."""

from typing import Any

import pytest

from hilgw.testing.sim import until
from hilgw.transports.base import ConnectionSide, Transport
from hilgw.transports.tcp.device import (
    TcpClientDevice,
    TcpListenerDevice,
    TcpServerDevice,
)
from hilgw.transports.tcp.listener import TcpListener
from hilgw.transports.tcp.stream import connect_tcp


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


class Client:
    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.data = b""
        self.lost = 0
        stream.start(self.receive, self.lose)

    def receive(self, data: bytes) -> None:
        self.data += data

    def lose(self, error: object) -> None:
        self.lost += 1


async def test_a_server_serves_one_client_and_then_the_next() -> None:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    assert device.path == f"127.0.0.1:{device.port}"
    device.write(b"nobody hears this")
    first = Client(await connect_tcp("127.0.0.1", device.port))
    first.stream.write(b"hello")
    await until(lambda: notified.data == b"hello")
    device.write(b"welcome")
    await until(lambda: first.data == b"welcome")
    second = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: second.lost)
    assert notified.events == ["open"]
    first.stream.close()
    await until(lambda: notified.events == ["open", "close"])
    third = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: notified.events == ["open", "close", "open"])
    device.hang_up()
    await until(lambda: third.lost)
    assert notified.events[-1] == "close"
    for client in (second, third):
        client.stream.close()
    device.close()


async def test_unplugged_it_accepts_none() -> None:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    first = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: notified.events)
    device.unplug()
    await until(lambda: first.lost)
    second = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: second.lost)
    device.plug()
    third = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: notified.events == ["open", "close", "open"])
    for client in (first, second, third):
        client.stream.close()
    device.close()


async def test_a_peer_that_does_not_read_is_hung_up_on() -> None:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    stream = await connect_tcp("127.0.0.1", device.port)
    await until(lambda: notified.events)
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
    await until(lambda: client.data == b"here")
    device.close()
    await until(lambda: client.lost)
    assert notified.events[-1] == "close"
    again.close()
    for stream in streams:
        stream.close()


async def test_a_stalled_device_reads_nothing_until_it_is_unstalled() -> None:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    device.stall()  # before the connection, then during it
    first = Client(await connect_tcp("127.0.0.1", device.port))
    await until(lambda: notified.events)
    first.stream.write(b"one")
    device.write(b"answer")
    await until(lambda: first.data)
    assert not notified.data
    device.unstall()
    await until(lambda: notified.data == b"one")
    device.stall()
    first.stream.write(b"two")
    device.unstall()
    await until(lambda: notified.data == b"onetwo")
    device.close()
    first.stream.close()


async def test_a_listener_gives_each_client_a_device_of_its_own() -> None:
    listener = TcpListenerDevice("127.0.0.1", 0)
    served: list[tuple[ConnectionSide, Notified]] = []
    await listener.listen()
    port = int(listener.path.rpartition(":")[2])
    early = Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: early.lost)  # nothing serves it
    listener.on_client = lambda device: served.append((device, Notified(device)))
    clients = [Client(await connect_tcp("127.0.0.1", port)) for _ in range(3)]
    await until(lambda: len(served) == 3)
    for number, client in enumerate(clients):
        client.stream.write(bytes((number,)))
    await until(lambda: all(notified.data for _, notified in served))
    for device, notified in served:
        device.write(notified.data)
    await until(lambda: [each.data for each in clients] == [b"\0", b"\1", b"\2"])
    served[1][0].hang_up()
    await until(lambda: clients[1].lost)
    assert [notified.events for _, notified in served].count(["open", "close"]) == 1
    listener.unplug()
    await until(lambda: all(each.lost for each in clients))
    late = Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: late.lost)
    listener.plug()
    again = Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: len(served) == 4)
    again.stream.close()
    await until(lambda: served[3][1].events == ["open", "close"])
    listener.close()


async def test_a_listener_bounds_its_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hilgw.transports.tcp.device.MOST_CLIENTS", 1)
    listener = TcpListenerDevice("127.0.0.1", 0)
    served: list[Notified] = []
    listener.on_client = lambda device: served.append(Notified(device))
    await listener.listen()
    port = int(listener.path.rpartition(":")[2])
    first = Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: served)
    second = Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: second.lost)
    first.stream.close()
    await until(lambda: served[0].events == ["open", "close"])
    Client(await connect_tcp("127.0.0.1", port))
    await until(lambda: len(served) == 2)
    listener.close()
