"""What a Supervisor has without Webots: the name and the pose of its own robot, from the scene of
the gateway. Its other functions change a world, which is not there: they have no effect."""

from __future__ import annotations

import math
import os
from typing import Any

from hilgw.api.robot import Robot
from hilgw.api.session import Warnings
from hilgw.client.gateway import gateway_with
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.paths import CONTROL

_FIX = "run the controller with Webots' own library, in the simulator"
_UNKNOWN = [math.nan] * 3


class Field:
    """A field of the robot's node: its value when it was asked for."""

    def __init__(self, name: str = "", value: Any = None) -> None:
        self._name, self._value = name, value

    def getName(self) -> str:
        return self._name

    def getSFString(self) -> str:
        return str(self._value)

    def getSFVec3f(self) -> list[float]:
        return list(self._value)

    name = property(getName)
    value = property(lambda self: self._value)


class Node:
    """The robot's own node. warn: of its session."""

    def __init__(self, robot: str, warn: Warnings) -> None:
        self._robot, self._warn = robot, warn

    def getPosition(self) -> list[float]:
        """In the world, in m; NaN where the pose of the robot is not known."""
        pose = self._pose()
        return list(_UNKNOWN) if pose is None else list(pose[0])

    def getOrientation(self) -> list[float]:
        """The rotation matrix, row by row; NaN where it is not known."""
        pose = self._pose()
        return _UNKNOWN * 3 if pose is None else [each for row in pose[1] for each in row]

    def getField(self, name: str) -> Field | None:
        """`name` and `translation`; of another one None, with the notice."""
        if name == "name":
            return Field(name, self._robot)
        if name == "translation":
            return Field(name, self.getPosition())
        _notice(self._warn, f"Node.getField('{name}')")
        return None

    def getTypeName(self) -> str:
        return "Robot"

    def getName(self) -> str:
        """Of the robot; Webots has this as the field `name`."""
        return self._robot

    name = property(getName)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _without_effect(self._warn, f"Node.{name}")

    def _pose(self) -> Any:
        try:
            return gateway_with("robot", self._robot, os.environ.get(CONTROL)).pose(self._robot)
        except HilgwError as error:
            _notice(self._warn, "Node.getPosition", str(error))
            return None


class Supervisor(Robot):
    """A Robot, for programs that use a Supervisor for no more than the pose of their robot."""

    _self: Node | None = None

    def getSelf(self) -> Node:
        """The node of this robot, always the same one."""
        if self._self is None:
            self._self = Node(self.name, self._session.warn)
        return self._self

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_SUPERVISOR:
            raise AttributeError(f"'Supervisor' object has no attribute '{name}'")
        function = _without_effect(self._session.warn, f"Supervisor.{name}")
        return function() if name == "simulation_mode" else function


def _notice(warn: Warnings, function: str, why: str = "") -> None:
    """Once for a robot, however many functions of a supervisor its program calls."""
    what = why or f"{_FIX}; getSelf() has name, position and orientation"
    text = f"{function}() and other functions of a supervisor have no effect without Webots"
    warn("supervisor", f"{text}: {what}")


def _without_effect(warn: Warnings, function: str) -> Any:
    def call(*_of: Any, **_named: Any) -> None:
        _notice(warn, function)

    return call


_FUNCTIONS = (
    "animationStartRecording animationStopRecording exportImage getFromDef getFromDevice getFromId "
    "getRoot getSelected movieFailed movieIsReady movieStartRecording movieStopRecording setLabel "
    "simulationGetMode simulationQuit simulationReset simulationResetPhysics simulationSetMode "
    "simulation_mode virtualRealityHeadsetGetOrientation virtualRealityHeadsetGetPosition "
    "virtualRealityHeadsetIsUsed worldLoad worldReload worldSave"
)
_OF_SUPERVISOR = frozenset(_FUNCTIONS.split())
