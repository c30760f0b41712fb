"""Emitters and Receivers that the configuration lists: on the medium, for the loop's controller."""

import struct
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.engine.observer import State
from tests.e2e.control_loop_peers import CAB, ROTATIONAL, Devices, set_value
from tests.engine.control_loop.running import RunningLoop, SimPeer, robot_of

EMITTER, RECEIVER = wire.types_of("R2020a").emitter, wire.types_of("R2020a").receiver
TX, RX = 3, 4  # after the three devices of the robot


def file(*, extensions: bool = True, body: str = "", emitter: str = "") -> str:
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
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:0", extensions: {str(extensions).lower()}}}
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
        found = counts(running)
        assert (found["accepted"], found["delivered"], found["from_body"]) == (5, 4, 5)
        assert running.gateway.ledger.violations() == []


def counts(running: RunningLoop) -> dict[str, Any]:
    found: dict[str, Any] = running.gateway.report()["stations"]["cab.rx"]
    return found


def test_packets_of_the_robots_own_radios_pass_through(tmp_path: Path) -> None:
    devices: Devices = (*CAB, (EMITTER, "own_tx"), (RECEIVER, "own_rx"))
    with Radioed(tmp_path, devices, body=", extensions: true") as running:
        controller = running.controller()
        controller.send(packet(3, b"to the simulation", 3))
        robot_of(running).wait_for(packet(3, b"to the simulation", 3))
        receptions = wire.received_packet(RECEIVER, 4, 5, 1.0, (1.0, 0.0, 0.0), b"simulated")
        robot_of(running).send(receptions)
        controller.wait_for(receptions)


FIELDS: dict[str, str] = {"bufferSize": "4", "baudRate": "0", "byteSize": "8000, baudRate: 1"}


@pytest.mark.parametrize("extensions", [True, False])
@pytest.mark.parametrize("field", ["channel", "range", "signalStrength, direction", *FIELDS])
def test_each_field_maps_as_the_page_has_it(tmp_path: Path, field: str, extensions: bool) -> None:
    assert f"| {field} |" in (Path(__file__).parents[3] / "docs" / "wc2ec-wire.md").read_text()
    emitter = f", {field}: {FIELDS[field]}" if field in FIELDS else ""
    with Radioed(tmp_path, extensions=extensions, emitter=emitter) as running:
        controller = running.pilot()
        if not extensions:
            check_not_carried(running, controller, field)
        elif field in FIELDS:
            check_emitter_obeys(running, controller, field)
        else:
            check_carried(running, controller, field)


def check_not_carried(running: Radioed, controller: SimPeer, field: str) -> None:
    if field.startswith("signal"):
        running.gateway.send("other.tx", b"x", None)
        running.until(lambda: running.report()["refused"] == {"no_extensions": 1})
        assert controller.received == b""
        return
    controller.send(tune_emitter(7, 1.0) if field == "range" else packet(7, b"12345"))
    controller.wait_for_end()
    own = running.gateway.robots["cab"].emitters["tx"].emitter
    assert (own.getChannel(), own.range, own.queued) == (5, -1.0, 0)
    assert running.receptions("other") == 0


def check_emitter_obeys(running: Radioed, controller: SimPeer, field: str) -> None:
    emitter = running.gateway.robots["cab"].emitters["tx"].emitter
    controller.send(packet(5, b"12345"))
    if field == "bufferSize":
        controller.wait_for(wire.bare(wire.ERROR, EMITTER, TX))
        assert running.report()["refused"] == {"full": 1}
        return
    running.until(lambda: emitter.queued == 1)
    due, now = (emitter.next_departure(), running.gateway.timer.now())
    if field == "baudRate":
        assert due is None  # nothing ever leaves at 0 bit/s
    else:
        assert due is not None and due - now > 5 * 7999 * 1_000_000_000  # 8000 s per byte


def check_carried(running: Radioed, controller: SimPeer, field: str) -> None:
    robot = running.gateway.robots["cab"]
    if field == "range":
        controller.send(tune_emitter(7, 1.5))
        running.until(lambda: robot.emitters["tx"].emitter.range == 1.5)
    elif field == "channel":
        controller.send(tune_emitter(7, -1.0), tune_receiver(6, 1))
        running.until(lambda: robot.receivers["rx"].receiver.getChannel() == 6)
        assert robot.emitters["tx"].emitter.getChannel() == 7
        controller.send(packet(5, b"x"))
        running.until(lambda: running.receptions("other") == 1)
    else:
        running.gateway.send("other.tx", b"x", None)
        found = wire.received_packet(RECEIVER, RX, 5, 0.25, (0.0, 1.0, 0.0), b"x")
        controller.wait_for(found[:7])
        running.until(lambda: len(controller.poll()) >= len(found) - 7)
        signal = struct.unpack_from("<dddd", controller.received)
        assert signal == pytest.approx((0.25, 0.0, 1.0, 0.0))
