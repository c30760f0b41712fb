"""What a user does at a robot's controller in a running gateway: press keys, and write texts."""

from __future__ import annotations

from collections.abc import Sequence

from hilgw.client.control_socket import find_gateway, request_of


def press(
    robot: str,
    keys: Sequence[int],
    hold_s: float = 0.5,
    control: str | None = None,
    config: str | None = None,
) -> None:
    """Holds these keys (`hilgw.devices.keys`) down for so long of simulated time. control, config:
    as `find_gateway`. HilgwError when there is no such robot or gateway, or nothing reads keys."""
    request = {"do": "key", "robot": robot, "keys": list(keys), "hold_s": hold_s}
    request_of(find_gateway(control, config), request, robot)


def say(robot: str, text: str, control: str | None = None, config: str | None = None) -> None:
    """A text for the controller's wwiReceiveText. HilgwError as `press`."""
    request_of(find_gateway(control, config), {"do": "say", "robot": robot, "text": text}, robot)
