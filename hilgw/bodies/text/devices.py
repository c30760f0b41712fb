"""The sensors of body `text`, from the groups of an answer to Webots' values, and its LEDs."""

import math
from collections.abc import Mapping

from hilgw.bodies.text.lines import Sendable, number_of, sendable
from hilgw.bodies.text.settings import (
    DeclaredRequest,
    TextBodySettings,
    TextSensor,
    groups_of_sensor,
)
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import Device, Devices, Value
from hilgw.devices.lookup import look_up
from hilgw.protocols.text.patterns import Match, compiled
from hilgw.units import ms_to_ns

NO_END = 2.0**80  # span of a counter that does not wrap around


class Sensor:
    """A sensor. groups: those of the answer with its numbers. zeros: as of `Motor`."""

    def __init__(self, device: Device, settings: TextSensor, zeros: Mapping[str, float]) -> None:
        self.device = device
        self._zeros = zeros
        self.groups = groups_of_sensor(device.name, settings)
        self._settings = settings
        start = 0.0 if settings.starts_at_zero else None
        counts = settings.wraps or settings.starts_at_zero
        self._odometer = Odometer(settings.wraps or NO_END, start) if counts else None

    def rebase(self) -> None:
        """Rebase a counter that starts at 0 again: the robot was set up again."""
        if self._odometer is not None and self._settings.starts_at_zero:
            self._odometer.rebase()

    def read(self, groups: Mapping[str, bytes | None]) -> Value | None:
        """Return its value; None when a number of it is missing, invalid, or not finite."""
        values = [self._read(groups.get(name)) for name in self.groups]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values):
            return None
        return tuple(numbers) if self._settings.has_vector else numbers[0]

    def _read(self, text: bytes | None) -> float | None:
        settings = self._settings
        number = None if text is None else number_of(text, hexadecimal=settings.hex)
        if number is None:
            return None
        if self._odometer is not None:
            number = self._odometer.read(number)
        number -= self._zeros.get(settings.motor, 0.0)
        value = look_up(settings.table, number * settings.scale + settings.offset)
        return float(value) if math.isfinite(value) else None


class RequestLine:
    """A line that asks for sensors. due_ns: when it is sent next, if one of them is enabled."""

    def __init__(
        self, settings: DeclaredRequest, sensors: list[Sensor], end: bytes, failed: str, own_ns: int
    ) -> None:
        self.line: Sendable = sendable(settings, end, failed)
        self.data = self.line.filled({})
        groups = set() if self.line.expect is None else set(self.line.expect.groupindex)
        self.sensors = [each for each in sensors if groups.issuperset(each.groups)]
        self.due_ns = 0
        self._own_ns = own_ns

    def period_ns(self, enabled: dict[int, int]) -> int | None:
        """Return the shortest period of its enabled sensors; None: none is enabled.

        enabled: index -> period.
        """
        periods = [
            enabled[each.device.index] for each in self.sensors if each.device.index in enabled
        ]
        return max(self._own_ns, min(periods)) if periods else None

    def left(self, now: int, enabled: dict[int, int]) -> bool:
        """Note that the line was sent; return whether it was a period late."""
        period_ns = self.period_ns(enabled) or self._own_ns
        late = now - self.due_ns >= period_ns
        self.due_ns = now + period_ns if late else self.due_ns + period_ns
        return late


class Requests:
    """The lines that ask for sensors, and the sensors that are enabled (index -> period)."""

    def __init__(
        self,
        settings: TextBodySettings,
        devices: Devices,
        always_on: list[int],
        end: bytes,
        zeros: Mapping[str, float],
    ) -> None:
        sensors = [
            Sensor(device, settings.sensors[device.name], zeros)
            for device in devices
            if device.name in settings.sensors
        ]
        own_ns = ms_to_ns(settings.period_ms)
        self.lines = [
            RequestLine(each, sensors, end, settings.failed, own_ns) for each in settings.requests
        ]
        self._sensors = sensors
        self._unasked = [compiled(each.expect, whole=True) for each in settings.unasked]
        self.enabled = dict.fromkeys(always_on, 0)

    def unasked(self, line: bytes) -> Match | None:
        """Return the match of a line that the robot sends by itself."""
        return next(filter(None, (pattern.search(line) for pattern in self._unasked)), None)

    def values(self, groups: Mapping[str, bytes | None]) -> list[tuple[Sensor, Value | None]]:
        """Return the values of the enabled sensors whose numbers are among these groups."""
        return [
            (each, each.read(groups))
            for each in self._sensors
            if each.device.index in self.enabled and groups.keys() >= set(each.groups)
        ]

    def asked(self) -> list[RequestLine]:
        """Return the lines with an enabled sensor."""
        return [line for line in self.lines if line.period_ns(self.enabled) is not None]

    def restart(self, now: int) -> None:
        """Make all lines due now: the robot was set up."""
        for sensor in self._sensors:
            sensor.rebase()
        for line in self.lines:
            line.due_ns = now

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        before = self.asked()
        if period_ms == 0:
            self.enabled.pop(index, None)
        else:
            self.enabled[index] = ms_to_ns(period_ms or 0)
        for line in self.asked():
            if line not in before:
                line.due_ns = max(line.due_ns, now)


class Leds:
    """The LEDs by their names: the newest value of each waits until its line has left."""

    def __init__(self, settings: TextBodySettings, end: bytes) -> None:
        self._lines = {
            name: sendable(each, end, settings.failed, fills=True)
            for name, each in settings.leds.items()
        }
        self._values: dict[str, int] = {}
        self._waiting: dict[str, int] = {}

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def forget(self) -> None:
        """Another robot may be there."""
        self._values.clear()
        self._waiting.clear()

    def restart(self) -> None:
        """Send all values again: the robot was set up again."""
        self._waiting = dict(self._values)

    def set(self, name: str, value: int) -> None:
        self._values[name] = self._waiting[name] = value

    def due(self) -> list[tuple[Sendable, bytes, str]]:
        """Return line, bytes and name of each LED that waits."""
        return [
            (
                self._lines[name],
                self._lines[name].filled({"value": str(value), "on": str(int(value != 0))}),
                name,
            )
            for name, value in self._waiting.items()
        ]

    def left(self, name: str) -> None:
        self._waiting.pop(name, None)

    def lost(self, name: str) -> None:
        """Send its line again, which was not answered."""
        self._waiting.setdefault(name, self._values[name])
