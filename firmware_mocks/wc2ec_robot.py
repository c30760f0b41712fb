"""A Webots robot with the WC2EC controller of 2020, in a room of its own.

Like the original C controller, it registers all devices in index order when a peer connects and
enables its sensors. In each step of 20 ms it sends their values, then executes the commands that
have come. It finds a device by its id and ignores the type, sends no values of motors, and has
the command setValue only; `dialect: full` adds the rest of the document and packets. Unlike the
original it has a watchdog, as firmware has: 300 ms after the last good message its motors return to
their defaults, on TCP too. When the peer disconnects, its motors return to their defaults and it
waits for the next peer; the original ends.
"""

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable, creator
from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.body import STEP_NS, Body
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from firmware_mocks.wc2ec.settings import Settings

SUMMARY = "a Webots robot with the original WC2EC controller: two wheels in a walled room"
REGISTER_NS = 1000 * MS
LATEST_NS = 1000 * MS
INPUT_BYTES = 64 * 1024
UNSENT_BYTES = 256 * 1024


class Robot(Adjustable[Settings]):
    """The robot.

    `connect` and `disconnect` are those of a TCP server; `closing` asks the host to close the
    connection. On a serial line it is connected from the first `advance` on. `tripped` counts the
    trips of its watchdog, which measures the time since the last good message.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.closing = False
        self.connected = False
        self.steps = 0
        self.stops = 0
        self.stalled = 0
        self.tripped = 0
        self._step_ns = 0
        self._configure()

    def _configure(self) -> None:
        self.body = Body(self.settings)
        self._use_line()
        self._input = bytearray()
        self._frames = FrameReader()

    def _use_line(self) -> None:
        self._framed = self.settings.frame != "none"
        self.network = "serial" if self._framed else "tcp-server"
        self.uart.baud_rate = 115_200 if self._framed else 1_000_000_000  # TCP is not paced

    def _forget(self) -> None:
        self.timers.stop("watchdog")
        self._input.clear()
        self._frames.clear()
        self.body.restart()

    # --- the host -----------------------------------------------------------------------------

    def connect(self, now: int) -> None:
        self._forget()
        self.connected, self.closing = True, False
        self.uart.clear()
        self._register(now)
        self._step_ns = now + STEP_NS
        self.timers.start("step", self._step_ns, self._step)

    def disconnect(self, now: int) -> None:
        if self.connected:
            self.stops += 1
        self.connected = self.closing = False
        self._cancel()
        self._forget()

    def reset(self, now: int) -> None:
        self.disconnect(now)
        self._configure()

    def _adopt(self, name: str) -> None:
        # Use a new value at once. A peer that has registered other devices connects again.
        body = Body(self.settings)
        if not body.replace(self.body, placed=name == "position"):
            self.closing = self.connected
        self.body = body
        if name == "frame":
            was_framed = self._framed
            self._use_line()
            self.closing = self.closing or (self.connected and was_framed != self._framed)

    def describe(self) -> str:
        way = "serial, COBS and CRC-16" if self._framed else "TCP"
        return f"{len(self.body.devices)} devices on {way}, WC2EC {self.settings.dialect}"

    def advance(self, now: int) -> None:
        if self._framed and not self.connected:
            self.connect(now)
        super().advance(now)

    def receive(self, data: bytes, now: int) -> None:
        if not self.connected:
            return
        if not self._framed:
            self._input += data
        for message in self._frames.feed(data) if self._framed else ():
            self._receive_frame(message, now)
        if len(self._input) > INPUT_BYTES:
            self._lose("flooded")

    def _receive_frame(self, message: bytes, now: int) -> None:
        body = self.body
        if wire.whole_messages(message, body.types, extended=body.full) is None:
            self._lose("unknown")
            return
        self._input += message
        self.timers.stop("register")
        self.timers.start("silence", now + self.settings.silence_ns, self._fall_silent)
        self._feed_watchdog(now)

    # --- one step -----------------------------------------------------------------------------

    def _step(self, now: int) -> None:
        # On a fixed grid, without drift; after a pause of the host a new grid begins.
        late = now - self._step_ns > LATEST_NS
        self._step_ns = (now if late else self._step_ns) + STEP_NS
        self.timers.start("step", self._step_ns, self._step)
        if self.uart.held(now) > UNSENT_BYTES:
            self.stalled += 1  # the original blocks in send: its simulation pauses
            return
        self.steps += 1
        self.body.step()
        for message in self.body.sensor_data():
            self._write(message, now)
        while self._input and self._execute(now):
            pass

    def _execute(self, now: int) -> bool:
        size = wire.message_size(self._input, self.body.types, extended=self.body.full)
        if size is None or self._input[0] < 128:
            self._lose("unknown")
            return False
        if not size or len(self._input) < size:
            return False
        if not self._framed:
            self._feed_watchdog(now)
        answer = self.body.execute(bytes(self._input[:size]))
        del self._input[:size]
        if answer:
            self._write(answer, now)
        return True

    def _feed_watchdog(self, now: int) -> None:
        # A good message came. While the motors are at their defaults there is nothing to watch,
        # but the message may move them at the next step.
        if self.settings.watchdog_ns:
            self.timers.start("watchdog", now + self.settings.watchdog_ns, self._trip)

    def _trip(self, now: int) -> None:
        # Its peer is silent: the motors return to their defaults; the connection stays.
        if self.body.moving:
            self.tripped += 1
            self.body.stop()

    def _lose(self, reason: str) -> None:
        self.body.counts[reason] += 1
        self.stops += 1
        self._forget()
        if not self._framed:
            self.closing = True
            self.timers.clear()

    # --- the line -----------------------------------------------------------------------------

    def _register(self, now: int) -> None:
        for message in self.body.registrations():
            self._write(message, now)
        if self._framed:
            self.timers.start("register", now + REGISTER_NS, self._register)

    def _fall_silent(self, now: int) -> None:
        self.stops += 1
        self._forget()
        self._register(now)

    def _write(self, message: bytes, now: int) -> None:
        self.uart.write(frame(message) if self._framed else message, now)


PARAMETERS = Settings.texts()

create = creator(Robot, Settings)
