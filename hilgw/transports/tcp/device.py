"""The hardware's end of a TCP connection, for a mock that is a network peer."""

import asyncio
from collections.abc import Awaitable, Callable

from hilgw.errors import PortError
from hilgw.transports.base import ConnectionSide, Observable, SwitchModemLine, Transport
from hilgw.transports.tcp.address import format_address
from hilgw.transports.tcp.listener import Listen, TcpListener
from hilgw.transports.tcp.stream import connect_tcp

MOST_CLIENTS = 256  # of one listener

DeviceHandler = Callable[[bytes, int | None], None]
Connect = Callable[..., Awaitable[Transport]]  # host, port; and options of a real connection


class TcpDevice(Observable):
    """A `hilgw.transports.base.ConnectionSide` with one connection at a time.

    on_open and on_close are called for each connection; nothing is paced. unplug() ends the
    connection and prevents a new one until plug(). Bytes written without a connection are lost.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.plugged = True
        self.on_modem_line: SwitchModemLine | None = None  # never called
        self.on_open: Callable[[], None] | None = None
        self.on_close: Callable[[], None] | None = None
        self._stream: Transport | None = None
        self._stalled = False

    @property
    def serving(self) -> bool:
        return self._stream is not None

    def start(self, on_data: DeviceHandler) -> None:
        self._on_data = on_data

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        """Do nothing: TCP has no baud rate."""

    def write(self, data: bytes) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(data)
        except PortError:  # the peer does not read, or has gone
            asyncio.get_running_loop().call_soon(self._lost, self._stream)

    def stall(self) -> None:
        self._stalled = True
        if self._stream is not None:
            self._stream.pause_reading()

    def unstall(self) -> None:
        self._stalled = False
        if self._stream is not None:
            self._stream.resume_reading()

    def hang_up(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
            if self.on_close is not None:
                self.on_close()

    def unplug(self) -> None:
        self.plugged = False
        self.hang_up()

    def plug(self) -> None:
        self.plugged = True

    def close(self) -> None:
        self.unplug()

    def connected(self, stream: Transport) -> None:
        self._stream = stream
        if self.on_open is not None:
            self.on_open()
        if self._stream is stream:
            if self._stalled:
                stream.pause_reading()
            stream.start(self._received, lambda error: self._lost(stream))

    def _received(self, data: bytes) -> None:
        if self._on_data is not None:
            self._on_data(data, None)

    def _lost(self, stream: Transport) -> None:
        if self._stream is stream:
            self.hang_up()


class _ListeningDevice(TcpDevice):
    def __init__(self, host: str, port: int, new_listener: Listen = TcpListener) -> None:
        super().__init__(format_address(host, port))
        self._listener = new_listener(host, port, self._accept)
        self._listens = asyncio.Lock()
        self._is_listening = False

    @property
    def port(self) -> int:
        return self._listener.port

    async def listen(self) -> tuple[str, int]:
        """Listen from the first call on; return host and actual port, as `path` has them then.

        Raises:
            PortError: the address cannot be used.
        """
        async with self._listens:
            if not self._is_listening:
                await self._listener.start()
                self._is_listening, self.path = True, self._listener.where
        return self._listener.host, self._listener.port

    def close(self) -> None:
        self._listener.close()
        super().close()

    def _accept(self, stream: Transport, peer: str) -> None:
        raise NotImplementedError


class TcpServerDevice(_ListeningDevice):
    """A device that listens and serves one client; any other connection is closed at once."""

    def _accept(self, stream: Transport, peer: str) -> None:
        if self.plugged and self._stream is None:
            self.connected(stream)
        else:
            stream.close()


class TcpListenerDevice(_ListeningDevice):
    """A device that listens and serves many clients: each gets a device of its own.

    on_client gets that device, and returns once it is in use. Has no connection of its own.
    """

    def __init__(self, host: str, port: int, new_listener: Listen = TcpListener) -> None:
        super().__init__(host, port, new_listener)
        self.on_client: Callable[[ConnectionSide], None] | None = None
        self._clients: list[TcpDevice] = []

    def unplug(self) -> None:
        super().unplug()
        for client in self._clients:
            client.unplug()
        self._clients.clear()

    def _accept(self, stream: Transport, peer: str) -> None:
        self._clients = [client for client in self._clients if client.serving]
        if not self.plugged or self.on_client is None or len(self._clients) >= MOST_CLIENTS:
            stream.close()
            return
        client = TcpDevice(peer)
        self._clients.append(client)
        self.on_client(client)
        client.connected(stream)


class TcpClientDevice(TcpDevice):
    """A device that connects with `connect`, and retries every `retry_s`, also after each loss."""

    def __init__(self, retry_s: float, connect: Connect = connect_tcp) -> None:
        super().__init__("not connected")
        self._retry_s = retry_s
        self._connect = connect
        self._task: asyncio.Task[None] | None = None

    def aim(self, host: str, port: int) -> None:
        """Start connecting to this address."""
        self.path = format_address(host, port)
        self._task = asyncio.get_running_loop().create_task(self._keep_connected(host, port))

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        super().close()

    async def _keep_connected(self, host: str, port: int) -> None:
        while True:
            if self.plugged and self._stream is None:
                try:
                    stream = await self._connect(host, port)
                except PortError:
                    pass  # no server yet
                else:
                    self.connected(stream) if self.plugged else stream.close()
            await asyncio.sleep(self._retry_s)
