"""What the bridge's tests share: a device that can be unplugged, clients, fake clocks, ledgers."""

import asyncio
import os
import socket
import tty
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilgw.bridge.bridge import Bridge, BridgeSettings
from hilgw.bridge.clients import Clients
from hilgw.bridge.port import BridgePort
from hilgw.discovery.ports import port_identity
from hilgw.engine.event_loop.direct_loop import DirectLoop
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.framing import create
from hilgw.protocols.rfc2217 import COM_PORT, IAC, SB, SE
from hilgw.testing.sim import Clock, FakeTransport, Recorder, until
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
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


DIRECTIONS = ("to_serial", "to_tcp")


def command(*octets: int) -> bytes:
    """A command of RFC 2217."""
    return bytes((IAC, SB, COM_PORT, *octets, IAC, SE))


def violations(report: dict[str, Any]) -> list[str]:
    """The equations that do not hold, and the counts that are negative."""
    ledgers = {name: report[name] for name in DIRECTIONS}
    for client in report["clients"]["each"]:
        ledgers |= {f"{client['peer']} {name}": client[name] for name in DIRECTIONS}
    return [f"{name}: {ledger}" for name, ledger in ledgers.items() if not _holds(ledger)]


def _holds(ledger: dict[str, Any]) -> bool:
    known = [ledger["sent_bytes"], ledger["queued_bytes"], *ledger["dropped"].values()]
    return ledger["accepted_bytes"] == sum(known) and min(known) >= 0


class BridgeBench:
    """The clients of a bridge and its port, on a clock of the test."""

    def __init__(
        self, rule: Any = "first", *, pace: bool = False, stalled: bool = False, **more: Any
    ) -> None:
        self.scheduler = Clock()
        self.reported: list[str] = []
        self.warned: list[str] = []
        line = LineSettings(115200)
        self.port = BridgePort("port", line)
        if pace:
            self.port.pace(self.scheduler, line)
        self.clients = Clients(
            self.scheduler,
            self.port,
            rule=rule,
            new_reframer=None,
            inform=self.reported.append,
            warn=self.warned.append,
            **more,
        )
        self.to_port, self.from_port = self.port.flow, self.clients.from_port
        self.device = FakeTransport()
        self.device.stalled = stalled
        self.port.attach(self.device)
        self._number = 1000

    def client(self, host: str = "127.0.0.1") -> FakeTransport:
        stream = FakeTransport()
        self._number += 1
        self.clients.add(stream, f"{host}:{self._number}")
        return stream

    def wait(self, ns: int) -> None:
        self.scheduler.run(ns)

    @property
    def adds_up(self) -> bool:
        ledgers = {"to_serial": self.port.report(), "to_tcp": self.clients.report()}
        return not violations({**ledgers, "clients": {"each": self.clients.reports()}})
