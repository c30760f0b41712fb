"""The selector of a simulated event loop that serves its descriptors by itself (Linux).

As `hilgw.engine.event_loop.direct_loop` does in real time. A step of a controller is two system
calls besides its read and its write: one that finds nothing before time jumps to the end of the
step, and one that waits for the next request. That request is mostly a few microseconds away, and
to sleep and to be woken takes longer: so the selector asks some times before it sleeps.
"""

from hilgw.engine.event_loop.direct_loop import ASKS, DirectSelector, Poll, Ready
from hilgw.engine.simulated.pace import Jumps


class DirectJumpingSelector(DirectSelector):
    """A selector that keeps the order of `hilgw.engine.simulated.event_loop.JumpingSelector`.

    The event loop gets its turn only when it has something to do. What it has to do already comes
    before descriptors, as in asyncio's own: they are served by `call_soon` then.
    """

    def __init__(self, jumps: Jumps) -> None:
        super().__init__()
        self._jumps = jumps
        self._is_serving = False
        self._over: int | None = None  # the end of this select()

    def advance(self, end: int) -> bool:
        """Advance as `JumpingSelector.advance`: where no event, deadline or hold comes before."""
        jumps, over = self._jumps, self._over
        if not self._is_serving or self.wanted or jumps.pace.passes:
            return False
        clock = jumps.clock
        due = clock.next()
        if (due is not None and due <= end) or (over is not None and over <= end):
            return False
        if jumps.pace.wait_s(clock.time, end) != 0 or self._direct.poll(0):
            return False
        clock.time = end
        return True

    def select(self, timeout: float | None = None) -> Ready:
        poll = self.begin()
        if self.after_round and not self.goes_on():
            timeout = 0
        if timeout is not None and timeout <= 0:
            events = poll(0)
            if events:
                self.call_soon(self.dispatch, events)
            return self.others()
        self._over = self._jumps.over(timeout)
        self._is_serving = True
        try:
            self._serve(poll)
        finally:
            self._is_serving = False
        return self.others()

    def _serve(self, poll: Poll) -> None:
        jumps, over = self._jumps, self._over
        asks = 1 if jumps.pace.passes else ASKS
        while not self.wanted or (self.after_round and self.goes_on()):
            end, wait_s = jumps.next(over)
            if wait_s != 0:
                # What is there comes before the wait, which may advance the time.
                for _ in range(asks):
                    events = poll(0)
                    if events:
                        break
                if events:
                    self.dispatch(events)
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
                    return
