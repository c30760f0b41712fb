"""Large answers are made part by part, few of them in each turn of the event loop."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.reporting.metrics_server import metrics_of
from hilgw.engine.reporting.parts import plain, texts, whole
from hilgw.engine.reporting.status import status_of
from hilgw.engine.simulated.clock import SimulatedClock
from tests import work


def parts() -> Iterator[tuple[str, Any]]:
    yield "one", 1
    yield "none", iter(())
    yield "robots", ((name, {"speed": None}) for name in ("ant", 'b"'))
    yield "deep", iter({"er": iter({"half": (0.5, float("inf"))}.items())}.items())


def test_the_text_of_parts_is_that_of_the_whole() -> None:
    assert "".join(texts(parts())) == json.dumps(whole(parts()), separators=(",", ":"))
    assert "".join(texts(iter(()))) == "{}"


def test_a_plain_text_has_no_number_that_is_not_finite() -> None:
    made = json.loads("".join(texts(parts(), plain)), parse_constant=pytest.fail)
    assert made == whole(parts()) | {"deep": {"er": {"half": [0.5, "Infinity"]}}}
    assert plain([math.nan, "NaN", -math.inf]) == '["NaN","NaN","-Infinity"]'


def most(robots: int, devices: int, what: str) -> int:
    """The bytecode instructions of the longest part of an answer, without its first one."""
    lines = ["version: 1", "robots:"]
    for robot in range(robots):
        lines += [f"  r{robot}:", "    devices:"]
        lines += [f"      ds{number}: {{node: DistanceSensor}}" for number in range(devices)]
        lines += [f"      m{number}: {{node: RotationalMotor}}" for number in range(devices)]
        lines += ["    controller: {kind: webots, listen: 'tcp://127.0.0.1:0'}"]
    config = load_text("\n".join(lines), "f").config

    async def main() -> int:
        gateway = build(config, asyncio.get_running_loop(), timer=SimulatedClock())
        for loop in map(gateway.control_loops.__getitem__, gateway.control_loops):
            loop.start()
            of = loop.statistics
            of.received([(each.index, 1.5) for each in of.devices.values()], 0)
            of.motors = {f"m{number}": {"velocity": 1.0} for number in range(devices)}
        made = gateway.report_parts() if what == "report" else status_of(gateway, "f", 0)
        steps = metrics_of(made.items()) if what == "metrics" else texts(made.items())
        counts, made_parts = [], list[str | None]()
        while None not in made_parts:
            counts.append(work.instructions(lambda: made_parts.append(next(steps, None))))
        gateway.close()
        assert len(counts) > robots
        return max(counts[:-1])

    return asyncio.run(main())


@pytest.mark.parametrize("what", ["status", "report", "metrics"])
def test_more_robots_and_devices_make_the_longest_part_hardly_longer(what: str) -> None:
    """Of 100 robots of 1,000 devices each, one part has less than 40,000 instructions: 1 ms."""
    few = most(2, 5, what)
    assert most(2, 60, what) - few < 55 * 20
    assert most(12, 5, what) - few < 10 * 200
