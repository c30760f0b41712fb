"""Emitters and Receivers on the medium: of a loop's controller, and of the gateway robot."""

import struct
from pathlib import Path
from typing import Any

import pytest
import yaml

from firmware_mocks.wc2ec import wire
from firmware_mocks.webots_simulator import Simulator
from hilgw.engine.observer import State
from hilgw.units import NS_PER_S
from tests.e2e.control_loop_peers import CAB, ROTATIONAL, Devices, set_value
from tests.engine.control_loop.running import RunningLoop, SimGateway, SimPeer, robot_of

EMITTER, RECEIVER = wire.types_of("R2020a").emitter, wire.types_of("R2020a").receiver
TX, RX = 3, 4  # after the three devices of the robot


def file(*, body: str = "", emitter: str = "") -> str:
    return f"""version: 1
backend: real
webots: R2020a
robots:
  cab:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, channel: 5, allowedChannels: [5, 6, 7]{emitter}}}
      rx: {{node: Receiver, channel: 5, sampling_period_ms: 1}}
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:PORT", simulated: true{body}}}
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:0", extensions: true}}
  other:
    position: [0, 2, 0]
    devices:
      tx: {{node: Emitter, channel: 5}}
      rx: {{node: Receiver, channel: -1, sampling_period_ms: 1}}
"""


class Radioed(RunningLoop):
    """A loop beside another robot, which only has radios."""

    def __init__(self, folder: Path, devices: Devices = CAB, **settings: Any) -> None:
        super().__init__(folder, text=file(**settings), devices=devices)

    def pilot(self) -> SimPeer:
        """A controller that has the gateway's own devices too."""
        controller = self.controller()
        controller.wait_for(wire.registration(RECEIVER, RX, b"rx"))
        return controller

    def receptions(self, robot: str) -> int:
        count: int = self.gateway.report()["stations"][f"{robot}.rx"]["delivered"]
        return count


def packet(channel: int, data: bytes, index: int = TX) -> bytes:
    head = bytes((wire.SET_VALUE, EMITTER, index))
    return head + struct.pack("<iI", channel, len(data)) + data


def tune_receiver(channel: int, period_ms: int) -> bytes:
    return bytes((wire.SET_SENSOR, RECEIVER, RX)) + struct.pack("<ii", channel, period_ms)


def tune_emitter(channel: int, range_m: float) -> bytes:
    return bytes((wire.SET_SENSOR, EMITTER, TX)) + struct.pack("<id", channel, range_m)


def test_a_packet_of_the_controller_is_received_by_others_and_not_by_itself(tmp_path: Path) -> None:
    with Radioed(tmp_path) as running:
        controller = running.pilot()
        controller.send(packet(7, bytes(range(256))))
        running.until(lambda: running.receptions("other") == 1, "the packet")
        assert running.receptions("cab") == 0
        assert robot_of(running).received == b""  # the robot's own radio is not asked


def test_a_channel_that_is_not_allowed_is_refused_and_reported(tmp_path: Path) -> None:
    with Radioed(tmp_path) as running:
        controller = running.pilot()
        controller.send(packet(9, b"x"))
        controller.wait_for(wire.bare(wire.ERROR, EMITTER, TX))
        controller.send(tune_emitter(9, -1.0))
        controller.wait_for(wire.bare(wire.ERROR, EMITTER, TX))
        assert running.report()["refused"] == {"channel": 1, "not_allowed": 1}


def test_what_one_controller_tuned_the_next_finds_as_the_file_has_it(tmp_path: Path) -> None:
    with Radioed(tmp_path) as running:
        robot = running.gateway.robots["cab"]
        controller = running.pilot()
        controller.send(tune_emitter(6, 1.0), tune_receiver(7, 20))
        running.until(lambda: robot.receivers["rx"].receiver.getChannel() == 7)
        assert robot.emitters["tx"].emitter.getChannel() == 6
        assert robot.emitters["tx"].emitter.range == 1.0
        controller.send(packet(5, b"near"))  # 2 m away: out of range
        controller.send(wire.bare(wire.DISABLE_SENSOR, RECEIVER, RX))
        running.until(lambda: not robot.receivers["rx"].receiver.enabled)
        controller.finish()
        running.until(lambda: robot.receivers["rx"].receiver.enabled)
        following = running.pilot()
        assert robot.emitters["tx"].emitter.getChannel() == 5
        assert robot.receivers["rx"].receiver.getChannel() == 5
        assert running.receptions("other") == 0
        following.send(packet(5, b"far"))
        running.until(lambda: running.receptions("other") == 1)


