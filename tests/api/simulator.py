"""A simulator in memory: it answers what a test wants, and keeps the requests."""

from collections.abc import Iterable
from typing import Any

from hilgw.api.connection import Closed
from hilgw.api.robot import Robot
from hilgw.api.session import Session
from hilgw.protocols.webots.answers import Answer, AnswerReader, Image, encode_answer
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.device_messages import MotorConfiguration
from hilgw.protocols.webots.requests import Request, RequestReader
from hilgw.protocols.webots.robot_messages import DeviceEntry, RobotConfiguration, Time


class Simulator:
    """Stands in for `hilgw.api.connection.Connection`.

    answers: the messages of the next answers, in order; an answer without any is empty. delays: of
    the next answers; then 0.
    """

    peer = "memory"

    def __init__(
        self, devices: Iterable[tuple[str, str, Any]] = (), world: str = "/project/worlds/w.wbt"
    ):
        """devices: kind, name, and a function that makes the configuration of the tag, or None.
        world: a gateway has none."""
        self.codec = Codec("R2025a")
        self.requests: list[Request] = []
        self.raw: list[bytes] = []
        self.answers: list[list[Any]] = []
        self.delays: list[int] = []
        self.images: list[list[Image]] = []  # of the next answers
        self.left = self.lost = self.frozen = False
        self.time_ms = 0
        self._reader = RequestReader()
        declared = list(devices)
        entries = tuple(
            DeviceEntry(self.codec.number(kind), name, f"{name}-model")
            for kind, name, _ in declared
        )
        configuration = RobotConfiguration(
            name="rover",
            version="R2025a",
            devices=entries,
            basicTimeStep=32.0,
            projectPath="/project",
            worldPath=world,
            model="m",
            customData="data",
        )
        self._configuration = [configuration] + [
            make(tag) for tag, (_, _, make) in enumerate(declared, 1) if make is not None
        ]

    def send(self, data: bytes) -> None:
        if self.lost:
            raise Closed("Broken pipe")
        self.raw.append(data)
        self._reader.feed(data)
        request = self._reader.next()
        assert isinstance(request, Request)
        self.requests.append(request)
        self.time_ms += request.duration_ms

    def receive(self) -> Answer:
        if self.lost:
            raise Closed("the simulator closed the connection")
        messages = self._messages()
        reader = AnswerReader()
        delay = self.delays.pop(0) if self.delays else 0
        images = self.images.pop(0) if self.images else []
        reader.feed(encode_answer(delay, self.codec.encode_messages(messages), images))
        answer = reader.next()
        assert answer is not None
        return answer

    def _messages(self) -> list[Any]:
        if self._configuration:
            messages, self._configuration = self._configuration, []
            return messages
        time = [Time(self.time_ms / 1000)] if self.requests[-1].duration_ms else []
        return time + (self.answers.pop(0) if self.answers else [])

    def wait(self, wait_s: float) -> bool:
        return not self.frozen

    def limit(self, wait_s: float) -> None:
        """It always answers."""

    def leave(self) -> None:
        self.left = True

    # --- what a test reads ----------------------------------------------------------------------

    def commands(self, request: int = -1) -> list[Any]:
        """The commands in this request."""
        return [
            command
            for block in self.requests[request].blocks
            for command in self.codec.decode_commands(block)
        ]


def motor(tag: int, *, lowest: float = -3.0, highest: float = 3.0) -> MotorConfiguration:
    limits = (lowest, highest, 10.0, -1.0, 8.0, 10.0, 0.0, 0.0)
    return MotorConfiguration(tag, 0, *limits, 0.5, 10.0, 1.0)


def robot_of(simulator: Simulator) -> Robot:
    """A Robot whose connection is this simulator."""
    return Robot(session=Session(simulator))
