"""A whole gateway on a fake clock with scripted controllers, and a model of Webots to judge it."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hilgw.config.load import load_text
from hilgw.controllers.base import Action, PacketQueue, Send
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.testing.sim import Clock
from tests.engine.fakes import built

MS = 1_000_000


class Auditor(Observer):
    """Notes what happens, and looks at the ledger whenever something does."""

    def __init__(self) -> None:
        self.gateway: Gateway | None = None
        self.sent: list[Packet] = []
        self.notices: list[tuple[str, str]] = []
        self.wrong: list[str] = []

    def look(self) -> None:
        if self.gateway is not None:
            self.wrong += self.gateway.ledger.violations()

    def transmitted(
        self, packet: Packet, listeners: Any, not_received: Any, missed: Missed
    ) -> None:
        self.sent.append(packet)
        self.look()

    def delivered(self, station: str, copy: Copy) -> None:
        self.look()

    def refused(self, station: str, reason: str, text: str) -> None:
        self.look()

    def notice(self, source: str, text: str) -> None:
        self.notices.append((source, text))


class SteppedGateway:
    """A gateway of these robots. `at` moves the clock: nanoseconds from the start."""

    def __init__(
        self,
        step_ms: int | None,
        robots: Mapping[str, Mapping[str, Any]],
        late_ns: int = 0,
        adapters: Mapping[str, Any] | None = None,
    ) -> None:
        data = {"version": 1, "medium": {"step_ms": step_ms}, "robots": robots}
        text = json.dumps({**data, "adapters": adapters or {}})
        config = load_text(text, "f").config
        self.timer = Clock()
        self.start = self.timer.now()
        self.late_ns = late_ns
        self.auditor = Auditor()
        self.gateway = self.auditor.gateway = built(config, self.timer, self.auditor)

    def begin(self) -> None:
        for robot in self.gateway.robots.values():
            robot.start()

    def at(self, after_ns: int) -> None:
        self.timer.run_until(self.start + after_ns, self.late_ns)
        self.auditor.look()

    def settle(self) -> None:
        """Runs what is due by now, without further delay."""
        self.timer.run_until(self.timer.now())

    def now(self) -> int:
        return self.timer.now() - self.start

    def close(self) -> None:
        """As at the end of a run: what is queued expires, and the ledger adds up."""
        for robot in self.gateway.robots.values():
            robot.close()
        self.auditor.look()
        assert self.auditor.wrong == []


Call = tuple[Any, ...]  # a word and its arguments


class Script:
    """A controller that makes these calls, (when, word, arguments...) each, one after the other,
    and notes when it made each and what it gave back."""

    def __init__(self, running: SteppedGateway, robot: str, calls: Iterable[Call]) -> None:
        self._running = running
        self._robot = running.gateway.robots[robot]
        self._calls = list(calls)
        self._receivers: Mapping[str, PacketQueue] = {}
        self.made: list[tuple[int, Call, Any]] = []
        self._robot.session = self

    def start(self, now: int, receivers: Mapping[str, PacketQueue]) -> list[Action]:
        self._receivers = receivers
        return []

    def readable(self, receiver: str, now: int) -> list[Action]:
        return []  # it reads when it wants to

    def sent(self, accepted: bool) -> None:
        when, call, _ = self.made[-1]
        self.made[-1] = (when, call, accepted)

    def next_deadline(self) -> int | None:
        return self._running.start + self._calls[0][0] if self._calls else None

    def expire(self, now: int) -> list[Action]:
        _, word, *given = self._calls.pop(0)
        call, when = (word, *given), now - self._running.start
        if word == "send":
            self.made.append((when, call, None))
            return [Send("tx", given[0])]
        self.made.append((when, call, self._do(word, *given)))
        return []

    def summary(self) -> str:
        return ""

    def _do(self, word: str, *given: Any) -> Any:
        emitter, receiver = self._robot.emitters["tx"], self._robot.receivers["rx"]
        match word:
            case "emitter_channel":
                return (emitter.setChannel(*given), emitter.emitter.getChannel())
            case "range":
                return (emitter.setRange(*given), emitter.emitter.range)
            case "receiver_channel":
                return (receiver.setChannel(*given), receiver.receiver.getChannel())
            case "enable":
                return (receiver.enable(*given), receiver.receiver.getSamplingPeriod())
            case "length":
                return self._receivers["rx"].queue_length()
            case "read":
                copy = self._receivers["rx"].next_packet()
                return None if copy is None else (copy.packet.data, copy.signal_strength)
        raise AssertionError(word)


# --- the model ------------------------------------------------------------------------------------

# Written from the description of Webots R2025a's controller library and simulator (the golden cases
# E, B and R), not from hilgw: it walks from step to step, as they do. A call at the instant t is
# part of the request that ends the step in which t lies; a call at the end of a step is part of the
# next request. Credit is exact; Webots has it in floating-point numbers.

BROADCAST = UNLIMITED = -1
INT32_MAX = 2**31 - 1


def allows(channels: tuple[int, ...], channel: int) -> bool:
    return BROADCAST <= channel <= INT32_MAX and (not channels or channel in channels)


@dataclass
class Sent:
    data: bytes
    channel: int
    range: float


@dataclass
class Reception:
    data: bytes
    distance: float


@dataclass
class ModelEmitter:
    """The library's queue, and the range field of the simulator's node."""

    channel: int = 0
    range: float = -1.0
    maxRange: float = -1.0
    baudRate: int = -1
    byteSize: int = 8
    bufferSize: int = -1
    allowedChannels: tuple[int, ...] = ()
    queue: list[Sent] = field(default_factory=list)
    credit: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.maxRange == 0:
            self.maxRange = -1.0  # WbFieldChecker, when the world is loaded
        self.field_range = self.range

    def send(self, data: bytes) -> bool:
        used = sum(len(each.data) for each in self.queue)
        if not data or (self.bufferSize != UNLIMITED and len(data) > self.bufferSize - used):
            return False
        if not self.queue:
            self.credit = Fraction(0)
        self.queue.append(Sent(data, self.channel, self.range))
        return True

    def set_channel(self, channel: int) -> bool:
        if allows(self.allowedChannels, channel):
            self.channel = channel
            return True
        return False

    def set_range(self, range: float) -> bool:
        if range < 0 and range != -1:
            return False
        if range == -1 or (self.maxRange != -1 and range > self.maxRange):
            range = self.maxRange
        self.range = range
        return True

    def request(self, step_ms: int) -> list[Sent]:
        """What leaves in the request of one step; the simulator's node takes its range over."""
        unlimited = self.baudRate < 0
        if self.queue and not unlimited:
            self.credit += Fraction(self.baudRate, self.byteSize * 1000) * step_ms
        leaving = []
        while self.queue and (unlimited or len(self.queue[0].data) <= self.credit):
            packet = self.queue.pop(0)
            self.credit -= len(packet.data)
            leaving.append(packet)
            self._change_range(packet.range)
        return leaving

    def _change_range(self, range: float) -> None:
        """The node checks its range when it changes."""
        if range == self.field_range:
            return
        if range <= 0:
            range = -1.0
        if self.maxRange != -1 and (range > self.maxRange or range == -1):
            range = self.maxRange
        self.field_range = range


