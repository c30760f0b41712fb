"""The firmware and the robot, end to end: the lab's configuration, with a virtual cable."""

from pathlib import Path

import pytest

CONFIG = Path(__file__).parent.parent / "gateway.yaml"


@pytest.fixture
def rover(virtual_port, gateway, firmware):
    """The gateway, and the firmware at the other end of its serial line."""
    board, robot = virtual_port.pair()
    thermometer = firmware(board.path)
    port = f"adapters.thermometer.port={robot.path}"
    running = gateway(CONFIG, backend=None, overrides=[port])
    return running, thermometer, robot


def test_the_robot_asks_for_the_temperature(rover):
    running, thermometer, _ = rover
    running.send("rover.ask", b"temp?")
    running.wait_for(b"temp 21.5", listener="rover.hear")
    thermometer.celsius.write_text("-3")
    running.send("rover.ask", b"temp?")
    running.wait_for(b"temp -3.0", listener="rover.hear")
    assert running.report()["ledger"]["adds_up"]


def test_the_robot_is_warned_once(rover):
    running, thermometer, _ = rover
    thermometer.celsius.write_text("80")
    running.wait_for(b"alarm 80.0", source="thermometer")
    running.send("rover.ask", b"name?")
    running.wait_for(b"name thermometer")
    assert running.report()["stations"]["thermometer"]["inbound"] == 2


def test_the_gateway_survives_an_unplugged_cable(rover):
    running, _, cable = rover
    cable.unplug()
    running.wait_for(lambda: running.state("thermometer") == "waiting")
    running.send("rover.ask", b"temp?")
    cable.plug()
    running.wait_for(b"temp 21.5", listener="rover.hear")
