"""The controller's end of Webots' controller protocol: what its library does on the wire.

It connects to a simulator, runs its script, and leaves as the library does. It retries while the
world loads, and gives up when the robot has a controller.
"""

import random
import struct
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._webots import wire
from firmware_mocks._webots.library import LIMIT, Library
from firmware_mocks._webots.script import FAULTS, Statement, parsed, run
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable, creator
from firmware_mocks.parameters import Parameters, parameter

SUMMARY = "a controller of a Webots robot, with the protocol of Webots' library"
SCRIPT = (
    "enable ds_front 64; enable receiver 32; position left_wheel inf; position right_wheel inf; "
    "velocity left_wheel 3; velocity right_wheel 3; send emitter hello; step 32 x 0"
)


def _name(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r} is not a name")
    return value


def _script(name: str, value: Any) -> list[Statement]:
    return parsed(value)


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a controller."""

    robot: str = parameter("name of the robot; empty: the only one (default: empty)", "", _name)
    script: list[Statement] = parameter(
        "statements separated by ; e.g. enable ds 64; position left_wheel inf; velocity left_wheel "
        "3; send emitter hello; step 32 x 100; associated left_wheel PositionSensor; urdf base_; "
        "wait 50; freeze; die; garbage (default: ahead at 3 rad/s for ever)",
        SCRIPT,
        _script,
    )
    framing: str = parameter(
        "tcp, or ipc: a local socket, without handshake", "tcp", values.choice, ("tcp", "ipc")
    )
    webots: str = parameter(
        f"version of its library: {', '.join(wire.VERSIONS)}",
        "R2025a",
        values.choice,
        wire.VERSIONS,
    )

    @property
    def is_local(self) -> bool:
        return self.framing == "ipc"


class Controller(Adjustable[Settings]):
    """`connect` and `disconnect` are those of a TCP client; `retry_s`: between two attempts.

    library: the robot as the script sees it. requests, delays_ms: the last ones, with the results
    of the steps. ended: why it will not connect again, or "".
    """

    network = "tcp-client"
    retry_s = 1.0

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.uart.baud_rate = 1_000_000_000  # TCP is not paced
        self.closing = self.connected = False
        self.counts: Counter[str] = Counter()
        self._noise = random.Random(name)
        self._restart()

    def _restart(self) -> None:
        self.ended = ""
        self.library = Library(self.settings.webots)
        self.requests: deque[bytes] = deque(maxlen=LIMIT)
        self.delays_ms: deque[int] = deque(maxlen=LIMIT)
        self._answers = wire.AnswerReader(self.settings.is_local)
        self._statements = deque(self.settings.script)
        self._repeats = 0
        self._welcomed = self.settings.is_local
        self._stepping = self._leaving = False

    def describe(self) -> str:
        state = self.ended or ("connected" if self.connected else "not connected")
        return f"controller of {self.settings.robot or 'the only robot'}, {state}"

    # --- the connection -----------------------------------------------------------------------

    def connect(self, now: int) -> None:
        if self.ended:
            self.closing = True
            return
        self._restart()
        self.connected, self.closing = True, False
        if self.settings.is_local:
            self._initialize(now)
        else:
            line = (
                wire.NAME_LINE + wire.encoded_name(self.settings.robot)
                if self.settings.robot
                else b""
            )
            self.uart.write(wire.GREETING + line, now)

    def disconnect(self, now: int) -> None:
        if self.connected and not self.ended and self._welcomed:
            self.ended = "disconnected by the simulator"
        self.connected = self.closing = False
        self._cancel()

    def reset(self, now: int) -> None:
        self.disconnect(now)
        self._restart()

    def _adopt(self, name: str) -> None:
        # Use a new value from the next connection on; a new script begins at once.
        if name == "script":
            self.closing = self.connected
            self._restart()

    def receive(self, data: bytes, now: int) -> None:
        if not self.connected or self.closing or self.ended:
            return
        if not self._welcomed:
            self._welcome(data, now)
            return
        self._answers.feed(data)
        try:
            while not self.closing and (answer := self._answers.next()) is not None:
                self.library.take(answer)
                if answer.delay_ms >= 0:
                    self._answered(answer.delay_ms, now)
        except ValueError as error:
            self._end(f"crashed: {error}")

    def _welcome(self, data: bytes, now: int) -> None:
        # The library reads this answer with one call of ten bytes at most.
        if data == wire.CONNECTED:
            self._welcomed = True
            self._initialize(now)
        elif data in (wire.FAILED, wire.PROCESSING):
            self.counts[data.decode()] += 1
            self.closing = True  # and tries again
        else:
            self._end("rejected" if data == wire.FORBIDDEN else f"rejected: {data[:10]!r}")

    def _close(self, now: int) -> None:
        self.closing = True

    def _end(self, reason: str) -> None:
        self.ended = reason
        self.closing = True

    # --- the program --------------------------------------------------------------------------

    def _initialize(self, now: int) -> None:
        # The first request asks for the configuration; the library turns the joystick off.
        self.library.robot[35] = struct.pack("<H", 0)
        self._request(0, now)

    def _request(self, step_ms: int, now: int) -> None:
        data = self.library.request(step_ms)
        self.requests.append(data)
        self._stepping = step_ms > 0
        self.uart.write(data, now)

    def _answered(self, delay_ms: int, now: int) -> None:
        if self._leaving or self.library.quit:
            self.ended = "quit" if self.library.quit else "left"
            self.uart.write(wire.LEAVING, now)
            self.uart.change(self._close, now)
            return
        if self._stepping:
            self.counts["steps"] += 1
            self.delays_ms.append(delay_ms)
        self._go_on(now)

    def _go_on(self, now: int) -> None:
        while self._statements:
            statement = self._statements[0]
            if statement.word == "step":
                self._step(statement, now)
                return
            self._statements.popleft()
            if statement.word in FAULTS:
                self._fail(statement, now)
                return
            if run(statement, self.library):
                self._request(0, now)
                return
        self._leaving = True
        self.library.robot[wire.EXIT_NOTIFY] = b""
        self._request(0, now)

    def _step(self, statement: Statement, now: int) -> None:
        self._repeats += 1
        if self._repeats == statement.times:
            self._statements.popleft()
            self._repeats = 0
        self._request(statement.step_ms, now)

    def _fail(self, statement: Statement, now: int) -> None:
        # freeze: no request any more. die: the end of the connection without a word.
        if statement.word == "wait":
            self.timers.start("wait", now + int(statement.given[0]) * MS, self._go_on)
        elif statement.word == "die":
            self._end("died")
        elif statement.word == "garbage":
            self.uart.write(self._noise.randbytes(64), now)


PARAMETERS = Settings.texts()

create = creator(Controller, Settings)
