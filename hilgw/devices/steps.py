"""The ends of simulation steps, at which a stepped world acts."""


class StepClock:
    """Step ends at origin_ns + k * step_ns. With a step of 0, every instant is a step end."""

    __slots__ = ("_origin_ns", "step_ns")

    def __init__(self, origin_ns: int, step_ns: int = 0) -> None:
        self._origin_ns = origin_ns
        self.step_ns = step_ns

    def end(self, when: int) -> int:
        """Return the first step end not before `when`."""
        if not self.step_ns:
            return when
        return self._origin_ns - (self._origin_ns - when) // self.step_ns * self.step_ns

    def last(self, when: int) -> int:
        """Return the last step end not after `when`."""
        if not self.step_ns:
            return when
        return self._origin_ns + (when - self._origin_ns) // self.step_ns * self.step_ns

    def time(self, when: int) -> int:
        """Return the simulation time at this instant, in ns: 0 at the origin."""
        return when - self._origin_ns
