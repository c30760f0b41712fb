"""Random schedules through a whole gateway in simulated time: a Webots controller whose step is one
or several basic steps gets what Webots would give it."""

import json
import random
import struct
from pathlib import Path

import pytest

from firmware_mocks._webots import wire as webots_wire
from firmware_mocks._webots.library import Device, Library
from firmware_mocks.wc2ec import wire
from tests.cases import part_of
from tests.controllers.sampling_model import ModelReceiver, ModelSensor, ModelWorld
from tests.engine.control_loop.running import RunningLoop, robot_of

MS = 1_000_000
TYPES = wire.types_of("R2025a")
SENSORS = ("near", "far")
RECEIVERS = ("rx", "small")
CHANNEL = {"rx": 1, "small": 2}
SMALL_BYTES = 16
DEVICES = [(TYPES.distance_sensor, name) for name in SENSORS]
ASKS = "request"
HELLO = b"CTR\nRobot-Name: cab"

FREE = 0
"""A medium without steps: the controller's basic step is then DEFAULT_MS."""
DEFAULT_MS = 32
STEPS = 20
SCHEDULES = 8


def configuration(medium_ms: int) -> str:
    devices = {
        "rx": {"node": "Receiver", "channel": CHANNEL["rx"]},
        "small": {"node": "Receiver", "channel": CHANNEL["small"], "bufferSize": SMALL_BYTES},
    }
    body = {
        "kind": "wc2ec",
        "connect": "tcp://127.0.0.1:PORT",
        "original_peer": True,
        "simulated": True,
    }
    return json.dumps(
        {
            "version": 1,
            "webots": "R2025a",
            "medium": {"step_ms": medium_ms} if medium_ms else {},
            "robots": {
                "cab": {
                    "body": body,
                    "controller": {"kind": "webots", "listen": "tcp://127.0.0.1:0"},
                    "devices": devices,
                },
                "b": {"devices": {"tx": {"node": "Emitter"}}},
            },
        }
    )


