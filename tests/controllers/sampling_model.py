"""Sensors and Receivers of Webots' simulator, and the steps of a controller: a model to judge
gateways with.

Written from the sources of Webots R2025a, not from hilgw: WbSensor (refresh rate, last update,
pending value), WbReceiver (waiting and ready packets), WbController (the request) and
WbControlledWorld (`waitForRobotWindowIfNeededAndCompleteStep`: after each basic step, a controller
whose step is over is answered, and the sensors of all others that wait are refreshed). Times are ms
of the simulation.
"""

from dataclasses import dataclass, field
from typing import Any

UNLIMITED = -1


@dataclass
class Timer:
    """WbSensor: the first value comes one whole period after the request that set the period."""

    rate_ms: int = 0
    updated_ms: int = 0
    has_pending: bool = False

    def set_rate(self, rate_ms: int, now_ms: int) -> None:
        self.rate_ms, self.updated_ms = rate_ms, now_ms

    def refresh(self, now_ms: int) -> bool:
        if not self.rate_ms or now_ms - self.updated_ms < self.rate_ms:
            return False
        self.updated_ms, self.has_pending = now_ms, True
        return True


@dataclass
class ModelSensor:
    """present: what there is to measure. read: what the controller has, None before the first."""

    present: float
    timer: Timer = field(default_factory=Timer)
    measured: float | None = None
    read: float | None = None

    def refresh(self, now_ms: int) -> None:
        if self.timer.refresh(now_ms):
            self.measured = self.present

    def answer(self) -> bool:
        """Whether a message is written."""
        written, self.timer.has_pending = self.timer.has_pending, False
        if written:
            self.read = self.measured
        return written


@dataclass
class ModelReceiver:
    """Nothing but a sample takes packets out of `waiting`: setting a period does not, nor 0.
    queue, dropped: of the controller's library, which alone has bufferSize."""

    buffer_size: int = UNLIMITED
    timer: Timer = field(default_factory=Timer)
    waiting: list[bytes] = field(default_factory=list)
    ready: list[bytes] = field(default_factory=list)
    queue: list[bytes] = field(default_factory=list)
    dropped: int = 0

    def transmit(self, data: bytes) -> None:
        """An Emitter's packet, handed over before the physics of a step."""
        if self.timer.rate_ms:
            self.waiting.append(data)

    def refresh(self, now_ms: int) -> None:
        if self.timer.refresh(now_ms):
            self.ready += self.waiting
            self.waiting = []

    def answer(self) -> bool:
        written, self.timer.has_pending = self.timer.has_pending, False
        for data in self.ready if written else []:
            used = sum(map(len, self.queue))
            if self.buffer_size == UNLIMITED or used + len(data) <= self.buffer_size:
                self.queue.append(data)
            else:
                self.dropped += 1
        self.ready = [] if written else self.ready
        return written


class ModelWorld:
    """One robot: its devices by name, and the request of its controller."""

    def __init__(self, basic_ms: int, devices: dict[str, Any]) -> None:
        self.devices = devices
        self.time_ms = 0
        self.written: set[str] = set()  # devices with a message in the last answer
        self._basic_ms = basic_ms
        self._asked_ms = self._step_ms = 0
        self._is_waiting = False
        self._sent: list[tuple[str, bytes]] = []

    def request(self, step_ms: int, periods: list[tuple[str, int]]) -> None:
        """periods: those that the request sets."""
        for name, period_ms in periods:
            self.devices[name].timer.set_rate(period_ms, self.time_ms)
        if step_ms:
            self._asked_ms, self._step_ms, self._is_waiting = self.time_ms, step_ms, True

    def send(self, receiver: str, data: bytes) -> None:
        """Another robot sends a packet, with a request that begins before the next basic step."""
        self._sent.append((receiver, data))

    def basic_step(self) -> bool:
        """Whether the controller's step is over, and answered."""
        for receiver, data in self._sent:
            self.devices[receiver].transmit(data)
        self._sent = []
        self.time_ms += self._basic_ms
        if not self._is_waiting:
            return False
        for device in self.devices.values():
            device.refresh(self.time_ms)
        if self._asked_ms + self._step_ms > self.time_ms:
            return False
        self._is_waiting = False
        self.written = {name for name, each in self.devices.items() if each.answer()}
        return True
