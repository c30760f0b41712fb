"""Finds known hardware on serial ports with the handshakes of the adapters, which only read.

Each probe opens the port at one baud rate, runs the session until it is Ready or Failed, and closes
the port. Sessions that can discover their network do so.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from hilgw.adapters.base import (
    Event,
    Failed,
    NetworkSession,
    Node,
    Probe,
    Ready,
    SearchableAdapter,
    SearchEnded,
    StationSettings,
    Write,
)
from hilgw.errors import HilgwError, MismatchError, PortError
from hilgw.transports.base import LineSettings, Scheduler, Transport, Wakeup
from hilgw.transports.serial.port import open_serial

PROBE_S = 12.0  # two guard times: a module in its factory state answers after them
SEARCH_S = 30.0


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """Hardware that answered. problem: what must be fixed before it can be used."""

    port: str
    kind: str
    baudRate: int
    identity: str = ""
    problem: str = ""
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Try:
    """The next probe, to show progress: the n-th (`number`) of `count` of this port."""

    port: str
    kind: str
    baudRate: int
    number: int
    count: int
    variant: str = ""

    def __str__(self) -> str:
        kind = f"{self.kind}, {self.variant}," if self.variant else self.kind
        return f"{kind} at {self.baudRate}? try {self.number} of {self.count}"


class _Run:
    """A session on one open transport, until it has identified the hardware."""

    def __init__(self, session: Any, transport: Transport, scheduler: Scheduler) -> None:
        self.result: asyncio.Future[Ready | HilgwError] = _future()
        self.searched: asyncio.Future[None] = _future()
        self.nodes: list[Node] = []
        self.session = session
        self._transport = transport
        self._scheduler = scheduler
        self._wakeup = Wakeup(scheduler, lambda _: self._handle(session.expire(scheduler.now())))

    def start(self) -> None:
        self._transport.start(self._receive, self._lost)
        self._handle(self.session.open(self._scheduler.now()))

    def search(self) -> None:
        self._handle(self.session.discover(self._scheduler.now()))

    def close(self) -> None:
        self._wakeup.set(None)
        self.session.close()
        self._transport.close()

    def _receive(self, data: bytes) -> None:
        self._handle(self.session.receive(data, self._scheduler.now()))

    def _lost(self, error: PortError) -> None:
        _settle(self.result, error)
        _settle(self.searched, None)

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Write(data):
                    try:
                        self._transport.write(data)
                    except PortError as error:
                        _settle(self.result, error)
                case Ready():
                    _settle(self.result, event)
                case Failed(error):
                    _settle(self.result, error)
                case Node():
                    self.nodes.append(event)
                case SearchEnded():
                    _settle(self.searched, None)
        self._wakeup.set(self.session.next_deadline())


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def _settle(future: asyncio.Future[Any], result: object) -> None:
    if not future.done():
        future.set_result(result)


async def scan_port(
    port: str,
    adapters: Iterable[SearchableAdapter],
    scheduler: Scheduler,
    *,
    usb: tuple[int, int] | None = None,
    rates: tuple[int, ...] = (),
    network: bool = True,
) -> AsyncIterator[Try | FoundDevice]:
    """Yield each try before it starts, and the hardware found, which ends the scan.

    The likeliest rate of each adapter comes before the second of any. With `rates`, only these are
    tried.

    Raises:
        PortError: the port cannot be opened.
    """
    tries = [
        (rank, adapter, probe, rate)
        for adapter in adapters
        for rank, (probe, rate) in enumerate(_rates_of(adapter, usb))
        if not rates or rate in rates
    ]
    tries.sort(key=lambda each: each[0])
    for number, (_, adapter, probe, rate) in enumerate(tries, 1):
        yield Try(port, adapter.kind, rate, number, len(tries), probe.variant)
        answer = await _probe(port, adapter, probe.settings, rate, scheduler, network)
        if answer is not None:
            yield answer
            return


def _rates_of(adapter: SearchableAdapter, usb: tuple[int, int] | None) -> list[tuple[Probe, int]]:
    return [
        (probe, rate)
        for probe in adapter.probes
        if not probe.usb or usb in probe.usb
        for rate in probe.rates
    ]


async def _probe(
    port: str,
    adapter: SearchableAdapter,
    settings: Any,
    rate: int,
    scheduler: Scheduler,
    network: bool,
) -> FoundDevice | None:
    common = StationSettings(port=port, baudRate=rate)
    transport = await open_serial(port, LineSettings(baudRate=rate), scheduler)
    run = _Run(adapter.session(settings, common), transport, scheduler)
    try:
        run.start()
        try:
            result = await asyncio.wait_for(run.result, PROBE_S)
        except TimeoutError:
            return None
        if isinstance(result, MismatchError):
            return FoundDevice(port, adapter.kind, rate, problem=str(result))
        if isinstance(result, HilgwError):
            return None
        if network and isinstance(run.session, NetworkSession):
            run.search()
            await asyncio.wait({run.searched}, timeout=SEARCH_S)
        return FoundDevice(port, adapter.kind, rate, result.identity, nodes=tuple(run.nodes))
    finally:
        run.close()
        await transport.wait_closed()