def test_the_latencies_of_radios_are_those_of_the_last_connection(tmp_path: Path) -> None:
    with Radioed(tmp_path) as running:
        controller = running.pilot()
        controller.send(packet(7, b"out"))
        running.gateway.send("other.tx", b"in", None)
        running.until(lambda: latencies(running) == [1, 1], "both ways")
        controller.finish()
        running.until(lambda: running.log.saw("cab.controller", State.WAITING), "it left")
        running.pilot()
        assert latencies(running) == [0, 0]


def latencies(running: Radioed) -> list[int]:
    """How many packets each radio has measured."""
    report = running.gateway.report()["latency"]
    return [report[f"cab.{name}"]["count"] for name in ("tx", "rx")]


def test_a_device_of_the_robot_with_the_same_name_gives_its_index(tmp_path: Path) -> None:
    devices: Devices = ((EMITTER, "tx"), (ROTATIONAL, "left"), (RECEIVER, "rx"))
    with Radioed(tmp_path, devices, body=", extensions: true") as running:
        controller = running.controller()
        assert controller.received == b""
        running.until(lambda: running.log.saw("cab.controller", State.UP))
        controller.send(packet(5, b"mine", 0), set_value(1, 1.0))
        running.until(lambda: running.receptions("other") == 1)
        robot_of(running).wait_for(set_value(1, 1.0))
        assert robot_of(running).received == b""


def test_a_packet_of_the_body_enters_through_the_receiver_of_its_name(tmp_path: Path) -> None:
    """It is delivered to the controller or counted with its reason, and the ledger adds up."""
    devices: Devices = ((EMITTER, "tx"), (ROTATIONAL, "left"), (RECEIVER, "rx"))
    with Radioed(tmp_path, devices, body=", extensions: true") as running:
        controller = running.controller()
        running.until(lambda: running.log.saw("cab.controller", State.UP))
        receptions = [
            wire.received_packet(RECEIVER, 2, 5, 0.25, (1.0, 0.0, 0.0), bytes((number,)))
            for number in range(4)
        ]
        robot_of(running).send(*receptions)
        controller.wait_for(b"".join(receptions))
        controller.send(wire.bare(wire.DISABLE_SENSOR, RECEIVER, 2))
        robot = running.gateway.robots["cab"]
        running.until(lambda: not robot.receivers["rx"].receiver.enabled)
        robot_of(running).send(receptions[0])
        running.until(lambda: counts(running)["refused"] == {"disabled": 1})
        running.gateway.send("other.tx", b"radio", None)
        counted = counts(running)
        assert (counted["accepted"], counted["delivered"], counted["from_body"]) == (5, 4, 5)
        assert running.gateway.ledger.violations() == []


def counts(running: RunningLoop) -> dict[str, Any]:
    counted: dict[str, Any] = running.gateway.report()["stations"]["cab.rx"]
    return counted


def test_packets_of_the_robots_own_radios_pass_through(tmp_path: Path) -> None:
    devices: Devices = (*CAB, (EMITTER, "own_tx"), (RECEIVER, "own_rx"))
    with Radioed(tmp_path, devices, body=", extensions: true") as running:
        controller = running.controller()
        controller.send(packet(3, b"to the simulation", 3))
        robot_of(running).wait_for(packet(3, b"to the simulation", 3))
        receptions = wire.received_packet(RECEIVER, 4, 5, 1.0, (1.0, 0.0, 0.0), b"simulated")
        robot_of(running).send(receptions)
        controller.wait_for(receptions)


def test_the_signal_of_a_packet_reaches_the_controller(tmp_path: Path) -> None:
    with Radioed(tmp_path) as running:
        controller = running.pilot()
        running.gateway.send("other.tx", b"x", None)
        message = wire.received_packet(RECEIVER, RX, 5, 0.25, (0.0, 1.0, 0.0), b"x")
        controller.wait_for(message[:7])
        running.until(lambda: len(controller.poll()) >= len(message) - 7)
        signal = struct.unpack_from("<dddd", controller.received)
        assert signal == pytest.approx((0.25, 0.0, 1.0, 0.0))


def test_a_buffer_that_is_full_refuses_a_packet_of_the_controller(tmp_path: Path) -> None:
    with Radioed(tmp_path, emitter=", bufferSize: 4") as running:
        controller = running.pilot()
        controller.send(packet(5, b"12345"))
        controller.wait_for(wire.bare(wire.ERROR, EMITTER, TX))
        assert running.report()["refused"] == {"full": 1}


