"""Whole configurations in simulated time: the same history, and what a packet costs, in calls."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hilgw.config.load import load_config, load_text
from hilgw.config.model import GatewayConfig
from hilgw.engine.observer import Observer
from hilgw.framing import create
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock, FakeTransport
from tests import work
from tests.engine.fakes import built

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


def play(config: GatewayConfig, seconds: float) -> tuple[History, dict[str, Any]]:
    """So many seconds of it."""
    timer = Clock()
    history = History(timer)
    gateway = built(without_hardware(config), timer, history)
    for robot in gateway.robots.values():
        robot.start()
    start, violations = timer.now(), []
    for tenth in range(1, round(seconds * 10) + 1):
        timer.run_until(start + tenth * S // 10)
        violations += gateway.ledger.violations()
    assert violations == []
    for robot in gateway.robots.values():
        robot.close()
    assert gateway.ledger.violations() == []
    return history, gateway.report()


def load(*overrides: str) -> GatewayConfig:
    return load_config(str(SWARM), overrides).config


def test_another_seed_changes_the_noise_and_nothing_else() -> None:
    """Who receives whom is geometry; what a receiver measures has its own noise."""
    one, other = (play(load(f"medium.seed={seed}"), 10)[0] for seed in (7, 8))
    assert one.lines != other.lines
    who = [line for line in one.lines if ".ir" in line or ".tx" in line]
    assert who == [line for line in other.lines if ".ir" in line or ".tx" in line]


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
        self.gateway = built(load_text(text, "f").config, self.clock)
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
