"""The simulated time that tests run in: never early, in order, and exact about absence."""

import asyncio
import threading

import pytest

from hilgw.errors import PortError
from hilgw.testing import sim
from hilgw.units import NS_PER_S


def test_a_callback_that_never_waits_is_an_error() -> None:
    clock = sim.Clock()

    def again() -> None:
        clock.call_at(clock.now(), again)

    again()
    with pytest.raises(sim.StuckError):
        clock.run(1)


def test_other_threads_see_no_jumps() -> None:
    clock, seen = sim.Clock(), list[int]()
    thread = threading.Thread(target=lambda: seen.append(clock.now()))
    thread.start()
    thread.join()
    assert seen == [0]


def test_an_event_loop_jumps_to_its_deadlines_and_no_further() -> None:
    loop = sim.SimEventLoop(sim.Clock(0))
    seen: list[float] = []
    loop.call_later(3600, lambda: seen.append(loop.time()))
    loop.clock.call_at(NS_PER_S, lambda: seen.append(loop.time()))
    loop.until(lambda: seen)
    assert (seen, loop.clock.time) == ([1.0], NS_PER_S)
    loop.advance(3598)
    assert (len(seen), loop.clock.time) == (1, 3599 * NS_PER_S)
    loop.until(lambda: len(seen) == 2)
    assert seen[1] == pytest.approx(3600)
    with pytest.raises(AssertionError, match="not within 5 s: the answer"):
        loop.until(lambda: False, "the answer", 5)
    loop.close()


def test_waiting_in_a_coroutine_takes_simulated_time() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        with pytest.raises(AssertionError, match="not within 6 s"):
            await sim.until(lambda: False, 6)
        await sim.until(lambda: loop.time() > begin + 9, 10)
        await sim.elapse(3600)
        return loop.time() - begin

    assert sim.run(scenario) == pytest.approx(3609, abs=0.01)
    with pytest.raises(AssertionError, match="not in simulated time"):
        asyncio.run(sim.elapse(0))


def test_an_error_without_owner_fails_the_run() -> None:
    async def scenario() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        sim.run(scenario)


def test_a_fake_transport_is_what_a_transport_is() -> None:
    transport, data, lost = sim.FakeTransport(), bytearray(), list[PortError]()
    drained: list[int] = []
    transport.send(b"early")
    transport.start(data.extend, lost.append)
    assert data == b"early"
    transport.pause_reading()
    transport.send(b"+late")
    assert (data, transport.in_waiting) == (b"early", 5)
    transport.resume_reading()
    assert data == b"early+late"

    transport.on_drained = lambda: drained.append(len(transport.data()))
    transport.write(b"now")
    transport.stalled = True
    transport.write(b"later")
    assert (transport.data(), transport.pending, drained) == (b"now", 5, [])
    transport.accept(2)
    assert (transport.take(), transport.pending, drained) == (b"nowla", 3, [])
    transport.accept()
    assert (transport.data(), drained, transport.stalled) == (b"ter", [3], False)
    for fault, reason in (("full", PortError.FULL), ("gone", PortError.LOST)):
        setattr(transport, fault, True)
        with pytest.raises(PortError) as raised:
            transport.write(b"x")
        assert raised.value.reason == reason

    transport.end()
    assert [error.reason for error in lost] == [PortError.LOST]
    transport.lose()
    assert (len(lost), transport.closed) == (1, True)


def test_waiting_for_another_thread() -> None:
    done = threading.Event()
    thread = threading.Timer(0.01, done.set)
    thread.start()
    sim.wait_until(done.is_set)
    with pytest.raises(AssertionError, match="not within 0 s: nothing"):
        sim.wait_until(lambda: False, "nothing", 0)
    thread.join()
