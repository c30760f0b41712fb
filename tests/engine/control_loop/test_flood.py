"""A controller that sends commands too fast: those that wait would move motors later."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hilgw.engine.control_loop.peer_link import READ_BYTES, SWAMPED_NS
from hilgw.transports.tcp.stream import TcpStream
from tests.e2e.control_loop_peers import set_value
from tests.engine.control_loop.fakes import MS, FakeLoop

GO = set_value(1, 5.0)
STOP = [set_value(1, 0.0), set_value(2, 0.0)]
TURN = GO * (READ_BYTES // len(GO) + 1)
TURNS = -(-SWAMPED_NS // (20 * MS))


@contextmanager
def connected(
    **safety: float,
) -> Iterator[tuple[FakeLoop, socket.socket, asyncio.AbstractEventLoop]]:
    """A loop whose controller comes over a real socket; the other end of it."""
    events = asyncio.new_event_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    asyncio.set_event_loop(events)
    try:
        loop = FakeLoop(**safety)
        loop.robot_comes()

        async def attach() -> None:
            loop.controller.attach(TcpStream(ours, "flooder"))

        events.run_until_complete(attach())
        loop.controller.data_received(GO)
        loop.robot.written.clear()
        yield loop, theirs, events
    finally:
        theirs.close()
        ours.close()
        asyncio.set_event_loop(None)
        events.close()


def test_when_more_always_waits_the_motors_stop_and_the_controller_goes() -> None:
    with connected() as (loop, theirs, _):
        theirs.send(GO)  # never read: it waits
        for _ in range(TURNS):
            loop.controller.data_received(TURN)
            assert not loop.safety.stops
            loop.run(20)
        loop.controller.data_received(TURN)
        assert loop.safety.stops == {"swamped": 1}
        assert loop.robot.messages()[-2:] == STOP  # what came last is not obeyed
        assert loop.controller.transport is None


@pytest.mark.parametrize("rest", [False, True])
def test_many_commands_that_are_read_in_time_are_obeyed(rest: bool) -> None:
    """rest: something waits, but there is a pause now and then."""
    with connected() as (loop, theirs, _):
        if rest:
            theirs.send(GO)
        for turn in range(3 * TURNS):
            loop.controller.data_received(TURN)
            if rest and turn % 20 == 0:
                loop.controller.data_received(GO)
            loop.run(20)
        assert not loop.safety.stops
        assert loop.controller.transport is not None


def test_a_flood_is_read_in_turns_so_that_others_have_theirs() -> None:
    with connected() as (loop, theirs, events):
        sizes: list[int] = []
        stream = loop.controller.transport
        assert stream is not None
        stream.start(lambda data: sizes.append(len(data)), lambda error: None)
        theirs.send(GO * 2000)
        while sum(sizes) < len(GO) * 2000:
            events.run_until_complete(asyncio.sleep(0))
        assert max(sizes) == READ_BYTES
