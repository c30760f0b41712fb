"""Sensors with one number, three, or an orientation; cameras, which are black without Webots.

Zoom, focus, recognition and files of images need Webots' own library.
"""

import math

from hilgw.api.arguments import report
from hilgw.api.devices.base import HasBrake, HasMotor, Sensor, Typed
from hilgw.api.devices.states import CameraState, GpsState, TouchState


class _Scalar(Sensor):
    """A sensor that reports one number. value: NaN if the sensor is off and never was on."""

    def getValue(self) -> float:
        self._checked("get_value")
        return float(self._state.value)

    value = property(getValue)


class _Vector(Sensor):
    def getValues(self) -> list[float]:
        return self._vector("get_values")

    value = property(getValues)


class _Mapped(Sensor):
    def getLookupTable(self) -> list[float]:
        """Return the rows, one after the other: value, response, noise."""
        return [number for row in self._configured("lookupTable", ()) for number in row]

    lookup_table = property(getLookupTable)


class DistanceSensor(_Scalar, _Mapped, Typed):
    """A distance sensor. value: as the lookup table maps the distance."""

    GENERIC, INFRA_RED, SONAR, LASER = range(4)
    kinds = ("DistanceSensor",)
    function = "distance_sensor"

    def getMaxValue(self) -> float:
        return float(self._configured("maxValue", math.nan))

    def getMinValue(self) -> float:
        return float(self._configured("minValue", math.nan))

    def getAperture(self) -> float:
        """Return the aperture in rad."""
        return float(self._configured("aperture", math.nan))

    max_value = property(getMaxValue)
    min_value = property(getMinValue)
    aperture = property(getAperture)


class LightSensor(_Scalar, _Mapped):
    """A light sensor. value: as the lookup table maps the irradiance."""

    kinds = ("LightSensor",)
    function = "light_sensor"


class PositionSensor(_Scalar, HasMotor, HasBrake):
    """A position sensor. value: that of the joint, in rad or m."""

    kinds = ("PositionSensor",)
    function = "position_sensor"


class TouchSensor(_Scalar, _Mapped, Typed):
    """A touch sensor.

    value: of a bumper 0 or 1, of a force sensor N; values: of a force-3d sensor, in N.
    """

    BUMPER, FORCE, FORCE3D = range(3)
    kinds = ("TouchSensor",)
    function = "touch_sensor"
    _state: TouchState

    def getValues(self) -> list[float]:
        self._check_type(vector=True)
        self._checked("get_values")
        return list(self._state.values)

    def getValue(self) -> float:
        self._check_type(vector=False)
        return super().getValue()

    value = property(getValue)

    values = property(getValues)

    def _check_type(self, *, vector: bool) -> None:
        if (self.type == self.FORCE3D) == vector or not self.tag:
            return
        used, other = ("get_values", "get_value") if vector else ("get_value", "get_values")
        types = '"force-3d"' if vector else '"bumper" or "force"'
        report(
            f"wb_touch_sensor_{used}() must be used with a TouchSensor of type {types}; "
            f"you should use wb_touch_sensor_{other}() instead."
        )


class Accelerometer(_Vector, _Mapped):
    """An accelerometer. value: x, y, z in m/s^2."""

    kinds = ("Accelerometer",)
    function = "accelerometer"


class Gyro(_Vector, _Mapped):
    """A gyro. value: x, y, z in rad/s."""

    kinds = ("Gyro",)
    function = "gyro"


class Compass(_Vector, _Mapped):
    """A compass. value: the direction of north, x, y, z."""

    kinds = ("Compass",)
    function = "compass"


class GPS(_Vector):
    """A GPS. value: x, y, z in m, or latitude, longitude in degrees and altitude in m."""

    LOCAL, WGS84 = range(2)
    kinds = ("GPS",)
    function = "gps"
    _state: GpsState

    @staticmethod
    def convertToDegreesMinutesSeconds(decimalDegrees: float) -> str:
        """Return degrees, minutes and seconds: 12.5125 is 12° 30′ 45″."""
        seconds = round(abs(decimalDegrees) * 3600)
        sign = "-" if decimalDegrees < 0 and seconds else ""
        return f"{sign}{seconds // 3600}° {seconds // 60 % 60}′ {seconds % 60}″"

    def getSpeed(self) -> float:
        """Return the speed in m/s."""
        self._checked("get_speed")
        return self._state.speed

    def getSpeedVector(self) -> list[float]:
        """Return the velocity in m/s."""
        self._checked("get_speed_vector")
        return list(self._state.speed_vector)

    def getCoordinateSystem(self) -> int:
        return int(self._configured("coordinateSystem", self.LOCAL))

    speed = property(getSpeed)
    speed_vector = property(getSpeedVector)
    coordinate_system = property(getCoordinateSystem)