@dataclass
class ModelReceiver:
    """The simulator's waiting packets and sampling period, and the library's queue."""

    channel: int = 0
    bufferSize: int = -1
    allowedChannels: tuple[int, ...] = ()
    sampling_period_ms: int = 0
    waiting: list[Reception] = field(default_factory=list)
    queue: list[Reception] = field(default_factory=list)
    sampled_ms: int = 0
    overflows: int = 0

    def __post_init__(self) -> None:
        if self.bufferSize == 0:
            self.bufferSize = UNLIMITED

    def enable(self, period_ms: int, now_ms: int) -> bool:
        if period_ms < 0:
            return False
        self.sampling_period_ms, self.sampled_ms = period_ms, now_ms
        return True

    def set_channel(self, channel: int) -> bool:
        if channel == self.channel or allows(self.allowedChannels, channel):
            self.channel = channel
            return True
        return False

    def next_packet(self) -> Reception | None:
        return self.queue.pop(0) if self.queue else None

    def answer(self, now_ms: int) -> None:
        """The end of a step: when the period is due, what waits goes to the library."""
        if not self.sampling_period_ms or now_ms - self.sampled_ms < self.sampling_period_ms:
            return
        self.sampled_ms = now_ms
        for packet in self.waiting:
            used = sum(len(each.data) for each in self.queue)
            if self.bufferSize == UNLIMITED or len(packet.data) <= self.bufferSize - used:
                self.queue.append(packet)
            else:
                self.overflows += 1
        self.waiting.clear()


