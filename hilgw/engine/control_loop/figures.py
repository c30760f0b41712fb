"""What a loop counts, and what it shows of itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hilgw.control.events import MotorCommand, MotorSettings
from hilgw.control.safety import default_actuation
from hilgw.engine.latency import Latency
from hilgw.engine.observer import ControlLoopStatus

if TYPE_CHECKING:
    from hilgw.devices.kinds import Device, Devices

REFUSED = "refused_"


class LoopStatistics:
    """The last values by device, counts, and the latency from sensor in to motor out: from the
    values that came last before a command until that command is written."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(
            values_in=0, values_superseded=0, commands_in=0, commands_out=0
        )
        self.refused: Counter[str] = Counter()
        self.latency = Latency()
        self.sensors: dict[str, float] = {}
        self.motors: dict[str, dict[str, float]] = {}
        self._names: dict[int, str] = {}
        self._told: Counter[str] = Counter()
        self._values_ns: int | None = None

    def add(self, device: Device) -> None:
        self._names[device.index] = device.name

    def keep(self, devices: Iterable[Device]) -> None:
        """These are all there are: what others showed or were told is of a body that is gone."""
        names = {device.name for device in devices}
        for shown in (self.sensors, self.motors):
            for name in shown.keys() - names:
                del shown[name]

    def saw(self, values: Sequence[tuple[int, float]], now: int) -> None:
        """Values came from the body."""
        sensors, names = self.sensors, self._names
        for index, value in values:
            sensors[names.get(index) or str(index)] = value
        self.counts["values_in"] += len(values)
        self._values_ns = now

    def commanded(self, order: MotorCommand | MotorSettings, now: int) -> None:
        """A command was written to the body."""
        self.counts["commands_out"] += 1
        if self._values_ns is not None:
            self.latency.add(now - self._values_ns)
            self._values_ns = None
        motor = self.motors.setdefault(self.name_of(order.index), {})
        if isinstance(order, MotorCommand):
            motor[order.field] = order.value
        else:
            motor |= {
                "position": order.position,
                "velocity": order.velocity,
                "acceleration": order.acceleration,
                "available": order.available,
            }

    def stopped(self, devices: Devices) -> None:
        """The motors went to their defaults."""
        places = {
            device.index: self.sensors[device.name]
            for device in devices
            if device.name in self.sensors
        }
        for order in default_actuation(devices, places):
            self.motors.setdefault(self.name_of(order.index), {})[order.field] = order.value

    def name_of(self, index: int) -> str:
        """The device's name; its index where it has none."""
        return self._names.get(index, str(index))

    def status(self, seconds: float) -> ControlLoopStatus:
        """What happened since the last call, `seconds` ago."""
        values, commands = (
            (self.counts[name] - self._told[name]) / seconds
            for name in ("values_in", "commands_out")
        )
        self._told = self.counts.copy()
        return ControlLoopStatus(self.sensors, self.motors, values, commands, self.latency)


def refusals(counts: Mapping[str, int]) -> dict[str, int]:
    """Refusals by reason among a session's counts, where they are named "refused_REASON"."""
    return {
        name.removeprefix(REFUSED): count
        for name, count in counts.items()
        if name.startswith(REFUSED)
    }


def merged(*counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of the same names added up."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """For JSON: a number that is not finite is null."""
    return {
        name: finite(value) if isinstance(value, Mapping) else _finite(value)
        for name, value in values.items()
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
