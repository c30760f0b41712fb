"""What the bridge's tests share: a device on a pty that can be unplugged, clients, a bridge."""

import asyncio
import os
import socket
import tty
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilgw.bridge.bridge import Bridge, BridgeSettings
from hilgw.discovery.ports import port_identity
from hilgw.engine.event_loop.direct_loop import DirectLoop
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.framing import create
from hilgw.testing.sim import Recorder, until
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from tests.bridge.bench import violations
from tests.transports.rig import received_by, waiting

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "direct": DirectLoop,
}


class Device:
    """Hardware at the other end of a serial port: a pty under a name that comes and goes."""

    def __init__(self, link: Path, *, plugged: bool = True) -> None:
        self.link = link
        self.master = self.slave = -1
        if plugged:
            self.plug()

    def plug(self) -> None:
        master, slave = os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        self._close_slave()
        self.master, self.slave = master, slave
        self.link.symlink_to(os.ttyname(slave))

    def unplug(self) -> None:
        self.link.unlink()
        os.close(self.master)
        self.master = -1

    def read(self) -> bytes:
        return waiting(lambda size: os.read(self.master, size))

    def write(self, data: bytes) -> int:
        """How much the line took."""
        try:
            return os.write(self.master, data)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        if self.master >= 0:
            self.unplug()
        self._close_slave()

    def _close_slave(self) -> None:
        slave, self.slave = self.slave, -1
        if slave >= 0:
            os.close(slave)


class Client:
    """A TCP client that keeps what it reads."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.data = bytearray()
        self.ended = False
        self._task: asyncio.Task[None] | None = None

    def start_reading(self) -> None:
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with suppress(ConnectionError):
            while data := await self.reader.read(65536):
                self.data += data
        self.ended = True

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self.writer.transport.abort()
        await asyncio.sleep(0)


class Rig:
    """A running bridge between a Device and as many clients as wanted."""

    def __init__(self, device: Device, timer: Timer, frame: str | None, **settings: Any) -> None:
        self.device = device
        self._framed = frame is not None
        self.log = Recorder()
        self.clients: list[Client] = []
        line = settings.pop("line", LineSettings(115200))
        self.bridge = Bridge(
            BridgeSettings(str(device.link), "127.0.0.1", 0, line, **settings),
            timer,
            open_port=lambda: open_serial(str(device.link), line, timer),
            identity=lambda: port_identity(str(device.link)),
            observer=self.log,
            new_framing=None if frame is None else lambda: create(frame),
            inform=self.log.lines.append,
        )
        self._stop = asyncio.Event()
        self._received = bytearray()
        self._task = asyncio.create_task(self.bridge.run(self._stop))

    @property
    def report(self) -> dict[str, Any]:
        """Whenever a test looks, the ledger adds up; with a framing it counts frames, too."""
        report = self.bridge.report()
        assert self._framed or violations(report) == []
        return report

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bridge.where.rpartition(":")
        return host, int(port)

    async def listening(self) -> None:
        await until(lambda: any(text.startswith("listening") for text in self.log.lines))

    async def client(self, *, reading: bool = True, receive_bytes: int | None = None) -> Client:
        """A client that the bridge has registered when this returns. receive_bytes: size of its
        buffer in the kernel, to make it slow."""
        count = self.report["clients"]["accepted"]
        connection = socket.socket()
        connection.setblocking(False)
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        await asyncio.get_running_loop().sock_connect(connection, self.address)
        client = Client(*await asyncio.open_connection(sock=connection, limit=1024))
        if reading:
            client.start_reading()
        self.clients.append(client)
        await until(lambda: self.report["clients"]["accepted"] > count)
        return client

    async def device_received(self, size: int) -> bytes:
        """The next `size` bytes at the device, exactly."""
        self._received += await received_by(self.device.read, size - len(self._received))
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    async def close(self) -> None:
        for client in self.clients:
            await client.close()
        self._stop.set()
        await self._task


def run_bridge(
    scenario: Callable[[Rig], Coroutine[Any, Any, None]],
    *,
    tmp_path: Path,
    loop: str = "direct",
    frame: str | None = None,
    plugged: bool = True,
    **settings: Any,
) -> None:
    """The scenario beside a running bridge; what is reported to the loop is a failure."""
    faults: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        timer = Timer(asyncio.get_running_loop())
        device = Device(tmp_path / "port", plugged=plugged)
        try:
            async with asyncio.timeout(120):
                rig = Rig(device, timer, frame, **settings)
                try:
                    await rig.listening()
                    await scenario(rig)
                finally:
                    await rig.close()
        finally:
            device.close()
            timer.close()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(main())
    assert not faults, faults


def run_bridge_on(
    scenario: Callable[[Rig], Coroutine[Any, Any, None]], *, loop: str, tmp_path: Path, **more: Any
) -> None:
    """Run the scenario on each kind of event loop in turn (fixture `loop`)."""
    run_bridge(scenario, tmp_path=tmp_path, loop=loop, **more)
