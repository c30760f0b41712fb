"""A controller and its connection to Webots: bytes both ways, and the end."""

import asyncio
from collections.abc import Callable

from hilgw.controllers.base import ProxySession
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.timing import event_expectation
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.webots.answers import LARGEST_ANSWER
from hilgw.protocols.webots.errors import ProtocolError
from hilgw.protocols.webots.requests import LARGEST_REQUEST
from hilgw.transports.base import Transport

READ_BYTES = 256 * 1024
# Beyond this, what one end does not take pauses the other: nothing is lost, memory is bounded.
PAUSE_BYTES = 1024 * 1024
# A request or a chunk of data is written as a whole.
WRITE_LIMIT_BYTES = max(LARGEST_ANSWER, LARGEST_REQUEST) + 2 * PAUSE_BYTES
# A controller that got QUIT may compute for a while before it reads that.
LAST_REQUEST_S = 10.0
FLUSH_S = 2.0


class ProxyConnection:
    """The connection of a controller to Webots, until one of both ends is gone.

    on_end: called once, with the reason.

    webots: has accepted the controller.
    """

    def __init__(
        self,
        controller: Transport,
        webots: Transport,
        robot: ProxiedRobot,
        on_end: "Callable[[ProxyConnection, HilgwError], None]",
    ) -> None:
        self.robot = robot
        self.ended = asyncio.get_running_loop().create_future()
        self.session = robot.new_session()
        self._loop = asyncio.get_running_loop()
        self._controller = controller
        self._webots = webots
        self._on_end = on_end
        self._expect_event = event_expectation(self._loop)
        self._quitting: HilgwError | None = None

    def start(self, request: bytes, early: bytes) -> None:
        """Start to pass bytes on.

        request: the first of the controller. early: what Webots has sent before it.
        """
        controller, webots = self._controller, self._webots
        self.robot.begin(self.session)
        webots.on_drained = controller.resume_reading
        controller.on_drained = webots.resume_reading
        controller.start(self.from_controller, self.controller_lost)
        webots.start(self._from_webots, lambda error: self.quit(PeerError(f"Webots: {error.what}")))
        self.from_controller(request)
        if early:
            self._from_webots(early)

    # --- bytes --------------------------------------------------------------------------------

    def from_controller(self, data: bytes) -> None:
        """Pass on bytes of the controller, behind its hello."""
        session = self.session
        if self.ended.done():
            return
        if self._quitting is not None:
            self._answer_last(session, data, self._quitting)
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

    def _from_webots(self, data: bytes) -> None:
        if self.ended.done() or self._quitting is not None:
            return
        try:
            passed, events = self.session.from_webots(data)
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
        if self._controller.pending > PAUSE_BYTES:
            self._webots.pause_reading()

    # --- the end ------------------------------------------------------------------------------

    def controller_lost(self, error: HilgwError) -> None:
        """End the connection that the controller has closed.

        What it has sent before reaches Webots.
        """
        self._end(error)

    def quit(self, error: HilgwError) -> None:
        """End the controller in order.

        LibController spins for ever when a connection closes without QUIT.
        """
        session = self.session
        if self._quitting is not None or self.ended.done():
            return
        if session.left:
            self._end(error)
            return
        self._quitting = error
        self._close(self._webots)
        self._controller.on_drained = None
        self._controller.resume_reading()
        self.robot.end(session)
        self._to_controller(session.cut())
        self._loop.call_later(LAST_REQUEST_S, self._end, error)

    def _answer_last(self, session: ProxySession, data: bytes, reason: HilgwError) -> None:
        answers = session.answer_last(data)
        if answers:
            self._to_controller(answers)
        if session.left:
            self._end(reason)

    def _end(self, error: HilgwError) -> None:
        if self.ended.done():
            return
        self.ended.set_result(None)
        self._close(self._webots)
        self._close(self._controller)
        self.robot.end(self.session)
        self._on_end(self, error)

    def _close(self, stream: Transport) -> None:
        if not stream.pending:
            stream.close()
            return
        stream.pause_reading()
        stream.on_drained = stream.close
        self._loop.call_later(FLUSH_S, stream.close)
