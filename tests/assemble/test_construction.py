"""What assembly builds is complete when its constructor returns."""

import ast
import asyncio
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.testing.sim import Recorder, run
from tests.sources import files, nodes, place

LATER = {"robot.on_packet"}  # a robot exists before its control loop


def built(text: str) -> Gateway:
    async def scenario() -> Gateway:
        config = load_text(text, "f").config
        gateway = build(config, asyncio.get_running_loop(), Recorder())
        gateway.close()
        return gateway

    return run(scenario)


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
    rate: int, seconds: float
) -> None:
    board = f"board: {{kind: uart, port: /dev/x, baudRate: {rate}}}"
    gateway = built(f"version: 1\nadapters: {{{board}}}")
    stall_s = gateway.supervisors["board"].port.stall_s
    assert stall_s == pytest.approx(seconds, abs=0.1)
