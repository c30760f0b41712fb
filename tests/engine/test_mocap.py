"""Motion capture over a real socket: poses taken, nonsense counted, nothing raised."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.steps import StepClock
from hilgw.engine.mocap import UNKNOWN_SHOWN, Mocap
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.mocap import encode
from hilgw.medium.motion import Circle
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Clock, Recorder, until
from tests.cases import cases
from tests.scenarios import scenario_of


class CapturedScene:
    def __init__(self, host: str = "127.0.0.1") -> None:
        scheduler = Clock()
        medium = Medium(Ledger())
        self.notes = Recorder()
        schedule = Schedule(scheduler, StepClock(0))
        self.scene = Scene(medium, scheduler, 2, schedule, self.notes)
        self.scene.add("rover", None)
        self.scene.add("driver", Circle(center=(0, 0, 0), radius=1))
        self.mocap = Mocap((host, 0), self.scene, self.notes)

    def count(self, *words: str) -> tuple[int, ...]:
        return tuple(self.mocap.report()[word] for word in words)


Scenario = Callable[[CapturedScene, Callable[[bytes], object]], Awaitable[None]]


def run(scenario: Scenario, host: str = "127.0.0.1") -> None:
    async def main() -> None:
        bench = CapturedScene(host)
        await bench.mocap.start()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as sender:
                sender.connect(bench.mocap.address)
                async with asyncio.timeout(60):
                    await scenario(bench, sender.send)
        finally:
            bench.mocap.close()

    asyncio.run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_body_is_where_the_datagram_places_it(host: str) -> None:
    async def scenario(bench: CapturedScene, send: Callable[[bytes], object]) -> None:
        send(encode({"rover": (1, 2, 3, 0, 0, 1, 0), "driver": (4, 5, 6, 0, 0, 0, 1)}))
        await until(lambda: bench.count("poses") == (2,))
        rover = bench.scene.pose_of("rover")
        assert rover == Pose.from_quaternion((1, 2, 3), (0, 0, 1, 0))
        assert bench.scene.pose_of("driver") == Pose((4.0, 5.0, 6.0))
        assert bench.notes.notices[1:] == [
            "motion capture sets the pose of driver from now on; its motion ends"
        ]
        listening = f"listening on {'[::1]' if ':' in host else host}:"
        assert bench.notes.notices[0].startswith(listening)
        send(encode({"rover": None}))
        await until(lambda: bench.count("poses") == (3,))
        assert bench.scene.pose_of("rover") is None

    run(scenario, host)


@scenario_of(run)
async def test_what_is_not_a_datagram_is_counted_and_changes_nothing(
    bench: CapturedScene, send: Callable[[bytes], object], /
) -> None:
    numbers = ("1, 2, 3", "1, 2, 3, 0, 0, 0, 0")
    numbers += tuple(f"{wrong}, 2, 3, 0, 0, 0, 1" for wrong in ("NaN", "1e12", "true"))
    bad = [b"", b"hello", b"\xff\xfe\x00", b"[1, 2, 3]", b'{"rover": ' + b"[" * 60_000]
    bad += [f'{{"rover": [{each}]}}'.encode() for each in numbers]
    bad += [b'{"rover": [9, 9, 9, 0, 0, 0, 1], "driver": 7}']
    for number, datagram in enumerate(bad, 1):
        send(datagram)
        await until(lambda number=number: bench.count("malformed") == (number,))  # type: ignore[misc]
    assert bench.scene.pose_of("rover") is None
    assert [reason for _, reason, _ in bench.notes.refusals] == ["malformed"] * len(bad)
    send(encode({"rover": (1, 1, 1, 0, 0, 0, 1)}))
    await until(lambda: bench.count("datagrams", "poses") == (len(bad) + 1, 1))


@scenario_of(run)
async def test_strangers_are_passed_over_and_reported_once(
    bench: CapturedScene, send: Callable[[bytes], object], /
) -> None:
    for _ in range(3):
        send(encode({"hat": (0, 0, 0, 0, 0, 0, 1), "rover": (1, 0, 0, 0, 0, 0, 1)}))
    await until(lambda: bench.count("unknown", "poses") == (3, 3))
    assert bench.notes.notices[1:] == ["no object 'hat' here, ignored"]
    send(encode({f"stranger{n}": (0, 0, 0, 0, 0, 0, 1) for n in range(500)}))
    await until(lambda: bench.count("unknown") == (503,))
    assert len(bench.notes.notices) == 1 + UNKNOWN_SHOWN


@cases(4)
@given(st.binary(max_size=200))
def test_no_datagram_raises(data: bytes) -> None:
    bench = CapturedScene()
    bench.mocap.datagram_received(data, ("127.0.0.1", 1))
    assert bench.count("datagrams", "malformed") in ((1, 1), (1, 0))


async def test_an_address_that_is_taken_is_a_port_error() -> None:
    first = CapturedScene()
    await first.mocap.start()
    second = Mocap(first.mocap.address, first.scene, first.notes)
    try:
        with pytest.raises(PortError, match=r"mocap 127\.0\.0\.1:\d+: cannot listen"):
            await second.start()
    finally:
        first.mocap.close()
        second.close()
