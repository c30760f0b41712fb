"""Sensors with one number, three, or an orientation."""

from __future__ import annotations

import math

from hilgw.api._errors import report
from hilgw.api.devices.base import HasBrake, HasMotor, Sensor, Typed
from hilgw.api.devices.states import GpsState, TouchState


class _Scalar(Sensor):
    """A sensor that reports one number. value: NaN when the sensor is off and never was on."""

    def getValue(self) -> float:
        return self.value

    @property
    def value(self) -> float:
        self._checked("get_value")
        return float(self._state.value)


class _Vector(Sensor):
    """A sensor that reports several numbers."""

    def getValues(self) -> list[float]:
        return self.value

    @property
    def value(self) -> list[float]:
        return self._vector("get_values")


class _Mapped(Sensor):
    """A sensor with a lookup table."""

    def getLookupTable(self) -> list[float]:
        return self.lookup_table

    @property
    def lookup_table(self) -> list[float]:
        """The rows, one after the other: value, response, noise."""
        return [number for row in self._configured("lookupTable", ()) for number in row]


class DistanceSensor(_Scalar, _Mapped, Typed):
    """value: as the lookup table maps the distance."""

    GENERIC, INFRA_RED, SONAR, LASER = range(4)
    kinds = ("DistanceSensor",)
    function = "distance_sensor"

    def getMaxValue(self) -> float:
        return self.max_value

    def getMinValue(self) -> float:
        return self.min_value

    def getAperture(self) -> float:
        return self.aperture

    @property
    def max_value(self) -> float:
        return float(self._configured("maxValue", math.nan))

    @property
    def min_value(self) -> float:
        return float(self._configured("minValue", math.nan))

    @property
    def aperture(self) -> float:
        """In rad."""
        return float(self._configured("aperture", math.nan))


class LightSensor(_Scalar, _Mapped):
    """value: as the lookup table maps the irradiance."""

    kinds = ("LightSensor",)
    function = "light_sensor"


class PositionSensor(_Scalar, HasMotor, HasBrake):
    """value: of the joint, in rad or m."""

    kinds = ("PositionSensor",)
    function = "position_sensor"


class TouchSensor(_Scalar, _Mapped, Typed):
    """value: of a bumper 0 or 1, of a force sensor N; values: of a force-3d sensor, in N."""

    BUMPER, FORCE, FORCE3D = range(3)
    kinds = ("TouchSensor",)
    function = "touch_sensor"
    _state: TouchState

    def getValues(self) -> list[float]:
        return self.values

    @property
    def value(self) -> float:
        self._check_type(vector=False)
        return super().value

    @property
    def values(self) -> list[float]:
        self._check_type(vector=True)
        self._checked("get_values")
        return list(self._state.values)

    def _check_type(self, *, vector: bool) -> None:
        """Reports the getter of another type than that of this sensor."""
        if (self.type == self.FORCE3D) == vector or not self.tag:
            return
        used, other = ("get_values", "get_value") if vector else ("get_value", "get_values")
        types = '"force-3d"' if vector else '"bumper" or "force"'
        report(
            f"wb_touch_sensor_{used}() must be used with a TouchSensor of type {types}; "
            f"you should use wb_touch_sensor_{other}() instead."
        )


class Accelerometer(_Vector, _Mapped):
    """value: x, y, z in m/s^2."""

    kinds = ("Accelerometer",)
    function = "accelerometer"


class Gyro(_Vector, _Mapped):
    """value: x, y, z in rad/s."""

    kinds = ("Gyro",)
    function = "gyro"


class Compass(_Vector, _Mapped):
    """value: the direction of north, x, y, z."""

    kinds = ("Compass",)
    function = "compass"


class GPS(_Vector):
    """value: x, y, z in m, or latitude, longitude in degrees and altitude in m."""

    LOCAL, WGS84 = range(2)
    kinds = ("GPS",)
    function = "gps"
    _state: GpsState

    @staticmethod
    def convertToDegreesMinutesSeconds(decimalDegrees: float) -> str:
        """12.5125 is 12° 30′ 45″."""
        seconds = round(abs(decimalDegrees) * 3600)
        sign = "-" if decimalDegrees < 0 and seconds else ""
        return f"{sign}{seconds // 3600}° {seconds // 60 % 60}′ {seconds % 60}″"

    def getSpeed(self) -> float:
        return self.speed

    def getSpeedVector(self) -> list[float]:
        return self.speed_vector

    def getCoordinateSystem(self) -> int:
        return self.coordinate_system

    @property
    def speed(self) -> float:
        """In m/s."""
        self._checked("get_speed")
        return self._state.speed

    @property
    def speed_vector(self) -> list[float]:
        """In m/s."""
        self._checked("get_speed_vector")
        return list(self._state.speed_vector)

    @property
    def coordinate_system(self) -> int:
        return int(self._configured("coordinateSystem", self.LOCAL))


class InertialUnit(Sensor):
    """The orientation."""

    kinds = ("InertialUnit",)
    function = "inertial_unit"

    def getRollPitchYaw(self) -> list[float]:
        return self.roll_pitch_yaw

    def getQuaternion(self) -> list[float]:
        return self.quaternion

    def getNoise(self) -> float:
        return self.noise

    @property
    def quaternion(self) -> list[float]:
        """x, y, z, w."""
        return self._vector("get_quaternion")

    @property
    def roll_pitch_yaw(self) -> list[float]:
        """In rad, about x, y and z of ENU (y and z of NUE), the last rotation first."""
        x, y, z, w = self._vector("get_roll_pitch_yaw")
        if self._configured("coordinateSystem", "ENU") == "NUE":
            return _angles_nue(x, y, z, w)
        roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
        return [roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))]

    @property
    def noise(self) -> float:
        return float(self._configured("noise", 0.0))


def _angles_nue(x: float, y: float, z: float, w: float) -> list[float]:
    """roll about x, pitch about z, yaw about y."""
    roll = math.atan2(2 * (w * x - y * z), 1 - 2 * (x * x + z * z))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (x * y + z * w))))
    return [roll, pitch, math.atan2(2 * (y * w - x * z), 1 - 2 * (y * y + z * z))]
