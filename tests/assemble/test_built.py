"""What assembly builds is complete, stands where the file places it, and is described."""

import ast
import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Recorder
from tests.sources import files, nodes, place

LATER = {"robot.on_packet"}  # a robot exists before its control loop
SCENE = """
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
PORTS = """
version: 1
network_ports: true
robots:
  cab:
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
      rx: {node: Receiver, type: serial, channel: 2}
    body: {kind: wc2ec, port: /dev/ttyABSENT1, boot_s: 1.5}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 100, payload: hi}
adapters:
  uno: {kind: uart, port: /dev/ttyABSENT0, channel: 1, boot_s: 2, dtr: false}
  net: {kind: uart, port: "socket://127.0.0.1:9", channel: 2}
"""


@pytest.fixture
def built(runner: asyncio.Runner) -> Iterator[Callable[[str], Gateway]]:
    """built(text): the gateway of a configuration."""
    made: list[Gateway] = []

    def make(text: str) -> Gateway:
        made.append(build(load_text(text, "f").config, runner.get_loop(), Recorder()))
        return made[-1]

    yield make
    for gateway in made:
        gateway.scene.close()
        for host in gateway.hosts:
            host.close()
        gateway.close()


Built = Callable[[str], Gateway]


@pytest.mark.parametrize("file", files("hilgw/assemble"), ids=lambda file: file.stem)
def test_no_attribute_is_set_after_construction(file: Path) -> None:
    found = [
        f"{place(file, target)}: {ast.unparse(target)}"
        for node in nodes(file)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target) not in LATER
        if ast.unparse(target.value) != "self"
    ]
    assert found == []


@pytest.mark.parametrize(("rate", "seconds"), [(115200, 2.0), (9600, 4.27), (300, 136.5)])
def test_a_port_is_stalled_when_the_buffer_of_its_driver_could_have_left(
    rate: int, seconds: float, built: Built
) -> None:
    board = f"board: {{kind: uart, port: /dev/x, baudRate: {rate}}}"
    gateway = built(f"version: 1\nadapters: {{{board}}}")
    stall_s = gateway.supervisors["board"].port.stall_s
    assert stall_s == pytest.approx(seconds, abs=0.1)


@pytest.mark.skipif("sys.platform != 'linux'")
def test_dtr_and_rts_are_reported_at_the_start_for_ports_that_have_them(built: Built) -> None:
    lines = [line for line in built(PORTS).description if "DTR" in line]
    assert lines == [
        "  uno          DTR off after a pulse at opening, RTS on: Linux raises them at opening; "
        "2 s of silence for the board to start",
        "  cab          body: DTR on, RTS on: Linux raises them at opening; "
        "1.5 s of silence for the board to start",
    ]


def test_a_mock_has_no_modem_lines(built: Built) -> None:
    gateway = built(PORTS + "backend: loopback\n")
    assert not [line for line in gateway.description if "DTR" in line]


def position(gateway: Gateway, name: str) -> tuple[float, ...]:
    """Where the mock of this adapter is in its air."""
    (mock,) = [mock for host in gateway.hosts for mock in host.mocks if mock.name == name]
    found: tuple[float, ...] = mock.radio.position  # type: ignore[attr-defined]
    return found


async def test_mocks_stand_where_the_modules_do_they_stand_in_for(built: Built) -> None:
    gateway = built(SCENE)
    assert list(gateway.scene.objects) == ["rover", "buoy", "wall", "fixed"]
    assert position(gateway, "fixed") == (1, 2, 3)
    assert math.dist(position(gateway, "riding"), (5, 1, 1)) < 1e-9  # the buoy looks along y
    gateway.place("fixed", Pose((7.0, 8.0, 9.0)))
    gateway.place("buoy", Pose((0.0, 0.0, 1.0)))
    assert position(gateway, "fixed") == (7, 8, 9)
    assert position(gateway, "riding") == (1, 0, 2)
    gateway.place("buoy", None)  # its pose is unknown: the mock stays
    assert position(gateway, "riding") == (1, 0, 2)
