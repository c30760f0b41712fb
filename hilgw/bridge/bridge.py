"""A bridge between a serial port and TCP, on the same data path as the gateway.

The callback of the event loop writes bytes from one descriptor to the others: no task, no queue and
no future per packet. With a framing only valid frames pass.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hilgw.bridge.clients import (
    MAX_CLIENTS,
    SEND_BUFFER_BYTES,
    Clients,
    WriterRule,
)
from hilgw.bridge.flow import NewReframer, Reframer
from hilgw.bridge.line import PortLine
from hilgw.bridge.port import BridgePort
from hilgw.bridge.rfc2217 import Rfc2217Stream
from hilgw.engine.lines import Lines, Port
from hilgw.engine.observer import Observer, State
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import PeerError
from hilgw.framing.base import TURN_BYTES, Framing
from hilgw.transports.base import LineSettings, Scheduler, Transport
from hilgw.transports.tcp.listener import ListenerLimits, TcpListener

NAME = "port"  # the name of the port in messages
STOP_S = 1.5
# Listening begins after the first attempt to open the port has ended, or after this time: clients
# then receive bytes of the device from the start.
FIRST_TRY_S = 1.0
LIMITS = ListenerLimits(
    # One more: Clients decides which connection ends for a new one.
    clients=MAX_CLIENTS + 1,
    per_address=MAX_CLIENTS + 1,
    kernel_bytes=SEND_BUFFER_BYTES,
    # Clients disconnects a client that does not read, a single one after 10 s; the kernel must not
    # be faster.
    silent_ms=12_000,
)


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """Port and TCP addresses of a bridge.

    pace: bytes from TCP leave at the line rate. rfc2217: host and TCP port for clients that set the
    line. idle_s: a client without traffic for this time is disconnected.
    """

    port: str
    host: str
    tcp_port: int
    line: LineSettings = LineSettings()
    writer: WriterRule = "first"
    pace: bool = False
    rfc2217: tuple[str, int] | None = None
    idle_s: float | None = None


class Bridge(Observer):
    """The bridge.

    open_port, identity: see `hilgw.engine.lines.Port`. new_framing: None for raw bytes. observer:
    receives states of the port, and warnings. inform: receives other messages.
    """

    def __init__(
        self,
        settings: BridgeSettings,
        scheduler: Scheduler,
        *,
        open_port: Callable[[], Awaitable[Transport]],
        identity: Callable[[], object | None],
        observer: Observer,
        new_framing: Callable[[], Framing] | None = None,
        inform: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.settings = settings
        self.on_ready: Callable[[], None] | None = None
        self._scheduler = scheduler
        self._observer = observer
        self._inform = inform
        self._tried = asyncio.Event()
        self._listening = False
        self._started_ns = scheduler.now()
        new_reframer = None if new_framing is None else partial(Reframer, new_framing, scheduler)
        self._port = BridgePort(NAME, settings.line)
        self._clients = Clients(
            scheduler,
            self._port,
            rule=settings.writer,
            new_reframer=new_reframer,
            inform=inform,
            warn=lambda text: observer.notice("tcp", text),
            idle_ns=None if settings.idle_s is None else round(settings.idle_s * 1e9),
        )
        self.to_serial, self.to_tcp = self._port.flow, self._clients.from_port
        self._connect_port(new_reframer)
        self._line = PortLine(
            settings.line,
            scheduler,
            on_line=self._line_changed,
            waiting_bytes=lambda: self._port.waiting_bytes,
            notify=lambda text: observer.notice(NAME, text),
        )
        self._port.on_attached, self._port.on_detached = self._line.attach, self._line.detach
        self._listener = TcpListener(
            settings.host, settings.tcp_port, self._clients.add, limits=LIMITS
        )
        self._rfc2217: TcpListener | None = None
        self._listeners = [self._listener]
        if settings.rfc2217 is not None:
            self._rfc2217 = TcpListener(*settings.rfc2217, self._add_rfc2217, limits=LIMITS)
            self._listeners.append(self._rfc2217)
        # Flow control of a device may pause the port without a limit.
        port = Port(settings.port, open_port, identity, stall_s=None)
        self.supervisor = Supervisor(
            self._port, port, Lines(self, scheduler.now), jitter=random.Random()
        )

    def _connect_port(self, new_reframer: NewReframer | None) -> None:
        if self.settings.pace:
            self._port.pace(self._scheduler, self.settings.line)
        pass_on = self._clients.broadcast
        if new_reframer is not None:
            reframer = new_reframer(self.to_tcp, pass_on)
            pass_on, self._port.on_lost = reframer.feed, reframer.reset
            self._port.framed = True
        flow = self.to_tcp

        def on_data(data: bytes) -> None:
            flow.received_bytes += len(data)
            pass_on(data)

        self._port.data_received = on_data

    def _add_rfc2217(self, stream: Transport, peer: str) -> None:
        if self._port.framed:
            stream.read_bytes = TURN_BYTES  # at a time, for the framing
        telnet = Rfc2217Stream(
            stream,
            self._port,
            self._line,
            on_refused=lambda: self._inform(
                f"client {peer} sets nothing: only a writer sets the line (--writer)"
            ),
            on_raw=lambda: self._observer.notice(
                "tcp",
                f"client {peer} sends no telnet to the address of RFC 2217, which swallows its 0xFF"
                f" bytes and more; connect it to {self.where}",
            ),
        )
        client = self._clients.add(telnet, peer, telnet=True)
        if client is not None:
            telnet.may_set = lambda: client.writes
            telnet.writer = client

    def _line_changed(self, line: LineSettings) -> None:
        self._port.set_line(line)
        self._inform(f"the line is set to {line}{' with RTS/CTS' if line.rtscts else ''}")

    # --- life -------------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        """HOST:PORT, with the actual port."""
        return self._listener.where

    async def run(self, stop: asyncio.Event, duration_s: float | None = None) -> None:
        """Run until `stop` is set or the duration ends; raise the first fatal error.

        Raises:
          PeerError: the port was never up; or the last error of the port.
        """
        self._started_ns = self._scheduler.now()
        loop = asyncio.get_running_loop()
        supervising = asyncio.create_task(self.supervisor.run())
        stopping = asyncio.create_task(stop.wait())
        end = None if duration_s is None else loop.time() + duration_s
        try:
            await self._start_listening(supervising, stopping)
            left = None if end is None else max(0.0, end - loop.time())
            await asyncio.wait(
                {supervising, stopping}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if supervising.done():
                supervising.result()
        finally:
            await self._stop(supervising, stopping)
        if not stop.is_set() and not self.supervisor.was_up:
            raise self.supervisor.last_error or PeerError(
                "the port was never up", where=self.settings.port
            )

    async def _start_listening(self, *ends: asyncio.Task[Any]) -> None:
        tried = asyncio.create_task(self._tried.wait())
        await asyncio.wait({tried, *ends}, timeout=FIRST_TRY_S, return_when=asyncio.FIRST_COMPLETED)
        tried.cancel()
        if any(end.done() for end in ends):
            return
        for listener in self._listeners:
            await listener.start()
        self._listening = True
        self._inform(f"listening on {self.where}")
        if self._rfc2217 is not None:
            url = f"rfc2217://{self._rfc2217.where}"
            self._clients.telnet_fix = f"connect it to {url}"
            self._inform(f"listening on {url}")
        self._check_ready()

    async def _stop(self, *tasks: asyncio.Task[Any]) -> None:
        for listener in self._listeners:
            listener.close()
        self._clients.close()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=STOP_S)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # raised already, or of a task that ended late

    def _check_ready(self) -> None:
        if self._listening and self.supervisor.state is State.UP and self.on_ready is not None:
            on_ready, self.on_ready = self.on_ready, None
            on_ready()

    # --- the supervisor calls these ---------------------------------------------------------------

    def state(self, station: str, state: State, reason: str) -> None:
        self._observer.state(station, state, reason)
        if state not in (State.OPENING, State.HANDSHAKE):
            self._tried.set()
        self._check_ready()

    def notice(self, source: str, text: str) -> None:
        self._observer.notice(source, text)

    # --- report ----------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Return the statistics of the run: plain JSON types."""
        clients, supervisor = self._clients, self.supervisor
        return {
            "duration_s": round((self._scheduler.now() - self._started_ns) / 1e9, 3),
            "port": {
                "path": self.settings.port,
                "line": self._port.identity,
                "state": supervisor.state.value,
                "reason": supervisor.reason,
                "opened": supervisor.opened,
                "ups": supervisor.ups,
                "waiting_bytes": self._port.waiting_bytes,
            },
            "listen": self.where,
            **({} if self._rfc2217 is None else {"rfc2217": self._rfc2217.where}),
            "clients": {
                "connected": len(clients),
                "paused": clients.paused,
                "slow": clients.waiting,
                "accepted": clients.accepted,
                "refused": clients.refused + sum(each.refused for each in self._listeners),
                "too_slow": clients.slow,
                "each": clients.reports(),
            },
            "to_serial": self._port.report(),
            "to_tcp": clients.report(),
        }
