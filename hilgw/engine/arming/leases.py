"""Leases: robots that are armed only while a command holds them (`hilgw arm --hold`, `--for`).

A lease belongs to the connection that took it. Its end disarms its robots, whatever ends it: the
end of the connection, a renewal that does not come in time, its limit, or anything else that
disarms one of them. An ended lease stays ended, and a renewal never arms. Of several leases of one
robot, the end of any disarms it, and so ends the others.
"""

from collections.abc import Sequence

from hilgw.control.events import StopReason
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.protocols.gateway.messages import LEASE_S
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_MS, s_to_ns

LEASE_NS = s_to_ns(LEASE_S)
# The event loop itself was late by this: a renewal may wait behind it, unread.
LATE_NS = 5 * NS_PER_MS


class Lease:
    """The lease of one holder: it arms these robots and holds them armed.

    ended: why it has ended; None: it goes on. not_sent: robots to which no stop could be sent at
    its end, as their bodies are down.

    clock: in real time. limit_s: how long it lasts at most. accepted: as of `ControlLoops.arm`.
    HilgwError as `ControlLoops.arm`: then there is no lease, and nothing is armed.
    """

    def __init__(
        self,
        loops: ControlLoops,
        clock: Scheduler,
        robots: Sequence[str],
        limit_s: float | None = None,
        accepted: Sequence[str] = (),
    ) -> None:
        self.robots = list(dict.fromkeys(robots))
        self.ended: StopReason | None = None
        self.not_sent: list[str] = []
        self._loops, self._clock = loops, clock
        loops.arm(*self.robots, accepted=accepted)
        self._disarms = self._count()
        now = clock.now()
        self._renewed_ns = now
        self._end_ns = None if limit_s is None else now + s_to_ns(limit_s)
        self._timer: Handle = clock.call_at(self._due(), self._check)

    def renew(self) -> StopReason | None:
        """Renew the lease; return why it has ended, or None while it goes on."""
        self._look()
        if self.ended is None:
            self._renewed_ns = self._clock.now()
        return self.ended

    def end(self, reason: StopReason) -> None:
        """Disarm the robots, which the end of the gateway has stopped for good.

        A second end does nothing.
        """
        if self.ended is not None:
            return
        self.ended = reason
        self._timer.cancel()
        if reason is StopReason.ENDED:
            self.not_sent = [each for each in self.robots if each in self._loops.unstopped]
        else:
            self.not_sent = self._loops.disarm(*self.robots, reason=reason)

    def _count(self) -> int:
        """Return a count that changes when one of the robots is disarmed."""
        return sum(self._loops[robot].disarms for robot in self.robots)

    def _due(self) -> int:
        due = self._renewed_ns + LEASE_NS
        return due if self._end_ns is None else min(due, self._end_ns)

    def _check(self, waited: bool = False) -> None:
        """End the lease that is not renewed.

        The event loop gets time to read a renewal that waited while it was late itself.
        """
        self._look()
        if self.ended is not None:
            return
        now, due = self._clock.now(), self._due()
        if now < due:
            self._timer = self._clock.call_at(due, self._check)
        elif not waited and now - due >= LATE_NS:
            self._timer = self._clock.call_at(now + LATE_NS, lambda: self._check(waited=True))
        else:
            self.end(StopReason.LEASE_EXPIRED)

    def _look(self) -> None:
        if self.ended is not None:
            return
        if self._end_ns is not None and self._clock.now() >= self._end_ns:
            self.end(StopReason.LEASE_OVER)
        elif self._count() != self._disarms:
            by = [self._loops[robot].safety.state.disarmed_by for robot in self.robots]
            self.end(next((reason for reason in by if reason), StopReason.DISARMED))
