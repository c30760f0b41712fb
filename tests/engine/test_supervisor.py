"""The supervisor: what it does about ports that are absent, vanish, come back, stall or lie."""

import asyncio
import contextlib
import errno
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hilgw.adapters.base import Event, Failed
from hilgw.discovery.ports import port_identity
from hilgw.engine import supervisor
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.lines import STALL_S, Lines, Port
from hilgw.engine.observer import State
from hilgw.engine.supervisor import (
    FAULTS_ALLOWED,
    POLL_S,
    SETTLED_S,
    START_S,
    UNANSWERED_S,
    Passed,
    StallDetector,
    Supervisor,
)
from hilgw.errors import ConfigError, HilgwError, MismatchError, PeerError, PortError
from hilgw.testing.sim import Clock, FakeTransport, Recorder, elapse, until
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort
from hilgw.units import NS_PER_S
from tests.engine.fakes import EchoSession, StationBench
from tests.transports.rig import descriptors

LINE = LineSettings(baudRate=115200)


class WrongSession(EchoSession):
    """A session with which another device answers at these openings, the first of which is 1."""

    def __init__(self, *wrong: int) -> None:
        super().__init__()
        self.opens, self.wrong = 0, wrong

    def open(self, now: int) -> list[Event]:
        self.opens += 1
        if self.opens in self.wrong:
            return [Failed(MismatchError("serial number 2, configured is 1"))]
        return super().open(now)


class Rig:
    """A station whose session is ready at once, under a supervisor."""

    def __init__(
        self,
        open_port: Callable[[], Awaitable[Transport]],
        identity: Callable[[], object | None],
        timer: Timer,
        boot_s: float = 0.0,
        *,
        is_needed: bool = True,
        release: Callable[[], Awaitable[None]] | None = None,
        retry_s: float | None = None,
    ) -> None:
        self.bench = StationBench(window=100, bufferSize=1000, baudRate=115200, scheduler=timer)
        self.station = self.bench.station
        self.is_needed = is_needed
        self.log = Recorder()
        self.supervisor = Supervisor(
            self.station,
            Port("port", open_port, identity, boot_s, retry_s, release=release),
            Lines(self.log, timer.now),
            jitter=random.Random(1),
        )

    def up(self) -> bool:
        return self.supervisor.state is State.UP


@contextlib.asynccontextmanager
async def running(rig: Rig) -> AsyncIterator[asyncio.Task[None]]:
    """Its supervisor runs."""
    task = asyncio.create_task(rig.supervisor.run(is_needed=rig.is_needed))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class PipeRig(Rig):
    """On a pipe, in simulated time.

    errors: of its openings, each once. behind: the device; None: it is absent.
    """

    def __init__(
        self,
        clock: Clock,
        *errors: str,
        session: EchoSession | None = None,
        behind: object = "there",
        **more: Any,
    ) -> None:
        self.pipe = Pipe(clock, LINE)
        self.received = bytearray()
        self.pipe.device.start(lambda data, host_baud: self.received.extend(data))
        self.behind, self.tried_s, self.errors = behind, list[float](), list(errors)

        async def open_port() -> Transport:
            self.tried_s.append(clock.now() / NS_PER_S)
            if self.errors:
                raise PortError("no", reason=self.errors.pop(0))
            return await self.pipe.open(LINE)

        there = lambda: self.behind if self.pipe.device.plugged else None  # noqa: E731
        super().__init__(open_port, there, clock, **more)
        if session is not None:
            self.station.session = session

    @property
    def pauses(self) -> list[float]:
        return [later - sooner for sooner, later in pairwise(self.tried_s)]


