"""The golden cases again, by controllers of a running gateway: hilgw.api, and the mock of Webots'
library, which was written from the protocol alone. The cases are those of tests/devices."""

import asyncio
import contextlib
import io
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks._webots import wire
from firmware_mocks._webots.library import Library
from firmware_mocks._webots.script import parsed, run
from hilgw.api import Emitter, Robot
from hilgw.api.session import Session
from hilgw.engine.observer import Observer
from hilgw.medium.packet import Packet
from hilgw.protocols.webots.answers import Answer, AnswerReader
from tests.devices.test_golden import (
    EMITTER,
    EMITTER_CASES,
    INF,
    LINE,
    NAN,
    RECEIVER,
    RECEIVER_CASES,
    SILENT,
    GoldenDevice,
    note,
)
from tests.engine.control_loop.test_webots_controllers import HELLO, Running

Case = tuple[dict[str, Any], list[tuple[Any, ...]]]
LONGEST_STEP_MS = 60_000  # of B7
DEADLINE_S = 100.0  # simulated
DISTANCE_M = 0.5


class Left(Observer):
    """The packets that entered the medium."""

    def __init__(self, packets: list[Packet]) -> None:
        self._packets = packets

    def transmitted(self, packet: Packet, *_: object) -> None:
        self._packets.append(packet)


class Wire:
    """The connection of the controller of robot a; each wait for an answer runs the gateway.

    The other robot, b, has the other end of the medium.
    """

    def __init__(self, folder: Path, step_ms: int, a: dict[str, Any], b: dict[str, Any]) -> None:
        controller = {"kind": "webots", "listen": "tcp://127.0.0.1:0"}
        place = {"position": [0, 0, 0]}, {"position": [DISTANCE_M, 0, 0]}
        robots = {
            "rover": {**place[0], "controller": controller, "devices": {"device": a}},
            "b": {**place[1], "devices": {"other": b}},
        }
        text = {"version": 1, "medium": {"step_ms": step_ms}, "robots": robots}
        self.running = Running(folder, text=json.dumps(text))
        self.running.__enter__()
        self.left: list[Packet] = []
        self.running.gateway.observer.add(Left(self.left))
        self.requests: list[bytes] = []
        self._reader = AnswerReader()
        word, self._peer = self.running.ask(HELLO + b"rover")
        assert word == b"CONNECTED"

    def send(self, request: bytes) -> None:
        self.requests.append(request)
        left = memoryview(request)
        while left:
            try:
                left = left[self._peer.connection.send(left) :]
            except BlockingIOError:
                self.running.loop.run_until_complete(asyncio.sleep(0))

    def take(self) -> bytes:
        """Bytes that have come."""
        data = bytes(self._peer.poll())
        self._peer.received.clear()
        return data

    def receive(self) -> Answer:
        answers: list[Answer] = []

        def answered() -> bool:
            self._reader.feed(self.take())
            answer = self._reader.next()
            answers.extend([] if answer is None else [answer])
            return bool(answers)

        self.running.loop.until(answered, "an answer", DEADLINE_S)
        return answers[0]

    def limit(self, wait_s: float) -> None:
        """The gateway always answers."""

    def leave(self) -> None:
        self._peer.connection.close()

    def arrive(self, *packets: int | bytes) -> None:
        """Robot b sends them in the coming step."""
        for packet in packets:
            data = bytes(packet) if isinstance(packet, int) else packet
            assert self.running.gateway.send("b.other", data, -1) is None

    def close(self) -> None:
        self.running.end()
        assert self.running.gateway.ledger.violations() == []
        self.running.__exit__(None, None, None)


