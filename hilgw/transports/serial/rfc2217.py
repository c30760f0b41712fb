"""rfc2217:// : a serial port behind an access server, over TCP with telnet and the COM port option.

The server sets the line. It has no descriptor that another process could write to: each 0xFF is
sent twice.
"""

import asyncio
import socket
from contextlib import suppress

from hilgw.errors import PortError
from hilgw.protocols.rfc2217 import PURGE_DATA, Data, Reply, escape, subnegotiation
from hilgw.protocols.rfc2217_client import Client
from hilgw.transports.base import LineSettings, LostHandler, ReadHandler, Transport
from hilgw.transports.serial.urls import IGN_SET_CONTROL, host_and_port
from hilgw.transports.stream import READ_BYTES, WRITE_LIMIT_BYTES
from hilgw.transports.tcp.opening import HELD_S, POLL_S, receive
from hilgw.transports.tcp.stream import connected, stream_on

ANSWER_S = 5.0  # for all answers to the settings
GRACE_S = 0.3  # then, for those that a server may leave out
CHUNK_BYTES = 1024  # that cannot be taken back once they are in the stream
MOST_EARLY_BYTES = 16 * READ_BYTES


async def open_rfc2217(url: str, line: LineSettings) -> "Rfc2217Port":
    """Agree on the option and set the line of a new connection; raise PortError if that fails."""
    host, port = host_and_port(url)
    client = Client(_wanted(line), ign_set_control=url.endswith(IGN_SET_CONTROL))
    connection = await connected(host, port, url)
    try:
        async with asyncio.timeout(ANSWER_S):
            early = await _agree(connection, url, client)
    except TimeoutError as error:
        connection.close()
        raise _unusable(url, client.problem() or "the server sends no data") from error
    except BaseException:
        connection.close()
        raise
    return Rfc2217Port(await stream_on(connection, url, early=escape(early)), client)


def _wanted(line: LineSettings) -> dict[str, int | str | bool]:
    return {
        "baud_rate": line.baudRate,
        "data_bits": line.data_bits,
        "parity": line.parity,
        "stop_bits": line.stop_bits,
        "flow": "rtscts" if line.rtscts else "none",
        **({} if line.dtr is None else {"dtr": line.dtr}),
        **({} if line.rts is None else {"rts": line.rts}),
    }


async def _agree(connection: socket.socket, url: str, client: Client) -> bytes:
    """Return what the device has sent, once its line is set and the server stays."""
    loop = asyncio.get_running_loop()
    end, early = loop.time() + HELD_S, b""
    is_set, to_send = False, client.open()
    while True:
        with suppress(OSError):  # the reason is read next
            await loop.sock_sendall(connection, to_send)
        data = receive(connection, url, early)
        events = client.feed(data)
        early += b"".join(event.data for event in events if isinstance(event, Data))
        to_send = b"".join(event.data for event in events if isinstance(event, Reply))
        if client.is_refused or len(early) > MOST_EARLY_BYTES:
            raise _unusable(url, client.problem() or "too much came before the port was set")
        if client.is_set and not is_set:
            is_set = True
            end = max(end, loop.time() + (0 if client.is_complete else GRACE_S))
        if not data:
            if is_set and loop.time() >= end and client.is_at_rest:
                break
            await asyncio.sleep(POLL_S)
    if problem := client.problem():
        raise _unusable(url, problem)
    return early


def _unusable(url: str, problem: str) -> PortError:
    raw = url.removesuffix(IGN_SET_CONTROL).replace("rfc2217", "socket", 1)
    fix = f"use its raw address: {raw}" if "telnet" in problem else ""
    return PortError(problem, reason=PortError.UNSUPPORTED, where=url, fix=fix)