class InertialUnit(Sensor):
    """A sensor of the orientation."""

    kinds = ("InertialUnit",)
    function = "inertial_unit"

    def getRollPitchYaw(self) -> list[float]:
        """Return the angles in rad about x, y, z of ENU (NUE: x, z, y), the last rotation first."""
        x, y, z, w = self._vector("get_roll_pitch_yaw")
        if self._configured("coordinateSystem", "ENU") == "NUE":
            return _angles_nue(x, y, z, w)
        roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
        return [roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))]

    def getQuaternion(self) -> list[float]:
        """Return x, y, z, w."""
        return self._vector("get_quaternion")

    def getNoise(self) -> float:
        return float(self._configured("noise", 0.0))

    quaternion = property(getQuaternion)
    roll_pitch_yaw = property(getRollPitchYaw)
    noise = property(getNoise)


def _angles_nue(x: float, y: float, z: float, w: float) -> list[float]:
    """Return roll about x, pitch about z, yaw about y."""
    roll = math.atan2(2 * (w * x - y * z), 1 - 2 * (x * x + z * z))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (x * y + z * w))))
    return [roll, pitch, math.atan2(2 * (y * w - x * z), 1 - 2 * (y * y + z * z))]


class Camera(Sensor):
    """A Camera of the robot. An image has four bytes for each pixel, BGRA, row by row."""

    kinds = ("Camera",)
    function = "wb_camera"
    _state: CameraState

    def getImage(self) -> bytes | None:
        """Return the last image; None before the first one, and while the camera is disabled."""
        if not self._period:
            self._checked("get_image")
            return None
        try:
            return self._state.image
        except OSError as error:
            report(f"wb_camera_get_image(): {error}.")
            return None

    def getImageArray(self) -> list[list[list[int]]] | None:
        """Return red, green and blue of each pixel, column by column."""
        image, width, height = self.getImage(), self.getWidth(), self.getHeight()
        if image is None:
            return None
        return [
            [list(image[at : at + 3][::-1]) for at in range(4 * x, 4 * width * height, 4 * width)]
            for x in range(width)
        ]

    @staticmethod
    def imageGetRed(image: bytes, width: int, x: int, y: int) -> int:
        return image[4 * (y * width + x) + 2]

    @staticmethod
    def imageGetGreen(image: bytes, width: int, x: int, y: int) -> int:
        return image[4 * (y * width + x) + 1]

    @staticmethod
    def imageGetBlue(image: bytes, width: int, x: int, y: int) -> int:
        return image[4 * (y * width + x)]

    @staticmethod
    def imageGetGray(image: bytes, width: int, x: int, y: int) -> int:
        offset = 4 * (y * width + x)
        return sum(image[offset : offset + 3]) // 3

    imageGetGrey = imageGetGray

    def getWidth(self) -> int:
        return int(self._configured("width", -1))

    def getHeight(self) -> int:
        return int(self._configured("height", -1))

    def getFov(self) -> float:
        return float(self._configured("fieldOfView", math.nan))

    def getMinFov(self) -> float:
        return float(self._configured("minFieldOfView", math.nan))

    def getMaxFov(self) -> float:
        return float(self._configured("maxFieldOfView", math.nan))

    def getNear(self) -> float:
        return float(self._configured("near", math.nan))

    def getExposure(self) -> float:
        return float(self._configured("exposure", math.nan))

    def hasRecognition(self) -> bool:
        return bool(self._configured("recognition", False))

    width = property(getWidth)
    height = property(getHeight)
    fov = property(getFov)
    near = property(getNear)
    exposure = property(getExposure)
