"""The mode of a robot in a running gateway: which body its controller has."""

from __future__ import annotations

from dataclasses import dataclass

from hilgw.client.control_socket import request_of
from hilgw.client.finding import gateway_with
from hilgw.protocols.gateway.messages import Do


@dataclass(frozen=True, slots=True)
class RobotState:
    """mode: simulation, remote or shadow. bodies: "up" or "down" by "body" and "remote".
    gateway: the label of the one that answered, where several run and none was selected."""

    robot: str
    mode: str
    bodies: dict[str, str]
    gateway: str = ""


def robot_mode(robot: str, control: str | None = None, config: str | None = None) -> RobotState:
    """The mode of this robot. control, config: as `gateways_with`. HilgwError when there is no such
    robot or gateway, or several have it."""
    return _request(robot, None, control, config)


def set_robot_mode(
    robot: str, mode: str, control: str | None = None, config: str | None = None
) -> RobotState:
    """Sets the mode. HilgwError with the reason when the gateway refuses; then nothing changes."""
    return _request(robot, mode, control, config)


def _request(robot: str, mode: str | None, control: str | None, config: str | None) -> RobotState:
    request = {"do": Do.MODE, "robot": robot, "mode": mode}
    gateway = gateway_with("robot", robot, control, config)
    answer = request_of(gateway, request, robot)
    return RobotState(robot, str(answer["mode"]), dict(answer["bodies"]), gateway.label)