class ProgrammedDevice(GoldenDevice):
    """A device of a controller, of either kind."""

    one_range = True

    def __init__(self, wire: Wire, step_ms: int) -> None:
        self.wire = wire
        self.step_ms = step_ms

    def step(self, ms: int | None = None) -> Any:
        """Of an Emitter: the sizes that leave in it. Of a Receiver, without ms: its queue then."""
        self.wire.left.clear()
        self.advance(self.step_ms if ms is None else min(ms, LONGEST_STEP_MS))
        self.left = list(self.wire.left)
        return self.length() if ms is None else [len(each.data) for each in self.left]

    def arrive(self, *packets: int | bytes) -> None:
        self.wire.arrive(*packets)

    def asked(self) -> int | None:
        """The one SET_CHANNEL of a step."""
        self.advance(self.step_ms)
        _, blocks = wire.read_request(self.wire.requests[-1])
        for _, data in blocks:
            if data[0] == 2:
                return int(struct.unpack_from("<i", data, 1)[0])
        return None

    def advance(self, ms: int) -> None:
        raise NotImplementedError

    def length(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        self.wire.close()


class ApiProgram(ProgrammedDevice):
    """A program with hilgw.api."""

    def __init__(self, wire: Wire, step_ms: int) -> None:
        super().__init__(wire, step_ms)
        self._printed = io.StringIO()
        self._robot = Robot(session=Session(wire))
        self._device: Any = self._robot.getDevice("device")

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        """What it returns; of an error, its class."""
        with contextlib.redirect_stderr(self._printed):
            try:
                return function(*given)
            except (ValueError, struct.error) as error:
                return type(error)

    def notes(self) -> list[str]:
        lines = self._printed.getvalue().splitlines()
        self._printed.truncate(0)
        self._printed.seek(0)
        return lines

    def advance(self, ms: int) -> None:
        assert self._call(self._robot.step, ms) == 0

    def send(self, data: Any) -> Any:
        return self._call(self._device.send, bytes(data) if isinstance(data, int) else data)

    def setChannel(self, channel: int) -> Any:
        self._call(self._device.setChannel, channel)
        return self._device.getChannel()

    def setRange(self, range: float) -> Any:
        self._call(self._device.setRange, range)
        return self._device.getRange()

    def length(self) -> int:
        length: int = self._call(self._device.getQueueLength)
        return length

    def size(self) -> Any:
        return self._call(self._device.getDataSize)

    def read(self) -> int | None:
        with contextlib.redirect_stderr(io.StringIO()):
            size: int = self._device.getDataSize()
        self._call(self._device.nextPacket)
        return None if size == -1 else size

    def enable(self, ms: int) -> int:
        self._call(self._device.enable, ms)
        period: int = self._device.getSamplingPeriod()
        return period

    def period(self) -> int:
        period: int = self._call(self._device.getSamplingPeriod)
        return period

    def get(self, getter: str) -> Any:
        return self._call(getattr(self._device, getter))

    def hold(self) -> None:
        self._held = self._device.getBytes()

    def held(self) -> bytes:
        return self._held

    def send_by(self, device: str | int) -> Any:
        """By an Emitter that the robot does not have."""
        return self._call(lambda: Emitter(device).send(b"lost"))

    def complained(self, *words: str) -> list[bool]:
        """Whether each of these was in the lines since the last look."""
        lines = " ".join(self.notes())
        return [word in lines for word in words]

    def close(self) -> None:
        self._robot.close()
        super().close()


class LibraryProgram(ProgrammedDevice):
    """The mock of libController: it has no error lines."""

    skips = frozenset({"notes", "period"})

    def __init__(self, connection: Wire, step_ms: int) -> None:
        super().__init__(connection, step_ms)
        self._library = Library("R2025a")
        self._answers = wire.AnswerReader(ipc=False)
        self._library.robot[35] = b"\0\0"
        self.advance(0)
        device = self._library.find("device")
        assert device is not None
        self._device = device

    def advance(self, ms: int) -> None:
        self.wire.send(self._library.request(ms))
        answers: list[wire.Answer] = []

        def answered() -> bool:
            self._answers.feed(self.wire.take())
            answer = self._answers.next()
            answers.extend([] if answer is None else [answer])
            return bool(answers)

        self.wire.running.loop.until(answered, "an answer", DEADLINE_S)
        assert answers[0].delay_ms == 0
        self._library.take(answers[0])

    def _run(self, statement: str) -> int:
        rejected = self._library.counts["rejected"]
        for call in parsed(statement):
            run(call, self._library)
        return int(self._library.counts["rejected"] == rejected)

    def send(self, size: int) -> int:
        return self._run("send device " + size * "x")

    def setChannel(self, channel: int) -> int:
        self._run(f"channel device {channel}")
        return self._device.channel

    def setRange(self, range: float) -> float:
        self._run(f"range device {range}")
        return self._device.range

    def length(self) -> int:
        return len(self._device.packets)

    def size(self) -> int:
        return len(self._device.packets[0].data) if self._device.packets else -1

    def read(self) -> int | None:
        size = self.size() if self._device.packets else None
        self._run("next device")
        return size

    def enable(self, ms: int) -> int:
        if self._run(f"enable device {ms}"):
            self._period = ms
        return self._period


PROGRAMS: dict[str, type[ProgrammedDevice]] = {"api": ApiProgram, "library": LibraryProgram}


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., None]]:
    played: list[ProgrammedDevice] = []

    def play(kind: str, case: Case, node: str, other: str) -> None:
        fields, script = case
        step_ms = 16 if ("step", 16) in [line[:2] for line in script] else 32
        wire = Wire(tmp_path, step_ms, {"node": node, **fields}, {"node": other, "channel": -1})
        device = PROGRAMS[kind](wire, step_ms)
        played.append(device)
        device.play(script)

    yield play
    for device in played:
        device.close()


