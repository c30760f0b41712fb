"""A client of the bridge that uses telnet with the COM port option, as a stream of plain bytes.

The clients of a bridge see a `hilgw.transports.base.Transport`; negotiation and line commands stay
here. Commands are read, up to a limit, while the device accepts no data: a purge and a change of
DTR or RTS must get through then.
"""

from collections.abc import Callable

from hilgw.bridge.backlog import TelnetQueue
from hilgw.bridge.flow import BridgeDropped
from hilgw.bridge.line import PortLine
from hilgw.bridge.port import BridgePort, Writer
from hilgw.errors import PortError
from hilgw.protocols.rfc2217 import (
    Agreed,
    Data,
    Event,
    Flow,
    ModemBits,
    Purge,
    Reply,
    SendBreak,
    Server,
    Setting,
    escape,
)
from hilgw.transports.base import LostHandler, ModemState, ReadHandler, Transport
from hilgw.transports.stream import WRITE_LIMIT_BYTES

HOLD_BYTES = 65536  # data that is read while the device accepts none


class Rfc2217Stream(Transport):
    """A client's stream; see the module.

    may_set: returns True if the client may set the line now, as only a writer may. writer: counts
    bytes for the port that are purged before the port gets them. `unsent` and `pending_data` are
    data of the port; `pending`, for flow control, has replies and escapes, too. on_refused: called
    once, when it tries to set the line and may not. on_raw: called once, when it sends data and no
    telnet: bytes that the server then takes for commands are counted. An end of the client's
    direction ends the stream, after its data: such a client has no use for half of a connection.
    """

    def __init__(
        self,
        stream: Transport,
        port: BridgePort,
        line: PortLine,
        *,
        on_refused: Callable[[], None],
        on_raw: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(stream.name)
        self.may_set: Callable[[], bool] = lambda: False
        self._stream = stream
        self._port = port
        self._line = line
        self._on_refused = on_refused
        self._refused = False
        self._on_raw: Callable[[], None] | None = on_raw
        self._server = Server()
        self._server.look = line.read_modem_lines
        self._on_data: ReadHandler = lambda data: None
        self._on_lost: LostHandler = lambda error: None
        self._held = bytearray()  # from the client, while the device accepts nothing
        self._out = bytearray()  # to the client, while it wants nothing
        self._queue = TelnetQueue()
        self.writer: Writer | None = None
        self._suspended = False
        self._paused = False
        self._eof = False
        self._over = False

    # --- the transport ----------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return self._stream.pending + len(self._out)

    @property
    def pending_data(self) -> int:
        """Bytes accepted by write() that the kernel has not accepted yet."""
        return self._queue.data_bytes(self._stream.pending) + len(self._out)

    @property
    def silent_s(self) -> float:  # type: ignore[override]
        return self._stream.silent_s

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost = on_data, on_lost
        self._stream.on_drained = self._drained
        self._stream.on_half_close = self._end
        self._stream.on_peer_ended = self._peer_ended
        self._stream.start(self._received, self._stream_lost)
        self._send(self._server.open())
        self._line.listen(self._modem_changed)

    def write(self, data: bytes) -> None:
        if not self._suspended:
            self._put(escape(data), is_data=True)
            return
        if len(self._out) + len(data) > WRITE_LIMIT_BYTES:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        self._out += data

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        if self._held:
            data, self._held = bytes(self._held), bytearray()
            self._on_data(data)
        if self._paused or self._over:
            return
        self._stream.resume_reading()
        if self._eof:
            self._end()

    def discard_received(self) -> int:
        size = len(self._held) + self._stream.discard_received()
        self._held.clear()
        return size

    def close(self) -> None:
        if not self._over:
            self._stream.close()
            self._finish()

    async def wait_closed(self) -> None:
        await self._stream.wait_closed()

    # --- from the TCP stream ----------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        events = self._server.feed(data)
        if not self._server.negotiated:
            self._count_swallowed(data, events)
        for event in events:
            if self._over:
                return
            self._handle(event)

    def _count_swallowed(self, data: bytes, events: list[Event]) -> None:
        """Count bytes that were taken for commands: without a negotiation they are data."""
        passed = sum(len(event.data) for event in events if isinstance(event, Data))
        if passed < len(data):
            self._port.drop_held(len(data) - passed, BridgeDropped.SWALLOWED, self.writer)
        if passed and self._on_raw is not None:
            on_raw, self._on_raw = self._on_raw, None
            on_raw()

    def _handle(self, event: Event) -> None:
        if isinstance(event, Data):
            self._take_data(event.data)
        elif isinstance(event, Reply):
            self._send(event.data)
        elif isinstance(event, Setting):
            self._send(self._server.answer(event.name, self._set(event)))
        elif isinstance(event, Purge):
            if self._allowed():
                self._purge(event)
            self._send(self._server.purged(event))
        elif isinstance(event, Agreed):
            self._modem_changed(self._line.modem_state)
        elif isinstance(event, Flow):
            self._suspend(event.suspended)
        elif isinstance(event, SendBreak) and self._allowed():
            self._line.send_break(self)

    def _take_data(self, data: bytes) -> None:
        if not self._paused:
            self._on_data(data)
            return
        self._held += data
        if len(self._held) > HOLD_BYTES:
            self._stream.pause_reading()

    def _set(self, setting: Setting) -> int | str | bool:
        if setting.value is None or not self._allowed():
            return self._line.get(setting.name)
        return self._line.set(setting.name, setting.value, self)

    def _allowed(self) -> bool:
        if self.may_set():
            return True
        if not self._refused:
            self._refused = True
            self._on_refused()
        return False

    def _purge(self, purge: Purge) -> None:
        if purge.to_send:
            self._port.drop_held(len(self._held), BridgeDropped.PURGED, self.writer)
            self._held.clear()
            self._port.drop_all(BridgeDropped.PURGED)
        unsent = self._line.purge(received=purge.received, to_send=purge.to_send)
        self._port.take_back(unsent, BridgeDropped.PURGED)

    def _suspend(self, suspended: bool) -> None:
        self._suspended = suspended
        if not suspended and self._out and self._send(escape(bytes(self._out)), is_data=True):
            self._out.clear()
            if not self._stream.pending:
                self._drained()

    def _drained(self) -> None:
        if self.on_drained is not None and not self._out:
            self.on_drained()

    def _modem_changed(self, state: ModemState) -> None:
        bits = ModemBits(cts=state.cts, dsr=state.dsr, ri=state.ri, cd=state.cd)
        self._send(self._server.modem_state(bits))

    def _send(self, wire: bytes, *, is_data: bool = False) -> bool:
        """Send bytes; return True if the stream has taken them.

        Replies pass a client's flow control. A client that reads none is disconnected.
        """
        if not wire or self._over:
            return False
        try:
            self._put(wire, is_data=is_data)
        except PortError as error:
            if error.reason != PortError.LOST:  # the stream reports its loss itself
                self._stream.close()
                self._stream_lost(error)
            return False
        return True

    def _put(self, wire: bytes, *, is_data: bool) -> None:
        stream = self._stream
        stream.write(wire)
        pending = stream.pending
        if pending:
            self._queue.add(wire, pending, is_data=is_data)

    # --- the end ----------------------------------------------------------------------------------

    def _peer_ended(self) -> None:
        if self.on_peer_ended is not None:
            self.on_peer_ended()

    def _end(self) -> None:
        self._eof = True
        self._peer_ended()
        if not self._held and not self._over:
            self._stream.close()
            self._stream_lost(PortError("it closed the connection", reason=PortError.LOST))

    def _stream_lost(self, error: PortError) -> None:
        if not self._over:
            self._finish()
            self._on_lost(error)

    def _finish(self) -> None:
        self._over = True
        self.unsent = self._queue.data_bytes(self._stream.unsent) + len(self._out)
        self.unread = len(self._held) + self._stream.unread
        self._line.unlisten(self._modem_changed)
        self._line.release(self)
