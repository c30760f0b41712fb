"""The steps of Webots controllers: when each request is answered, and with what."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from firmware_mocks._webots import wire as webots_wire
from firmware_mocks._webots.library import Device, Library
from firmware_mocks.wc2ec import wire
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.devices.steps import StepClock
from hilgw.engine.control_loop.servers.webots_server import PAUSE_S, Pause
from hilgw.engine.control_loop.stepping import Sampler, StepGrid, Stepper
from hilgw.engine.robot.schedule import DEPARTURE, SAMPLE, Schedule
from hilgw.engine.simulated.pace import Hold, Holds
from hilgw.protocols.webots.requests import encode_request
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.testing.sim import Clock
from tests.cases import part_of
from tests.controllers.sampling_model import ModelReceiver, ModelSensor, ModelWorld
from tests.engine.control_loop.running import RunningLoop, robot_of

MS = 1_000_000
ORIGIN = 1_000 * MS


class Steps:
    """One controller on a grid of 32 ms that begins at 1 s; times in ms after that."""

    def __init__(self, *, synchronization: bool = True, step_ms: int = 32) -> None:
        self.clock = Clock(ORIGIN)
        clock = StepClock(ORIGIN, step_ms * MS)
        self.schedule = Schedule(self.clock, clock)
        self.grid = StepGrid(self.schedule, clock)
        self.answers: list[tuple[float, float, int]] = []  # real time, simulation time, delay
        self.late: list[int] = []
        self.stepper = self.controller(synchronization=synchronization)

    def controller(self, *, synchronization: bool, sampler: Sampler | None = None) -> Stepper:
        return Stepper(
            self.grid,
            self._answer,
            self.late.append,
            synchronization=synchronization,
            sampler=sampler,
        )

    def _answer(self, time_ns: int, delay_ms: int) -> None:
        self.answers.append((self.now, time_ns / MS, delay_ms))

    @property
    def now(self) -> float:
        return (self.clock.time - ORIGIN) / MS

    def at(self, ms: float) -> Steps:
        self.clock.run_until(ORIGIN + round(ms * MS))
        return self

    def request(self, duration_ms: int) -> None:
        self.stepper.request(duration_ms)

    def advance(self, end: int) -> bool:
        self.clock.time = end
        return True


@pytest.mark.parametrize(("duration", "end"), [(1, 32), (32, 32), (33, 64), (64, 64), (100, 128)])
def test_a_step_takes_whole_basic_steps(duration: int, end: int) -> None:
    steps = Steps()
    steps.request(duration)
    steps.at(200)
    assert steps.answers == [(end, end, 0)]


def test_with_synchronization_a_late_request_ends_at_the_next_step_end_and_returns_0() -> None:
    steps = Steps()
    steps.request(32)
    steps.at(100).request(32)
    steps.at(200)
    assert steps.answers == [(32, 32, 0), (128, 128, 0)]
    assert steps.late == [64]


def test_without_synchronization_the_delay_of_the_request_is_returned() -> None:
    """Reference manual, wb_robot_step: up to the duration the step ends when it should have;
    beyond it, at once."""
    steps = Steps(synchronization=False)
    steps.request(64)
    steps.at(64 + 33).request(64)
    steps.at(128)
    assert steps.answers == [(64, 64, 0), (128, 128, 32)]
    steps.at(128 + 64).request(64)
    assert steps.answers[2:] == [(192, 192, 64)]
    assert steps.late == []
    steps.at(192 + 100).request(64)
    assert steps.answers[3:] == [(292, 288, 96)]
    assert steps.late == [32]


def test_the_first_step_is_never_late() -> None:
    for synchronization in (True, False):
        steps = Steps(synchronization=synchronization)
        steps.request(0)
        steps.at(500).request(32)
        steps.at(512)
        assert steps.answers[1:] == [(512, 512, 0)]
        assert steps.late == []


def test_the_grid_does_not_drift_in_100_s_and_waits_for_no_controller() -> None:
    """A controller whose every answer it reads 3 ms late, and which computes for 20 ms."""
    steps = Steps()
    ended: list[float] = []

    def answer(time_ns: int, delay_ms: int) -> None:
        ended.append(time_ns / MS)
        later = steps.clock.time + 23 * MS
        steps.clock.call_at(later, lambda: steps.stepper.request(32))

    steps.stepper = Stepper(steps.grid, answer, steps.late.append, synchronization=True)
    steps.request(32)
    steps.clock.run(100_001 * MS, late_ns=200_000)
    assert ended == [32 * n for n in range(1, 3126)]
    assert steps.late == []


def test_packets_and_samples_of_a_step_end_come_before_its_answer() -> None:
    steps = Steps()
    order: list[str] = []
    steps.stepper = Stepper(
        steps.grid, lambda time, delay: order.append("answer"), order.append, synchronization=True
    )
    steps.request(32)

    def sample(due: int) -> None:
        order.append("sample")
        steps.schedule.deliver(lambda: order.append("readable"), due)

    steps.schedule.add(SAMPLE, sample).set(ORIGIN + 32 * MS)
    steps.schedule.add(DEPARTURE, lambda due: order.append("depart")).set(ORIGIN + 32 * MS)
    steps.at(32)
    assert order == ["depart", "sample", "readable", "answer"]


# --- samples within a step ------------------------------------------------------------------------


class Periodic:
    """A sensor with this period in ms, enabled at 0. samples: the simulation times."""

    def __init__(self, period_ms: int) -> None:
        self.period_ns, self.last = period_ms * MS, 0
        self.samples: list[float] = []

    def next_sample(self) -> int | None:
        return self.last + self.period_ns if self.period_ns else None

    def sample(self, time_ns: int) -> None:
        self.last = time_ns
        self.samples.append(time_ns / MS)


def sampled(period_ms: int) -> tuple[Steps, Periodic]:
    steps, sensor = Steps(), Periodic(period_ms)
    steps.stepper = steps.controller(synchronization=True, sampler=sensor)
    return steps, sensor


@pytest.mark.parametrize(
    ("period_ms", "samples"),
    [(0, []), (1, [32, 64, 96]), (33, [64]), (64, [64]), (96, [96]), (100, []), (500, [])],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_step_is_sampled_at_the_basic_steps_at_which_something_is_due(
    period_ms: int, samples: list[float], at_once: bool
) -> None:
    steps, sensor = sampled(period_ms)
    if at_once:
        steps.schedule.advance = steps.advance
    steps.request(128)
    steps.at(200)
    assert steps.answers == [(128, 128, 0)]
    assert sensor.samples == samples  # the session samples at its answer by itself


def test_a_late_timer_changes_neither_samples_nor_what_is_there_to_be_sampled() -> None:
    """The timer of the first basic step fires when the whole step is over. Packets depart at each
    basic step, and are reported when all that is due is done."""
    steps, sensor = sampled(32)
    order: list[str] = []
    sensor.sample = lambda time_ns: order.append(f"sample {time_ns // MS}")  # type: ignore[method-assign]
    sensor.next_sample = lambda: 0  # type: ignore[method-assign]
    for number in (1, 2, 3):

        def depart(due: int, name: str = f"packet {number}") -> None:
            steps.schedule.deliver(lambda: order.append(name), due)

        steps.schedule.add(DEPARTURE, depart).set(ORIGIN + number * 32 * MS)
    steps.request(96)
    steps.clock.time = ORIGIN + 120 * MS
    steps.at(120)
    assert order == ["packet 1", "sample 32", "packet 2", "sample 64", "packet 3"]
    assert steps.answers == [(120, 96, 0)]


def test_nothing_is_sampled_for_a_controller_that_left_within_its_step() -> None:
    steps, sensor = sampled(32)
    steps.request(128)
    steps.at(40)
    steps.stepper.reset()
    steps.at(100)
    steps.request(32)
    steps.at(1000)
    assert sensor.samples == [32]
    assert steps.answers == [(128, 128, 0)]


def test_where_time_advances_at_once_the_answer_is_immediate_and_the_same() -> None:
    steps = Steps()
    steps.schedule.advance = steps.advance
    steps.request(32)
    steps.request(64)
    steps.request(0)
    assert steps.answers == [(32, 32, 0), (96, 96, 0), (96, 96, 0)]
    assert steps.clock.waiting == 0


def test_a_controller_that_left_gets_no_answer_and_the_next_one_its_own() -> None:
    steps = Steps()
    steps.request(64)
    steps.at(10)
    steps.stepper.reset()
    steps.request(128)
    steps.at(1000)
    assert steps.answers == [(128, 128, 0)]


def test_a_controller_holds_simulated_time_from_its_answer_to_its_request() -> None:
    steps, holds = Steps(), Holds()
    stepper = Stepper(
        steps.grid,
        lambda time, delay: None,
        steps.late.append,
        synchronization=True,
        hold=Hold(holds, "rover.controller"),
    )

    def is_held() -> bool:
        return holds.wait_s(0, 1) is None

    stepper.expect()
    stepper.expect()
    assert is_held()
    stepper.request(32)
    assert not is_held()
    steps.at(32)
    assert is_held()
    stepper.request(0)
    assert is_held()
    stepper.reset()
    assert not is_held()


def test_a_pause_is_long_once_and_a_step_ends_it() -> None:
    session: Any = SimpleNamespace(is_served=False, counts=Counter())
    pause = Pause(session)
    seen = [pause.is_long(at / 2, runs=True) for at in range(40)]
    assert seen.index(True) == PAUSE_S * 2 and seen.count(True) == 1
    session.counts["steps"] += 1
    assert [pause.is_long(20.0 + at, runs=True) for at in range(7)] == [False] * 5 + [True, False]


def test_a_controller_that_waits_for_an_answer_or_is_absent_makes_no_pause() -> None:
    session: Any = SimpleNamespace(is_served=False, counts=Counter())
    pause = Pause(session)
    session.is_served = True
    assert not any(pause.is_long(float(at), runs=True) for at in range(20))
    session.is_served = False
    assert not any(pause.is_long(20.0 + at, runs=False) for at in range(20))
    assert [pause.is_long(40.0 + at, runs=True) for at in range(6)] == [False] * 4 + [True, False]


def test_a_session_serves_while_a_request_waits_and_after_the_end() -> None:
    session = WebotsControllerSession(RobotConfiguration(name="rover", basicTimeStep=32.0))
    session.open(0)
    assert not session.is_served
    session.receive(encode_request(0, ()), 0)
    assert session.is_served
    session.answer(0)
    assert not session.is_served
    session.receive(encode_request(32, ()), 0)
    assert session.is_served
    session.quit()
    assert session.is_served


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
        device = self.library.find(name)
        assert device is not None
        return device

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
