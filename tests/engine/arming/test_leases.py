"""Leases: robots that are armed while a command holds them, on a fake clock and a real socket."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hilgw.client.connection import line_of
from hilgw.control.events import StopReason
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.messages import VERSION
from hilgw.testing.sim import Recorder, until
from tests.engine.control_loop.fakes import MS, FakeLoop
from tests.engine.control_loop.running import GO, STOP
from tests.engine.fakes import served


class Held:
    """A robot that drives, held by a lease."""

    def __init__(self, limit_s: float | None = None) -> None:
        self.loop = FakeLoop(armed=False)
        self.clock, self.observer = self.loop.scheduler, self.loop.observer
        self.loops = ControlLoops(self.clock)
        self.loops.add(self.loop.loop)
        self.loop.loop.start()
        self.loop.robot_comes()
        self.loop.controller_comes()
        self.lease = self.take(limit_s)
        self.drive()

    def take(self, limit_s: float | None = None) -> Lease:
        return Lease(self.loops, self.clock, ["cab"], limit_s)

    def drive(self) -> bool:
        """Whether a motor command reaches the robot."""
        before = len(self.sent())
        self.loop.watchdog.checked_ns = self.clock.now()  # the event loop is not late
        self.loop.controller.data_received(GO)
        return GO in self.sent()[before:]

    def sent(self) -> bytes:
        return self.loop.robot.data()

    def renew(self, milliseconds: int, period: int = 100) -> None:
        for _ in range(milliseconds // period):
            self.clock.run(period * MS)
            self.lease.renew()

    @property
    def report(self) -> dict[str, Any]:
        return self.loop.loop.report()


def test_a_lease_expires_after_300_ms_and_stops_the_robot_with_its_cause() -> None:
    held = Held()
    held.loops.arm("cab")  # without a lease: it disarms that, too
    held.renew(2_000)
    held.renew(2_990, period=299)
    assert held.drive() and held.lease.ended is None
    before = held.sent()
    held.clock.run(300 * MS - 1)
    assert held.sent() == before
    held.clock.run(1)
    assert held.sent() == before + STOP
    assert held.report["stops"] == {"lease_expired": 1}
    assert (held.report["armed"], held.report["disarmed_by"]) == (False, "lease_expired")
    assert held.observer.stops == [("lease_expired", StopReason.LEASE_EXPIRED.doc)]
    assert "silent for 300 ms: disarmed until `hilgw arm cab`" in held.observer.armings[-1][1]
    for _ in range(20):  # a renewal that comes too late arms nothing
        assert held.lease.renew() is StopReason.LEASE_EXPIRED
        held.clock.run(100 * MS)
        assert not held.drive()


def test_a_robot_that_stands_still_is_disarmed_and_the_report_shows_by_what() -> None:
    held = Held()
    held.loop.controller.data_received(STOP)
    held.loops["cab"].safety.stop(StopReason.DISCONNECTED, held.clock.now(), latch=False)
    held.clock.run(300 * MS)
    assert "lease_expired" not in held.report["stops"]
    assert held.report["disarmed_by"] == "lease_expired"
    held.loops.arm("cab")
    assert "disarmed_by" not in held.report


def test_the_limit_of_a_lease_holds_however_often_it_is_renewed() -> None:
    held = Held(limit_s=2.0)
    held.renew(1_900)
    assert held.lease.ended is None
    held.clock.run(100 * MS - 1)
    assert held.lease.renew() is None
    held.clock.run(1)
    assert held.report["stops"] == {"lease_over": 1}
    assert held.lease.renew() is StopReason.LEASE_OVER


@pytest.mark.parametrize("again", [False, True])
def test_what_another_client_disarms_stays_disarmed(again: bool) -> None:
    """again: it arms it, too: the lease has ended with the disarm, and its renewal disarms."""
    held = Held()
    held.renew(500)
    held.loops.disarm("cab")
    if again:
        held.loops.arm("cab")
    assert held.lease.renew() is StopReason.DISARMED
    assert not held.drive()


def test_a_latched_stop_ends_the_lease_with_its_reason() -> None:
    held = Held()
    held.loop.safety.latch = True
    held.loop.controller_leaves()
    assert held.lease.renew() is StopReason.DISCONNECTED


@pytest.mark.parametrize("first", [True, False])
def test_the_end_of_any_of_two_holders_disarms(first: bool) -> None:
    held = Held()
    other = held.take()
    held.renew(100)
    other.renew()
    (held.lease if first else other).end(StopReason.LEASE_ENDED)
    assert not held.drive()
    assert (other if first else held.lease).renew() is StopReason.LEASE_ENDED
    assert held.report["stops"] == {"lease_ended": 1}


def test_a_late_event_loop_reads_what_waited_before_a_lease_expires() -> None:
    held = Held()
    held.clock.time += 350 * MS  # nothing runs in this time
    held.clock.run(1 * MS)
    assert held.lease.renew() is None
    held.clock.time += 350 * MS
    held.clock.run(6 * MS)
    assert held.lease.renew() is StopReason.LEASE_EXPIRED


def test_a_stop_that_the_connection_did_not_take_is_not_confirmed() -> None:
    """The cable was pulled just now: the first to notice is the write of the stop."""
    held = Held()
    held.loop.robot.gone = True
    held.lease.end(StopReason.LEASE_ENDED)
    assert held.lease.not_sent == ["cab"]
    held = Held()
    held.lease.end(StopReason.LEASE_ENDED)
    assert held.lease.not_sent == []


@pytest.mark.parametrize("lost", [True, False])
def test_the_end_of_the_gateway_confirms_no_stop_of_a_body_that_is_down(lost: bool) -> None:
    held = Held()
    if lost:
        held.loop.robot_leaves()
    held.loops.end()
    if not lost:
        held.loop.robot_leaves()  # closed in order, after the stop
    held.lease.end(StopReason.ENDED)
    assert held.lease.not_sent == ["cab"] * lost


def test_a_lease_of_an_unknown_robot_arms_nothing() -> None:
    held = Held()
    held.lease.end(StopReason.LEASE_ENDED)
    with pytest.raises(HilgwError, match="no robot 'bus'"):
        Lease(held.loops, held.clock, ["cab", "bus"])
    assert not held.loop.safety.armed


# --- on the control socket ------------------------------------------------------------------------


CONFIG = """
version: 1
webots: R2020a
robots:
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", simulated: true}, safety: {armed: false}}
  bus: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:2", simulated: true}, safety: {armed: false}}
