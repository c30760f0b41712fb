"""The velocity of a motor, which changes no faster than its rate allows."""

from __future__ import annotations

from hilgw.control.limits import Slew


class Paced:
    """velocity: the present one. rate: its largest change per second when it speeds up; None: any.
    It slows down at once."""

    def __init__(self, rate: float | None) -> None:
        self.velocity = 0.0
        self._slew = None if rate is None else Slew(rate, 0.0, brakes=True)

    def aim(self, velocity: float, now: int) -> None:
        """A controller wants this velocity."""
        self.velocity = velocity if self._slew is None else self._slew.aim(velocity, now)

    def settle(self) -> None:
        """The motor was stopped."""
        self.velocity = 0.0
        if self._slew is not None:
            self._slew.settle(0.0)

    def next_deadline(self) -> int | None:
        return None if self._slew is None else self._slew.next_deadline()

    def expire(self, now: int) -> bool:
        """Whether the velocity changed, on its way to the one commanded."""
        value = None if self._slew is None else self._slew.expire(now)
        if value is None:
            return False
        self.velocity = value
        return True
