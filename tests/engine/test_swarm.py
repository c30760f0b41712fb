"""Whole configurations in simulated time: the same file and seed, the same history."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config, load_text
from hilgw.config.model import GatewayConfig
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock

SWARM = Path(__file__).parents[2] / "configs" / "swarm.yaml"
S = 1_000_000_000


class History(Observer):
    """Everything that happened, as text."""

    def __init__(self, timer: Clock) -> None:
        self.lines: list[str] = []
        self.missed: Counter[str] = Counter()
        self.notices: list[str] = []
        self._timer = timer

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        why = dict(missed())
        self.missed.update(why.values())
        self.lines.append(
            f"{self._timer.now()} {packet.source} {packet.data!r} {listeners} {not_received} {why}"
        )

    def delivered(self, station: str, copy: Copy) -> None:
        self.lines.append(
            f"{self._timer.now()} {station} {copy.packet.data!r} {copy.signal_strength!r} "
            f"{copy.direction!r}"
        )

    def notice(self, source: str, text: str) -> None:
        self.notices.append(f"{source}: {text}")


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


def reported(config: GatewayConfig, seconds: float) -> dict[str, Any]:
    return play(config, seconds)[1]


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


def test_every_reason_not_to_receive_happens_in_the_swarm() -> None:
    history, report, _ = play(load(), 20)
    assert set(history.missed) == {"range", "cone", "obstacle"}
    assert min(history.missed.values()) > 20
    receptions = report["received_by"]
    robots = {f"ant{n}.ir" for n in range(1, 7)} | {f"bee{n}.tx" for n in range(1, 5)}
    assert set(receptions) == robots
    for source, row in receptions.items():
        assert sum(row.values()) == report["emitters"][source]["copies"]
        assert not any(name.startswith(source.partition(".")[0]) for name in row)
    assert history.notices == []  # every position is known


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
    report = reported(load_text(WALLS, "f").config, 5)
    # Behind the wall, whose half is 0.5 m at 1.9 m, while |y| < 0.5 * 4 / 1.9: for 2.1 s.
    blocked = report["emitters"]["lamp.ir"]["not_received"]
    assert set(blocked) == {"obstacle"}
    assert 20 <= blocked["obstacle"] <= 22
    assert (
        report["received_by"]["lamp.ir"]["eye.ir"]
        == report["emitters"]["lamp.ir"]["departed"] - (blocked["obstacle"])
    )


def test_another_robots_structure_does_block() -> None:
    text = WALLS.replace("attached_to: lamp", "attached_to: lamp, owner: eye")
    assert (
        set(reported(load_text(text, "f").config, 1)["emitters"]["lamp.ir"]["not_received"])
        == set()
    )
    text = WALLS.replace("robots:\n", "robots:\n  other: {position: [9, 9, 9]}\n").replace(
        "attached_to: lamp", "attached_to: lamp, owner: other"
    )
    blocked = reported(load_text(text, "f").config, 1)["emitters"]["lamp.ir"]["not_received"]
    assert blocked == {"obstacle": 10}


def test_a_device_stands_where_its_translation_places_it() -> None:
    text = WALLS.replace("baudRate: 96000", "translation: [0, 0, 2], range: 4.9")
    report = reported(load_text(text, "f").config, 5)
    # 4.9 m are reached from 2 m above while y^2 < 4.9^2 - 2^2 - 4^2 = 4.01: always but at the ends.
    assert report["emitters"]["lamp.ir"]["not_received"] == {}
    text = WALLS.replace("baudRate: 96000", "translation: [0, 0, 2], range: 4.8")
    report = reported(load_text(text, "f").config, 5)
    assert set(report["emitters"]["lamp.ir"]["not_received"]) == {"range"}


def test_a_device_looks_where_its_rotation_points_it() -> None:
    turned = "aperture: 1.0, rotation: [0, 0, 1, 3.14159]"
    text = WALLS.replace("baudRate: 96000", turned)
    report = reported(load_text(text, "f").config, 1)
    assert set(report["emitters"]["lamp.ir"]["not_received"]) == {"cone"}


def test_placed_and_tuned_at_run_time() -> None:
    _, _, gateway = play(load_text(WALLS.replace("controller", "# controller"), "f").config, 0.1)
    pose = gateway.scene.pose_of("wall")
    assert pose is not None
    assert pose.position == (2, 0, 0)
    assert gateway.set("lamp.ir", channel=3, range=2.0) is None
    emitter = gateway.robots["lamp"].emitters["ir"].emitter
    assert (emitter.getChannel(), emitter.range) == (3, 2.0)
    assert gateway.set("eye.ir", channel=3) is None
    assert gateway.set("eye.ir", channel=-2) == "channel"
    assert gateway.set("lamp.ir", range=-2.0) == "range"