class Rfc2217Port(Transport):
    """The open port. Bytes wait here, so that they can be taken back, while the stream is full."""

    def __init__(self, stream: Transport, client: Client) -> None:
        super().__init__(stream.name)
        self.notices = client.notices()
        self._stream = stream
        self._client = client
        self._out = bytearray()
        self._answered = asyncio.Event()

    @property
    def pending(self) -> int:
        return len(self._out) + self._stream.pending

    @property
    def in_waiting(self) -> int:
        return self._stream.in_waiting

    @property
    def out_waiting(self) -> int:
        return self._stream.out_waiting

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost = on_data, on_lost
        self._stream.on_drained = self._drained
        self._stream.start(self._received, self._stream_lost)

    def write(self, data: bytes) -> None:
        if self._lost is not None or self._closed:
            raise PortError("the port was lost", reason=PortError.LOST, where=self.name)
        if self.pending + len(data) > WRITE_LIMIT_BYTES:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        self._out += data
        try:
            self._flush()
        except PortError:  # the stream has ended, and `data` was all that waited
            self._out.clear()
            raise

    def pause_reading(self) -> None:
        self._stream.pause_reading()

    def resume_reading(self) -> None:
        self._stream.resume_reading()

    def take_unsent(self) -> bytes:
        rest, self._out = bytes(self._out), bytearray()
        return rest

    def purge(self, *, received: bool, to_send: bool) -> int:
        """Ask the server to purge, and return 0: it does not report how much it discarded."""
        if received or to_send:
            self._stream.write(subnegotiation(PURGE_DATA, bytes((received + 2 * to_send,))))
        return 0

    async def ask_modem_state(self, timeout_s: float) -> int:
        """Return the inputs now, as NOTIFY-MODEMSTATE reports them.

        Raises:
            TimeoutError: no answer. Ask this port no more: that answer may still come, and would
                be taken for the next one.
        """
        if self._lost is None:
            self._answered.clear()
        self._send(self._client.ask_modem_state())
        try:
            async with asyncio.timeout(timeout_s):
                await self._answered.wait()
        except TimeoutError:
            raise TimeoutError(f"no answer within {timeout_s * 1000:g} ms") from None
        if self._client.modem is None:
            raise ConnectionError(self._lost)
        return self._client.modem

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._stream.close()
            self._ended()

    async def wait_closed(self) -> None:
        await self._stream.wait_closed()

    # --- the stream -------------------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        self._stream.read_bytes = self.read_bytes
        for event in self._client.feed(data):
            if self._closed:
                return
            if isinstance(event, Data) and self._on_data is not None:
                self._on_data(event.data)
            elif isinstance(event, Reply):
                self._send(event.data)
        if self._client.modem is not None:
            self._answered.set()

    def _send(self, command: bytes) -> None:
        """Send a command.

        A stream that has ended reports it itself; a server that reads nothing gets no more answers.
        """
        with suppress(PortError):
            self._stream.write(command)

    def _flush(self) -> None:
        while self._out and not self._stream.pending:
            self._stream.write(escape(bytes(self._out[:CHUNK_BYTES])))
            del self._out[:CHUNK_BYTES]

    def _drained(self) -> None:
        with suppress(PortError):  # the stream reports it itself
            self._flush()
        if self.on_drained is not None and not self.pending:
            self.on_drained()

    def _stream_lost(self, error: PortError) -> None:
        self._lost = error
        self._ended()
        self._report()

    def _ended(self) -> None:
        self.unsent, self.unread = self._stream.unsent + len(self._out), self._stream.unread
        self._out.clear()
        self._answered.set()


class BlockingPort:
    """The same for a thread: in an event loop of its own, which runs while a method does."""

    def __init__(self, url: str, line: LineSettings) -> None:
        self._runner = asyncio.Runner()
        try:
            self._port = self._runner.run(open_rfc2217(url, line))
        except BaseException:
            self._runner.close()
            raise
        self._port.start(lambda data: None, lambda error: None)

    def ask_modem_state(self, timeout_s: float) -> int:
        return self._runner.run(self._port.ask_modem_state(timeout_s))

    def close(self) -> None:
        self._port.close()
        self._runner.close()
