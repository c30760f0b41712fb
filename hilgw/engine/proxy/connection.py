"""One controller, and its connection to Webots: handshake, bytes both ways, and the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hilgw.engine.timing import event_expectation
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.webots import (
    LARGEST_ANSWER,
    LARGEST_REQUEST,
    Acknowledgement,
    ProtocolError,
    decode_acknowledgement,
)
from hilgw.transports.tcp.stream import connect_tcp

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.controllers.webots_proxy.session import ProxySession
    from hilgw.engine.proxy.robot import ProxiedRobot
    from hilgw.transports.base import Transport

READ_BYTES = 256 * 1024
# Beyond this, what one end does not take pauses the other: nothing is lost, memory is bounded.
PAUSE_BYTES = 1024 * 1024
# A request or a chunk of data is written as a whole.
WRITE_LIMIT_BYTES = max(LARGEST_ANSWER, LARGEST_REQUEST) + 2 * PAUSE_BYTES
# A controller that got QUIT may compute for a while before it reads that.
GOODBYE_S = 10.0
FLUSH_S = 2.0


class ProxyConnection:
    """Runs until one of both ends is gone. on_connected, on_end: called once each, at most.

    hello: the line for Webots. on_end gets the reason.
    """

    def __init__(
        self,
        controller: Transport,
        hello: bytes,
        robot: ProxiedRobot,
        on_connected: Callable[[ProxyConnection], None],
        on_end: Callable[[ProxyConnection, HilgwError], None],
    ) -> None:
        self.robot = robot
        self.peer = ""
        self.ended = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._controller = controller
        self._hello = hello
        self._on_connected = on_connected
        self._on_end = on_end
        self._webots: Transport | None = None
        self.session: ProxySession | None = None  # once Webots has accepted the controller
        self._word = b""  # of Webots, not complete
        self._early = b""  # of Webots, before the controller's first request
        self._requested = False
        self._expect_event = event_expectation(self._loop)
        self._quitting: HilgwError | None = None
        self._task = self._loop.create_task(self._connect())

    # --- the handshake ------------------------------------------------------------------------

    async def _connect(self) -> None:
        robot = self.robot
        try:
            webots = await connect_tcp(robot.host, robot.port, limit=WRITE_LIMIT_BYTES)
        except PortError as error:
            self._reply(Acknowledgement.FAILED)  # it tries again, as without the proxy
            self._end(error)
            return
        webots.read_bytes = READ_BYTES
        self._webots = webots
        webots.on_drained = self._controller.resume_reading
        self._controller.on_drained = webots.resume_reading
        webots.start(self._from_webots, self._webots_lost)
        self._to_webots(self._hello)

    def _acknowledge(self, data: bytes) -> None:
        """The controller reads the word by one read: it is written at once and alone."""
        self._word += data
        word = next((w for w in Acknowledgement if self._word.startswith(w.encode())), None)
        if word is None:
            try:
                decode_acknowledgement(self._word)
            except ProtocolError as error:
                self._reply(Acknowledgement.FAILED)
                self._end(error)
            return
        self._early = self._word[len(word) :]
        self._reply(word)
        if word is not Acknowledgement.CONNECTED:
            self._end(PeerError(f"Webots answers {word}"))
            return
        self.session = self.robot.new_session()
        self.robot.begin(self.session)
        self._on_connected(self)

    def _reply(self, word: str) -> None:
        try:
            self._controller.write(word.encode())
        except PortError:
            pass  # it has gone: its loss is reported next

    # --- bytes --------------------------------------------------------------------------------

    def from_controller(self, data: bytes) -> None:
        """Bytes of the controller, behind its line."""
        session = self.session
        if self.ended.done() or session is None:
            return  # before its acknowledgement a controller sends nothing
        if self._quitting is not None:
            self._goodbye(session, data, self._quitting)
            return
        try:
            passed, events = session.from_controller(data)
        except ProtocolError as error:
            self.quit(error)  # the controller harms itself only
            return
        if passed:
            self._to_webots(passed)
            self._expect_event()
        if events:
            self.robot.act(events)
        if not self._requested:
            self._requested = True
            early, self._early = self._early, b""
            if early:
                self._from_webots(early)

    def _from_webots(self, data: bytes) -> None:
        session = self.session
        if self.ended.done() or self._quitting is not None:
            return
        if session is None:
            self._acknowledge(data)
            return
        if not self._requested:
            self._early += data
            return
        try:
            passed, events = session.from_webots(data)
        except ProtocolError as error:
            self.quit(error)
            return
        if passed:
            self._to_controller(passed)
            self._expect_event()
        if events:
            self.robot.act(events)

    def _to_webots(self, data: bytes) -> None:
        webots = self._webots
        if webots is None:
            return
        try:
            webots.write(data)
        except PortError as error:
            self.quit(error)
            return
        if webots.pending > PAUSE_BYTES:
            self._controller.pause_reading()

    def _to_controller(self, data: bytes) -> None:
        try:
            self._controller.write(data)
        except PortError as error:
            self._end(error)
            return
        if self._controller.pending > PAUSE_BYTES and self._webots is not None:
            self._webots.pause_reading()

    # --- the end ------------------------------------------------------------------------------

    def controller_lost(self, error: HilgwError) -> None:
        """The controller has closed. What it has sent before reaches Webots."""
        self._end(error)

    def _webots_lost(self, error: HilgwError) -> None:
        if self.session is None:
            self._reply(Acknowledgement.FAILED)
            self._end(error)
        else:
            self.quit(PeerError(f"Webots: {error.what}"))

    def quit(self, error: HilgwError) -> None:
        """Ends the controller in order: libController spins for ever when a connection closes
        without QUIT."""
        session = self.session
        if self._quitting is not None or self.ended.done():
            return
        if session is None or session.left:
            self._end(error)
            return
        self._quitting = error
        self._close(self._webots)
        self._controller.on_drained = None
        self._controller.resume_reading()
        self.robot.end(session)
        self._to_controller(session.cut())
        self._loop.call_later(GOODBYE_S, self._end, error)

    def _goodbye(self, session: ProxySession, data: bytes, reason: HilgwError) -> None:
        answers = session.answer_goodbye(data)
        if answers:
            self._to_controller(answers)
        if session.left:
            self._end(reason)

    def _end(self, error: HilgwError) -> None:
        if self.ended.done():
            return
        self.ended.set_result(None)
        self._task.cancel()
        self._close(self._webots)
        self._close(self._controller)
        if self.session is not None:
            self.robot.end(self.session)
        self._on_end(self, error)

    def _close(self, stream: Transport | None) -> None:
        """Closes a connection when its last bytes have left."""
        if stream is None:
            return
        if not stream.pending:
            stream.close()
            return
        stream.pause_reading()
        stream.on_drained = stream.close
        self._loop.call_later(FLUSH_S, stream.close)
