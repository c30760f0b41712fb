"""Motion of motors that were stopped, as far as the robot reports it."""

from collections.abc import Iterable

from hilgw.control.events import Event, SensorValue
from hilgw.devices.kinds import LINEAR_MOTOR, POSITION_SENSOR, Device, Devices
from hilgw.devices.properties import PositionSensorFields
from hilgw.units import NS_PER_MS

STRETCH_NS, STRETCHES = 100 * NS_PER_MS, 6
"""A motor moves that has moved one way for this many stretches: noise has no direction, and a push
by hand is shorter."""
NOISE_RAD, NOISE_M = 0.02, 0.002
SOON_NS, SOON_STOPS, LATER_NS = 300 * NS_PER_MS, 3, 2_000 * NS_PER_MS
"""The first SOON_STOPS stops are SOON_NS apart, the others LATER_NS."""
SETTLE_NS = 1_000 * NS_PER_MS
"""After a stop by the control loop the motors slow down."""


class Standstill:
    """From a stop until a motor may move again. is_shown: a notice about it was shown."""

    def __init__(self, now: int) -> None:
        self.is_shown = False
        self._stops, self._next_ns = 0, now + SETTLE_NS
        self._courses: dict[int, tuple[float, int, int]] = {}  # position, since when, stretches

    def moving(self, events: Iterable[Event], devices: Devices, now: int) -> list[Device]:
        """Take the positions among these events. Return the devices whose position moves."""
        positions = (
            (devices.by_index(event.index), event.value)
            for event in events
            if type(event) is SensorValue
        )
        return [
            device
            for device, value in positions
            if device is not None
            and device.kind in (POSITION_SENSOR, LINEAR_MOTOR)
            and not isinstance(value, tuple)
            and self._goes_on(device, value, now)
        ]

    def _goes_on(self, device: Device, position: float, now: int) -> bool:
        """Return whether it goes on one way, and not to the default that a stop sends it to."""
        before, since_ns, stretches = self._courses.setdefault(device.index, (position, now, 0))
        if now - since_ns < STRETCH_NS:
            return False
        fields = device.fields
        is_slider = isinstance(fields, PositionSensorFields) and fields.type == "linear"
        is_linear = device.kind == LINEAR_MOTOR or is_slider
        moved, noise = position - before, NOISE_M if is_linear else NOISE_RAD
        way = (moved > noise) - (moved < -noise)
        if device.default is not None and way * (device.default - position) > 0:
            way = 0
        stretches = way + (stretches if way * stretches > 0 else 0)
        self._courses[device.index] = position, now, stretches
        return abs(stretches) >= STRETCHES

    def is_due(self, now: int) -> bool:
        """Return whether the stop is written again now; it counts as written."""
        if now < self._next_ns:
            return False
        self._stops = 1 if now >= self._next_ns + LATER_NS else self._stops + 1
        self._next_ns = now + (SOON_NS if self._stops < SOON_STOPS else LATER_NS)
        return True
