"""Whole configurations in simulated time: the same history, and what a packet costs, in calls."""

import asyncio
import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config, load_text
from hilgw.config.model import GatewayConfig
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.framing import create
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock, FakeTransport
from tests import work

SWARM = Path(__file__).parents[2] / "configs" / "swarm.yaml"
S = 1_000_000_000


class History(Observer):
    """Everything that happened, as text."""

    def __init__(self, timer: Clock) -> None:
        self.lines: list[str] = []
        self._timer = timer

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        why = f"{not_received} {dict(missed())}"
        self.lines.append(f"{self._timer.now()} {packet.source} {packet.data!r} {listeners} {why}")

    def delivered(self, station: str, copy: Copy) -> None:
        self.lines.append(
            f"{self._timer.now()} {station} {copy.packet.data!r} {copy.signal_strength!r} "
            f"{copy.direction!r}"
        )


def without_hardware(config: GatewayConfig) -> GatewayConfig:
    """Modules run on real ports, and so in real time."""
    return dataclasses.replace(config, adapters={}, airs={})


def play(
    config: GatewayConfig, seconds: float, late_ns: int = 0
) -> tuple[History, dict[str, Any], Gateway]:
    """So many seconds of it; each callback runs late by this much."""
    timer = Clock()
    history = History(timer)

    async def main() -> Gateway:
        loop = asyncio.get_running_loop()
        return build(without_hardware(config), loop, history, timer=timer)

    gateway = asyncio.run(main())
    for robot in gateway.robots.values():
        robot.start()
    start, violations = timer.now(), []
    for tenth in range(1, round(seconds * 10) + 1):
        timer.run_until(start + tenth * S // 10, late_ns)
        violations += gateway.ledger.violations()
    assert violations == []
    for robot in gateway.robots.values():
        robot.close()
    assert gateway.ledger.violations() == []
    return history, gateway.report(), gateway


@cache
def played(seconds: float) -> History:
    """Return the history of the swarm, played once for all tests that look at it."""
    return play(load(), seconds)[0]


def load(*overrides: str) -> GatewayConfig:
    return load_config(str(SWARM), overrides).config


def test_the_swarm_twice_is_the_same_to_the_byte() -> None:
    first, second = play(load(), 10)[0], played(10)
    assert len(first.lines) > 250
    assert first.lines == second.lines


def test_another_seed_changes_the_noise_and_nothing_else() -> None:
    """Who receives whom is geometry; what a receiver measures has its own noise."""
    one, other = played(10), play(load("medium.seed=8"), 10)[0]
    assert one.lines != other.lines
    who = [line for line in one.lines if ".ir" in line or ".tx" in line]
    assert who == [line for line in other.lines if ".ir" in line or ".tx" in line]


def test_a_timer_that_is_late_changes_not_who_receives_whom() -> None:
    def receptions(history: History) -> set[tuple[str, ...]]:
        return {tuple(line.split(" ", 1)[1:]) for line in history.lines if "[" in line}

    late = receptions(play(load(), 10, late_ns=300_000)[0])
    on_time = receptions(played(10))
    assert len(on_time) > 90
    assert len(on_time ^ late) <= 10  # packets at the very end, due and not yet sent


def test_in_steps_the_swarm_sends_the_same_packets_each_at_the_end_of_its_step() -> None:
    def sent(history: History) -> list[tuple[str, ...]]:
        return sorted(tuple(line.split()[1:4]) for line in history.lines if ".tx" in line)

    free, stepped = played(10), play(load("medium.step_ms=32"), 10)[0]
    missing = set(sent(free)) - set(sent(stepped))
    assert len(missing) <= 10  # those of the last step
    assert set(sent(stepped)) <= set(sent(free))
    times = [int(line.split()[0]) - S for line in stepped.lines if " b" in line]
    assert all(time % (32 * 1_000_000) <= 1 for time in times)


WALLS = """
version: 1
robots:
  lamp:
    position: [0, 0, 0]
    devices: {ir: {node: Emitter, type: infra-red, baudRate: 96000}}
    controller: {kind: beacon, emitter: ir, period_ms: 100}
  eye:
    motion: {kind: waypoints, points: [[4, -2, 0], [4, 2, 0]], speed: 1, closed: false}
    devices: {ir: {node: Receiver, type: infra-red}}
obstacles:
  wall: {shape: box, size: [0.2, 1, 1], position: [2, 0, 0]}
  lid: {shape: sphere, radius: 0.5, attached_to: lamp}
  hat: {shape: cylinder, radius: 0.2, height: 1, attached_to: eye}
"""


def test_a_wall_hides_who_drives_behind_it_and_own_structures_hide_no_robot() -> None:
    report = play(load_text(WALLS, "f").config, 5)[1]
    # Behind the wall, whose half is 0.5 m at 1.9 m, while |y| < 0.5 * 4 / 1.9: for 2.1 s.
    blocked = report["emitters"]["lamp.ir"]["not_received"]
    assert set(blocked) == {"obstacle"}
    assert 20 <= blocked["obstacle"] <= 22
    departed, received = report["emitters"]["lamp.ir"]["departed"], report["received_by"]["lamp.ir"]
    assert received == {"eye.ir": departed - blocked["obstacle"]}
    others = WALLS.replace("robots:\n", "robots:\n  other: {position: [9, 9, 9]}\n").replace(
        "attached_to: lamp", "attached_to: lamp, owner: other"
    )
    report = play(load_text(others, "f").config, 1)[1]
    assert report["emitters"]["lamp.ir"]["not_received"] == {"obstacle": 10}


def test_placed_and_tuned_at_run_time() -> None:
    _, _, gateway = play(load_text(WALLS.replace("controller", "# controller"), "f").config, 0.1)
    assert gateway.set("lamp.ir", channel=3, range=2.0) is None
    emitter = gateway.robots["lamp"].emitters["ir"].emitter
    assert (emitter.getChannel(), emitter.range) == (3, 2.0)
    assert gateway.set("eye.ir", channel=3) is None
    assert gateway.set("eye.ir", channel=-2) == "channel"
    assert gateway.set("lamp.ir", range=-2.0) == "range"


MS = 1_000_000
SAMPLING_MS = 32
PACKETS = 16  # to each port in one sampling period
ROBOT = """
  r{n}:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: serial, channel: {n}}}
      rx: {{node: Receiver, type: serial, channel: {n}, bufferSize: -1, sampling_period_ms: 32}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: ping}}
"""
UART = "  a{n}: {{kind: uart, port: /dev/none{n}, channel: {n}, position: [1, 0, 0]}}\n"


class Running:
    """A gateway on a fake clock; the test is the device at each port."""

    def __init__(self, ports: int) -> None:
        robots = "".join(ROBOT.format(n=n) for n in range(ports))
        adapters = "".join(UART.format(n=n) for n in range(ports))
        text = f"version: 1\nrobots:{robots}adapters:\n{adapters}"
        self.clock = Clock()

        async def main() -> Gateway:
            loop, timer = asyncio.get_running_loop(), cast(Timer, self.clock)
            return build(load_text(text, "f").config, loop, Observer(), timer=timer)

        self.gateway = asyncio.run(main())
        for robot in self.gateway.robots.values():
            robot.start()
        self.ports = []
        for station in self.gateway.stations.values():
            port = FakeTransport()
            port.start(station.data_received, lambda error: None)
            station.attach(port)
            self.ports.append(port)

    def exchange(self, frame: bytes) -> None:
        """PACKETS frames, one millisecond apart, to each port; then their sample."""
        for _ in range(PACKETS):
            for port in self.ports:
                port.send(frame)
            self.clock.run(MS)
        self.clock.run(SAMPLING_MS * MS)

    def calls_per_packet(self, frame: bytes) -> float:
        self.exchange(frame)  # what is built once
        before = self.delivered()
        counts = work.calls(lambda: self.exchange(frame))
        packets = self.delivered() - before
        assert packets == PACKETS * len(self.ports)
        assert self.gateway.ledger.violations() == []
        return counts.total() / packets

    def delivered(self) -> int:
        names = (f"{name}.rx" for name in self.gateway.robots)
        return sum(self.gateway.ledger.station(name).delivered for name in names)


@pytest.mark.exhaustive
def test_a_packet_of_64_ports_costs_what_one_of_two_ports_does() -> None:
    frame = create("cobs-crc16").encode(bytes(range(32)))
    few, many = (Running(ports).calls_per_packet(frame) for ports in (2, 64))
    assert many == pytest.approx(few, rel=0.03)