async def test_a_server_that_is_down_is_asked_more_seldom_and_reported_once(clock: Clock) -> None:
    rig = PipeRig(clock, *[PortError.ABSENT] * 7)
    async with running(rig):
        await until(rig.up, 60)
    assert rig.pauses[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8], rel=0.21)
    assert rig.pauses[-1] == pytest.approx(UNANSWERED_S, rel=0.21)
    first = [State.OPENING, State.WAITING, State.HANDSHAKE, State.UP]
    assert rig.log.entered == [*first, State.CLOSED]
    assert rig.log.states[3] == ("xb", State.UP, "fake")


async def test_a_port_with_a_pause_of_its_own_is_tried_so_often(clock: Clock) -> None:
    rig = PipeRig(clock, *[PortError.ABSENT] * 3, retry_s=3.0)
    async with running(rig):
        await until(rig.up)
        rig.supervisor.on_not_ready("the module answers nothing")
        shown = rig.supervisor.state, rig.supervisor.reason
    assert rig.pauses == pytest.approx([3.0] * 3)
    assert shown == (State.HANDSHAKE, "the module answers nothing")


def test_the_age_of_what_passed_is_in_seconds() -> None:
    passed = Passed()
    assert passed.age_s(NS_PER_S) is None
    passed.last_ns = NS_PER_S
    assert passed.age_s(3 * NS_PER_S) == 2.0


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_server_that_hangs_up_is_asked_more_seldom(replaced: bool, clock: Clock) -> None:
    rig = PipeRig(clock, behind=1)
    async with running(rig):
        for ups in range(1, 8):
            await until(lambda ups=ups: rig.supervisor.ups == ups)  # type: ignore[misc]
            rig.supervisor.on_failed(PortError("hung up", reason=PortError.LOST))
            await until(lambda: not rig.up())
            rig.behind += replaced  # another port under the same name does not have to wait
        await until(lambda: rig.supervisor.ups == 8)
    longest = POLL_S + 0.01 if replaced else UNANSWERED_S * 1.2
    assert all(pause <= longest for pause in rig.pauses)
    assert replaced or rig.pauses[-1] >= UNANSWERED_S * 0.8


@pytest.mark.parametrize("is_away", [True, False])
async def test_a_port_that_was_away_or_has_worked_is_tried_again_soon(
    is_away: bool, clock: Clock
) -> None:
    """However often it failed before."""
    rig = PipeRig(clock)

    async def waited_s() -> float:
        ups, begin = rig.supervisor.ups, clock.now()
        for text in ("hung up", "once more"):  # the first cause counts
            rig.supervisor.on_failed(PortError(text, reason=PortError.LOST))
        await until(lambda: rig.supervisor.ups > ups)
        return rig.tried_s[-1] - begin / NS_PER_S

    async with running(rig):
        await until(rig.up)
        assert [await waited_s() for _ in range(6)][-1] > UNANSWERED_S / 2
        if is_away:
            rig.pipe.device.unplug()
            await elapse(1.0)
            rig.pipe.device.plug()
            await until(rig.up)
        else:
            await elapse(SETTLED_S)
            await waited_s()
        assert await waited_s() < POLL_S * 1.3


@pytest.mark.wall_clock("a virtual port is opened very often")
async def test_thirty_unplugs_under_traffic_leave_nothing_behind(
    tmp_path: Path, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "POLL_S", 0.01)
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
    port.start(lambda data, host_baud: port.write(b"answer"))

    async def open_port() -> Transport:
        return await open_serial(port.path, LINE, timer)

    rig = Rig(open_port, lambda: port_identity(port.path), timer)
    async with running(rig):
        await until(rig.up)
        for _ in range(3):  # threads and caches of the first opens
            port.unplug()
            await until(lambda: not rig.up())
            port.plug()
            await until(rig.up)
        before, tasks = len(descriptors()), len(asyncio.all_tasks())
        for cycle in range(30):
            receptions = rig.bench.count.inbound
            rig.bench.send(b"hello %d" % cycle)
            await until(lambda receptions=receptions: rig.bench.count.inbound > receptions)
            rig.bench.send(b"on the wire when the cable is pulled")
            port.unplug()
            await until(lambda: not rig.up())
            rig.bench.send(b"while away")
            port.plug()
            await until(rig.up)
            assert rig.bench.balanced()
        await until(lambda: rig.station.queued == 0)
        assert len(descriptors()) <= before  # others may be closed meanwhile
        assert len(asyncio.all_tasks()) == tasks
        assert rig.bench.count.accepted == 90
        assert rig.bench.count.inbound >= 30
    port.close()