"""


class Holder:
    def __init__(self, path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(str(path))
        self.connection.setblocking(False)

    async def ask(self, do: str, **keys: Any) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self.connection, line_of({"do": do, **keys}))
        return await self.read()

    async def read(self) -> dict[str, Any]:
        answer = await asyncio.get_running_loop().sock_recv(self.connection, 65536)
        return dict(json.loads(answer))


@pytest.fixture
def client() -> Iterator[Callable[[ControlServer], Holder]]:
    """Makes clients of a gateway, which outlive it."""
    with ExitStack() as clients:

        def made(server: ControlServer) -> Holder:
            holder = Holder(server.path)
            clients.enter_context(holder.connection)
            return holder

        yield made


Client = Callable[[ControlServer], Holder]


def armed(gateway: Any) -> set[str]:
    loops = gateway.control_loops
    return {name for name in loops if loops[name].safety.state.armed}


async def test_the_end_of_the_connection_disarms(tmp_path: Path, client: Client) -> None:
    recorder = Recorder()
    async with served(tmp_path, CONFIG, recorder) as (gateway, server):
        holder = client(server)
        answer = await holder.ask("hold", robots=["cab"], limit_s=None)
        assert (answer["ok"], answer["robots"]) == (True, ["cab"])
        assert armed(gateway) == {"cab"}
        assert await holder.ask("renew") == {"ok": True, "version": VERSION}
        holder.connection.close()
        await until(lambda: not armed(gateway))
    assert "the command that held it armed has ended" in recorder.armings[-1][1]


async def test_a_lease_belongs_to_its_connection_and_ends_for_all_its_robots(
    tmp_path: Path, client: Client
) -> None:
    """Another client neither renews nor releases it, and cannot make a second one of it."""
    async with served(tmp_path, CONFIG) as (gateway, server):
        holder, other = client(server), client(server)
        await holder.ask("hold", all=True, limit_s=30)
        for request in ("renew", "end_hold"):
            assert (await other.ask(request))["error"] == "this connection holds no robot"
        again = await holder.ask("hold", robots=["bus"], limit_s=None)
        assert again["error"] == "this connection holds robots already"
        assert armed(gateway) == {"cab", "bus"}
        await other.ask("disarm", robots=["cab"])
        for request in ("renew", "end_hold", "renew"):
            answer = await holder.ask(request)
            assert (answer["ended"], answer["robots"]) == ("disarmed", ["cab", "bus"])
            assert armed(gateway) == set()
        await other.ask("hold", robots=["cab"], limit_s=None)
        assert (await other.ask("end_hold"))["ended"] == "lease_ended"
        assert armed(gateway) == set()


@pytest.mark.parametrize("limit", [0, -1, "60", True, 1e9, float("nan"), float("inf"), []])
async def test_a_wrong_limit_arms_nothing(tmp_path: Path, client: Client, limit: Any) -> None:
    async with served(tmp_path, CONFIG) as (gateway, server):
        answer = await client(server).ask("hold", robots=["cab"], limit_s=limit)
        assert "limit_s must be null" in answer["error"]
        assert armed(gateway) == set()


async def test_an_orderly_end_of_the_gateway_is_reported_to_the_holder(
    tmp_path: Path, client: Client
) -> None:
    recorder = Recorder()
    async with served(tmp_path, CONFIG, recorder) as (_, server):
        holder = client(server)
        await holder.ask("hold", robots=["cab"], limit_s=None)
    end = await holder.read()
    assert (end["ended"], end["robots"]) == ("gateway_ended", ["cab"])
    assert not any("held it armed" in text for _, text in recorder.armings)


async def test_the_last_message_of_a_lease_comes_behind_the_events_whole(
    tmp_path: Path, client: Client
) -> None:
    """A subscriber reads slowly: a part of an event has left when the gateway ends."""
    data = bytearray()
    async with served(tmp_path, CONFIG) as (gateway, server):
        holder = client(server)
        await holder.ask("hold", robots=["cab"], all=False)
        await holder.ask("watch", kinds=["notice"], names=[], lost=False)
        for number in range(100):
            gateway.observer.notice("hand", f"{number} " + "x" * 4000)
            for _ in range(3):
                await asyncio.sleep(0)
        while len(data) < 100_000:  # and the gateway has no turn after that
            data.extend(holder.connection.recv(65536))
    while more := holder.connection.recv(65536):
        data.extend(more)
    lines = [json.loads(line) for line in data.splitlines()[:-1]]
    assert len(lines) > 20 and all("event" in line for line in lines)
    assert b"}{" not in data
