"""Webots' classes that need its own library: a program may import them; making one is an error."""

from typing import Any

_FIX = "run the controller with Webots' own library, in the simulator"


class Unsupported:
    """A class that this package does not have. Raises NotImplementedError when one is made."""

    def __init__(self, *_of: Any, **_named: Any) -> None:
        raise NotImplementedError(f"hilgw.api does not support {type(self).__name__}; {_FIX}")


class Altimeter(Unsupported): ...


class CameraRecognitionObject(Unsupported): ...


class Connector(Unsupported): ...


class ContactPoint(Unsupported): ...


class Display(Unsupported): ...


class Lidar(Unsupported): ...


class LidarPoint(Unsupported): ...


class Motion(Unsupported): ...


class Proto(Unsupported): ...


class Radar(Unsupported): ...


class RadarTarget(Unsupported): ...


class RangeFinder(Unsupported): ...


class Skin(Unsupported): ...


class Speaker(Unsupported): ...


class VacuumGripper(Unsupported): ...
