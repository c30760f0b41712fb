"""The selector of a simulated event loop that serves its descriptors by itself (Linux).

As `hilgw.engine.direct_loop` does in real time. A step of a controller is two system calls beside
its read and its write: one that finds nothing before time jumps to the end of the step, and one
that waits for the next request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.engine.direct_loop import DirectSelector

if TYPE_CHECKING:
    from hilgw.engine.direct_loop import Ready
    from hilgw.engine.simulated.jumps import Jumps


class DirectJumpingSelector(DirectSelector):
    """See `hilgw.engine.simulated.event_loop.JumpingSelector`, whose order this one keeps. The
    event loop gets its turn only when it has something to do. What it has to do already comes
    before descriptors, as in asyncio's own: they are served by `call_soon` then."""

    def __init__(self, jumps: Jumps) -> None:
        super().__init__()
        self._jumps = jumps

    def select(self, timeout: float | None = None) -> Ready:
        poll = self.begin()
        if timeout is not None and timeout <= 0:
            events = poll(0)
            if events:
                self.call_soon(self.dispatch, events)
            return self.others()
        jumps = self._jumps
        over = jumps.over(timeout)
        while True:
            end, wait_s = jumps.next(over)
            if wait_s != 0 and jumps.pace.passes and (events := poll(0)):
                self.dispatch(events)  # it was there before the wait, which advances the time
                if self.wanted:
                    return self.others()
                continue
            events = poll(wait_s)
            if events:
                if wait_s != 0:
                    jumps.interrupted(end)
                self.dispatch(events)
            elif wait_s != 0:
                jumps.pace.waited()
            else:
                jumps.jump(end)
                if over is not None and jumps.clock.time >= over:
                    return self.others()
            if self.wanted:
                return self.others()