@dataclass
class ModelRobot:
    x: float
    emitter: ModelEmitter
    receiver: ModelReceiver


@dataclass
class ModelWorld:
    """Robots on a line, one Emitter and one Receiver each; `call` what their controllers call."""

    step_ms: int
    robots: dict[str, ModelRobot]
    steps: int = 0  # that have ended
    departed: list[tuple[int, str, bytes, int]] = field(default_factory=list)
    """(step, robot, data, channel) of each packet that left."""

    def call(self, now_ns: int, robot: str, word: str, *given: Any) -> Any:
        """What a call at this instant, counted from the start, gives back."""
        self.run_until(now_ns)
        emitter, receiver = self.robots[robot].emitter, self.robots[robot].receiver
        match word:
            case "send":
                return emitter.send(*given)
            case "emitter_channel":
                return (emitter.set_channel(*given), emitter.channel)
            case "range":
                return (emitter.set_range(*given), emitter.range)
            case "receiver_channel":
                return (receiver.set_channel(*given), receiver.channel)
            case "enable":
                begin_ms = self.steps * self.step_ms
                return (receiver.enable(*given, begin_ms), receiver.sampling_period_ms)
            case "length":
                return len(receiver.queue)
            case "read":
                receptions = receiver.next_packet()
                return (
                    None if receptions is None else (receptions.data, strength(receptions.distance))
                )
        raise AssertionError(word)

    def run_until(self, now_ns: int) -> None:
        while (self.steps + 1) * self.step_ms * MS <= now_ns:
            self._step()

    def _step(self) -> None:
        """Requests of all robots, then physics, then answers to all."""
        self.steps += 1
        for name, robot in self.robots.items():
            for packet in robot.emitter.request(self.step_ms):
                self.departed.append((self.steps, name, packet.data, packet.channel))
                self._hand_over(name, robot, packet)
        # Physics judges the range: by then, the field holds that of the step's last packet.
        for robot, other, packet in self._in_flight:
            distance = abs(robot.x - other.x)
            if robot.emitter.field_range == -1 or distance <= robot.emitter.field_range:
                other.receiver.waiting.append(Reception(packet.data, distance))
        self._in_flight.clear()
        for robot in self.robots.values():
            robot.receiver.answer(self.steps * self.step_ms)

    def _hand_over(self, name: str, robot: ModelRobot, packet: Sent) -> None:
        for other_name, other in self.robots.items():
            receiver = other.receiver
            fits = packet.channel == receiver.channel or BROADCAST in (
                packet.channel,
                receiver.channel,
            )
            if other_name != name and receiver.sampling_period_ms and fits:
                self._in_flight.append((robot, other, packet))

    def __post_init__(self) -> None:
        self._in_flight: list[tuple[ModelRobot, ModelRobot, Sent]] = []


def strength(distance: float) -> float:
    return math.inf if distance == 0 else 1 / distance**2
