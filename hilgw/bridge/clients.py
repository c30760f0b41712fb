"""The TCP clients of a bridge: all receive, one writes, and a slow one does not stop the others."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from hilgw.bridge.backlog import StaleWatch
from hilgw.bridge.flow import (
    BridgeDropped,
    Flow,
    NewReframer,
    Reframer,
)
from hilgw.bridge.port import HIGH_WATER_BYTES, BridgePort
from hilgw.bridge.rfc2217 import Rfc2217Stream
from hilgw.errors import PortError
from hilgw.framing.base import TURN_BYTES
from hilgw.protocols.rfc2217 import begins_with_negotiation
from hilgw.transports.base import Scheduler, Transport, Wakeup

WriterRule = Literal["first", "last", "all"]
MAX_CLIENTS = 64
MAX_PER_ADDRESS = MAX_CLIENTS // 2
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
# A stream may begin with a piece of what looks like telnet commands: the rest comes within this
# time, or it is data, but for one whole command.
OPENING_NS = 100_000_000
# A live client acknowledges a probe each second. A gateway takes its connection for dead after 2 s
# without an acknowledgement, and connects again: the old one is as silent then.
DEAD_S = 1.5
REFUSED_QUIET_NS = 1_000_000_000  # between two messages about refused clients


class BridgeClient:
    """A connection."""

    def __init__(self, stream: Transport, peer: str, clients: "Clients", *, telnet: bool) -> None:
        self.stream = stream
        self.peer = peer
        self.writes = False
        self.ended = False  # it has closed its sending direction; bytes may still be unread
        self.finished = False  # it has, and all its bytes were read
        self.to_serial, self.to_tcp = Flow(), Flow()
        self.active_ns = 0
        self.reframer: Reframer | None = None
        self._clients = clients
        # A negotiation at the start of a raw stream is held until it is clear that it is none.
        self._opening = None if telnet else bytearray()

    @property
    def address(self) -> str:
        return self.peer.rpartition(":")[0]

    def received(self, data: bytes) -> None:
        if self._opening is not None:
            data = self._check_opening(data)
            if not data:
                return
        clients = self._clients
        clients.to_port.received_bytes += len(data)
        self.to_serial.received_bytes += len(data)
        if clients.idle_ns is not None:
            self.active_ns = clients.scheduler.now()
        if self.reframer is not None:
            self.reframer.feed(data)
        else:
            self.pass_on(data)

    def pass_on(self, data: bytes) -> None:
        """Write a whole frame to the port, if this client is a writer."""
        if self.writes:
            self._clients.port.write(data, self)
        else:
            self._clients.to_port.drop(BridgeDropped.NOT_WRITER, len(data))
            self.to_serial.drop(BridgeDropped.NOT_WRITER, len(data))

    def report(self) -> dict[str, Any]:
        """Return the bytes from and for this client."""
        stream, flow = self.stream, self.to_tcp
        queued = stream.pending + stream.unsent
        if isinstance(stream, Rfc2217Stream):
            queued = stream.pending_data
        return {
            "peer": self.peer,
            "to_serial": self._clients.port.report_of(self),
            "to_tcp": flow.ledger(queued, queued),
        }

    # --- telnet where it does not belong ----------------------------------------------------------

    def end_opening(self) -> None:
        """Pass on the held bytes: no more bytes follow that could make two negotiations of them."""
        held, self._opening = self._opening, None
        if held and begins_with_negotiation(bytes(held), silence=True):
            self._clients.refuse_telnet(self, len(held))
        elif held:
            self.received(bytes(held))

    def drop_opening(self) -> int:
        """Drop the bytes held; return their number."""
        held, self._opening = self._opening, None
        return 0 if held is None else len(held)

    def _check_opening(self, data: bytes) -> bytes:
        opening = self._opening or bytearray()
        if not opening:
            scheduler = self._clients.scheduler
            scheduler.call_at(scheduler.now() + OPENING_NS, self.end_opening)
        opening += data
        verdict = begins_with_negotiation(bytes(opening))
        self._opening = opening if verdict is None else None
        if verdict:
            self._clients.refuse_telnet(self, len(opening))
        return b"" if verdict is not False else bytes(opening)


class _Waiting:
    """The time since which a client pauses the port, and when it last received something."""

    def __init__(self, pending: int, now: int) -> None:
        self.pending = pending
        self.since = now
        self.progress = now


class Clients:
    """The connections of a bridge. inform, warn: receive messages for the user."""

    def __init__(
        self,
        scheduler: Scheduler,
        port: BridgePort,
        *,
        rule: WriterRule,
        new_reframer: NewReframer | None,
        inform: Callable[[str], None],
        warn: Callable[[str], None],
        idle_ns: int | None = None,
    ) -> None:
        port.on_full, port.on_room = self.pause, self.resume
        self.port = port
        self.to_port, self.from_port = port.flow, Flow()
        self.accepted = 0
        self.refused = 0
        self.slow = 0
        self.idle_ns = idle_ns
        self.scheduler = scheduler
        self.telnet_fix = "start the bridge with --rfc2217"
        self._rule = rule
        self._new_reframer = new_reframer
        self._inform = inform
        self._warn = warn
        self._clients: tuple[BridgeClient, ...] = ()
        self._waiting: dict[BridgeClient, _Waiting] = {}
        self._look = Wakeup(scheduler, lambda _: self._look_at_waiting())
        self.paused = False  # not read, because the device does not accept their bytes
        self._idle_look = Wakeup(scheduler, lambda _: self._look_at_idle())
        self._refusal_ns: int | None = None
        self._telnet_warned = False
        self._offered_bytes = 0  # to clients; counted once while there is none
        self._stale = StaleWatch[BridgeClient](
            scheduler, lambda: port.accepted_bytes, self._has_waiting, self._drop_stale
        )

    def __len__(self) -> int:
        return len(self._clients)

    @property
    def waiting(self) -> int:
        """The number of clients that the port waits for, because they do not read."""
        return len(self._waiting)

    # --- coming and going -------------------------------------------------------------------------

    def add(self, stream: Transport, peer: str, *, telnet: bool = False) -> BridgeClient | None:
        """Add a client; return None if it was refused.

        With `telnet` the stream handles telnet, so that a negotiation is expected.
        """
        client = BridgeClient(stream, peer, self, telnet=telnet)
        reason = self._no_room(client.address)
        if reason:
            self._refuse(client, reason)
            return None
        client.active_ns = self.scheduler.now()
        if self._new_reframer is not None:
            client.reframer = self._new_reframer(self.to_port, client.pass_on)
            stream.read_bytes = TURN_BYTES  # at a time, for the framing
        stream.on_half_close = lambda: self._finish(client)
        stream.on_peer_ended = lambda: self._end(client)
        stream.on_drained = lambda: self._stop_waiting(client)
        if self.paused:
            stream.pause_reading()
        self.accepted += 1
        place = self._leave_dead(client.address)
        self._clients = (*self._clients[:place], client, *self._clients[place:])
        self._elect()
        stream.start(client.received, lambda error: self._lose(client, error))
        self._inform(f"client {peer} connected{'' if client.writes else ', receives only'}")
        self._watch_idle()
        return client

    def _leave_dead(self, address: str) -> int:
        """Return the freed place of a client that has connected from this address.

        The place is that of its dead connection, which ends here, or the last one.
        """
        for place, client in enumerate(self._clients):
            if client.address == address and client.stream.silent_s > DEAD_S:
                reason = f"silent for {client.stream.silent_s:.1f} s, and its host connects again"
                self._lose(client, PortError(reason, reason=PortError.LOST))
                return place if self._rule == "first" else len(self._clients)
        return len(self._clients)

    def _no_room(self, address: str) -> str:
        same = [client for client in self._clients if client.address == address]
        if len(same) >= MAX_PER_ADDRESS and not self._disconnect_a_finished_one(same):
            return f"{MAX_PER_ADDRESS} clients from {address} are connected"
        if len(self) >= MAX_CLIENTS and not self._disconnect_a_finished_one(self._clients):
            return f"{MAX_CLIENTS} clients are connected"
        return ""

    def _refuse(self, client: BridgeClient, reason: str) -> None:
        self.refused += 1
        client.stream.close()
        now = self.scheduler.now()
        if self._refusal_ns is None or now - self._refusal_ns >= REFUSED_QUIET_NS:
            self._refusal_ns = now
            self._warn(f"client {client.peer} refused: {reason}")

    def refuse_telnet(self, client: BridgeClient, size: int) -> None:
        """Disconnect a client that starts with a negotiation: the device must not get it."""
        self.port.drop_held(size, BridgeDropped.TELNET, client)
        self._remove(client, "it uses telnet", BridgeDropped.CLIENT_GONE)
        if not self._telnet_warned:
            self._telnet_warned = True
            self._warn(f"client {client.peer} disconnected: it uses telnet; {self.telnet_fix}")

    def close(self) -> None:
        for client in self._clients:
            self._close_stream(client, BridgeDropped.CLIENT_GONE)
        self._clients = ()
        self._waiting.clear()
        self._stale.close()
        for look in (self._look, self._idle_look):
            look.set(None)

    def _close_stream(self, client: BridgeClient, reason: str) -> None:
        stream = client.stream
        stream.close()
        self.from_port.take_back(stream.unsent, reason)
        client.to_tcp.take_back(stream.unsent, reason)
        self._drop_unread(client, stream.unread + client.drop_opening())

    def _drop_unread(self, client: BridgeClient, size: int) -> None:
        if size:
            self.port.drop_held(size, BridgeDropped.WRITER_GONE, client)

    def _lose(self, client: BridgeClient, error: PortError) -> None:
        """Remove a client whose connection was lost, or that does not read its replies.

        A connection is lost if it was reset, or broke after the client had ended its direction.
        """
        if not client.ended:
            self.port.drop_from(client, BridgeDropped.WRITER_GONE)
        if error.reason == PortError.FULL:
            self.slow += 1
            self._remove(client, "too slow, it reads no replies", BridgeDropped.CLIENT_SLOW)
        else:
            self._remove(client, error.what)

    def _remove(
        self, client: BridgeClient, why: str, reason: str = BridgeDropped.CLIENT_GONE
    ) -> None:
        if client not in self._clients:
            return
        self._close_stream(client, reason)
        self._clients = tuple(each for each in self._clients if each is not client)
        if client.reframer is not None:
            client.reframer.reset()
        self._stop_waiting(client)
        self._elect()
        self._stale.watch(client)
        if not client.finished:
            self._inform(f"client {client.peer} left: {why}")

    def _elect(self) -> None:
        able = [client for client in self._clients if not client.finished]
        chosen = {"first": able[:1], "last": able[-1:], "all": able}[self._rule]
        for client in self._clients:
            client.writes = client in chosen

    def _end(self, client: BridgeClient) -> None:
        client.ended = True
        self._stale.watch(client)

    def _finish(self, client: BridgeClient) -> None:
        if client.finished:
            return
        client.end_opening()
        self._inform(f"client {client.peer} finished sending")
        client.ended = client.finished = True
        self._stale.watch(client)
        if client.reframer is not None:
            client.reframer.reset()
        self._elect()
        self._disconnect_when_idle(client, -1)

    def _disconnect_when_idle(self, client: BridgeClient, sent_bytes: int) -> None:
        if client.to_tcp.sent_bytes == sent_bytes and not client.stream.pending:
            self._remove(client, "it had finished sending")
        elif client in self._clients:
            sent = client.to_tcp.sent_bytes
            self.scheduler.call_at(
                self.scheduler.now() + HALF_CLOSED_NS,
                lambda: self._disconnect_when_idle(client, sent),
            )

    def _disconnect_a_finished_one(self, clients: Iterable[BridgeClient]) -> bool:
        for client in clients:
            if client.finished:
                self._remove(client, "it had finished sending")
                return True
        return False

    # --- clients that are gone, or idle -----------------------------------------------------------

    def _has_waiting(self, client: BridgeClient) -> bool:
        unread = client.ended and not client.finished and client in self._clients
        return unread or self.port.waiting_from(client) > 0

    def _drop_stale(self, client: BridgeClient) -> None:
        before = self.to_port.dropped[BridgeDropped.WRITER_GONE]
        if client in self._clients and not client.finished:
            self._drop_unread(client, client.stream.discard_received())
            self._finish(client)
        self.port.drop_from(client, BridgeDropped.WRITER_GONE)
        dropped = self.to_port.dropped[BridgeDropped.WRITER_GONE] - before
        self._warn(f"{dropped} B of client {client.peer} dropped: the device accepted nothing")

    def _watch_idle(self) -> None:
        if self.idle_ns is not None and self._idle_look.at is None and self._clients:
            self._idle_look.set(min(client.active_ns for client in self._clients) + self.idle_ns)

    def _look_at_idle(self) -> None:
        now, idle_ns = self.scheduler.now(), self.idle_ns or 0
        for client in self._clients:
            if now - client.active_ns >= idle_ns:
                self._remove(client, f"it was idle for {idle_ns / 1e9:g} s")
        self._watch_idle()

    # --- from the port to all ---------------------------------------------------------------------

    def broadcast(self, data: bytes) -> None:
        clients = self._clients
        flow, size = self.from_port, len(data)
        if not clients:
            self._offered_bytes += size
            flow.drop(BridgeDropped.NO_CLIENT, size)
        for client in clients:
            stream = client.stream
            self._offered_bytes += size
            client.to_tcp.received_bytes += size
            try:
                stream.write(data)
            except PortError as error:
                if error.reason == PortError.LOST:  # the stream reports the loss itself
                    flow.drop(BridgeDropped.CLIENT_GONE, size)
                    client.to_tcp.drop(BridgeDropped.CLIENT_GONE, size)
                else:
                    self._disconnect_slow(client, size)
                continue
            client.to_tcp.sent_bytes += size
            if self.idle_ns is not None:
                client.active_ns = self.scheduler.now()
            flow.sent_bytes += size
            if stream.pending > HIGH_WATER_BYTES and client not in self._waiting:
                self._wait_for(client)

    def _wait_for(self, client: BridgeClient) -> None:
        now = self.scheduler.now()
        self._waiting[client] = _Waiting(client.stream.pending, now)
        self.port.hold()
        if self._look.at is None:
            self._look.set(now + LOOK_NS)

    def _stop_waiting(self, client: BridgeClient) -> None:
        if self._waiting.pop(client, None) is not None and not self._waiting:
            self.port.release()

    def _look_at_waiting(self) -> None:
        now = self.scheduler.now()
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
            self._look.set(now + LOOK_NS)

    def _disconnect_slow(self, client: BridgeClient, refused_bytes: int) -> None:
        lost = client.stream.pending + refused_bytes
        self.slow += 1
        if refused_bytes:
            self.from_port.drop(BridgeDropped.CLIENT_SLOW, refused_bytes)
            client.to_tcp.drop(BridgeDropped.CLIENT_SLOW, refused_bytes)
        self._remove(client, "too slow", BridgeDropped.CLIENT_SLOW)
        self._warn(f"client {client.peer} disconnected: too slow, {lost} B unsent")

    def reports(self) -> list[dict[str, Any]]:
        """Return the ledger of each connected client."""
        return [client.report() for client in self._clients]

    def report(self) -> dict[str, Any]:
        """Return the ledger of all bytes for clients."""
        queued = sum(report["to_tcp"]["queued_bytes"] for report in self.reports())
        return self.from_port.as_dict(queued, queued, self._offered_bytes)

    # --- from the clients to the port -------------------------------------------------------------

    def pause(self) -> None:
        """Stop reading from all clients: the port is full."""
        self.paused = True
        for client in self._clients:
            client.stream.pause_reading()

    def resume(self) -> None:
        self.paused = False
        for client in self._clients:
            client.stream.resume_reading()
