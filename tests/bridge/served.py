"""A bridge in a thread of its own, on a recorded port: for clients that block, as pyserial's."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import serial

from hilgw.bridge.bridge import Bridge, BridgeSettings
from hilgw.engine.event_loop.direct_loop import DirectLoop
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import FakeTransport, Recorder, until
from hilgw.transports.base import LineSettings, ModemState, Transport

Call = tuple[Any, ...]


class RecordedPort(FakeTransport):
    """A serial port with modem lines whose plug connects TxD to RxD, RTS to CTS, DTR to DSR.

    calls: what reached it, in order. stalled: it accepts no bytes. refuses: a line that its driver
    does not accept.
    """

    def __init__(self) -> None:
        super().__init__("recorded")
        self.calls: list[Call] = []
        self.inputs = ModemState(cts=False, dsr=False, ri=False, cd=False)
        self.refuses: LineSettings | None = None

    def write(self, data: bytes) -> None:
        if self.stalled:
            super().write(data)
            return
        self.calls.append(("data", data))
        asyncio.get_running_loop().call_soon(self.send, data)

    def wake(self) -> None:
        """The device accepts bytes again."""
        self.stalled = False
        rest = self.take_unsent()
        if rest:
            self.calls.append(("data", rest))
        self.accept()

    def set_modem_line(self, name: str, on: bool) -> None:
        self.calls.append((name, on))
        self.inputs = replace(self.inputs, **{{"rts": "cts", "dtr": "dsr"}[name]: on})

    def set_line(self, line: LineSettings) -> None:
        if line == self.refuses:
            raise PortError("the driver does not accept it", reason=PortError.UNSUPPORTED)
        self.calls.append(("line", str(line), line.rtscts))

    def set_break(self, on: bool) -> None:
        self.calls.append(("break", on))

    def purge(self, *, received: bool, to_send: bool) -> int:
        self.calls.append(("purge", received, to_send))
        return 0

    def modem_state(self) -> ModemState:
        return self.inputs


@contextmanager
def client_of(url: str, **settings: Any) -> Iterator[Any]:
    """pyserial's client, open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Thread.setDaemon, in pyserial 3.5
        port = serial.serial_for_url(f"{url}?timeout=30", timeout=30, **settings)
    try:
        yield port
    finally:
        port.close()


class Served:
    """A running bridge on this port, with both listeners, seen from outside of its thread."""

    def __init__(self, port: Transport | None = None) -> None:
        self.port = port or RecordedPort()
        self._thread = threading.Thread(target=self._run)
        self.log = Recorder()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.bridge: Bridge

    @property
    def calls(self) -> list[Call]:
        assert isinstance(self.port, RecordedPort)
        return self.port.calls

    @property
    def clients(self) -> dict[str, Any]:
        clients: dict[str, Any] = self.bridge.report()["clients"]
        return clients

    @property
    def line(self) -> str:
        return str(self.bridge.report()["port"]["line"])

    @property
    def url(self) -> str:
        return f"rfc2217://{self.bridge.report()['rfc2217']}"

    def address(self, url: str) -> tuple[str, int]:
        host, _, port = url.rpartition("/")[2].rpartition(":")
        return host, int(port)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=DirectLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        timer = Timer(self._loop)

        async def open_port() -> Transport:
            return self.port

        here = ("127.0.0.1", 0)
        self.bridge = Bridge(
            BridgeSettings("recorded", *here, LineSettings(115200), rfc2217=here),
            timer,
            open_port=open_port,
            identity=lambda: 1,
            observer=self.log,
            inform=self.log.lines.append,
        )
        self.bridge.on_ready = self._ready.set
        try:
            await self.bridge.run(self._stop)
        finally:
            timer.close()

    def ask(self, function: Callable[[], Any]) -> Any:
        """Calls it in the event loop of the bridge."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(60)

    def wait_for(self, condition: Callable[[], object]) -> None:
        asyncio.run_coroutine_threadsafe(until(condition), self._loop).result(60)

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
