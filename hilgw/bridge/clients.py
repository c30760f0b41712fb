"""The TCP clients of a bridge: all receive, one writes, and a slow one does not stop the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hilgw.bridge.flow import (
    CLIENT_GONE,
    CLIENT_SLOW,
    NO_CLIENT,
    NOT_WRITER,
    Flow,
    NewReframer,
    Reframer,
    read_in_turns,
)
from hilgw.bridge.port import HIGH_WATER_BYTES
from hilgw.errors import PortError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.bridge.port import BridgePort
    from hilgw.transports.base import Handle, Scheduler, Transport

WriterRule = Literal["first", "last", "all"]
WRITER_RULES: tuple[WriterRule, ...] = ("first", "last", "all")
MAX_CLIENTS = 64
# A client that does not keep up pauses the port for this time, then it is disconnected. A single
# client may be slower, as long as it receives something within the longer time.
PATIENCE_NS = 1_000_000_000
PATIENCE_ALONE_NS = 10_000_000_000
LOOK_NS = 100_000_000
# The send buffer of the kernel for one client. With its default of megabytes a client that receives
# nothing would look like a slow one for a long time.
SEND_BUFFER_BYTES = 65536
# TCP does not distinguish a client that has only finished sending from one that is gone, until data
# is sent to it. A client that has finished and receives nothing for this time is disconnected.
HALF_CLOSED_NS = 10_000_000_000


class Client:
    """One connection."""

    def __init__(self, stream: Transport, peer: str, clients: Clients) -> None:
        self.stream = stream
        self.peer = peer
        self.writes = False
        self.finished = False  # it has closed its sending direction
        self.sent_bytes = 0
        self.reframer: Reframer | None = None
        self._clients = clients

    def received(self, data: bytes) -> None:
        clients = self._clients
        clients.to_port.received_bytes += len(data)
        if self.reframer is not None:
            self.reframer.feed(data)
        elif self.writes:
            clients.port.write(data)
        else:
            clients.to_port.dropped[NOT_WRITER] += len(data)

    def pass_on(self, data: bytes) -> None:
        """Writes a whole frame to the port, if this client is a writer."""
        if self.writes:
            self._clients.port.write(data)
        else:
            self._clients.to_port.dropped[NOT_WRITER] += len(data)


class _Waiting:
    """Since when a client pauses the port, and when it last received something."""

    def __init__(self, pending: int, now: int) -> None:
        self.pending = pending
        self.since = now
        self.progress = now


class Clients:
    """All connections of a bridge. inform, warn: receive messages for the user."""

    def __init__(
        self,
        scheduler: Scheduler,
        port: BridgePort,
        to_port: Flow,
        from_port: Flow,
        *,
        rule: WriterRule,
        new_reframer: NewReframer | None,
        inform: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self.port = port
        self.to_port = to_port
        self.from_port = from_port
        self.accepted = 0
        self.refused = 0
        self.slow = 0
        self._scheduler = scheduler
        self._rule = rule
        self._new_reframer = new_reframer
        self._inform = inform
        self._warn = warn
        self._clients: tuple[Client, ...] = ()
        self._waiting: dict[Client, _Waiting] = {}
        self._look: Handle | None = None
        self._paused = False

    def __len__(self) -> int:
        return len(self._clients)

    # --- coming and going -------------------------------------------------------------------------

    def add(self, stream: Transport, peer: str) -> None:
        if len(self) >= MAX_CLIENTS and not self._disconnect_a_finished_one():
            self.refused += 1
            stream.close()
            self._warn(f"client {peer} refused: {MAX_CLIENTS} clients are connected")
            return
        client = Client(stream, peer, self)
        if self._new_reframer is not None:
            client.reframer = self._new_reframer(self.to_port, client.pass_on)
            read_in_turns(stream)
        stream.on_half_close = lambda: self._finish(client)
        stream.on_drained = lambda: self._stop_waiting(client)
        if self._paused:
            stream.pause_reading()
        self.accepted += 1
        self._clients += (client,)
        self._elect()
        stream.start(client.received, lambda error: self._remove(client, error.what))
        self._inform(f"client {peer} connected{'' if client.writes else ', receives only'}")

    def close(self) -> None:
        for client in self._clients:
            self._close_stream(client, CLIENT_GONE)
        self._clients = ()
        self._waiting.clear()
        if self._look is not None:
            self._look.cancel()

    def _close_stream(self, client: Client, reason: str) -> None:
        """Closes a stream; its unsent bytes are dropped for this reason."""
        client.stream.close()
        self.from_port.take_back(client.stream.unsent, reason)

    def _remove(self, client: Client, why: str, reason: str = CLIENT_GONE) -> None:
        if client not in self._clients:
            return
        self._close_stream(client, reason)
        self._clients = tuple(each for each in self._clients if each is not client)
        if client.reframer is not None:
            client.reframer.reset()
        self._stop_waiting(client)
        self._elect()
        if not client.finished:
            self._inform(f"client {client.peer} left: {why}")

    def _elect(self) -> None:
        """Selects the writers among clients that still send: the first, the last, or all."""
        able = [client for client in self._clients if not client.finished]
        chosen = {"first": able[:1], "last": able[-1:], "all": able}[self._rule]
        for client in self._clients:
            client.writes = client in chosen

    def _finish(self, client: Client) -> None:
        """The client has closed its sending direction; it may still expect an answer."""
        self._inform(f"client {client.peer} finished sending")
        client.finished = True
        if client.reframer is not None:
            client.reframer.reset()
        self._elect()
        self._disconnect_when_idle(client, -1)

    def _disconnect_when_idle(self, client: Client, sent_bytes: int) -> None:
        if client.sent_bytes == sent_bytes and not client.stream.pending:
            self._remove(client, "it had finished sending")
        elif client in self._clients:
            sent = client.sent_bytes
            self._scheduler.call_at(
                self._scheduler.now() + HALF_CLOSED_NS,
                lambda: self._disconnect_when_idle(client, sent),
            )

    def _disconnect_a_finished_one(self) -> bool:
        for client in self._clients:
            if client.finished:
                self._remove(client, "it had finished sending")
                return True
        return False

    # --- from the port to all ---------------------------------------------------------------------

    def broadcast(self, data: bytes) -> None:
        clients = self._clients
        flow = self.from_port
        if not clients:
            flow.dropped[NO_CLIENT] += len(data)
        for client in clients:
            stream = client.stream
            try:
                stream.write(data)
            except PortError as error:
                if error.reason == PortError.LOST:  # the stream reports the loss itself
                    flow.dropped[CLIENT_GONE] += len(data)
                else:
                    self._disconnect_slow(client, len(data))
                continue
            client.sent_bytes += len(data)
            flow.sent_bytes += len(data)
            if stream.pending > HIGH_WATER_BYTES and client not in self._waiting:
                self._wait_for(client)

    def _wait_for(self, client: Client) -> None:
        """Pauses reading the port until this client has caught up or is disconnected."""
        now = self._scheduler.now()
        self._waiting[client] = _Waiting(client.stream.pending, now)
        self.port.hold()
        if self._look is None:
            self._look = self._scheduler.call_at(now + LOOK_NS, self._look_at_waiting)

    def _stop_waiting(self, client: Client) -> None:
        if self._waiting.pop(client, None) is not None and not self._waiting:
            self.port.release()

    def _look_at_waiting(self) -> None:
        self._look = None
        now = self._scheduler.now()
        for client, waiting in list(self._waiting.items()):
            pending = client.stream.pending
            if pending < waiting.pending:
                waiting.pending, waiting.progress = pending, now
            if len(self._clients) == 1:
                expired = now - waiting.progress >= PATIENCE_ALONE_NS
            else:
                expired = now - waiting.since >= PATIENCE_NS
            if expired:
                self._disconnect_slow(client, 0)
        if self._waiting:
            self._look = self._scheduler.call_at(now + LOOK_NS, self._look_at_waiting)

    def _disconnect_slow(self, client: Client, refused_bytes: int) -> None:
        lost = client.stream.pending + refused_bytes
        self.slow += 1
        if refused_bytes:
            self.from_port.dropped[CLIENT_SLOW] += refused_bytes
        self._remove(client, "too slow", CLIENT_SLOW)
        self._warn(f"client {client.peer} disconnected: too slow, {lost} B unsent")

    # --- from the clients to the port -------------------------------------------------------------

    def pause(self) -> None:
        """The port is full: stops reading from all clients."""
        self._paused = True
        for client in self._clients:
            client.stream.pause_reading()

    def resume(self) -> None:
        self._paused = False
        for client in self._clients:
            client.stream.resume_reading()
