"""A loop between a robot and a controller on sockets: what passes, and what never does."""

import math
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.engine.observer import State
from tests.e2e.control_loop_peers import (
    DISTANCE,
    ROTATIONAL,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.running import RunningLoop, driving, robot_of

GO = set_value(1, 5.0)


def error(kind: int, index: int) -> bytes:
    return wire.bare(wire.ERROR, kind, index)


# --- what passes ------------------------------------------------------------------------------


def test_devices_values_and_commands_pass(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = running.controller()
        robot_of(running).send(sensor_data(0, 123.5))
        controller.wait_for(sensor_data(0, 123.5))
        running.advance(0.007)
        controller.send(GO, set_value(2, -2.5))
        robot_of(running).wait_for(GO + set_value(2, -2.5))
        report = running.report()
    assert report["sensors"] == {"ds": 123.5}
    assert report["motors"] == {"left": {"velocity": 5.0}, "right": {"velocity": -2.5}}
    assert (report["values_in"], report["commands_in"], report["commands_out"]) == (1, 2, 2)
    assert report["refused"] == {} and report["stops"] == {}
    assert report["sensor_to_motor"]["count"] == 1
    assert report["sensor_to_motor"]["max_ms"] == pytest.approx(7, abs=0.1)


def test_the_latencies_are_those_of_the_last_connection(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = running.controller()
        robot_of(running).send(sensor_data(0, 123.5))
        controller.wait_for(sensor_data(0, 123.5))
        running.advance(0.007)
        controller.send(GO)
        robot_of(running).wait_for(GO)
        assert running.report()["sensor_to_motor"]["count"] == 1
        controller.connection.close()
        running.until(lambda: running.log.saw("cab.controller", State.WAITING), "it left")
        running.controller()
        assert running.report()["sensor_to_motor"]["count"] == 0


def test_a_sensor_that_one_controller_switched_off_is_on_for_the_next(tmp_path: Path) -> None:
    disable, enable = (
        wire.bare(command, DISTANCE, 0) for command in (wire.DISABLE_SENSOR, wire.ENABLE_SENSOR)
    )
    with RunningLoop(tmp_path) as running:
        robot = robot_of(running)
        controller = running.controller()
        controller.send(disable)
        robot.wait_for(disable)
        controller.finish()
        robot.wait_for(enable)
        following = running.controller()
        robot.send(sensor_data(0, 7.0))
        following.wait_for(sensor_data(0, 7.0))


def test_a_device_that_fails_is_reported_to_the_controller_and_stops_nothing(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        robot_of(running).send(error(ROTATIONAL, 2))
        controller.wait_for(error(ROTATIONAL, 2))
        controller.send(set_value(1, 4.0))
        robot_of(running).wait_for(set_value(1, 4.0))
        assert running.stops() == {}


# --- what is refused --------------------------------------------------------------------------


def test_values_of_unknown_devices_and_values_that_are_none_stay_here(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = running.controller()
        robot = robot_of(running)
        robot.send(sensor_data(7, 1.0), sensor_data(0, math.nan), sensor_data(0, 2.0))
        controller.wait_for(sensor_data(0, 2.0))
        assert controller.received == b""
        report = running.report()
    assert report["refused"] == {"nan": 1, "unknown_device": 1}
    assert report["values_in"] == 1


def test_without_a_body_every_command_is_refused(tmp_path: Path) -> None:
    text = """version: 1
backend: real
webots: R2020a
robots:
  cab:
    devices: {tx: {node: Emitter, channel: 3}}
    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}
"""
    with RunningLoop(tmp_path, text=text, robot=False) as running:
        controller = running.knock()
        controller.wait_for(wire.registration(wire.types_of("R2020a").emitter, 0, b"tx"))
        controller.send(set_value(0, 1.0))
        controller.wait_for(error(ROTATIONAL, 0))
        assert running.report()["refused"] == {"not_settable": 1}
        assert any("no body" in line for line in running.gateway.description)


def test_without_a_controller_the_robot_is_listened_to(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, controller=False) as running:
        robot_of(running).send(sensor_data(0, 4.0))
        running.until(lambda: running.report()["sensors"] == {"ds": 4.0}, "the value")
        assert any("no controller" in line for line in running.gateway.description)
        assert robot_of(running).received == b""


def test_a_robot_under_limits_follows_its_rate(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, body="limits: {left: {rate: 10}}") as running:
        controller = running.controller()
        controller.send(GO)
        robot = robot_of(running)
        robot.wait_for(GO, 2.0)
        # The slew sends steps of 0.2 rad/s each 20 ms: the first command was one of them.
        assert running.report()["commands_out"] == 1
        controller.finish()
        robot.wait_for(set_value(1, 0.0))
