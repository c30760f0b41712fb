"""Webots' classes that need its own library: a program may import them; making one is an error."""

from __future__ import annotations

from typing import Any

from hilgw.api.robot import Robot

_FIX = "run the controller with Webots' own library, in the simulator"


class Unsupported:
    """Of a class that this package does not have. Raises NotImplementedError when one is made."""

    def __init__(self, *_of: Any, **_named: Any) -> None:
        raise NotImplementedError(f"hilgw.api does not support {type(self).__name__}; {_FIX}")


class Altimeter(Unsupported): ...


class CameraRecognitionObject(Unsupported): ...


class Connector(Unsupported): ...


class ContactPoint(Unsupported): ...


class Display(Unsupported): ...


class Field(Unsupported): ...


class Lidar(Unsupported): ...


class LidarPoint(Unsupported): ...


class Motion(Unsupported): ...


class Node(Unsupported): ...


class Proto(Unsupported): ...


class Radar(Unsupported): ...


class RadarTarget(Unsupported): ...


class RangeFinder(Unsupported): ...


class Skin(Unsupported): ...


class Speaker(Unsupported): ...


class VacuumGripper(Unsupported): ...


class Supervisor(Robot):
    """A Robot, for programs that use no more of a Supervisor than that. Raises NotImplementedError
    for the functions of a supervisor."""

    def __getattr__(self, name: str) -> Any:
        if name in _OF_SUPERVISOR:
            raise NotImplementedError(f"hilgw.api does not support Supervisor.{name}; {_FIX}")
        raise AttributeError(f"'Supervisor' object has no attribute '{name}'")


_OF_SUPERVISOR = frozenset(
    [
        "animationStartRecording",
        "animationStopRecording",
        "exportImage",
        "getFromDef",
        "getFromDevice",
        "getFromId",
        "getRoot",
        "getSelected",
        "getSelf",
        "movieFailed",
        "movieIsReady",
        "movieStartRecording",
        "movieStopRecording",
        "setLabel",
        "simulationGetMode",
        "simulationQuit",
        "simulationReset",
        "simulationResetPhysics",
        "simulationSetMode",
        "simulation_mode",
        "virtualRealityHeadsetGetOrientation",
        "virtualRealityHeadsetGetPosition",
        "virtualRealityHeadsetIsUsed",
        "worldLoad",
        "worldReload",
        "worldSave",
    ]
)
