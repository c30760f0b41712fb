"""The mode of this robot, as the gateway has it: simulation or remote control.

The gateway switches bodies, not this process: it is asked on its control socket, which is on this
machine. HILGW_CONTROL names the socket; without it, the only running gateway is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from hilgw.client.robots import robot_mode, set_robot_mode
from hilgw.errors import HilgwError
from hilgw.protocols.webots.address import CONTROL

SIMULATION, REMOTE = "simulation", "remote"


class Modes:
    """Of the robot of this name."""

    def __init__(self, robot: str, environment: Mapping[str, str] = os.environ) -> None:
        self._robot = robot
        self._control = environment.get(CONTROL)
        self._has_gateway = True  # until one was looked for in vain

    def is_remote(self) -> bool:
        """Whether this program has the real robot. False without a gateway: a simulator."""
        if not self._has_gateway:
            return False
        try:
            return robot_mode(self._robot, self._control).mode == REMOTE
        except HilgwError:
            self._has_gateway = self._control is not None
            return False

    def set(self, *, remote: bool) -> str:
        """Empty when the gateway did it; else why not."""
        try:
            set_robot_mode(self._robot, REMOTE if remote else SIMULATION, self._control)
        except HilgwError as error:
            return str(error)
        self._has_gateway = True
        return ""
