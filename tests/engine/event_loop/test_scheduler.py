"""The timer service: never early, in order, cancelled at once, one alarm at a time."""

import asyncio
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hilgw.engine.event_loop import scheduler as module
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.testing.sim import until
from tests.transports.rig import descriptors

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
