"""The battery of a robot: declared, and used up in simulated time, or measured by its body."""

import math

from hilgw.errors import HilgwError
from hilgw.units import NS_PER_S

LARGEST_J = 1e12
WATCH_MS = 1000.0
"""How often the charge is measured while the controller does not ask for it."""


class Battery:
    """Webots' field `battery`, and `cpuConsumption`.

    energy_j: when the first controller begins; None: there is no battery.
    consumption_w: what the robot uses up. sensor: the device that measures the energy, in J; then
    the others do not count. most_j: what it holds. is_present: whether the robot has one.
    """

    def __init__(
        self,
        energy_j: float | None = None,
        consumption_w: float = 0.0,
        sensor: str = "",
        most_j: float = LARGEST_J,
    ) -> None:
        self.sensor = sensor
        self._most_j = most_j
        self._first_j = None if sensor else energy_j
        self._consumption_w = consumption_w
        self._measured_j: float | None = None
        self._began_ns: int | None = None
        self.is_present = bool(sensor) or energy_j is not None

    def begin(self, time_ns: int) -> None:
        """Begin a controller at this simulation time.

        The first one finds the battery as it was given, however long the gateway has waited for
        it.
        """
        if self._began_ns is None:
            self._began_ns = time_ns

    def charge(self, energy_j: float, time_ns: int | None) -> None:
        """Set the energy at this simulation time; None: when the next controller begins.

        Raises:
            HilgwError: there is no battery, a device measures it, or it holds less.
        """
        if self._first_j is None:
            measured = f"the device '{self.sensor}' measures it" if self.sensor else "it has none"
            fix = "" if self.sensor else "write `battery_j:` for its controller"
            raise HilgwError(f"the battery cannot be charged: {measured}", fix=fix)
        if not 0 <= energy_j <= self._most_j:
            fix = f"write 0 to {self._most_j:g}"
            raise HilgwError(f"the battery does not hold {energy_j:g} J", fix=fix)
        self._first_j, self._began_ns = energy_j, time_ns

    def measure(self, energy_j: object) -> None:
        """Set the energy from a value of the sensor; one that is not finite changes nothing."""
        if isinstance(energy_j, int | float) and math.isfinite(energy_j):
            self._measured_j = max(0.0, float(energy_j))

    def forget(self) -> None:
        """Forget the measurement of a body that is gone."""
        self._measured_j = None

    def energy_j(self, time_ns: int) -> float | None:
        """Return the energy left at this simulation time."""
        if self._first_j is None:
            return self._measured_j
        used_ns = 0 if self._began_ns is None else time_ns - self._began_ns
        return max(0.0, self._first_j - self._consumption_w * used_ns / NS_PER_S)

    def is_empty(self, time_ns: int) -> bool:
        """Return whether no energy is left; False while the charge is not known."""
        return self.energy_j(time_ns) == 0.0
