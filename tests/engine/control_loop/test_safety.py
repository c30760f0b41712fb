"""The parts of a loop's safety, one by one: the failsafe's state, the pulse, the brake."""

from __future__ import annotations

import os
import socket
import tty
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.engine.control_loop.brake import EmergencyStop
from hilgw.engine.control_loop.watchdog import Watchdog
from tests.engine.fakes import FakeScheduler

MS = 1_000_000


# --- pulse ------------------------------------------------------------------------------------


class Watched:
    def __init__(self, late_ms: int) -> None:
        self.late_ns = late_ms * MS
        self.beats = self.late = self.emergencies = 0

    def beat(self) -> None:
        self.beats += 1

    def was_late(self, now: int) -> None:
        self.late += 1

    def emergency(self) -> None:
        self.emergencies += 1


def test_a_loop_in_time_is_never_late() -> None:
    scheduler = FakeScheduler()
    pulse, watched = Watchdog(scheduler), Watched(200)
    pulse.watch(watched)
    pulse.start()
    scheduler.run_until(scheduler.time + 10_000 * MS)
    pulse.stop()
    assert watched.late == 0
    assert watched.beats == pytest.approx(200, abs=2)


def test_each_loop_has_its_own_idea_of_late() -> None:
    scheduler = FakeScheduler()
    pulse, quick, patient = Watchdog(scheduler), Watched(100), Watched(500)
    pulse.watch(quick)
    pulse.watch(patient)
    scheduler.time += 300 * MS
    pulse.check(scheduler.time)
    assert (quick.late, patient.late) == (1, 0)
    pulse.check(scheduler.time)
    scheduler.time += 600 * MS
    pulse.check(scheduler.time)
    assert (quick.late, patient.late) == (2, 1)


def test_nobody_watched_costs_nothing() -> None:
    scheduler = FakeScheduler()
    pulse = Watchdog(scheduler)
    pulse.start()
    assert scheduler.waiting() == 0
    pulse.stop()


# --- brake ------------------------------------------------------------------------------------


class Connection(SimpleNamespace):
    """A transport on this descriptor."""

    def fileno(self) -> int:
        return int(self.fd)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_brake_writes_what_was_made_ready_and_only_while_something_moves() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        brake = EmergencyStop()
        brake.hold(Connection(fd=ours.fileno(), pending=0))
        brake.pull()
        brake.ready(b"stop")
        brake.pull()
        assert theirs.recv(100) == b"stop"
        assert brake.pulled == 1
        brake.release()
        brake.ready(b"stop")
        brake.pull()
        assert brake.pulled == 1


def test_where_half_a_message_waits_the_connection_is_ended_instead() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        brake = EmergencyStop()
        brake.hold(Connection(fd=ours.fileno(), pending=3))
        brake.ready(b"stop")
        brake.pull()
        assert theirs.recv(100) == b""
        brake.release()


def test_on_a_line_the_stop_is_said_twice() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    brake = EmergencyStop()
    brake.hold(Connection(fd=slave, pending=0))
    brake.ready(b"stop\0")
    brake.pull()
    assert os.read(master, 100) == b"stop\0stop\0"
    brake.release()
    os.close(slave)
    os.close(master)


def test_a_brake_keeps_no_descriptor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        before = descriptors()
        brake = EmergencyStop()
        for _ in range(10):
            brake.hold(Connection(fd=ours.fileno(), pending=0))
        brake.release()
        brake.release()
        assert descriptors() == before


def test_a_connection_that_is_gone_or_has_no_descriptor_has_no_brake() -> None:
    ours, theirs = socket.socketpair()
    brake = EmergencyStop()
    brake.hold(Connection(fd=ours.fileno(), pending=0))
    brake.ready(b"stop")
    theirs.close()
    ours.close()
    brake.pull()
    brake.hold(SimpleNamespace(pending=0))
    brake.ready(b"stop")
    brake.pull()
    assert brake.pulled == 1
