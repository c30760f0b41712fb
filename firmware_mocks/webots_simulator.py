"""The simulator's end of Webots' controller protocol: robots in a walled room.

A controller connects as to Webots with an `<extern>` robot, over TCP. It gets the configuration,
then one answer for each request. The world advances in basic steps, as soon as each controller
with synchronization waits for its answer; with `speed: real-time` no earlier than the clock. A
controller that leaves does not stop the motors: Webots has no watchdog.
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote_to_bytes

from firmware_mocks._webots import wire
from firmware_mocks._webots.inside import Inside, scripts
from firmware_mocks._webots.robot import QUIT
from firmware_mocks._webots.settings import Settings
from firmware_mocks._webots.world import Controlled, World
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable, Mock, creator

SUMMARY = "a Webots simulator: robots in a walled room, each with an external controller"
# Parameters that no world file has.
OF_PROGRAM = ("speed", "accept", "loading_ms", "reset_ms", "framing")
LATEST_NS = 1000 * MS
TCP_RATE = 1_000_000_000  # TCP is not paced


class Peer(Mock):
    """The simulator's end of one controller's connection.

    `connect`, `disconnect` and `closing` are those of the connection.
    """

    network = "tcp-server"

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator.name)
        self.uart.baud_rate = TCP_RATE
        self.closing = False
        self.held: Controlled | None = None
        self._simulator = simulator
        self._input = bytearray()
        self._greeted = simulator.local
        self._configured = False
        self._quitting = self._quit = False
        self._now = 0

    def connect(self, now: int) -> None:
        """Accept a controller. On a local socket the path has named the robot: the first."""
        self._now = now
        if self._simulator.local:
            self._hold(next(iter(self._simulator.world.robots.values())))

    def disconnect(self, now: int) -> None:
        self.uart.clear()
        if self.held is not None:
            self.held.disconnect()
            self.held = None
            self._simulator.run(now)

    def reset(self, now: int) -> None:
        self._simulator.reset(now)

    def switch_off(self) -> None:
        self.closing = True

    def set(self, name: str, value: str) -> None:
        self._simulator.set(name, value)

    def receive(self, data: bytes, now: int) -> None:
        self._now = now
        if self.closing:
            return
        self._input += data
        try:
            if not self._greeted:
                self._greet()
            else:
                self._take_requests()
        except ValueError:
            self._simulator.counts["errors"] += 1
            self.closing = True

    def _greet(self) -> None:
        # The handshake comes in one piece, without an end; so does its answer.
        hello = bytes(self._input)
        self._input.clear()
        name: str | None = None
        if hello.startswith(wire.GREETING + wire.NAME_LINE):
            name = hello[len(wire.GREETING + wire.NAME_LINE) :].decode(errors="replace")
        elif hello != wire.GREETING:
            raise ValueError("not a controller")
        answer, held = self._simulator.welcome(name, self._now)
        self._greeted = True
        self.uart.write(answer, self._now)
        if held is None:
            self.uart.change(self._close, self._now)
        else:
            self._hold(held)

    def _hold(self, held: Controlled) -> None:
        self.held = held
        held.connect(self._answer)

    def _close(self, now: int) -> None:
        self.closing = True

    def _take_requests(self) -> None:
        while (size := wire.request_size(self._input)) and len(self._input) >= size:
            data = bytes(self._input[:size])
            del self._input[:size]
            if data == wire.LEAVING:
                self.closing = True
                return
            self._request(*wire.read_request(data))

    def _request(self, step_ms: int, blocks: list[tuple[int, bytes]]) -> None:
        simulator = self._simulator
        simulator.counts["requests"] += 1
        if self._quitting:
            self._answer()
            return
        held = self.held
        if held is None or held.until_ms is not None:
            raise ValueError("a request while one is outstanding")
        held.robot.execute(blocks, simulator.world.time_ms)
        if step_ms and self._configured:
            held.request(step_ms, simulator.world.time_ms)
            simulator.run(self._now)
        else:
            self._answer(immediate=True)

    def quit(self, now: int) -> None:
        """End the world: the next answer is QUIT."""
        self._now = now
        waits = self.held is not None and self.held.until_ms is not None
        self._quitting, self.held = True, None
        if waits:
            self._answer()

    def _answer(self, immediate: bool = False) -> None:
        simulator, held = self._simulator, self.held
        delay_ms, made, images = 0, b"", []
        if self._quitting or held is None:
            if not self._quit:  # afterwards, empty answers to the goodbye
                made = wire.message(0, QUIT)
            self._quit = True
        elif not self._configured:
            self._configured = True
            made = held.robot.configuration(simulator.world.time_ms)
        else:
            delay_ms = 0 if immediate else held.delay_ms
            made = held.robot.messages(simulator.world.time_ms)
            images = [] if simulator.local else held.robot.images()
        data = wire.answer(delay_ms, made, images, simulator.local)
        self.uart.write(data, max(self._now, simulator.now))


class Simulator(Adjustable[Settings]):
    """A TCP server with many clients.

    `accept` makes the end of one more connection. `connect`, `receive` and `take` serve one client
    alone.
    """

    network = "tcp-server"

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.uart.baud_rate = TCP_RATE
        self.counts: Counter[str] = Counter()
        self.now = 0
        self._peers: list[Peer] = []
        self._only: Peer | None = None
        self._loaded_ns = self._due_ns = 0
        self._load()

    @property
    def _paced(self) -> bool:
        return self.settings.speed == "real-time"

    @property
    def local(self) -> bool:
        return self.settings.framing == "ipc"

    def _load(self) -> None:
        settings = self.settings
        self.world = World(settings)
        self._loaded_ns = self.now + settings.loading_ns
        self.inside = {
            robot: Inside(robot, script, settings.webots, settings.framing, self.accept)
            for robot, script in scripts(settings.scripts, self.world.robots).items()
        }

    # --- connections --------------------------------------------------------------------------

    def accept(self, now: int) -> Peer:
        """Return the simulator's end of a new connection; `connect` follows."""
        self._peers = [peer for peer in self._peers if not peer.closing]
        self._peers.append(Peer(self))
        return self._peers[-1]

    def welcome(self, name: str | None, now: int) -> tuple[bytes, Controlled | None]:
        """Return the answer to a handshake, and the robot if it is the controller's now."""
        if self.settings.accept == "no":
            return wire.FORBIDDEN, None
        if now < self._loaded_ns:
            return wire.PROCESSING, None
        wanted = {wire.encoded_name(robot).decode(): robot for robot in self.world.robots}
        plain = None if name is None else unquote_to_bytes(name).decode(errors="replace")
        held = self.world.find(wanted.get(name or "", plain))
        if held is None:
            return wire.FAILED, None
        if held.answer is not None:
            return wire.FORBIDDEN, None
        return wire.CONNECTED, held

    def connect(self, now: int) -> None:
        self._only = self.accept(now)
        self._only.connect(now)

    def disconnect(self, now: int) -> None:
        if self._only is not None:
            self._only.disconnect(now)
        self._only = None

    @property
    def closing(self) -> bool:
        """True if the only client's connection is to be closed."""
        return self._only is not None and self._only.closing

    def receive(self, data: bytes, now: int) -> None:
        if self._only is not None:
            self._only.receive(data, now)

    def take(self, now: int) -> bytes:
        return self._only.take(now) if self._only is not None else b""

    def next_deadline(self) -> int | None:
        waits = [self.timers.next(), self._only.next_deadline() if self._only else None]
        waits += [each.next_deadline() for each in self.inside.values()]
        return min((when for when in waits if when is not None), default=None)

    # --- the world ----------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        self.now = now
        super().advance(now)
        for inside in self.inside.values():
            inside.run(now)

    def run(self, now: int) -> None:
        """Run the basic steps that no controller holds back."""
        self.now = now
        while self.world.may_step(patient=not self._paced):
            if self._paced and now < self._due_ns:
                self.timers.start("step", self._due_ns, self.run)
                return
            late = now - self._due_ns > LATEST_NS
            step_ns = round(self.world.step_ms * MS)
            self._due_ns = (now if late else self._due_ns) + step_ns
            self.world.step()
            if 0 < self.settings.reset_ms <= self.world.time_ms:
                self.reset(now)

    def reset(self, now: int) -> None:
        # The world is reset: each controller gets QUIT and has to connect again.
        self.now = now
        self.counts["resets"] += 1
        self._loaded_ns = now + self.settings.loading_ns
        self.world.reset()
        for peer in self._peers:
            if peer.held is not None:
                peer.quit(now)

    def _adopt(self, name: str) -> None:
        # Use a new value at once; a parameter of the world is that of a new one.
        if name in OF_PROGRAM:
            self.world.settings = self.settings
            return
        Simulator(self.name, self.air, self.settings)  # ValueError leaves this one as it was
        self.reset(self.now)
        self._load()

    def describe(self) -> str:
        robots = ", ".join(self.world.robots)
        first = next(iter(self.world.robots.values())).robot
        speed = "real time" if self._paced else "as fast as requested"
        return f"robots {robots}, {len(first.devices)} devices each, {first.version}, {speed}"


PARAMETERS = Settings.texts()

create = creator(Simulator, Settings)