@pytest.mark.parametrize("ends", [False, True])
async def test_others_let_go_of_a_port_before_it_is_closed(clock: Clock, ends: bool) -> None:
    """Closed before, a port on TCP would not end for its peer, and a driver would wait in the
    process that closes it last. It is opened anew once it is closed."""
    opened: list[FakeTransport] = []
    seen: list[bool] = []
    ended = 0

    class Slow(FakeTransport):
        async def wait_closed(self) -> None:
            nonlocal ended
            await asyncio.sleep(0)
            ended += 1

    async def open_port() -> Transport:
        assert ended == len(opened)
        opened.append(Slow())
        return opened[-1]

    async def release() -> None:
        await asyncio.sleep(0)
        seen.append(opened[-1].closed)

    rig = Rig(open_port, lambda: "there", clock, release=release)
    async with running(rig):
        await until(rig.up)
        if not ends:
            rig.supervisor.on_failed(PeerError("gone"))
            await until(lambda: len(opened) == 2 and rig.up())
            assert seen == [False]
    assert seen[-1:] == [False]
    assert opened[-1].closed and ended == len(opened)


@pytest.mark.parametrize("reason", [PortError.BUSY, PortError.DENIED])
async def test_busy_and_denied_at_the_first_start_end_the_gateway_where_the_port_is_needed(
    reason: str, clock: Clock
) -> None:
    with pytest.raises(PortError):
        await PipeRig(clock, reason).supervisor.run()
    rig = PipeRig(clock, *[reason] * 11, is_needed=False)
    async with running(rig):
        await until(lambda: rig.supervisor.state is State.BACKOFF)
        await until(rig.up)
    assert rig.pauses[0] < 0.2 and max(rig.pauses) < 6.1 and len(rig.tried_s) == 12


@pytest.mark.parametrize("wrong", [1, 2])
async def test_another_device_is_left_alone_until_it_is_replaced(wrong: int, clock: Clock) -> None:
    """wrong: the opening at which it answers; at the first one it ends a gateway that needs it."""
    rig = PipeRig(clock, session=WrongSession(wrong), is_needed=wrong == 2)
    async with running(rig):
        if wrong == 2:
            await until(rig.up)
            rig.pipe.device.unplug()
            await until(lambda: not rig.up())
            rig.bench.send(b"must not reach the wrong device")
            rig.pipe.device.plug()
        await until(lambda: rig.supervisor.state is State.FAILED)
        await elapse(60)
        assert (rig.received, len(rig.tried_s)) == (b"", wrong)
        rig.behind = "another"
        await until(rig.up)
        await until(lambda: bool(rig.received) or wrong == 1)
    with pytest.raises(MismatchError):
        await PipeRig(clock, session=WrongSession(1)).supervisor.run()


@pytest.mark.parametrize(
    ("error", "opening", "lived_s", "ends"),
    [
        (ConfigError, 1, 0.0, True),
        (ConfigError, 1, START_S, False),
        (ConfigError, 2, 0.0, False),
        (MismatchError, 1, 0.0, False),
    ],
)
async def test_a_device_that_contradicts_the_file_ends_the_gateway_at_its_start_alone(
    error: type[HilgwError], opening: int, lived_s: float, ends: bool, clock: Clock
) -> None:
    """It shows once the device is up. Later its port stays down."""
    rig = PipeRig(clock)
    async with running(rig) as task:
        await until(rig.up)
        if opening == 2:
            rig.supervisor.on_failed(PortError("hung up", reason=PortError.LOST))
            await until(lambda: rig.supervisor.ups == 2)
        await elapse(lived_s)
        rig.supervisor.on_failed(error("the robot has no such sensor"))
        await elapse(10.0)
        assert task.done() is ends
    assert (State.FAILED in rig.log.entered) is not ends
    assert isinstance(task.exception(), ConfigError) if ends else task.cancelled()


