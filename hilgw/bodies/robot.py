"""Parts that a body of another distribution builds on, besides `hilgw.bodies.base`.

The settings and the session of a robot on a serial line, and of one with two wheels.
"""

from hilgw.bodies._common.session import Phase, RobotSession
from hilgw.bodies._common.settings import RobotSettings, SerialRobot, device_problems, numbered
from hilgw.bodies._common.wheels import WheeledSession

__all__ = [
    "Phase",
    "RobotSession",
    "RobotSettings",
    "SerialRobot",
    "WheeledSession",
    "device_problems",
    "numbered",
]
