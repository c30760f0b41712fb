"""What a configuration builds stands, or moves, where the file places it: mocks in their air,
too."""

import asyncio
import math

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.medium.pose import Pose

CONFIG = """
version: 1
backend: loopback
robots:
  rover: {motion: {kind: circle, center: [0, 0, 0], radius: 2, period_s: 4}}
  buoy: {position: [5, 0, 0], rotation: [0, 0, 1, 1.5707963267948966]}
obstacles:
  wall: {shape: box, size: [1, 1, 1], position: [0, 5, 0]}
  mast: {shape: sphere, radius: 1, attached_to: buoy}
adapters:
  fixed: {kind: xbee, port: "loop://", channel: 12, air: lab, position: [1, 2, 3]}
  riding:
    {kind: xbee, port: "loop://", channel: 12, air: lab, attached_to: buoy, position: [1, 0, 1]}
  moving: {kind: xbee, port: "loop://", channel: 12, air: lab, attached_to: rover}
airs: {lab: {}}
"""


def position(gateway: Gateway, name: str) -> tuple[float, ...]:
    """Where the mock of this adapter is in its air."""
    (mock,) = [mock for host in gateway.hosts for mock in host.mocks if mock.name == name]
    found: tuple[float, ...] = mock.radio.position  # type: ignore[attr-defined]
    return found


async def test_mocks_stand_where_the_modules_do_they_stand_in_for() -> None:
    gateway = build(load_text(CONFIG, "f").config, asyncio.get_running_loop(), Observer())
    try:
        assert list(gateway.scene.objects) == ["rover", "buoy", "wall", "fixed"]
        assert position(gateway, "fixed") == (1, 2, 3)
        assert math.dist(position(gateway, "riding"), (5, 1, 1)) < 1e-9  # the buoy looks along y
        gateway.place("fixed", Pose((7.0, 8.0, 9.0)))
        gateway.place("buoy", Pose((0.0, 0.0, 1.0)))
        assert position(gateway, "fixed") == (7, 8, 9)
        assert position(gateway, "riding") == (1, 0, 2)
        gateway.place("buoy", None)  # its pose is unknown: the mock stays
        assert position(gateway, "riding") == (1, 0, 2)
    finally:
        gateway.scene.close()
        for host in gateway.hosts:
            host.close()
        gateway.close()