async def test_a_silent_peer_is_tried_again_with_growing_pauses(clock: Clock) -> None:
    session = EchoSession()
    session.open = lambda now: [Failed(PeerError("no answer"))]  # type: ignore[method-assign]
    rig = PipeRig(clock, session=session)
    async with running(rig):
        await until(lambda: rig.supervisor.opened == 4)
    backoffs = [reason for _, state, reason in rig.log.states if state is State.BACKOFF]
    assert "next try in 0.1 s" in backoffs[0]
    assert any(f"next try in 0.{n} s" in backoffs[2] for n in (3, 4, 5))
    assert isinstance(rig.supervisor.last_error, PeerError)
    assert State.STALLED not in rig.log.entered  # it was never up


async def test_an_adapter_that_keeps_failing_is_given_up(clock: Clock) -> None:
    """A loan begins anew."""
    session = EchoSession()
    session.open = lambda now: 1 // 0  # type: ignore[assignment, method-assign, return-value]
    rig = PipeRig(clock, session=session)
    async with running(rig) as task:
        await until(lambda: rig.supervisor.state is State.FAILED, 600)
        await elapse(60)
        assert rig.supervisor.opened == FAULTS_ALLOWED + 1
        assert not task.done()
        await rig.supervisor.lend("avrdude (process 7)")
        rig.supervisor.take_back()
        await until(lambda: rig.supervisor.opened == 2 * (FAULTS_ALLOWED + 1), 600)
    first, anew = rig.pauses[0], rig.pauses[FAULTS_ALLOWED + 1]
    assert [first, anew] == pytest.approx([0.2, 0.2], rel=0.21)


def test_a_port_is_stalled_where_nothing_has_left_for_the_time() -> None:
    detector = StallDetector(2.0)
    for sent, pending, now_s, is_stalled in (
        *((9, 9, 0.0, False), (9, 9, 1.9, False)),
        *((9, 8, 2.1, False), (9, 8, 2.2, False), (9, 8, 4.1, False)),  # one byte has left
        *((9, 0, 4.2, False), (9, 0, 4.3, False)),  # nothing waits
        *((18, 9, 6.3, False), (18, 9, 8.2, False), (18, 9, 8.3, True)),
    ):
        assert (detector.error(sent, pending, now_s) is not None) is is_stalled, now_s


async def test_a_port_that_takes_no_bytes_is_stalled_and_reopened(clock: Clock) -> None:
    ports: list[FakeTransport] = []

    async def open_port() -> Transport:
        ports.append(FakeTransport())
        ports[-1].stalled = True
        ports[-1].write(b"never taken")
        ports[-1].notices.append("its driver has no buffer")
        return ports[-1]

    rig = Rig(open_port, lambda: "there", clock)
    begin = clock.now()
    async with running(rig):
        await until(lambda: State.STALLED in rig.log.entered)
        assert clock.now() - begin >= STALL_S * NS_PER_S
        assert ports[0].closed
        await until(lambda: rig.supervisor.opened == 2)
    assert rig.log.notices == ["its driver has no buffer"] * 2


