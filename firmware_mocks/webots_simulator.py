"""The simulator's end of Webots' controller protocol: robots in a walled room.

A controller connects as to Webots with an `<extern>` robot, over TCP. It gets the configuration,
then one answer for each request. The world advances in basic steps, as soon as each controller
with synchronization waits for its answer; with `speed: real-time` no earlier than the clock. A
controller that leaves does not stop the motors: Webots has no watchdog.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from firmware_mocks import _parameters as values
from firmware_mocks._webots import wire
from firmware_mocks._webots.inside import Inside, scripts
from firmware_mocks._webots.robot import QUIT
from firmware_mocks._webots.world import Controlled, World
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock

SUMMARY = "a Webots simulator: robots in a walled room, each with an external controller"
PARAMETERS: dict[str, str] = {
    "robots": "names of the robots (default robot)",
    "devices": "NAME:TYPE FIELD=VALUE, ... of each robot; the first two RotationalMotors are its "
    "wheels; a PositionSensor or Brake belongs to the motor before it; lists as "
    "allowedChannels=3+4 (default all: one or more of each type)",
    "poses": "x,y,heading of each robot in metres and radians, separated by ; (default: a row "
    "in the middle)",
    "width": "width of the room in metres (default 2.0)",
    "depth": "depth of the room in metres (default 1.5)",
    "step_ms": "basicTimeStep (default 32)",
    "synchronization": "whether the world waits for a robot's controller: yes, no (default yes)",
    "speed": "real-time, or fast: as fast as the controllers request (default real-time)",
    "wait": "whether the world begins when each robot has had its first controller: no, yes "
    "(default no)",
    "accept": "whether controllers may connect: yes, or no: FORBIDDEN (default yes)",
    "loading_ms": "time after the start and after a reset in which the world loads (default 0)",
    "reset_ms": "simulated time after which the world is reset, 0: never (default 0)",
    "scripts": "NAME: SCRIPT of robots whose controller runs in the simulator, separated by |; "
    "the statements are those of webots-controller (default: none)",
    "plugin": "file of the remote-control plug-in that controllers load (default none)",
    "framing": "tcp, or ipc: a local socket, without handshake and images (default tcp)",
    "webots": "version of its configuration and node numbers: R2025a, R2024a, R2023b, R2023a "
    "(default R2025a)",
}
DEFAULTS: dict[str, Any] = {
    "robots": "robot", "devices": "all", "poses": "", "width": 2.0, "depth": 1.5, "step_ms": 32,
    "synchronization": "yes", "speed": "real-time", "wait": "no", "accept": "yes", "loading_ms": 0,
    "reset_ms": 0, "scripts": "", "plugin": "", "framing": "tcp", "webots": "R2025a",
}  # fmt: skip
WORDS = {
    "synchronization": ("yes", "no"),
    "speed": ("real-time", "fast"),
    "wait": ("no", "yes"),
    "accept": ("yes", "no"),
    "framing": ("tcp", "ipc"),
    "webots": wire.VERSIONS,
}
OF_PROGRAM = ("speed", "accept", "loading_ms", "reset_ms", "framing")
"""Parameters that no world file has."""
LATEST_NS = 1000 * MS
TCP_RATE = 1_000_000_000  # TCP is not paced


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Simulator:
    """A simulator. It ignores the position: `poses` has those of its robots. ValueError names
    the parameter with a wrong value."""
    values.check_names(parameters, PARAMETERS)
    return Simulator(name, {**DEFAULTS, **parameters})


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
        """A controller connected. On a local socket the path has named the robot: the first."""
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
        """The handshake comes in one piece, without an end; so does its answer."""
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
        """The world is gone: the next answer is QUIT."""
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


class Simulator(Mock):
    """A TCP server with many clients: `accept` makes the end of one more connection. `connect`,
    `receive` and `take` serve one client alone."""

    network = "tcp-server"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        self.uart.baud_rate = TCP_RATE
        self.counts: Counter[str] = Counter()
        self.now = 0
        self._peers: list[Peer] = []
        self._only: Peer | None = None
        self._settings = settings
        self._loaded_ns = self._due_ns = 0
        self._load(self._configure())

    def _configure(self) -> dict[str, Any]:
        """Read the parameters of the program; return all, with their words checked."""
        settings = dict(self._settings)
        for name, words in WORDS.items():
            settings[name] = values.choice(name, settings[name], words)
        self._reset_ms = values.number("reset_ms", settings["reset_ms"], 0, values.DAY_MS)
        self._loading_ns = values.milliseconds("loading_ms", settings["loading_ms"])
        self._accepts = settings["accept"] == "yes"
        self._paced = settings["speed"] == "real-time"
        self.local = settings["framing"] == "ipc"
        return settings

    def _load(self, settings: dict[str, Any]) -> None:
        """Load the world that the other parameters describe."""
        self.world = World(settings)
        self._loaded_ns = self.now + self._loading_ns
        self.inside = {
            robot: Inside(robot, script, settings["webots"], settings["framing"], self.accept)
            for robot, script in scripts(settings["scripts"], self.world.robots).items()
        }

    # --- connections --------------------------------------------------------------------------

    def accept(self, now: int) -> Peer:
        """The simulator's end of a new connection; `connect` follows."""
        self._peers = [peer for peer in self._peers if not peer.closing]
        self._peers.append(Peer(self))
        return self._peers[-1]

    def welcome(self, name: str | None, now: int) -> tuple[bytes, Controlled | None]:
        """The answer to a handshake, and the robot if it is the controller's now."""
        if not self._accepts:
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
        """Whether the only client's connection is to be closed."""
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
        for each in self.inside.values():
            each.run(now)

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
            if self._reset_ms and self.world.time_ms >= self._reset_ms:
                self.reset(now)

    def reset(self, now: int) -> None:
        """Reset the world: each controller gets QUIT and has to connect again."""
        self.now = now
        self.counts["resets"] += 1
        self._loaded_ns = now + self._loading_ns
        self.world.reset()
        for peer in self._peers:
            if peer.held is not None:
                peer.quit(now)

    def set(self, name: str, value: str) -> None:
        """Use a new value at once; a parameter of the world is that of a new one."""
        values.check_names([name], PARAMETERS)
        settings = {**self._settings, name: value}
        Simulator(self.name, settings)  # ValueError leaves this one as it was
        self._settings = settings
        checked = self._configure()
        if name not in OF_PROGRAM:
            self.reset(self.now)
            self._load(checked)

    def describe(self) -> str:
        robots = ", ".join(self.world.robots)
        first = next(iter(self.world.robots.values())).robot
        speed = "real time" if self._paced else "as fast as requested"
        return f"robots {robots}, {len(first.devices)} devices each, {first.version}, {speed}"
