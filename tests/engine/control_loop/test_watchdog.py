"""The watchdog: when the event loop counts as late."""

from __future__ import annotations

import threading

import pytest

from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.testing.sim import Clock

MS = 1_000_000


class Watched:
    def __init__(self, late_ms: int) -> None:
        self.late_ns = late_ms * MS
        self.checks = self.late = self.emergencies = 0

    def in_time(self) -> None:
        self.checks += 1

    def was_late(self, now: int) -> None:
        self.late += 1

    def emergency(self) -> None:
        self.emergencies += 1


def test_an_event_loop_in_time_is_never_late() -> None:
    scheduler = Clock()
    watchdog, watched = Watchdog(scheduler), Watched(200)
    watchdog.watch(watched)
    watchdog.start()
    scheduler.run_until(scheduler.time + 10_000 * MS)
    watchdog.stop()
    assert watched.late == 0
    assert watched.checks == pytest.approx(200, abs=2)


def test_each_control_loop_has_its_own_late_limit() -> None:
    scheduler = Clock()
    watchdog, quick, patient = Watchdog(scheduler), Watched(100), Watched(500)
    watchdog.watch(quick)
    watchdog.watch(patient)
    scheduler.time += 300 * MS
    watchdog.check(scheduler.time)
    assert (quick.late, patient.late) == (1, 0)
    watchdog.check(scheduler.time)
    scheduler.time += 600 * MS
    watchdog.check(scheduler.time)
    assert (quick.late, patient.late) == (2, 1)


def test_in_simulated_time_no_thread_watches_the_jumps() -> None:
    clock = SimulatedClock()
    watchdog, watched = Watchdog(clock, threaded=False), Watched(200)
    watchdog.watch(watched)
    before = threading.active_count()
    watchdog.start()
    assert threading.active_count() == before
    while clock.step(clock.time + 3600 * 1000 * MS) and watched.checks < 1000:
        pass
    watchdog.stop()
    assert (watched.late, watched.emergencies, watched.checks) == (0, 0, 1000)


def test_a_gateway_in_simulated_time_has_such_a_watchdog() -> None:
    assert ControlLoops(SimulatedClock(), simulated=True).watchdog.threaded is False
    assert ControlLoops(Clock()).watchdog.threaded is True


def test_without_control_loops_the_watchdog_costs_nothing() -> None:
    scheduler = Clock()
    watchdog = Watchdog(scheduler)
    watchdog.start()
    assert scheduler.waiting == 0
    watchdog.stop()


class SharedClock(Clock):
    """A clock that the thread sees, too."""

    def now(self) -> int:
        return self.time


class SleepingThread:
    """threading, whose Event sleeps on a fake clock; while asleep the event loop does nothing. It
    ends after `wakes` wakings."""

    Thread = threading.Thread

    def __init__(self, clock: Clock, wakes: int) -> None:
        self.clock = clock
        self.wakes = wakes

    def Event(self) -> SleepingThread:
        return self

    def set(self) -> None:
        pass

    def wait(self, seconds: float) -> bool:
        self.clock.time += round(seconds * 1e9)
        self.wakes -= 1
        return self.wakes < 0


def test_the_thread_stops_each_control_loop_at_its_limit_not_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SharedClock()
    monkeypatch.setattr(
        "hilgw.engine.control_loop.watchdog.threading", SleepingThread(clock, wakes=8)
    )
    stopped_ms: list[tuple[str, float]] = []

    class Timed(Watched):
        def emergency(self) -> None:
            stopped_ms.append((f"{self.late_ns // MS}", (clock.now() - begin) / MS))

    watchdog = Watchdog(clock)
    begin = watchdog.checked_ns
    for late_ms in (200, 330):
        watchdog.watch(Timed(late_ms))
    watchdog.start()  # and the event loop hangs at once
    watchdog.stop()
    assert stopped_ms == [("200", pytest.approx(200)), ("330", pytest.approx(330))]