async def test_a_board_starts_in_silence_and_its_banner_is_counted(clock: Clock) -> None:
    rig = PipeRig(clock, boot_s=2.0)
    async with running(rig):
        await until(lambda: rig.supervisor.opened == 1)
        opened = clock.now()
        rig.bench.send(b"waits")
        rig.pipe.device.write(b"bootloader")
        await until(rig.up)
        assert clock.now() - opened >= 1.99 * NS_PER_S  # `until` polls
        assert rig.bench.count.inbound == 0
        assert rig.log.notices == ["10 bytes discarded that came while the board started"]
        rig.pipe.device.write(b"hello")
        await until(lambda: rig.bench.count.inbound > 0)
        await until(lambda: rig.bench.count.delivered == 1)
        rig.pipe.device.unplug()
        await until(lambda: rig.supervisor.state is State.WAITING)
        rig.pipe.device.plug()
        await until(lambda: rig.supervisor.opened == 2)
        await elapse(1.0)
        rig.pipe.device.unplug()  # while it starts: it starts again
        await until(lambda: rig.supervisor.state is State.WAITING)
        rig.pipe.device.plug()
        await until(rig.up)
        assert (rig.supervisor.opened, rig.supervisor.ups) == (3, 2)
    texts = [reason for _, state, reason in rig.log.states if state is State.HANDSHAKE]
    assert "2 s for the board to start" in texts


# --- a port that another program has --------------------------------------------------------------


@pytest.mark.parametrize(
    "before", [State.UP, State.WAITING, State.OPENING, State.HANDSHAKE, State.BACKOFF, State.FAILED]
)
async def test_a_port_is_lent_in_every_state_and_opened_anew(before: State, clock: Clock) -> None:
    """Meanwhile the supervisor does not touch it; no failure before that counts afterwards."""
    pipe = Pipe(clock, LINE)
    pipe.device.start(lambda data, host_baud: None)
    opened: list[Transport] = []
    is_well = before in (State.UP, State.OPENING, State.HANDSHAKE)
    identity = 1 if before is not State.WAITING else None

    async def open_port() -> Transport:
        if before is State.OPENING and not opened:
            await elapse(3.0)
        if not is_well and before is not State.FAILED:
            absent = before is State.WAITING
            raise PortError("no", reason=PortError.ABSENT if absent else PortError.BUSY)
        opened.append(await pipe.open(LINE))
        return opened[-1]

    boot_s = 3.0 if before is State.HANDSHAKE else 0.0
    rig = Rig(open_port, lambda: identity, clock, boot_s, is_needed=False)
    if before is State.FAILED:
        rig.station.session = WrongSession(1)
    async with running(rig):
        await until(lambda: rig.supervisor.state is before)
        await rig.supervisor.lend("avrdude (process 7)")
        assert (rig.supervisor.state, rig.supervisor.reason) == (
            State.RELEASED,
            "to avrdude (process 7)",
        )
        (await pipe.open(LINE)).close()  # it is free
        count, identity = len(opened), 2
        await elapse(3600.0)
        assert len(opened) == count and rig.supervisor.state is State.RELEASED
        is_well, before = True, State.UP
        rig.supervisor.take_back()
        await until(rig.up, 4)


async def test_a_port_that_is_busy_after_a_loan_ends_no_gateway(clock: Clock) -> None:
    """Also where it was never up before."""
    rig = PipeRig(clock, PortError.ABSENT, *[PortError.BUSY] * 100, behind=None)
    async with running(rig) as task:
        await until(lambda: rig.supervisor.state is State.WAITING)
        await rig.supervisor.lend("avrdude (process 7)")
        rig.behind = "there"
        rig.supervisor.take_back()
        await elapse(20.0)
        assert len(rig.tried_s) > 1 and not task.done()


async def test_an_attach_without_a_free_descriptor_is_named_and_tried_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy for the emergency stop needs one."""
    rig = PipeRig(clock)
    attach = rig.station.attach

    def without(transport: Transport) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(rig.station, "attach", without)
    async with running(rig) as task:
        await until(task.done)
        error = task.exception()
    assert isinstance(error, PortError)
    assert str(error) == "port: cannot open: Too many open files; raise ulimit -n"
    rig.is_needed = False
    async with running(rig):
        await until(lambda: rig.supervisor.state is State.BACKOFF)
        monkeypatch.setattr(rig.station, "attach", attach)
        await until(rig.up, 60)
