"""The gateway robot: packets between a world in Webots and a radio, through a whole gateway in
simulated time, with the mocks of both."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.config.load import load_config
from hilgw.engine.observer import Observer
from hilgw.testing.sim import Clock, SimEventLoop, elapse, local_sockets, until
from tests.engine.gateways import running

SHIPPED = Path(__file__).parents[3] / "configs" / "webots.yaml"
SILENT = "enable receiver 32; step 32 x 0"
LATER = "enable receiver 32; step 32 x 60"  # when the others are there
Act = Callable[[Any], Awaitable[None]]


def config(**body: Any) -> dict[str, Any]:
    """The shipped configuration. mock: parameters of its simulator."""
    data: dict[str, Any] = yaml.safe_load(SHIPPED.read_text())
    settings = data["robots"]["gateway"]["body"]
    settings["mock"] |= body.pop("mock", {})
    settings |= body
    return data


def play(tmp_path: Path, data: dict[str, Any], act: Act) -> dict[str, Any]:
    """Runs the gateway; act: what is done to it, once it is up. Returns the report at the end."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(data))
    loaded = load_config(str(path), [], "loopback")
    time = Clock()

    async def run() -> dict[str, Any]:
        async with running(loaded.config, Observer(), timer=time) as gateway:
            await until(lambda: all(each.ready for each in gateway.supervisors.values()))
            await act(gateway)
        assert gateway.ledger.violations() == []
        return gateway.report()

    with local_sockets(), asyncio.Runner(loop_factory=lambda: SimEventLoop(time)) as runner:
        return runner.run(run())


def mock_of(gateway: Any, kind: str) -> Any:
    mocks = [mock for host in gateway.hosts for mock in host.mocks]
    return next(mock for mock in mocks if kind in type(mock).__module__)


def receptions(gateway: Any, robot: str = "rover") -> list[bytes]:
    """What the Receiver of the other robot in the world has in its queue."""
    library = mock_of(gateway, "webots_simulator").inside[robot].library
    receiver = library.find("receiver")
    return [] if receiver is None else [packet.data for packet in receiver.packets]


def test_a_packet_of_a_simulated_robot_reaches_the_radio_and_is_answered(tmp_path: Path) -> None:
    script = f"{LATER}; send emitter ping 1; send emitter ping 2; step 32 x 0"

    async def act(gateway: Any) -> None:
        await until(lambda: len(receptions(gateway)) >= 2)
        assert receptions(gateway) == [b"pong 1", b"pong 2"]

    report = play(tmp_path, config(mock={"scripts": {"rover": script}}), act)
    loop = report["control_loops"]["gateway"]
    assert loop["forwarded"] == {"to_medium": 2, "to_body": 2} and loop["refused"] == {}
    # No echo: the radio sent the two pings alone, and the world got the two answers alone.
    assert report["stations"]["xbee0"]["delivered"] == 2
    assert loop["counts"]["body"]["packets_out"] == 2


def test_packets_keep_their_channel_both_ways_as_mapped(tmp_path: Path) -> None:
    """Two Receivers on two channels of the world, one of which is another one on the medium."""
    devices = (
        "five:Receiver channel=5, six:Receiver channel=6, receiver:Receiver channel=5, "
        "emitter:Emitter channel=5, other:Emitter channel=6"
    )
    script = f"{LATER}; send emitter on 5; send other on 6; step 32 x 0"
    data = config(
        to_medium={"five": "tx", "six": "tx"},
        channels={5: 12},
        mock={"devices": devices, "scripts": {"rover": script}},
    )
    data["airs"]["lab"]["nodes"]["remote"]["replies"] = {"on 5": "answer"}
    data["robots"]["ear"] = {"devices": {"rx": {"node": "Receiver", "channel": 6}}}

    async def act(gateway: Any) -> None:
        await until(lambda: gateway.report()["stations"]["ear.rx"]["delivered"] == 1)
        await until(lambda: gateway.report()["stations"]["xbee0"]["delivered"] == 1)
        await until(lambda: receptions(gateway) == [b"answer"])  # on 12, which is 5 in the world

    report = play(tmp_path, data, act)
    assert report["control_loops"]["gateway"]["forwarded"]["to_medium"] == 2
    assert report["stations"]["xbee0"]["accepted"] == 1  # of channel 12 alone


@pytest.mark.parametrize("loading_ms", [0, 3000])
def test_after_a_reset_it_returns_and_delivers_nothing_old(tmp_path: Path, loading_ms: int) -> None:
    data = config(mock={"scripts": {"rover": SILENT}, "loading_ms": loading_ms})
    data["robots"]["mouth"] = {"devices": {"tx": {"node": "Emitter", "channel": 12}}}

    async def act(gateway: Any) -> None:
        simulator, link = mock_of(gateway, "webots_simulator"), gateway.supervisors["gateway.body"]
        gateway.send("mouth.tx", b"before", None)
        await until(lambda: receptions(gateway) == [b"before"])
        # Waits for the next request when the world is reset:
        gateway.send("mouth.tx", b"old 1", None)
        await elapse(0.002)
        simulator.reset(gateway.timer.now())
        await until(lambda: not link.ready)
        gateway.send("mouth.tx", b"old 2", None)
        await until(lambda: link.ready)
        assert link.ups == 2
        await elapse(1.0)
        assert receptions(gateway) == []
        gateway.send("mouth.tx", b"new", None)
        await until(lambda: receptions(gateway) != [])
        assert receptions(gateway) == [b"new"]

    report = play(tmp_path, data, act)
    loop = report["control_loops"]["gateway"]
    assert loop["counts"]["body"]["quits"] == 1
    assert loop["refused"]["down"] == 1 and loop["counts"]["body"]["packets_discarded"] == 1
    if loading_ms:
        assert loop["counts"]["body"]["processing"] >= 1


def test_what_waited_for_the_radio_is_void_when_the_world_is_gone(tmp_path: Path) -> None:
    script = f"{LATER}; send emitter first; send emitter second; step 32 x 0"
    data = config(mock={"scripts": {"rover": script}})
    data["robots"]["gateway"]["devices"]["tx"] |= {"baudRate": 9600, "byteSize": 80_000}

    async def act(gateway: Any) -> None:
        emitter = gateway.robots["gateway"].emitters["tx"].emitter
        await until(lambda: emitter.queued == 2)
        mock_of(gateway, "webots_simulator").reset(gateway.timer.now())
        await until(lambda: emitter.queued == 0)

    report = play(tmp_path, data, act)
    assert report["emitters"]["gateway.tx"]["expired_by"]["body_gone"] == 2


def test_the_gateway_leaves_the_world_in_order(tmp_path: Path) -> None:
    """EXIT_NOTIFY and the four zero bytes, so that Webots does not wait for hilgw."""
    robots: list[Any] = []

    async def act(gateway: Any) -> None:
        simulator = mock_of(gateway, "webots_simulator")
        robots.append(simulator.world.robots["gateway"])
        assert robots[0].answer is not None

    play(tmp_path, config(), act)
    assert robots[0].robot.leaving and robots[0].answer is None
