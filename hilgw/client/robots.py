"""A robot in a running gateway: its mode (which body its controller has), and what a user does at
its controller: keys and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hilgw.client.control_socket import Gateway, gateway_with, request_of
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


Row = tuple[float, float, float]


def robot_pose(robot: str, control: str | None = None) -> tuple[Row, tuple[Row, Row, Row]] | None:
    """Position and rotation matrix of this robot in the scene; None: they are not known. Raises as
    `robot_mode`."""
    gateway = gateway_with("robot", robot, control, None)
    answer = request_of(gateway, {"do": Do.POSE, "object": robot}, robot)
    if answer["position"] is None:
        return None
    first, second, third = (_row(each) for each in answer["rotation"])
    return _row(answer["position"]), (first, second, third)


def _row(numbers: Sequence[float]) -> Row:
    x, y, z = map(float, numbers)
    return x, y, z


def press(
    robot: str,
    keys: Sequence[int],
    hold_s: float = 0.5,
    control: str | None = None,
    config: str | None = None,
) -> Gateway:
    """Holds these keys (`hilgw.devices.keys`) down for so long of simulated time. Returns the
    gateway that has the robot. control, config: as `gateways_with`. HilgwError when there is no
    such robot or gateway, several have it, or nothing reads keys."""
    gateway = gateway_with("robot", robot, control, config)
    press_at(gateway, robot, keys, hold_s)
    return gateway


def press_at(gateway: Gateway, robot: str, keys: Sequence[int], hold_s: float = 0.5) -> None:
    """As `press`, at a gateway that was found before."""
    request_of(gateway, {"do": Do.KEY, "robot": robot, "keys": list(keys), "hold_s": hold_s}, robot)


def say(robot: str, text: str, control: str | None = None, config: str | None = None) -> Gateway:
    """A text for the controller's wwiReceiveText. Returns and raises as `press`."""
    gateway = gateway_with("robot", robot, control, config)
    request_of(gateway, {"do": Do.SAY, "robot": robot, "text": text}, robot)
    return gateway
