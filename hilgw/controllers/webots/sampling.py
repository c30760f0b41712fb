"""The sampling grid of Webots' sensors.

A value is due one period after the last, or after the request that enabled the sensor; enabling it
again restarts the period.
"""

from typing import TypeVar

from hilgw.units import ms_to_ns

K = TypeVar("K")


class Grid(dict[K, list[int]]):
    """The enabled sensors by key: period and last sample, in ns of simulation time."""

    def switch(self, key: K, period_ms: int, now: int) -> None:
        """Enable a sensor from now on; 0 disables it."""
        if period_ms:
            self[key] = [ms_to_ns(period_ms), now]
        else:
            self.pop(key, None)

    def sample(self, values: dict[K, bytes], samples: dict[K, bytes], now: int) -> None:
        """Copy the values of the sensors that are due; one that has no value yet stays due."""
        for key, sampling in self.items():
            if now - sampling[1] >= sampling[0]:
                value = values.get(key)
                if value is not None:
                    samples[key] = value
                    sampling[1] = now

    def due(self, now: int) -> list[K]:
        """Return the sensors that are due, in the order in which they were first enabled.

        One that is not `sampled` then stays due.
        """
        return [key for key, (period, last) in self.items() if now - last >= period]

    def next(self) -> int | None:
        """Return when a sensor is due next; that may be past. None: none is enabled."""
        return min((last + period for period, last in self.values()), default=None)

    def sample_steps(self, began: int, end: int, step: int) -> list[K]:
        """Sample each sensor at the basic steps from `began` to `end` at which it is due.

        Returns:
            The sensors that were sampled.
        """
        sampled = []
        for key, sampling in self.items():
            period, last = sampling
            first = began + step * max(1, -((began - last - period) // step))
            if first <= end:
                stride = -(-period // step) * step
                sampling[1] = first + (end - first) // stride * stride
                sampled.append(key)
        return sampled

    def sampled(self, key: K, now: int) -> None:
        """Note that the sensor was sampled."""
        self[key][1] = now
