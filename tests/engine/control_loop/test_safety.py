"""The emergency stop: bytes that another thread writes while the event loop hangs."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.config.model import armed
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.watchdog import EmergencyStop, Watchdog
from hilgw.engine.observer import Observer
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.guardian.process import PRIORITY
from hilgw.testing.sim import Clock
from hilgw.transports.serial import tty as serial_tty
from tests.e2e.control_loop_peers import ROTATIONAL, sensor_data
from tests.engine.control_loop.fakes import Connection, FakeLoop, SharedClock
from tests.engine.control_loop.running import GO
from tests.transports.rig import descriptors


@pytest.fixture
def stream() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    with ours, theirs:
        yield ours, theirs


def prepared(fd: int, pending: int = 0, *, is_line: bool = False) -> EmergencyStop:
    stop = EmergencyStop(is_line=is_line)
    stop.attach(Connection(fd=fd, pending=pending))
    stop.trigger()  # nothing is prepared
    stop.prepare(b"stop")
    return stop


Stream = tuple[socket.socket, socket.socket]


def test_an_emergency_stop_writes_prepared_bytes_only_while_a_motor_moves(stream: Stream) -> None:
    ours, theirs = stream
    stop = prepared(ours.fileno())
    stop.trigger()
    assert theirs.recv(100) == b"stop"
    stop.attach(Connection(fd=ours.fileno(), pending=0))
    stop.trigger()  # the motors of this connection stand still
    stop.detach()
    stop.prepare(b"stop")
    stop.trigger()
    assert stop.triggered == 1


def test_where_half_a_message_waits_the_connection_is_closed_instead(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no descriptor is free."""
    ours, theirs = stream
    stop = prepared(ours.fileno(), pending=3)
    with monkeypatch.context() as few:
        few.setattr(os, "dup", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        stop.trigger()
    assert theirs.recv(100) == b""
    stop.detach()
    assert ours.fileno() >= 0 and not os.fstat(ours.fileno()).st_size


def test_half_a_message_behind_a_serial_server_is_followed_by_the_stop_twice(
    stream: Stream,
) -> None:
    """Its robot sees no end of the connection."""
    ours, theirs = stream
    stop = prepared(ours.fileno(), pending=3, is_line=True)
    stop.trigger()
    assert (theirs.recv(100), theirs.recv(100)) == (b"stopstop", b"")
    stop.detach()


def test_where_the_kernel_takes_half_the_stop_the_connection_is_closed(stream: Stream) -> None:
    ours, theirs = stream
    ours.setblocking(False)
    stop, size = prepared(ours.fileno()), 1 << 24
    stop.prepare(bytes(size))
    stop.trigger()
    while data := theirs.recv(1 << 20):
        size -= len(data)
    assert 0 < size < 1 << 24
    stop.detach()


def test_where_the_kernel_takes_no_byte_the_connection_is_closed_instead(stream: Stream) -> None:
    """Nothing waits in this process, and yet the stop would not leave."""
    ours, theirs = stream
    ours.setblocking(False)
    sent = 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += ours.send(bytes(4096))
    stop = prepared(ours.fileno())
    stop.trigger()
    while data := theirs.recv(65536):
        sent -= len(data)
    assert sent == 0
    stop.detach()


def test_on_a_line_the_stop_overtakes_what_waits_in_the_kernel_and_is_written_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A UART sends what was written before, at its rate; the kernel of a pty does not keep it."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = prepared(slave)
    os.write(slave, b"go on")
    flushed: list[bytes] = []

    def discard(fd: int) -> None:
        assert stop.lock.locked()  # the event loop writes nothing in between
        flushed.append(os.read(master, 100))

    monkeypatch.setattr(serial_tty, "discard", discard)
    stop.trigger()
    assert (flushed, os.read(master, 100)) == ([b"go on"], b"stopstop")
    stop.detach()
    assert stop.closing is not None  # a thread: the driver may block
    stop.closing.join()
    os.close(slave)
    os.close(master)


def test_an_emergency_stop_keeps_no_descriptor(stream: Stream) -> None:
    before = descriptors()
    stop = EmergencyStop()
    for _ in range(10):
        stop.attach(Connection(fd=stream[0].fileno(), pending=0))
    stop.detach()
    stop.detach()
    assert descriptors().keys() <= before.keys()  # others may be closed meanwhile


def test_a_connection_gone_or_without_descriptor_has_no_emergency_stop(stream: Stream) -> None:
    stop = prepared(stream[0].fileno())
    for end in stream:
        end.close()
    stop.trigger()
    stop.attach(Connection(fd=-1, pending=0))
    stop.prepare(b"stop")
    stop.trigger()
    assert stop.triggered == 1


CONFIGS = Path(__file__).parents[3] / "configs"
REAL = "simulated: false"


def started(file: str, backend: str, *, arm: bool = False) -> dict[str, tuple[bool, bool, bool]]:
    """Of each robot with a motor: whether it is armed, whether it latches, and whether the start
    shows how to arm it."""

    async def look() -> dict[str, tuple[bool, bool, bool]]:
        config = load_config(file, [], backend).config
        config = armed(config) if arm else config
        gateway = build(config, asyncio.get_running_loop(), Observer())
        gateway.close()
        states = {}
        for name in gateway.control_loops.names():
            state = gateway.control_loops[name].safety.state
            first, shown = state.armed, any(f"hilgw arm {name}" in s for s in gateway.description)
            state.arm()
            state.command(0)
            state.stop("late")  # type: ignore[arg-type]
            states[name] = first, state.latched is not None, shown
        return states

    return asyncio.run(look())


@pytest.mark.parametrize("name", ["create2", "dynamixel"])
def test_a_shipped_robot_is_armed_on_its_mock_and_not_armed_when_real(name: str) -> None:
    file = str(CONFIGS / f"{name}.yaml")
    assert list(started(file, "mock").values()) == [(True, False, False)]
    assert list(started(file, "loopback").values()) == [(True, False, False)]
    assert list(started(file, "real").values()) == [(False, True, True)]
    assert list(started(file, "real", arm=True).values()) == [(True, True, False)]


@pytest.mark.parametrize(
    "name", ["wc2ec", "firmware-in-the-loop", "webots", "webots-controller", "python-controller"]
)
def test_configurations_of_simulated_robots_keep_their_behaviour(name: str) -> None:
    for backend in ("mock", "real"):
        assert list(started(str(CONFIGS / f"{name}.yaml"), backend).values()) == [
            (True, False, False)
        ]


def test_its_motors_stand_still_until_it_is_armed_and_one_line_shows_how() -> None:
    loop = FakeLoop(armed=False)
    loop.loop.start()
    loop.robot_comes()
    loop.controller_comes()
    for _ in range(5):
        loop.controller.data_received(GO)
    assert loop.robot.data() == b""
    assert loop.loop.report()["refused"] == {"disarmed": 5}
    assert loop.pilot.data().count(wire.bare(wire.ERROR, ROTATIONAL, 1)) == 5
    assert [text for _, _, text in loop.observer.refusals] == [
        "the robot is not armed; `hilgw arm cab` lets the motors move"
    ]
    loop.body.data_received(sensor_data(0, 1.5))
    assert sensor_data(0, 1.5) in loop.pilot.data()
    loop.run(1_000)
    assert [status.armed for status in loop.observer.statuses] == [False]
    assert not loop.loop.report()["armed"] and loop.loop.report()["latched"] is None
    loop.loop.safety.arm()
    loop.controller.data_received(GO)
    assert loop.robot.data() == GO
    assert loop.observer.armings == [(True, "armed: its motors may move")]
    assert loop.loop.report()["armed"]


def test_a_latched_stop_is_still_latched_when_the_robot_is_disarmed() -> None:
    loop = FakeLoop(latch=True).connected()
    loop.controller.data_received(GO)
    loop.controller_leaves()
    loop.loop.safety.disarm(loop.scheduler.now())
    assert loop.safety.latched == "disconnected"
    assert loop.observer.armings == [(False, "")]  # the stop had the words
    loop.loop.safety.arm()
    assert loop.safety.latched is None
    loop.loop.safety.disarm(loop.scheduler.now())
    assert loop.observer.armings[1:] == [
        (True, "armed: its motors may move"),
        (False, "disarmed until `hilgw arm cab`"),
    ]


# --- The watchdog: when the event loop counts as late ---------------------------------------------


MS = 1_000_000


class Watched:
    def __init__(self, late_ms: int) -> None:
        self.late_ns = late_ms * MS
        self.checks = self.late = self.emergencies = 0

    def in_time(self) -> None:
        self.checks += 1

    def was_late(self, now: int, gap_ns: int) -> None:
        self.late += 1

    def emergency(self) -> None:
        self.emergencies += 1


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


def test_timers_may_come_late_by_half_of_what_counts_as_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its thread, which goes before others, ends with it."""
    priorities: list[int] = []
    monkeypatch.setattr(os, "setpriority", lambda which, who, value: priorities.append(value))
    clock = Clock()
    watchdog, watched = Watchdog(clock), Watched(200)

    def is_asleep() -> bool:
        names = {each.name for each in threading.enumerate()}
        return clock.next() is None and "hilgw-watchdog" not in names

    watchdog.start()  # nothing is watched
    assert is_asleep()
    watchdog.watch(watched)
    watchdog.start()
    clock.run(1_000 * MS, late_ns=100 * MS)
    watchdog.stop()
    assert (watched.late, watched.checks > 5) == (0, True)
    assert is_asleep() and priorities == [PRIORITY]


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


def test_the_thread_stops_each_loop_at_its_limit_not_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SharedClock()
    monkeypatch.setattr(
        "hilgw.engine.control_loop.watchdog.threading", SleepingThread(clock, wakes=4)
    )
    stopped_ms: list[tuple[str, float]] = []

    class Timed(Watched):
        def emergency(self) -> None:
            stopped_ms.append((f"{self.late_ns // MS}", (clock.now() - begin) / MS))
            if self.late_ns == 330 * MS:
                watchdog.check(clock.now())  # the event loop goes on for a moment

    watchdog = Watchdog(clock)
    begin = watchdog.checked_ns
    for late_ms in (200, 330):
        watchdog.watch(Timed(late_ms))
    watchdog.start()  # and the event loop hangs at once
    watchdog.stop()
    expected_ms = {"200": (200, 530), "330": (330, 660)}
    assert stopped_ms == [
        (name, pytest.approx(expected_ms[name][turn])) for turn in (0, 1) for name in expected_ms
    ]
