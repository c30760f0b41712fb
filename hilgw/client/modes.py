"""The mode of a robot in a running gateway: which body its controller has."""

from __future__ import annotations

from dataclasses import dataclass

from hilgw.client.control_socket import find_gateway, request_of


@dataclass(frozen=True, slots=True)
class RobotState:
    """mode: simulation, remote or shadow. bodies: "up" or "down" by "body" and "remote"."""

    robot: str
    mode: str
    bodies: dict[str, str]


def robot_mode(robot: str, control: str | None = None, config: str | None = None) -> RobotState:
    """The mode of this robot. control, config: as `find_gateway`. HilgwError when there is no such
    robot or gateway."""
    return _request(robot, None, control, config)


def set_robot_mode(
    robot: str, mode: str, control: str | None = None, config: str | None = None
) -> RobotState:
    """Sets the mode. HilgwError with the reason when the gateway refuses; then nothing changes."""
    return _request(robot, mode, control, config)


def _request(robot: str, mode: str | None, control: str | None, config: str | None) -> RobotState:
    request = {"do": "mode", "robot": robot, "mode": mode}
    answer = request_of(find_gateway(control, config), request, robot)
    return RobotState(robot, str(answer["mode"]), dict(answer["bodies"]))