class SampledRobot:
    """The gateway, its robot, a controller with the mock of Webots' library, and the model.
    `step` is one step of the controller."""

    def __init__(self, running: RunningLoop, basic_ms: int) -> None:
        self.basic_ms = basic_ms
        self.running = running
        self.robot = robot_of(running)
        self.library = Library("R2025a")
        self._answers = webots_wire.AnswerReader(ipc=False)
        self._values = 0
        self._packets = 0
        self._connect()
        for name in SENSORS:  # Webots' sensors always have something to measure
            self.measure(name, 0.0)
        self._ask(basic_ms)
        self._answer()
        self._origin_ns = self.running.clock.time  # a step end
        self._zero_ms = round(1000 * self.library.time_s)
        self.now_ms = 0.0
        sensors = {name: ModelSensor(0.0) for name in SENSORS}
        receivers = {"rx": ModelReceiver(), "small": ModelReceiver(SMALL_BYTES)}
        self.receivers = receivers
        self.model = ModelWorld(basic_ms, {**sensors, **receivers})

    def _connect(self) -> None:
        self.running.until(lambda: self.running.cab.is_complete, "the devices")
        self.peer = self.running.knock()
        self.peer.connection.sendall(HELLO)
        self.running.until(lambda: self.peer.poll(), "the handshake")
        assert bytes(self.peer.received) == b"CONNECTED"
        self.peer.received.clear()
        self.library.robot[35] = b"\0\0"
        self._ask(0)
        self._answer()

    def device(self, name: str) -> Device:
        found = self.library.find(name)
        assert found is not None
        return found

    def measure(self, name: str, value: float) -> None:
        number = SENSORS.index(name)
        self.robot.send(wire.value(wire.SENSOR_DATA, TYPES.distance_sensor, number, value))

    def _ask(self, step_ms: int) -> None:
        self.peer.connection.sendall(self.library.request(step_ms))

    def _take(self) -> bool:
        self._answers.feed(bytes(self.peer.poll()))
        self.peer.received.clear()
        answer = self._answers.next()
        if answer is not None:
            assert answer.delay_ms == 0
            self.library.take(answer)
        return answer is not None

    def _answer(self) -> None:
        self.running.until(self._take, "an answer")

    def _at(self, ms: float) -> None:
        """Time passes, until so long after the first step."""
        self.running.advance((self._origin_ns + round(ms * MS) - self.running.clock.time) / 1e9)
        self.now_ms = ms

    def step(
        self,
        step_ms: int,
        periods: list[tuple[str, int]],
        happens: list[tuple[float, str]],
        *,
        asks_at: float,
        at_once: bool,
    ) -> None:
        """happens: (when, what), in basic steps after the last answer: a value of this sensor, or a
        packet for this Receiver. asks_at: when the controller has computed. at_once: an immediate
        request carries the periods."""
        for name in SENSORS:
            self.device(name).values = ()
        began_ms = self.now_ms
        happens = sorted([*happens, (asks_at, ASKS)])
        basic_steps = -(-step_ms // self.basic_ms)
        for number in range(1, basic_steps + 1):
            while happens and happens[0][0] < number:
                when, name = happens.pop(0)
                self._at(began_ms + when * self.basic_ms)
                if name == ASKS:
                    self._request(step_ms, periods, at_once=at_once)
                else:
                    self._happens(name)
            over = self.model.basic_step()
            assert over is (number == basic_steps)
        self._answer()
        self.now_ms = (self.running.clock.time - self._origin_ns) / MS
        reported_ms = round(1000 * self.library.time_s) - self._zero_ms
        assert self.now_ms == self.model.time_ms == reported_ms
        self._compare()

    def _request(self, step_ms: int, periods: list[tuple[str, int]], *, at_once: bool) -> None:
        for name, period_ms in periods:
            self.device(name).enable(period_ms)
        if at_once:
            self._ask(0)
            self._answer()
        self._ask(step_ms)
        self.model.request(step_ms, periods)

    def _happens(self, name: str) -> None:
        if name in SENSORS:
            self._values += 1
            self.measure(name, float(self._values))
            self.model.devices[name].present = float(self._values)
        else:
            self._packets += 1
            data = struct.pack("<i", self._packets)
            assert self.running.gateway.send("b.tx", data, CHANNEL[name]) is None
            self.model.send(name, data)

    def read(self, receiver: str) -> None:
        """nextPacket"""
        packets = self.device(receiver).packets
        if packets:
            packets.popleft()
            self.receivers[receiver].queue.pop(0)

    def _compare(self) -> None:
        where = f"at {self.model.time_ms} ms"
        for name in SENSORS:
            values = self.device(name).values
            assert bool(values) is (name in self.model.written), f"{where}: message of {name}"
            if values:
                assert values == (self.model.devices[name].read,), f"{where}: value of {name}"
        for name, model in self.receivers.items():
            queue = [packet.data for packet in self.device(name).packets]
            assert queue == model.queue, f"{where}: packets of {name}"
            assert self.device(name).dropped == model.dropped, f"{where}: dropped of {name}"

    def end(self) -> None:
        self.peer.connection.close()
        self.running.end()
        assert self.running.gateway.ledger.violations() == []


def play(bench: SampledRobot, seed: int, lengths: list[int], computes: list[float]) -> None:
    """A random schedule. lengths: of a controller's step, in basic steps. computes: for how long
    the controller may compute before it, in basic steps."""
    chance = random.Random(seed)
    basic_ms = bench.basic_ms
    periods = [0, 0, 1, basic_ms // 2, basic_ms, basic_ms + 1, 2 * basic_ms, 3 * basic_ms]
    periods += [round(2.5 * basic_ms), 5 * basic_ms]
    for number in range(STEPS):
        length = chance.choice(lengths)
        step_ms = length * basic_ms - chance.choice([0, 0, 1])  # it takes whole basic steps
        names = [*SENSORS, *RECEIVERS]
        switched = names if not number else [name for name in names if chance.random() < 0.2]
        happens = [
            (chance.randrange(0, 64 * length) / 64 + 1 / 128, name)
            for name in names
            for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))
        ]
        bench.step(
            step_ms,
            [(name, chance.choice(periods)) for name in switched],
            happens,
            asks_at=chance.choice(computes),
            at_once=chance.random() < 0.1,
        )
        for name in RECEIVERS:
            for _ in range(chance.choice([0, 0, 1, 4])):
                bench.read(name)


@pytest.mark.parametrize("lengths", [[1], [2], [3], [1, 2, 3, 7]], ids=str)
@pytest.mark.parametrize("medium_ms", [8, 32, FREE])
def test_it_gets_what_webots_gives(tmp_path: Path, medium_ms: int, lengths: list[int]) -> None:
    # In a medium without steps a packet leaves at once, and not with the sender's next request.
    computes = [0, 0, 0.3] if medium_ms else [0]
    different = []
    for seed in range(part_of(SCHEDULES)):
        with RunningLoop(tmp_path, text=configuration(medium_ms), devices=DEVICES) as running:
            bench = SampledRobot(running, medium_ms or DEFAULT_MS)
            try:
                play(bench, seed, lengths, computes)
            except AssertionError as error:
                different.append(f"seed {seed}, {error}".splitlines()[0])
            bench.end()
    assert different == [], f"{len(different)} schedules"