@pytest.mark.parametrize(
    ("fields", "waits_s"), [("baudRate: 0", None), ("byteSize: 8000, baudRate: 1", 40_000)]
)
def test_a_packet_of_the_controller_waits_for_the_line_of_the_emitter(
    tmp_path: Path, fields: str, waits_s: int | None
) -> None:
    with Radioed(tmp_path, emitter=f", {fields}") as running:
        running.pilot().send(packet(5, b"12345"))
        emitter = running.gateway.robots["cab"].emitters["tx"].emitter
        running.until(lambda: emitter.queued == 1)
        due = emitter.next_departure()
        found_s = None if due is None else (due - running.clock.time) / NS_PER_S
        assert found_s == (None if waits_s is None else pytest.approx(waits_s, rel=1e-3))


SHIPPED = Path(__file__).parents[3] / "configs" / "webots.yaml"
SILENT = "enable receiver 32; step 32 x 0"
LATER = "enable receiver 32; step 32 x 60"  # when the others are there


def config(**body: Any) -> dict[str, Any]:
    """The shipped configuration. mock: parameters of its simulator."""
    data: dict[str, Any] = yaml.safe_load(SHIPPED.read_text())
    settings = data["robots"]["gateway"]["body"]
    settings["mock"] |= body.pop("mock", {})
    settings |= body
    return data | {"backend": "loopback"}


class World(SimGateway):
    """A gateway robot in a simulator that is a mock."""

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        super().__init__()
        self.load(folder, yaml.safe_dump(data))
        mocks = [mock for host in self.gateway.hosts for mock in host.mocks]
        self.simulator: Any = next(each for each in mocks if isinstance(each, Simulator))

    def started(self) -> None:
        self.until(lambda: all(each.ready for each in self.gateway.supervisors.values()))

    def end(self) -> None:
        super().end()
        assert self.gateway.ledger.violations() == []

    def receptions(self) -> list[bytes]:
        """What the Receiver of the other robot in the world has in its queue."""
        receiver = self.simulator.inside["rover"].library.find("receiver")
        return [] if receiver is None else [packet.data for packet in receiver.packets]


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
    with World(tmp_path, data) as world:
        world.until(world.receptions)
        assert world.receptions() == [b"answer"]  # on 12, which is 5 in the world
    report = world.gateway.report()
    assert report["stations"]["ear.rx"]["delivered"] == 1
    assert report["control_loops"]["gateway"]["forwarded"]["to_medium"] == 2
    assert report["stations"]["xbee0"]["accepted"] == 1  # of channel 12 alone


@pytest.mark.parametrize("loading_ms", [0, 3000])
def test_after_a_reset_it_returns_and_delivers_nothing_old(tmp_path: Path, loading_ms: int) -> None:
    data = config(mock={"scripts": {"rover": SILENT}, "loading_ms": loading_ms})
    data["robots"]["mouth"] = {"devices": {"tx": {"node": "Emitter", "channel": 12}}}
    with World(tmp_path, data) as world:
        gateway, link = world.gateway, world.gateway.supervisors["gateway.body"]
        gateway.send("mouth.tx", b"before", None)
        world.until(lambda: world.receptions() == [b"before"])
        # Waits for the next request when the world is reset:
        gateway.send("mouth.tx", b"old 1", None)
        world.advance(0.002)
        world.simulator.reset(world.clock.now())
        world.until(lambda: not link.ready)
        gateway.send("mouth.tx", b"old 2", None)
        world.until(lambda: link.ready)
        assert link.ups == 2
        world.advance(1.0)
        assert world.receptions() == []
        gateway.send("mouth.tx", b"new", None)
        world.until(world.receptions)
        assert world.receptions() == [b"new"]
    loop = world.gateway.report()["control_loops"]["gateway"]
    assert loop["counts"]["body"]["quits"] == 1
    assert loop["refused"]["down"] == 1 and loop["counts"]["body"]["packets_discarded"] == 1
    if loading_ms:
        assert loop["counts"]["body"]["processing"] >= 1


def test_what_waited_for_the_radio_is_void_when_the_world_is_gone(tmp_path: Path) -> None:
    script = f"{LATER}; send emitter first; send emitter second; step 32 x 0"
    data = config(mock={"scripts": {"rover": script}})
    data["robots"]["gateway"]["devices"]["tx"] |= {"baudRate": 9600, "byteSize": 80_000}
    with World(tmp_path, data) as world:
        emitter = world.gateway.robots["gateway"].emitters["tx"].emitter
        world.until(lambda: emitter.queued == 2)
        world.simulator.reset(world.clock.now())
        world.until(lambda: emitter.queued == 0)
    report = world.gateway.report()
    assert report["emitters"]["gateway.tx"]["expired_by"]["body_gone"] == 2
