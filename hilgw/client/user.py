"""What a user does at a robot's controller in a running gateway: press keys, and write texts."""

from __future__ import annotations

from collections.abc import Sequence

from hilgw.client.control_socket import Gateway, request_of
from hilgw.client.finding import gateway_with
from hilgw.protocols.gateway.messages import Do


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
    request = {"do": Do.KEY, "robot": robot, "keys": list(keys), "hold_s": hold_s}
    request_of(gateway, request, robot)


def say(robot: str, text: str, control: str | None = None, config: str | None = None) -> Gateway:
    """A text for the controller's wwiReceiveText. Returns and raises as `press`."""
    gateway = gateway_with("robot", robot, control, config)
    request_of(gateway, {"do": Do.SAY, "robot": robot, "text": text}, robot)
    return gateway
