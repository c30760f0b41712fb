"""The robots on a serial line whose tests share a bench: each on its mock, one table of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from hilgw.bodies.create2 import BODY as CREATE2_BODY, Create2Settings
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL_BODY, DynamixelSettings
from hilgw.bodies.epuck import BODY as EPUCK_BODY, EPuckSettings
from hilgw.bodies.feetech import BODY as FEETECH_BODY, FeetechSettings
from hilgw.bodies.text import BODY as TEXT_BODY
from hilgw.bodies.text.settings import TextBodySettings
from hilgw.config.load import load_config
from hilgw.control.events import Connected
from hilgw.engine.mock_host import create_mock
from hilgw.plugins import new_air
from tests.bodies.bench import BodyBench

LEFT, RIGHT = "left wheel motor", "right wheel motor"
CONFIGS = Path(__file__).parents[2] / "configs"


@dataclass(frozen=True)
class Robot:
    """body: the BODY. settings: makes its settings. open_ms: how long its handshake takes."""

    body: Any
    settings: Callable[..., Any]
    open_ms: int

    def bench(self, mock: dict[str, Any] | None = None, **settings: Any) -> BodyBench:
        made = self.settings(**settings)
        assert self.body.check(made) == []
        spec = self.body.mock(made, "R2025a")
        robot = create_mock(spec.name, "robot", new_air(), {**spec.parameters, **(mock or {})})
        return BodyBench(self.body.session(made, "R2025a"), robot)

    def up(self, mock: dict[str, Any] | None = None, **settings: Any) -> BodyBench:
        """After its handshake; the events and bytes until then are forgotten."""
        made = self.bench(mock, **settings)
        made.open(self.open_ms)
        assert len(made.found(Connected)) == 1
        made.values()
        assert made.events == []
        made.written.clear()
        return made


@cache
def shipped(name: str) -> TextBodySettings:
    config = load_config(str(CONFIGS / f"{name}.yaml"), [], None).config
    (robot,) = config.robots.values()
    assert robot.body is not None
    settings: TextBodySettings = robot.body.settings
    return settings


def _on_a_line(settings: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **changes: settings(port="/dev/x", **changes)


CREATE2 = Robot(CREATE2_BODY, _on_a_line(Create2Settings), 200)
EPUCK = Robot(EPUCK_BODY, _on_a_line(EPuckSettings), 600)
DYNAMIXEL = Robot(DYNAMIXEL_BODY, _on_a_line(DynamixelSettings), 300)
FEETECH = Robot(FEETECH_BODY, _on_a_line(FeetechSettings), 300)
KHEPERA = Robot(TEXT_BODY, lambda **changes: replace(shipped("khepera"), **changes), 400)
GCODE = Robot(TEXT_BODY, lambda **changes: replace(shipped("gcode"), **changes), 400)
