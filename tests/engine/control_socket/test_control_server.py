"""Requests on the control socket: changes, nonsense, and ports that are handed over."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.client.connection import ask, line_of
from hilgw.control.events import StopReason
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_socket.handover import STOP_S, Handover
from hilgw.engine.lines import Lines, Port
from hilgw.engine.observer import Observer, PoseEvent, State
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import HilgwError, PortError, SafetyError
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Clock, elapse
from hilgw.units import NS_PER_S
from tests.e2e.control_loop_peers import set_value
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.fakes import served

CONFIG = """
version: 1
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, maxRange: 5, range: 1}
      rx: {node: Receiver, allowedChannels: [0, 1]}
"""


class ServedGateway:
    """A gateway and its socket; `answers` asks one after the other."""

    def __init__(self, tmp_path: Path, config: str = CONFIG) -> None:
        self.config = config
        self.folder = tmp_path
        self.pose: Pose | None = None
        self.state: tuple[float, int] = (0.0, 0)

    async def answers(self, *requests: Any) -> list[dict[str, Any]]:
        async with served(self.folder, self.config) as (gateway, server):
            answers = [await asyncio.to_thread(ask, server.path, each) for each in requests]
            if robot := gateway.robots.get("rover"):
                self.pose = gateway.scene.pose_of("rover")
                self.state = (
                    robot.emitters["tx"].emitter.range,
                    robot.receivers["rx"].receiver.getChannel(),
                )
            return answers


def place(position: Any, **more: Any) -> dict[str, Any]:
    return {"do": "place", "object": "rover", "position": position, **more}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (place([1, 2]), 2),
        (place([1, 2, "3"]), 2),
        (place([1, 2, True]), 2),
        (place([1, 2, 10**400]), 2),
        (place("here"), 2),
        (place([1, 2, float("nan")]), 3),
        (place([1, 2, float("inf")]), 3),
        (place([1, 2, 3], rotation=[0, 0, 0, 1]), 3),
        (place([1, 2, 3], rotation=[0, 0, 1]), 2),
        (place([1, 2, 3], rotation={"x": 1}), 2),
        ({"do": "place", "object": "nobody", "position": [1, 2, 3]}, 1),
        ({"do": "place", "object": "rover"}, 2),
        ({"do": "set", "device": "rover.xx", "channel": 1}, 1),
        ({"do": "set", "device": "rover", "channel": 1}, 1),
        ({"do": "set", "device": "rover.rx", "range": 1}, 1),
        ({"do": "set", "device": "rover.tx", "channel": 1.5}, 2),
        ({"do": "send", "station": "rover.tx", "data": "00", "channel": 2**31}, 2),
        ({"do": "send", "station": "rover.tx", "data": "00", "channel": -2}, 2),
        ({"do": "set", "device": "rover.tx", "channel": True}, 2),
        ({"do": "set", "device": "rover.tx", "range": "far"}, 2),
        ({"do": "fly"}, 2),
    ],
)
async def test_nonsense_is_answered_with_no_change(
    request_: Any, code: int, tmp_path: Path
) -> None:
    bench = ServedGateway(tmp_path)
    (answer,) = await bench.answers(request_)
    assert answer["exit_code"] == code, json.dumps(answer)
    assert bench.pose == Pose()
    assert bench.state == (1.0, 0)


async def test_a_body_is_placed_and_a_device_is_set_or_refuses(tmp_path: Path) -> None:
    bench = ServedGateway(tmp_path)
    turned = place([1, -2, 3.5], rotation=[0, 0, 1, 1.0])
    assert await bench.answers(place(None), turned) == [{"ok": True}] * 2
    assert bench.pose == Pose.from_axis_angle((1, -2, 3.5), (0, 0, 1, 1.0))
    assert await bench.answers(
        place(None),
        {"do": "set", "device": "rover.tx", "range": 9},
        {"do": "set", "device": "rover.rx", "channel": 1},
        {"do": "set", "device": "rover.rx", "channel": 2},
        {"do": "set", "device": "rover.tx", "channel": 2**31},
        {"do": "set", "device": "rover.tx", "range": -3},
        {"do": "network"},
    ) == [
        *[{"ok": True}] * 3,
        *({"refused": each} for each in ("channel", "channel", "range")),
        {
            "error": "this gateway is in no federation; add `federation:` to its file",
            "exit_code": 1,
        },
    ]
    assert (bench.pose, bench.state) == (None, (5.0, 1))


async def test_what_a_station_refuses_at_once_is_reported(tmp_path: Path) -> None:
    config = "version: 1\nadapters: {a: {kind: uart, port: ./none, framing: slip, bufferSize: 9}}\n"
    bench = ServedGateway(tmp_path, config)
    sent = {"do": "send", "station": "a", "data": "00" * 5}
    assert await bench.answers(sent, sent, sent | {"data": ""}) == [
        {"ok": True},
        {"refused": "down"},
        {"refused": "invalid"},
    ]


async def test_a_path_no_socket_can_have_is_reported_with_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    with pytest.raises(HilgwError, match=r"path too long; name a shorter path with --control"):
        await ServedGateway(folder).answers()


# --- events ---------------------------------------------------------------------------------------


async def exchange(tmp_path: Path, *requests: Any) -> list[dict[str, Any]]:
    """Sends the requests on one connection, and a packet after each; what comes back."""
    async with served(tmp_path, CONFIG) as (gateway, server):
        reader, writer = await asyncio.open_unix_connection(server.path)
        messages = []
        for request in requests:
            writer.write(line_of(request))
            messages.append(json.loads(await reader.readline()))
            gateway.observer.notice("rover", "a remark")
            gateway.observer.output("other", "a line")
        writer.write_eof()
        messages += [json.loads(line) for line in (await reader.read()).splitlines()]
        writer.close()
        return messages


async def test_the_status_is_an_event_of_what_changes(tmp_path: Path) -> None:
    watch = {"do": "watch", "kinds": ["status"], "states": True}
    messages = await exchange(tmp_path, watch, {"do": "status"})
    (event,) = (each for each in messages if each.get("event") == "status")
    (answer,) = (each for each in messages if "status" in each and each is not event)
    assert "since_ns" in event
    assert event["status"]["ranges"] == {"rover.tx": 1.0}
    assert {"ports", "robots", "losses", "memory_bytes"} < event["status"].keys()
    assert event["status"]["ports"].keys() == answer["status"]["ports"].keys()
    assert not {"topology", "scene"} & event["status"].keys()


async def test_with_the_status_objects_in_motion_are_where_they_are_then(tmp_path: Path) -> None:
    motion = "{kind: circle, center: [0, 0, 0], radius: 1, period_s: 1}"
    config = CONFIG.replace("position: [0, 0, 0]", f"motion: {motion}")
    poses: list[PoseEvent] = []

    class Watching(Observer):
        def pose_change(self, event: PoseEvent) -> None:
            poses.append(event)

    async with served(tmp_path, config) as (gateway, server):
        gateway.observer.add(Watching())
        for count in (1, 2):  # no packet is sent
            server.status_steps()
            assert [each.name for each in poses] == ["rover"] * count
    assert poses[0].pose != poses[1].pose


async def test_a_second_choice_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """Events follow, and requests are answered between them."""
    first = {"do": "watch", "kinds": ["notice"]}
    second = {"do": "watch", "kinds": ["notice", "output"], "names": ["rover"]}
    messages = await exchange(tmp_path, first, second)
    assert [each.get("event", "ok") for each in messages] == ["ok", "notice"] * 2
    assert all("event" in each or each["ok"] for each in messages)


async def test_nothing_is_tapped_once_the_last_connection_has_died(tmp_path: Path) -> None:
    text = "version: 1\nadapters: {a: {kind: uart, port: ./none, framing: slip}}\n"
    tapped = []
    async with served(tmp_path, text) as (gateway, server):
        for _ in range(2):
            reader, writer = await asyncio.open_unix_connection(server.path)
            writer.write(line_of({"do": "watch", "kinds": ["frame", "mode"]}) * 2)
            await reader.readline()
            tapped.append(bool(gateway.stations["a"].taps))
            writer.transport.abort()
            while server.status_parts()["clients"]["control socket"]:
                await asyncio.sleep(0)
            tapped.append(bool(gateway.stations["a"].taps))
            tapped.append(gateway.observer.frame is not None)
    assert tapped == [True, False, False] * 2


async def test_a_second_choice_cuts_no_line_and_forgets_no_loss(tmp_path: Path) -> None:
    """The client reads nothing until then."""
    async with served(tmp_path, CONFIG) as (gateway, server):
        reader, writer = await asyncio.open_unix_connection(server.path)
        writer.write(line_of({"do": "watch", "kinds": ["output"]}))
        await reader.readline()
        for number in range(200):
            gateway.observer.output("rover", f"{number} {'x' * 5000}")
            await asyncio.sleep(0)
        writer.write(line_of({"do": "watch", "kinds": ["notice"]}))
        numbers, lost, answers = list[int](), 0, 0
        while not answers or len(numbers) + lost < 200:
            message = json.loads(await reader.readline())
            numbers += [int(message["line"].split()[0])] if "line" in message else []
            lost += message.get("slow", 0)
            answers += "ok" in message
        writer.close()
    assert numbers == sorted(numbers)
    assert (len(numbers) + lost, answers) == (200, 1)
    assert lost > 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kinds": ["packets"]}, "kinds must be a list, each one of value, command"),
        ({"kinds": "packet"}, "kinds must be a list, each one of value, command"),
        (
            {"names": ["rover", "rover.txx", "a"]},
            "has the name 'rover.txx'; did you mean 'rover.tx'?",
        ),
        ({"names": [1]}, "names must be a list of names"),
        ({"lost": 1}, "lost must be true or false"),
    ],
)
async def test_a_choice_that_is_none_is_answered(tmp_path: Path, wrong: Any, words: str) -> None:
    (answer,) = await exchange(tmp_path, {"do": "watch", **wrong})
    assert words in answer["error"]
    assert answer["exit_code"] == (1 if "mean" in words else 2)


PORT = "cab.body"


class Rig:
    """A robot that moves, on a port that a supervisor keeps open."""

    def __init__(self, clock: Clock) -> None:
        self.loop = FakeLoop(clock=clock)
        self.loops = ControlLoops(clock)
        self.loops.add(self.loop.loop)
        self.loop.robot_comes()
        self.loop.controller_comes()
        self.loop.run(200)
        self.loop.controller.data_received(set_value(1, 2.0))
        assert self.loop.safety.moving
        self.port = Port("port", _absent, path=lambda: "/dev/x")
        self.supervisor = Supervisor(
            self.loop.body, self.port, Lines(self.loop.observer, clock.now)
        )
        self.gateway: Any = SimpleNamespace(
            supervisors={PORT: self.supervisor}, control_loops=self.loops
        )
        self.handover = Handover(self.gateway, PORT, "avrdude (process 7)")


async def _absent() -> Any:
    raise PortError("no", reason=PortError.ABSENT)


@pytest.fixture
def rig(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Rig:
    async def at_once(work: Callable[[], object]) -> object:
        return work()

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    return Rig(clock)


async def test_a_mock_has_no_real_port_and_its_robot_is_not_stopped(rig: Rig) -> None:
    rig.supervisor.port = replace(rig.port, path=None)
    with pytest.raises(HilgwError, match="there is no real port to hand over"):
        Handover(rig.gateway, PORT, "avrdude (process 7)")
    assert rig.loop.safety.moving


async def test_a_stop_that_does_not_leave_keeps_the_port(rig: Rig, clock: Clock) -> None:
    rig.loop.robot.stalled = True
    with pytest.raises(SafetyError, match="the stop of its motors was not sent"):
        await rig.handover.begin()
    assert clock.now() >= STOP_S * NS_PER_S
    assert rig.supervisor.state is State.CLOSED
    assert not rig.loop.safety.armed and rig.loop.safety.disarmed_by is StopReason.RELEASED


async def test_the_robot_cannot_be_armed_before_the_port_is_back(rig: Rig, clock: Clock) -> None:
    rig.loop.robot.stalled = True
    task = asyncio.get_running_loop().create_task(rig.handover.begin())
    await elapse(STOP_S / 2)
    with pytest.raises(SafetyError, match=r"is released to avrdude \(process 7\)"):
        rig.loops.arm("cab")
    with pytest.raises(SafetyError):
        await task
    rig.handover.end()
    rig.loops.arm("cab")
    assert rig.loop.safety.armed


async def test_a_body_that_is_down_is_not_reported_as_stopped(
    rig: Rig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.loop.robot_leaves()
    both = property(lambda loop: [PORT, "cab.remote"])
    monkeypatch.setattr(type(rig.loop.loop), "unstopped", both)
    port = asyncio.get_running_loop().create_task(rig.supervisor.run())
    lent = await rig.handover.begin()
    assert lent.note == (
        "; cab is disarmed; no stop was sent, as cab.body was down; "
        "no stop was sent to cab.remote, which is down"
    )
    port.cancel()
