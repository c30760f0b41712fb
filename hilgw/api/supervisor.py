"""The part of a Supervisor that works without Webots: name and pose of its own robot.

The pose is from the scene of the session's gateway. Other functions change a world, which is not
there: they have no effect.
"""

import math
from collections.abc import Callable
from typing import Any

from hilgw.api.robot import Robot
from hilgw.api.session import Warnings
from hilgw.client.gateway import Gateway
from hilgw.errors import HilgwError

_FIX = "run the controller with Webots' own library, in the simulator"
_UNKNOWN = [math.nan] * 3


class _Unavailable:
    """Stub of every function and property of its class in Webots, without effect."""

    _warn: Warnings

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = _without_effect(self._warn, f"{type(self).__name__}.{name}")
        return function() if name in _PROPERTIES else function


class Field(_Unavailable):
    """A field of the robot's node: its value when it was requested. warn: of the session."""

    def __init__(self, name: str, value: Any, warn: Warnings) -> None:
        self._name, self._value, self._warn = name, value, warn

    def getName(self) -> str:
        return self._name

    def getSFString(self) -> str:
        return str(self._value)

    def getSFVec3f(self) -> list[float]:
        return list(self._value)

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        _notice(self._warn, "Field.value")

    name = property(getName)


class Node(_Unavailable):
    """The robot's own node. warn and gateway: of its session."""

    def __init__(self, robot: str, warn: Warnings, gateway: Callable[[], Gateway]) -> None:
        self._robot, self._warn, self._gateway = robot, warn, gateway

    def getPosition(self) -> list[float]:
        """Return the position in the world, in m; NaN if the pose of the robot is not known."""
        pose = self._pose()
        return list(_UNKNOWN) if pose is None else list(pose[0])

    def getOrientation(self) -> list[float]:
        """Return the rotation matrix, row by row; NaN if it is not known."""
        pose = self._pose()
        return _UNKNOWN * 3 if pose is None else [each for row in pose[1] for each in row]

    def getField(self, name: str) -> Field | None:
        """Return `name` or `translation`; None, with the notice, for another one."""
        if name == "name":
            return Field(name, self._robot, self._warn)
        if name == "translation":
            return Field(name, self.getPosition(), self._warn)
        _notice(self._warn, f"Node.getField('{name}')")
        return None

    def getTypeName(self) -> str:
        return "Robot"

    def getName(self) -> str:
        """Return the name of the robot; Webots has this as the field `name`."""
        return self._robot

    name = property(getName)

    def _pose(self) -> Any:
        try:
            return self._gateway().pose(self._robot)
        except HilgwError as error:
            _notice(self._warn, "Node.getPosition", str(error))
            return None


class Supervisor(Robot):
    """A Robot, for programs that use a Supervisor only for the pose of their robot."""

    SIMULATION_MODE_PAUSE, SIMULATION_MODE_REAL_TIME, SIMULATION_MODE_FAST = range(3)
    _self: Node | None = None

    def getSelf(self) -> Node:
        """Return the node of this robot, always the same one."""
        if self._self is None:
            self._self = Node(self.name, self._session.warn, lambda: self._session.gateway)
        return self._self

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_SUPERVISOR:
            raise AttributeError(f"'Supervisor' object has no attribute '{name}'")
        return _without_effect(self._session.warn, f"Supervisor.{name}")

    @property
    def simulation_mode(self) -> None:
        _notice(self._session.warn, "Supervisor.simulation_mode")

    @simulation_mode.setter
    def simulation_mode(self, mode: int) -> None:
        _notice(self._session.warn, "Supervisor.simulation_mode")


def _notice(warn: Warnings, function: str, why: str = "") -> None:
    """Warn once for a robot, however many functions of a supervisor its program calls."""
    problem = why or f"{_FIX}; getSelf() has name, position and orientation"
    text = f"{function}() and other functions of a supervisor have no effect without Webots"
    warn("supervisor", f"{text}: {problem}")


def _without_effect(warn: Warnings, function: str) -> Any:
    def call(*_of: Any, **_named: Any) -> None:
        _notice(warn, function)

    return call


_FUNCTIONS = (
    "animationStartRecording animationStopRecording exportImage getFromDef getFromDevice getFromId "
    "getRoot getSelected movieFailed movieIsReady movieStartRecording movieStopRecording setLabel "
    "simulationGetMode simulationQuit simulationReset simulationResetPhysics simulationSetMode "
    "virtualRealityHeadsetGetOrientation virtualRealityHeadsetGetPosition "
    "virtualRealityHeadsetIsUsed worldLoad worldReload worldSave"
)
_OF_SUPERVISOR = frozenset(_FUNCTIONS.split())
_PROPERTIES = {"DEF", "base_type_name", "count", "id", "number_of_fields", "type", "type_name"}
# The constants of R2025a, in the order of their numbers.
_NODES = """NO_NODE APPEARANCE BACKGROUND BILLBOARD BOX CAD_SHAPE CAPSULE COLOR CONE COORDINATE
CYLINDER DIRECTIONAL_LIGHT ELEVATION_GRID FOG GROUP IMAGE_TEXTURE INDEXED_FACE_SET INDEXED_LINE_SET
MATERIAL MESH MUSCLE NORMAL PBR_APPEARANCE PLANE POINT_LIGHT POINT_SET POSE SHAPE SPHERE SPOT_LIGHT
TEXTURE_COORDINATE TEXTURE_TRANSFORM TRANSFORM VIEWPOINT ROBOT ACCELEROMETER ALTIMETER BRAKE CAMERA
COMPASS CONNECTOR DISPLAY DISTANCE_SENSOR EMITTER GPS GYRO INERTIAL_UNIT LED LIDAR LIGHT_SENSOR
LINEAR_MOTOR PEN POSITION_SENSOR PROPELLER RADAR RANGE_FINDER RECEIVER ROTATIONAL_MOTOR SKIN SPEAKER
TOUCH_SENSOR VACUUM_GRIPPER BALL_JOINT BALL_JOINT_PARAMETERS CHARGER CONTACT_PROPERTIES DAMPING
FLUID FOCUS HINGE_JOINT HINGE_JOINT_PARAMETERS HINGE_2_JOINT IMMERSION_PROPERTIES JOINT_PARAMETERS
LENS LENS_FLARE PHYSICS RECOGNITION SLIDER_JOINT SLOT SOLID SOLID_REFERENCE TRACK TRACK_WHEEL
WORLD_INFO ZOOM MICROPHONE RADIO"""
_FIELDS = "BOOL INT32 FLOAT VEC2F VEC3F ROTATION COLOR STRING NODE"
_MULTIPLE = 0x10
for _number, _node in enumerate(_NODES.split()):
    setattr(Node, _node, _number)
for _number, _type in enumerate(_FIELDS.split(), 1):
    setattr(Field, f"SF_{_type}", _number)
    setattr(Field, f"MF_{_type}", _number | _MULTIPLE)
