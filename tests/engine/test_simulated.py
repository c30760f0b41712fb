"""Simulated time of a gateway: its pace, what holds it, and what stays in real time."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from hilgw.engine.simulated.event_loop import PacedLoop, in_real_time
from hilgw.engine.simulated.pace import CATCH_UP_NS, Factor, Hold, Holds, SpeedMeter
from hilgw.errors import PortError
from hilgw.testing.sim import elapse
from hilgw.transports.tcp.in_process import InProcessNetwork
from hilgw.units import NS_PER_MS, NS_PER_S
from tests.scenarios import scenario_of

HOUR_S = 3600.0
# Computes, and answers each line with the nanoseconds that it took; ends with its input.
CONTROLLER = """
import sys, time
for line in sys.stdin:
    begin = time.monotonic_ns()
    sum(range(300_000))
    print(f"{time.monotonic_ns() - begin}\\n", end="", flush=True)  # in one piece
"""
FOREVER = "import signal; signal.pause()"

Scenario = Callable[[PacedLoop], Coroutine[Any, Any, Any]]


def run(scenario: Scenario, speed: float | str = "max") -> Any:
    loop = PacedLoop(speed)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(scenario(loop))


class RealTime:
    def __init__(self) -> None:
        self.ns = 50 * NS_PER_S

    def now(self) -> int:
        return self.ns


def test_a_factor_spreads_simulated_time_over_real_time() -> None:
    real = RealTime()
    pace = Factor(4, real.now)
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 1.0
    real.ns += NS_PER_S // 2
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 0.5
    assert pace.reached(NS_PER_S, 5 * NS_PER_S) == 3 * NS_PER_S
    assert pace.reached(NS_PER_S, 2 * NS_PER_S) == 2 * NS_PER_S  # never past the next callback
    real.ns += NS_PER_S // 2 + CATCH_UP_NS // 2  # a little late: caught up
    assert pace.wait_s(NS_PER_S, 5 * NS_PER_S) == 0
    assert pace.wait_s(5 * NS_PER_S, 9 * NS_PER_S) == pytest.approx(0.95)
    real.ns += 60 * NS_PER_S  # the process was suspended: it does not catch up
    assert pace.wait_s(5 * NS_PER_S, 9 * NS_PER_S) == 0
    assert pace.wait_s(9 * NS_PER_S, 13 * NS_PER_S) == 1.0


def test_a_hold_stops_time_until_it_is_released_or_expires() -> None:
    real, expired = RealTime(), list[Hold]()
    holds = Holds(real.now)
    holds.on_expired = expired.append
    assert holds.wait_s(0, 1) == 0
    patient, quick = holds.hold("patient"), holds.hold("quick", 3 * NS_PER_S)
    assert holds.wait_s(0, 1) == 3.0
    holds.waited()  # too early
    real.ns += 3 * NS_PER_S
    assert cast(float, holds.wait_s(0, 1)) > 0  # what came in time is read first
    assert not expired
    holds.waited()
    assert holds.wait_s(0, 1) is None
    assert expired == [quick]
    quick.release()
    patient.release()
    patient.release()
    assert holds.wait_s(0, 1) == 0
    assert holds.reached(7, 9) == 7


def test_the_meter_shows_the_achieved_speed() -> None:
    real, simulated = RealTime(), RealTime()
    meter = SpeedMeter("max", simulated.now, real.now)
    assert meter.report()["achieved"] is None
    meter.start()
    real.ns += NS_PER_S // 2
    simulated.ns += 60 * NS_PER_S
    assert meter.report() == {"set": "max", "achieved": 120.0, "real_s": 0.5}
    meter.stop()
    real.ns += NS_PER_S
    assert meter.report()["real_s"] == 0.5


# --- the event loop -----------------------------------------------------------------------------


def test_callbacks_run_at_their_exact_times_at_any_speed() -> None:
    def seen_at(speed: float | str) -> list[int]:
        seen: list[int] = []

        async def scenario(loop: PacedLoop) -> None:
            begin = loop.clock.now()

            def tick() -> None:
                seen.append(loop.clock.now() - begin)
                loop.clock.call_at(loop.clock.now() + 7_000_001, tick)

            tick()
            await elapse(0.1)

        run(scenario, speed)
        return seen

    assert seen_at("max") == seen_at(50) == [7_000_001 * n for n in range(15)]


@scenario_of(run)
async def test_a_callback_that_raises_is_reported_and_the_others_run(loop: PacedLoop, /) -> None:
    reports: list[Any] = []
    loop.set_exception_handler(lambda _, report: reports.append(report["exception"]))
    done = asyncio.Event()
    loop.clock.call_at(loop.clock.now() + 1, lambda: 1 // 0)
    loop.clock.call_at(loop.clock.now() + 2, done.set)
    assert await asyncio.wait_for(done.wait(), HOUR_S)
    assert [type(each) for each in reports] == [ZeroDivisionError]


def child(program: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    process = subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs)
    theirs.close()
    return process, ours


@pytest.mark.process
@scenario_of(run)
async def test_time_waits_for_a_process_that_holds_it(loop: PacedLoop, /) -> None:
    """The controller computes in real time; its steps take the simulated time that they should."""
    answered: list[int] = []
    process, connection = child(CONTROLLER)
    begin = loop.clock.now()
    with process, connection:
        for step in range(5):
            hold = loop.holds.hold("rover")
            await loop.sock_sendall(connection, b"%d\n" % step)
            assert int(await loop.sock_recv(connection, 100)) > 0
            hold.release()
            answered.append(loop.clock.now() - begin)
            await elapse(0.032)
    assert answered == pytest.approx([32 * NS_PER_MS * n for n in range(5)], abs=100)


@pytest.mark.process
@scenario_of(run)
async def test_a_frozen_process_is_waited_for_no_longer_than_its_deadline(
    loop: PacedLoop, /
) -> None:
    expired: list[str] = []
    loop.holds.on_expired = lambda hold: expired.append(hold.holder)
    process, connection = child(FOREVER)
    with process, connection:
        try:
            loop.holds.hold("rover", 50 * NS_PER_MS)
            begin = loop.real_timer.now()
            await elapse(HOUR_S)
            assert loop.real_timer.now() - begin >= 50 * NS_PER_MS
        finally:
            process.kill()
    assert expired == ["rover"]


@scenario_of(run, 1000)
async def test_holds_have_no_effect_at_another_speed(loop: PacedLoop, /) -> None:
    loop.holds.hold("rover")
    await elapse(1)


@scenario_of(run)
async def test_deadlines_of_other_processes_are_in_real_time(loop: PacedLoop, /) -> None:
    begin = loop.real_timer.now()
    hours = asyncio.create_task(elapse(1000 * HOUR_S))
    with pytest.raises(TimeoutError):
        await in_real_time(loop.create_future(), 0.05)
    hours.cancel()
    assert loop.real_timer.now() - begin >= 50 * NS_PER_MS


STEP_NS = 32 * NS_PER_MS


def deadline(loop: PacedLoop, other: socket.socket) -> None:
    loop.clock.call_at(loop.clock.now() + STEP_NS, lambda: None)


OBSTACLES: dict[str, tuple[Callable[[PacedLoop, socket.socket], object], bool]] = {
    "nothing": (lambda loop, other: None, True),
    "a deadline at the step end": (deadline, False),
    "a later deadline": (lambda loop, other: loop.clock.call_at(2**62, lambda: None), True),
    "a hold": (lambda loop, other: loop.holds.hold("another"), False),
    "bytes for another": (lambda loop, other: other.send(b"x"), False),
    "a callback": (lambda loop, other: loop.call_soon(lambda: None), False),
    "a timer": (lambda loop, other: loop.call_later(0.001, lambda: None), False),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the clock advances by itself")
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_callback_advances_time_at_once_only_where_nothing_comes_before(obstacle: str) -> None:
    put, expected = OBSTACLES[obstacle]

    async def scenario(loop: PacedLoop) -> tuple[bool, int]:
        ours, theirs = socket.socketpair()
        waiting, other = socket.socketpair()
        done: list[tuple[bool, int]] = []

        def receive() -> None:
            ours.recv(100)
            put(loop, other)
            begin = loop.clock.now()
            done.append((loop.advance(begin + STEP_NS), loop.clock.now() - begin))
            ended.set()

        with ours, theirs, waiting, other:
            ended = asyncio.Event()
            loop.add_reader(waiting.fileno(), lambda: waiting.recv(100))
            loop.add_reader(ours.fileno(), receive)
            assert not loop.advance(loop.clock.now() + STEP_NS)  # not in a descriptor's callback
            theirs.send(b"step")
            await ended.wait()
            loop.remove_reader(ours.fileno())
            loop.remove_reader(waiting.fileno())
        return done[0]

    assert run(scenario) == (expected, STEP_NS if expected else 0)
    assert run(scenario, 10) == (False, 0)


@scenario_of(run)
async def test_a_network_in_process_delivers_at_once(loop: PacedLoop, /) -> None:
    network, accepted = InProcessNetwork(), list[Any]()
    listener = network.listen("127.0.0.1", 0, lambda stream, peer: accepted.append(stream))
    with pytest.raises(PortError) as absent:
        await network.connect("127.0.0.1", 50_001)
    assert absent.value.reason == PortError.ABSENT
    await listener.start()
    with pytest.raises(PortError) as busy:
        await network.listen("127.0.0.1", listener.port, print).start()
    assert busy.value.reason == PortError.BUSY
    client, got = await network.connect("127.0.0.1", listener.port), bytearray()
    accepted[0].start(got.extend, lambda error: None)
    before = loop.clock.now()
    client.start(lambda data: None, lambda error: None)
    client.write(b"hello")
    await elapse(1e-9)
    assert (bytes(got), loop.clock.now() - before < 10) == (b"hello", True)
    listener.close()
    for stream in (client, accepted[0]):
        stream.close()
