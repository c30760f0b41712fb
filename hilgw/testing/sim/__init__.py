"""Simulated time for tests: a fake clock, transports in memory, an event loop that never waits.

    Clock           a scheduler; its time advances when the test advances it
    FakeTransport   a transport: the test is the other end
    Recorder        an observer that records all events
    SimEventLoop    an asyncio event loop on a Clock: hours take milliseconds
    local_sockets   TCP inside this process, for a SimEventLoop
    run             a coroutine in a SimEventLoop, which must report no error
    elapse          lets simulated time pass
    until           waits for a condition, in any event loop
    wait_until      the same for a test without event loop, in real time

A fake clock shows absence exactly: `clock.run(5 * NS_PER_S)`, then nothing was written.
"""

from hilgw.testing.sim.event_loop import (
    DEADLINE_S,
    Clock,
    SimEventLoop,
    StuckError,
    elapse,
    local_sockets,
    run,
    until,
    wait_until,
)
from hilgw.testing.sim.recorder import Recorder
from hilgw.testing.sim.transport import FakeTransport

__all__ = [
    "DEADLINE_S",
    "Clock",
    "FakeTransport",
    "Recorder",
    "SimEventLoop",
    "StuckError",
    "elapse",
    "local_sockets",
    "run",
    "until",
    "wait_until",
]
