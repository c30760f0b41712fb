"""Cameras: their size and their images, which are black without Webots.

Zoom, focus, recognition and files of images need Webots' own library.
"""

import math

from hilgw.api._errors import report
from hilgw.api.devices.base import Sensor
from hilgw.api.devices.states import CameraState


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
