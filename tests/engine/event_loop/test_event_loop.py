"""The direct loop is asyncio's own loop to everybody; its timers are never early."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from hilgw.engine.event_loop import scheduler as module
from hilgw.engine.event_loop.direct_loop import DirectLoop, DirectSelector
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.engine.timing import event_expectation
from hilgw.testing.sim import until
from tests.transports.rig import descriptors, turns


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=DirectLoop) as runner:
        yield runner


@pytest.fixture
def loop(runner: asyncio.Runner) -> asyncio.AbstractEventLoop:
    return runner.get_loop()


class Busy:
    """A descriptor that is always ready, and whose callback counts. fails: and raises, once."""

    def __init__(self, loop: DirectLoop) -> None:
        self._loop = loop
        self.count, self.fails = 0, False
        self._read, self._write = os.pipe()
        os.write(self._write, b"x")
        loop.add_reader(self._read, self._ready)

    def _ready(self) -> None:
        self.count += 1
        if self.fails:
            self._loop.remove_reader(self._read)
            raise RuntimeError("on purpose")

    def close(self) -> None:
        self._loop.remove_reader(self._read)
        os.close(self._read)
        os.close(self._write)


@pytest.fixture
def pair() -> Any:
    ends = socket.socketpair()
    for end in ends:
        end.setblocking(False)
    yield ends
    for end in ends:
        end.close()


async def test_timers_tasks_threads_and_signals_have_turns_under_traffic(loop: DirectLoop) -> None:
    busy = Busy(loop)
    try:
        due = asyncio.Event()
        loop.call_later(0.001, due.set)
        await due.wait()
        await turns(100)
        reported = asyncio.Event()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(reported.set)).start()
        await reported.wait()
        signalled = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, signalled.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await signalled.wait()
        loop.remove_signal_handler(signal.SIGUSR1)
        assert busy.count > 100
    finally:
        busy.close()


async def test_a_reader_and_a_writer_on_one_descriptor(
    pair: tuple[socket.socket, socket.socket], loop: DirectLoop
) -> None:
    events: list[str] = []
    done = asyncio.Event()

    def writable() -> None:
        events.append("w")
        assert loop.remove_writer(pair[0])

    def readable(word: str) -> None:
        events.append(word + pair[0].recv(10).decode())
        done.set()

    loop.add_reader(pair[0].fileno(), readable, "r")
    loop.add_writer(pair[0], writable)
    await until(lambda: events == ["w"])
    pair[1].send(b"x")
    await done.wait()
    assert events == ["w", "rx"]
    assert loop.remove_reader(pair[0])
    assert not loop.remove_reader(pair[0])
    assert not loop.remove_writer(pair[0])


async def test_a_hang_up_is_reported_to_reader_and_writer(loop: DirectLoop) -> None:
    reported: set[str] = set()
    done = asyncio.Event()

    def report(word: str) -> None:
        reported.add(word)
        if len(reported) == 2:
            done.set()

    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:  # so full that only the hang-up makes it writable
            ours.send(bytes(65536))
    loop.add_reader(ours, report, "reader")
    loop.add_writer(ours, report, "writer")
    await turns(10)
    assert reported == set()
    theirs.close()
    await done.wait()
    loop.remove_reader(ours)
    loop.remove_writer(ours)
    ours.close()


async def test_a_callback_may_remove_others_that_are_ready_too(loop: DirectLoop) -> None:
    pipes = [os.pipe() for _ in range(4)]
    called: list[int] = []

    def ready(own: int) -> None:
        called.append(own)
        for reader, _ in pipes:
            loop.remove_reader(reader)

    for reader, writer in pipes:
        os.write(writer, b"x")
        loop.add_reader(reader, ready, reader)
    while not called:
        await asyncio.sleep(0)
    await turns(10)
    assert len(called) == 1
    loop.add_reader(pipes[0][0], lambda: None)
    os.close(pipes[0][0])
    assert loop.remove_reader(pipes[0][0]), "closed too early"
    for end in {end for ends in pipes for end in ends} - {pipes[0][0]}:
        os.close(end)


async def test_a_fault_is_reported_and_the_others_go_on(loop: DirectLoop) -> None:
    faults: list[str] = []
    loop.set_exception_handler(lambda _, fault: faults.append(str(fault["exception"])))
    failing, busy = Busy(loop), Busy(loop)
    failing.fails = True
    while busy.count < 10:
        await asyncio.sleep(0)
    for end in (failing, busy):
        end.close()
    assert faults == ["on purpose"]


@pytest.mark.process
async def test_asyncios_own_transports_work_beside_it(loop: DirectLoop) -> None:
    busy = Busy(loop)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(100_000))
        writer.write_eof()
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    for _ in range(5):  # the same descriptor numbers again and again, by different ways
        connection = socket.socket()
        connection.setblocking(False)
        await loop.sock_connect(connection, address)
        await loop.sock_sendall(connection, bytes(50_000))
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(bytes(50_000))
        assert await reader.read() == bytes(100_000)
        writer.close()
        await writer.wait_closed()
    server.close()
    await server.wait_closed()
    process = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert await process.communicate(b"through a pipe") == (b"through a pipe", None)
    busy.close()


async def test_an_idle_loop_sleeps(loop: DirectLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: asked.append(clock()) or asked[-1])  # each turn
    reader, writer = os.pipe()
    loop.add_reader(reader, lambda: None)
    woken = asyncio.Event()
    loop.call_later(0.05, woken.set)
    await woken.wait()
    assert 0 < len(asked) < 20
    loop.remove_reader(reader)
    os.close(reader)
    os.close(writer)


async def test_an_expected_event_is_served_whether_it_comes_at_once_or_later(
    loop: DirectLoop,
) -> None:
    expect = event_expectation(loop)
    assert expect == loop.expect_event
    ours, theirs = socket.socketpair()
    got: list[bytes] = []
    with ours, theirs:
        loop.add_reader(ours.fileno(), lambda: got.append(ours.recv(100)))
        for delay_s in (0, 0.01):
            expect()
            loop.call_later(delay_s, theirs.send, b"x")
            before = len(got)
            await until(lambda before=before: len(got) > before)  # type: ignore[misc]
        loop.remove_reader(ours.fileno())
    assert got == [b"x", b"x"]


def test_another_event_loop_expects_nothing() -> None:
    loop = asyncio.SelectorEventLoop()
    event_expectation(loop)()
    loop.close()


@pytest.mark.parametrize("make", [DirectLoop, lambda: PacedLoop("max")])
def test_what_follows_a_round_comes_after_all_its_descriptors(make: Any) -> None:
    """Also what a task asks for, and what follows when one of them fails or asks for more."""
    ends, came, faults = [os.pipe(), os.pipe()], list[str](), list[Any]()

    async def main() -> None:
        loop = cast("DirectLoop", asyncio.get_running_loop())
        loop.set_exception_handler(lambda loop, context: faults.append(context))

        def after(name: str) -> None:
            came.append(f"after {name}")
            if name == "0":
                loop.call_after_round(lambda: after("more"))
                raise RuntimeError(name)

        def read(number: int) -> None:
            os.read(ends[number][0], 1)
            came.append(str(number))
            loop.call_after_round(lambda: after(str(number)))

        for number, (end, other) in enumerate(ends):
            loop.add_reader(end, read, number)
            os.write(other, b"x")
        await until(lambda: "after more" in came)
        assert came == ["0", "1", "after 0", "after 1", "after more"]
        loop.call_after_round(lambda: came.append("of a task"))
        await until(lambda: "of a task" in came)
        soon, (end, other) = asyncio.Event(), ends[0]
        loop.remove_reader(end)
        loop.add_reader(end, lambda: (os.read(end, 1), loop.call_later(0.01, soon.set)))
        os.write(other, b"x")
        await soon.wait()  # what a callback gives to the loop wakes it
        for end, _ in ends:
            loop.remove_reader(end)

    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(main())
    for pair in ends:
        for end in pair:
            os.close(end)
    assert [str(each["exception"]) for each in faults] == ["0"]


def test_what_follows_a_round_needs_no_turn_of_the_event_loop(pair: Any) -> None:
    selector, (ours, theirs), came = DirectSelector(), pair, list[bytes]()
    direct = DirectLoop(selector)
    for wanted in (False, True):

        def read() -> None:
            data = ours.recv(1)
            direct.call_after_round(lambda: came.append(data))
            if wanted:  # noqa: B023 - called in this round
                direct.call_soon(came.append, b"turn")

        direct.add_reader(ours, read)
        theirs.send(b"x")
        selector.select(0)
        assert selector.wanted is wanted
    assert came == [b"x", b"x"]
    direct.close()


MS = 1_000_000


def timerfds() -> int:
    """Of this process."""
    return sum("timerfd" in target for target in descriptors().values())


@pytest.fixture(params=["timerfd", "loop"])
def timer(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, runner: asyncio.Runner
) -> Iterator[Timer]:
    """A timer on each kind of alarm."""
    if request.param == "loop":

        def no_timerfd() -> None:
            raise OSError("no timerfd on this system")

        monkeypatch.setattr(module, "_timerfd", no_timerfd)
    loop = runner.get_loop()
    before = timerfds()
    timer = Timer(loop)
    assert timerfds() - before == (request.param == "timerfd")
    yield timer
    timer.close()


async def test_never_early_and_in_order(timer: Timer) -> None:
    dice = random.Random(7)
    start = timer.now()
    whens = [start + dice.randrange(60 * MS) for _ in range(300)]
    fired: list[tuple[int, int]] = []

    def callback(when: int) -> Callable[[], None]:
        return lambda: fired.append((when, time.monotonic_ns()))

    for when in whens:
        timer.call_at(when, callback(when))
    assert timer.waiting == 300
    await until(lambda: len(fired) == 300)
    assert [when for when, _ in fired] == sorted(whens)
    assert all(now >= when for when, now in fired)
    assert timer.waiting == 0


async def test_of_one_time_they_run_in_call_order_and_what_is_last_at_last(timer: Timer) -> None:
    fired: list[str] = []
    when = timer.now() + 2 * MS
    for last in (True, False):
        for number in range(20):
            name = f"{'last ' * last}{number}"
            timer.call_at(when, lambda name=name: fired.append(name), is_last=last)
    timer.call_at(when + 1, lambda: fired.append("later"))
    await until(lambda: "later" in fired)
    assert fired == [*map(str, range(20)), *(f"last {number}" for number in range(20)), "later"]


@pytest.mark.parametrize("when", [-5, 0, 1])
async def test_a_time_in_the_past_is_now_and_the_loop_goes_on(when: int, timer: Timer) -> None:
    fired: list[int] = []

    def again() -> None:
        fired.append(when)
        timer.call_at(when, again)

    timer.call_at(when, again)
    await until(lambda: len(fired) > 5)


async def test_a_sooner_time_moves_the_alarm(timer: Timer) -> None:
    fired: list[str] = []
    timer.call_at(timer.now() + 3600_000 * MS, lambda: fired.append("late"))
    timer.call_at(timer.now() + 3 * MS, lambda: fired.append("soon"))
    await until(lambda: bool(fired))
    assert fired == ["soon"]
    assert timer.waiting == 1


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, runner: asyncio.Runner) -> list[float]:
    """The delays to which the alarm of the event loop is set."""
    settings: list[float] = []
    loop = runner.get_loop()
    real = loop.call_later

    def call_later(delay_s: float, *rest: Any) -> asyncio.TimerHandle:
        settings.append(delay_s)
        return real(delay_s, *rest)

    monkeypatch.setattr(loop, "call_later", call_later)
    return settings


@pytest.mark.parametrize("timer", ["loop"], indirect=True)
async def test_only_a_new_earliest_time_sets_the_alarm(settings: list[float], timer: Timer) -> None:
    first = timer.now() + 1000 * MS
    for number in range(100):
        timer.call_at(first + number, lambda: None).cancel()
        timer.call_at(first + number, lambda: None)
    assert len(settings) == 1


@pytest.mark.parametrize("timer", ["loop"], indirect=True)
async def test_what_callbacks_add_sets_the_alarm_once(settings: list[float], timer: Timer) -> None:
    """Each time may be earlier than the one before."""
    over = asyncio.Event()

    def add() -> None:
        timer.call_at(3, over.set)
        for when in (2, 1):
            timer.call_at(when, lambda: None)

    timer.call_at(4, add)
    await over.wait()  # without a timer of the event loop
    assert len(settings) == 2


async def test_cancelled_ones_do_not_run_also_of_the_same_moment(timer: Timer) -> None:
    fired: list[object] = []
    when = timer.now() + 2 * MS

    def cancel_all() -> None:
        for victim in victims:
            victim.cancel()
        fired.append(timer.waiting)

    timer.call_at(when - MS, lambda: fired.append("cancelled")).cancel()
    assert timer.waiting == 0
    first = timer.call_at(when, cancel_all)
    victims = [timer.call_at(when, lambda: fired.append("too late")) for _ in range(200)]
    timer.call_at(when, lambda: fired.append("end"))
    await until(lambda: "end" in fired)
    assert fired == [0, "end"]
    first.cancel()  # has run
    assert timer.waiting == 0


@pytest.mark.parametrize("cycles_per_callback", [100, 10_000])
async def test_cancelled_deadlines_do_not_pile_up(cycles_per_callback: int, timer: Timer) -> None:
    """A packet that arrives in a timer callback moves the deadline of a beacon, each time."""

    far = timer.now() + 3600_000 * MS
    done = asyncio.Event()
    left = 10_000
    beacon = timer.call_at(far, done.set)

    def move() -> None:
        nonlocal left, beacon
        for _ in range(cycles_per_callback):
            beacon.cancel()
            beacon = timer.call_at(far, done.set)
        left -= cycles_per_callback
        if left > 0:
            timer.call_at(0, move)
        else:
            grown.append(tracemalloc.get_traced_memory()[0] - before)
            done.set()

    grown: list[int] = []
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        timer.call_at(0, move)
        await done.wait()
    finally:
        tracemalloc.stop()
    assert grown[0] < 100_000  # bytes; one deadline kept is 163
    assert timer.waiting == 1


async def test_a_callback_that_raises_is_reported_and_the_others_run(timer: Timer) -> None:
    reports: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: reports.append(context["exception"])
    )
    fired: list[str] = []
    when = timer.now() + MS
    timer.call_at(when, lambda: {}["missing"])
    timer.call_at(when, lambda: fired.append("beside"))
    timer.call_at(when + 2 * MS, lambda: fired.append("after"))
    await until(lambda: "after" in fired)
    assert fired == ["beside", "after"]
    assert [type(error) for error in reports] == [KeyError]


async def test_close_cancels_everything_and_gives_the_descriptor_back(timer: Timer) -> None:
    """Also those of the moment of the callback that closes it."""
    before = descriptors()
    other = Timer(asyncio.get_running_loop())
    fired: list[str] = []
    when = other.now() + MS
    other.call_at(when, lambda: (fired.append("closing"), other.close()))
    other.call_at(when, lambda: fired.append("closed"))
    done = asyncio.Event()
    timer.call_at(when + 3 * MS, done.set)
    await done.wait()
    other.close()
    other.call_at(other.now(), lambda: fired.append("after close")).cancel()
    assert (fired, other.waiting) == (["closing"], 0)
    assert descriptors().items() <= before.items()