# What libController does, and hilgw.api differently on purpose.
LIBRARY_CASES: dict[str, Case] = {
    "E8": (EMITTER, [("setRange", 1.0, 1.0), ("setRange", -1.0, 5.0), ("setRange", -2.0, 5.0),
                     ("setRange", 0.0, 0.0), ("setRange", INF, 5.0), ("setRange", NAN, NAN)]),
    # An immediate request grants the credit of the step before it again.
    "B8": (LINE, [("send", 30, 1), ("step", 16, []), ("step", 0, []), ("step", 16, [30])]),
}  # fmt: skip
# What only a program asks. R16: the channel of a RECEIVE is that of the Receiver, not the packet's.
SEVEN = b"a\0bcdef"
GETTERS = ["getBytes", "getFloats", "getInts", "getBools", "getString", "getData"]
EMPTY = note("the receiver queue is empty.")
NO_DATA = [b"", (), (), (), "", ""]
ON = ("enable", 32, 32)
API_EMITTER_CASES: dict[str, Case] = {
    "E3": (EMITTER, [("send", b"", 0), ("notes", note("invalid size=0 argument.")),
                     ("send", "", 0), ("notes", note("invalid size=0 argument."))]),
    "E4": (EMITTER, [("send_by", "nix", 0),
                     ("complained", "'nix' was not found", "invalid device tag.", [True] * 2),
                     ("send_by", 99, 0), ("complained", "invalid device tag.", [True]),
                     ("step", 32, [])]),
}  # fmt: skip
API_RECEIVER_CASES: dict[str, Case] = {
    "R3 R4 R6": (RECEIVER, [ON, *[
        line for getter, data in zip(GETTERS[:-1], NO_DATA, strict=False)
        for line in (("get", getter, data), ("notes", EMPTY))
    ]]),
    "R2a": (RECEIVER, [ON, ("size", -1), ("notes", EMPTY)]),
    "R5": (RECEIVER, [ON, ("get", "getSignalStrength", NAN), ("notes", EMPTY),
                      ("get", "getEmitterDirection", [NAN] * 3), ("notes", EMPTY)]),
    "R17": (RECEIVER, [ON, ("arrive", SEVEN, None), ("step", 1), ("size", 7),
                       ("get", "getInts", struct.error), ("get", "getFloats", struct.error),
                       ("get", "getBools", tuple(map(bool, SEVEN))),
                       ("get", "getString", SEVEN.decode()), ("get", "getBytes", SEVEN),
                       ("get", "getSignalStrength", DISTANCE_M**-2),
                       ("get", "getEmitterDirection", [1.0, 0.0, 0.0]), ("notes", SILENT)]),
    "R18": (RECEIVER, [ON, ("arrive", b"\xff", None), ("step", 1),
                       ("get", "getString", UnicodeDecodeError), ("get", "getBytes", b"\xff")]),
    "R19": (RECEIVER, [ON, ("arrive", SEVEN, None), ("step", 1),
                       ("get", "getData", SEVEN.decode()),
                       ("notes", note("DEPRECATION: Receiver.getData"))]),
    "R20": (RECEIVER, [ON, ("arrive", b"first", b"second", None), ("step", 2), ("hold", None),
                       ("read", 5), ("get", "getBytes", b"second"), ("held", b"first")]),
}  # fmt: skip
BOTH_RECEIVER_CASES: dict[str, Case] = {
    "R16": (RECEIVER, [ON, ("setChannel", -1, -1), ("step", 0), ("arrive", 6, None), ("step", 1),
                       ("setChannel", -1, -1), ("asked", None)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("name", EMITTER_CASES)
def test_emitter(play: Callable[..., None], kind: str, name: str) -> None:
    cases = EMITTER_CASES | (LIBRARY_CASES if kind == "library" else {})
    play(kind, cases[name], "Emitter", "Receiver")


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("name", [*RECEIVER_CASES])
def test_receiver(play: Callable[..., None], kind: str, name: str) -> None:
    play(kind, (RECEIVER_CASES | BOTH_RECEIVER_CASES)[name], "Receiver", "Emitter")


@pytest.mark.parametrize("name", API_EMITTER_CASES)
def test_emitter_of_the_api(play: Callable[..., None], name: str) -> None:
    play("api", API_EMITTER_CASES[name], "Emitter", "Receiver")


@pytest.mark.parametrize("name", API_RECEIVER_CASES)
def test_receiver_of_the_api(play: Callable[..., None], name: str) -> None:
    play("api", API_RECEIVER_CASES[name], "Receiver", "Emitter")
