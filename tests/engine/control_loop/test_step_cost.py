"""What a step of a controller costs the event loop at `speed: max`, counted: no clock is read."""

import asyncio
import os
import socket
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.event_loop.direct_loop import DirectSelector
from hilgw.engine.observer import Observer, State
from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.engine.simulated.event_loop import PacedLoop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems serve by asyncio")

STEPS = 300
ROVER = """
version: 1
speed: max
medium: {step_ms: 32}
robots:
  rover:
    controller: {kind: webots, listen: "tcp://127.0.0.1:0"}
    devices: {ds: {node: DistanceSensor}, left: {node: RotationalMotor}}
"""
HELLO = b"CTR\nRobot-Name: rover"
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")


class Listening(Observer):
    """The port of the gateway."""

    def __init__(self) -> None:
        self.address: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()

    def state(self, station: str, state: State, reason: str) -> None:
        if "listening on" in reason and not self.address.done():
            host, _, number = reason.rpartition(" ")[2].rpartition(":")
            self.address.set_result((host, int(number)))


def velocity(value: float) -> bytes:
    return struct.pack("<iIHiHd", 24, 32, 2, 10, 2, value)


class Controller:
    """In the same event loop: asks for the next step in the callback that gets an answer."""

    def __init__(self, loop: PacedLoop, connection: socket.socket) -> None:
        self.done = asyncio.Event()
        self.answers = 0
        self._fd = connection.fileno()
        loop.add_reader(self._fd, self._answered)
        os.write(self._fd, HELLO)

    def _answered(self) -> None:
        os.read(self._fd, 4096)
        self.answers += 1
        if self.answers == 1:
            os.write(self._fd, FIRST)
        elif self.answers < STEPS + 2:
            os.write(self._fd, velocity(self.answers % 10))
        else:
            self.done.set()


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """selects: turns of asyncio; polls: system calls that wait; deadlines: that were set."""
    counts: Counter[str] = Counter()
    begin, call_at = DirectSelector.begin, SimulatedClock.call_at

    def counted_begin(selector: DirectSelector) -> Any:
        counts["selects"] += 1
        poll = begin(selector)

        def counted(timeout: float | None) -> Any:
            counts["polls"] += 1
            return poll(timeout)

        return counted

    def counted_call_at(clock: SimulatedClock, when: int, callback: Any) -> Any:
        counts["deadlines"] += 1
        return call_at(clock, when, callback)

    monkeypatch.setattr(DirectSelector, "begin", counted_begin)
    monkeypatch.setattr(SimulatedClock, "call_at", counted_call_at)
    return counts


def test_a_step_is_one_deadline_and_three_polls_without_a_turn_of_asyncio(
    tmp_path: Path, counts: Counter[str]
) -> None:
    """One poll gets the request, one finds nothing before time jumps to the end of the step, one
    gets the answer here. What runs each second of simulated time comes on top."""
    file = tmp_path / "rover.yaml"
    file.write_text(ROVER)
    loop = PacedLoop("max")

    async def scenario() -> None:
        observer = Listening()
        gateway = build(load_config(str(file)).config, loop, observer)
        stop = asyncio.Event()
        running = asyncio.create_task(gateway.run(stop))
        with socket.create_connection(await observer.address) as connection:
            connection.setblocking(False)
            counts.clear()
            await Controller(loop, connection).done.wait()
            loop.remove_reader(connection)
            stop.set()
        await running
        gateway.close()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(scenario())
    per_step = {name: count / STEPS for name, count in counts.items()}
    assert per_step["selects"] < 0.7, per_step
    assert per_step["polls"] < 4, per_step
    assert per_step["deadlines"] < 1.6, per_step
