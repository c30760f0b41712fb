"""Programs of others, unmodified: LIRC, and clients of a Create 2, a G-code machine, Dynamixel."""

import asyncio
import math
import re
import time
from collections import defaultdict
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from create_serial import create as create_serial
from dynamixel_sdk import (
    COMM_SUCCESS,
    GroupBulkRead,
    GroupSyncRead,
    GroupSyncWrite,
    PacketHandler,
    PortHandler,
    port_handler,
)
from grbl_streamer import GrblStreamer
from pycreate2 import Create2

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.plugins import new_air
from hilgw.protocols.ir import CODECS, Code
from hilgw.protocols.ir.base import TOGGLE
from hilgw.testing.sim import DEADLINE_S, until, wait_until
from hilgw.transports.virtual.pty import VirtualPort
from tests.e2e.lirc import Keys, lircd, output_of, pulses_of, remote, sent_by_irsend, shown_by_irw
from tests.e2e.running import ROOT, Gateway, report_in

CHARGE, CAPACITY, MODE, LEFT, RIGHT = 25, 26, 35, 43, 44  # packets of the Open Interface
CLIFF_LEFT_SIGNAL, VOLTAGE = 28, 22


def test_create_serial_drives(firmware_mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create_serial.time, "sleep", lambda seconds: None)
    robot = firmware_mock("create2", width=20, depth=20)
    client = create_serial.Create(str(robot.port), 115200)
    client.ser.timeout = 30  # a busy machine needs more than its half second
    assert client.getMode() == 2
    client.setWheelVelocities(20, 10)  # cm/s, left first
    wait_until(lambda: robot.mock.drive == (200, 100), what="the command")
    packets = [CHARGE, CAPACITY, LEFT, RIGHT, MODE]
    first = dict(client.sensors(packets))
    assert (first[CHARGE], first[CAPACITY], first[MODE]) == (2600, 2696, 2)
    wait_until(lambda: client.sensors(packets)[LEFT] > first[LEFT] + 50, what="the wheel to turn")
    ahead, _, turned = client.getPose()  # by its own reading of the encoders
    assert ahead > 0 and turned < 0
    group = client.sensors(6)
    assert (group[CLIFF_LEFT_SIGNAL], group[VOLTAGE]) == (2500, 15000)
    client.setLEDs(255, 128, 1, 0)
    wait_until(lambda: robot.mock.leds == (2, 255, 128), what="the lights")
    client.stop()
    wait_until(lambda: robot.mock.drive == (0, 0), what="the stop")
    client.close()
    wait_until(lambda: robot.mock.mode == 1, what="passive mode")


@pytest.fixture
def robot(firmware_mock: Any) -> Any:
    return firmware_mock("create2", width=20, depth=20)


def test_pycreate2_drives(robot: Any) -> None:
    client = Create2(str(robot.port))
    try:
        exchange(client, robot)
    finally:
        client.SCI.close()
        client.SCI = Mock()  # its destructor writes once more


def exchange(client: Create2, robot: Any) -> None:
    client.sleep_timer = 0
    client.SCI.ser.timeout = 30  # a busy machine needs more than its second
    client.start()
    client.safe()
    client.drive_direct(100, 200)  # right, left
    wait_until(lambda: robot.mock.drive == (200, 100), what="the command")
    client.led(2, 255, 128)
    client.createSong(1, [60, 8, 64, 8])
    client.playSong(1)
    client.digit_led_ascii("abcd")
    first = client.get_sensors()
    assert first.open_interface_mode == 2
    assert first.battery_capacity == 2696 and first.battery_charge == 2600
    assert first.cliff_left_signal == 2500
    assert (first.velocity_left, first.velocity_right) == (200, 100)
    wait_until(
        lambda: client.get_sensors().encoder_counts_left > first.encoder_counts_left + 50,
        what="the left wheel to turn",
    )
    assert client.get_sensors().bumps_wheeldrops.bump_left is False
    robot.set("wheel_drop", "both")
    wait_until(lambda: client.get_sensors().open_interface_mode == 1, what="passive mode")
    assert client.get_sensors().bumps_wheeldrops.wheeldrop_left is True
    assert robot.mock.drive == (0, 0) and robot.mock.leds == (2, 255, 128)
    client.stop()
    wait_until(lambda: robot.mock.mode == 0, what="the end")


SQUARE = "G21 G90\nG0 X10 Y10\nG1 X40 F6000\nY40\nX10\nY10\nG0 X0 Y0"


@pytest.fixture
def machine(firmware_mock: Any) -> Any:
    return firmware_mock("gcode_machine", max_rate=6000)


def test_it_streams_holds_resumes_and_reads_the_state(machine: Any) -> None:
    events: dict[str, list[Any]] = defaultdict(list)
    client = GrblStreamer(lambda name, *data: events[name].append(data))
    client.poll_interval = 0.02
    client.incremental_streaming = True  # else its two threads at times send a line twice
    client.cnect(str(machine.port), 115200)
    try:
        job_of(client, machine.mock, events)
    finally:
        client.disconnect()


def job_of(client: GrblStreamer, mock: Any, events: dict[str, list[Any]]) -> None:
    client.softreset()
    wait_until(lambda: bool(events["on_boot"]), what="the banner")
    client.poll_start()
    wait_until(lambda: client.cmode == "Idle", what="a status report")
    client.write(SQUARE)
    client.job_run()
    wait_until(lambda: client.cmode == "Run" and client.cmpos[0] > 12, what="the motion")
    client.hold()
    wait_until(lambda: client.cmode.startswith("Hold"), what="the feed hold")
    held = mock.position
    assert 12 < held[0] <= 40
    client.resume()
    wait_until(lambda: client.cmode == "Idle" and client.job_finished, what="the end of the job")
    expected = [(10, 10, 0), (40, 10, 0), (40, 40, 0), (10, 40, 0), (10, 10, 0), (0, 0, 0)]
    assert mock.drawn == expected
    assert client.cmpos == (0, 0, 0) and not events["on_error"]
    client.send_immediately("$foo")
    wait_until(lambda: bool(events["on_error"]), what="the error")
    assert events["on_error"][0][0] == "error:3"
    client.send_immediately("G1 X-5 F100")
    wait_until(lambda: bool(events["on_alarm"]), what="the soft limit")
    assert events["on_alarm"] == [("ALARM:2",)]
    client.softreset()
    wait_until(lambda: len(events["on_boot"]) == 2, what="the second start")
    client.killalarm()
    wait_until(lambda: client.cmode == "Idle", what="the end of the alarm")


def test_it_reads_writes_and_moves(firmware_mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The client's setting for slow ports: it waits 34 ms for an answer, which a busy machine needs.
    monkeypatch.setattr(port_handler, "LATENCY_TIMER", 5_000)
    bus = firmware_mock("dynamixel", ids="1, 2", baud_rate=115200)
    port, client = PortHandler(str(bus.port)), PacketHandler(2.0)
    assert port.openPort() and port.setBaudRate(115200)
    try:
        assert client.ping(port, 1) == (1060, COMM_SUCCESS, 0)
        servos, result = client.broadcastPing(port)
        assert result == COMM_SUCCESS and sorted(servos) == [1, 2]
        assert client.write1ByteTxRx(port, 1, 11, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 1, 64, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 1, 11, 3) == (COMM_SUCCESS, 7)  # locked: torque on
        assert client.write4ByteTxRx(port, 1, 104, 300) == (COMM_SUCCESS, 6)  # beyond the limit
        writer = GroupSyncWrite(port, client, 104, 4)
        writer.addParam(1, [100, 0, 0, 0])
        assert writer.txPacket() == COMM_SUCCESS
        wait_until(lambda: bus.mock.servos[1].moves, what="the servo to move")
        reader = GroupSyncRead(port, client, 128, 8)
        bulk = GroupBulkRead(port, client)
        for number in (1, 2):
            reader.addParam(number)
            bulk.addParam(number, 132, 4)
        assert reader.txRxPacket() == COMM_SUCCESS
        assert reader.getData(1, 128, 4) == 100 and reader.getData(2, 128, 4) == 0
        assert reader.fastSyncRead() == COMM_SUCCESS and bulk.fastBulkRead() == COMM_SUCCESS
        assert reader.getData(1, 128, 4) == 100 and bulk.getData(2, 132, 4) == 2048
        first = reader.getData(1, 132, 4)

        def has_turned() -> bool:
            assert bulk.txRxPacket() == COMM_SUCCESS
            return bool(bulk.getData(1, 132, 4) > first + 20)

        wait_until(has_turned, what="the servo to turn")
        assert bulk.getData(2, 132, 4) == 2048
        assert client.write1ByteTxRx(port, 1, 98, 1) == (COMM_SUCCESS, 0)  # bus watchdog, 20 ms
        wait_until(lambda: bus.mock.servos[1].tripped, what="the watchdog")
        assert not bus.mock.servos[1].moves
        assert client.read1ByteTxRx(port, 1, 98) == (255, COMM_SUCCESS, 0)
        assert client.reboot(port, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 2, 7, 5) == (COMM_SUCCESS, 0)  # another id
        for number in (1, 5):
            assert client.write1ByteTxRx(port, number, 8, 3) == (COMM_SUCCESS, 0)  # 1 Mbit/s
        assert port.setBaudRate(1_000_000)
        assert client.ping(port, 5) == (1060, COMM_SUCCESS, 0)
    finally:
        port.closePort()


TICK_US = 64 / 3
CODES = ("nec", "nec_ext", "rc5", "rc6", "rc6a", "sirc", "sirc15", "sirc20")
START, ROOM, END = b"\x24\x25\x26\x03", b"\x3e", b"\xff\xff"
CONFIG = str(ROOT / "configs" / "ir_toy.yaml")


def some_keys(name: str) -> Keys:
    """Keys at the ends of the range and in between."""
    traits = CODECS[name].traits
    last_address, last_command = (1 << traits.address_bits) - 1, (1 << traits.command_bits) - 1
    pairs = [
        (0, 0),
        (last_address, last_command),
        (last_address, 0),
        (0, last_command),
        (0x15555555 & last_address, 0x55 & last_command),
        (0x2AAAAAAA & last_address, 0x2A & last_command),
        (4, 8),
        (last_address >> 1, last_command >> 1),
    ]
    return {f"KEY_{number}": pair for number, pair in enumerate(pairs, 1)}


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * DEADLINE_S))


@pytest.mark.judge("irsimsend")
@pytest.mark.parametrize("name", CODES)
def test_what_lirc_sends_is_what_we_decode(name: str, tmp_path: Path) -> None:
    keys = some_keys(name)
    (tmp_path / "lircd.conf").write_text(remote(name, keys))

    async def scenario() -> None:
        await output_of("irsimsend", "-s", "100000", "lircd.conf", cwd=tmp_path)

    run(scenario())
    traits = CODECS[name].traits
    lines = (tmp_path / "simsend.out").read_text().splitlines()
    frames = pulses_of(lines, traits.gap_us)
    reported = [CODECS[name].decode(frame) for frame in frames]
    assert [(code.address, code.command) for code in reported if isinstance(code, Code)] == [
        pair for pair in keys.values() for _ in range(len(frames) // len(keys))
    ]
    for frame, code in zip(frames, reported, strict=True):
        assert isinstance(code, Code)
        assert CODECS[name].encode(code) == pytest.approx(frame, abs=4)


@pytest.mark.judge("irsimreceive")
@pytest.mark.parametrize("name", CODES)
def test_what_we_send_is_what_lirc_decodes(name: str, tmp_path: Path) -> None:
    """Also when a receiver has stretched the marks."""
    keys, one = some_keys(name), CODECS[name]
    (tmp_path / "lircd.conf").write_text(remote(name, keys))
    lines = ["space 200000"]  # LIRC swallows what comes first
    presses = 0
    for stretch_us in (0, 50):
        for pair in keys.values():
            toggle = presses % 2 if one.traits.held == TOGGLE else 0
            frame = one.encode(Code(*pair, toggle))
            presses += 1
            for _ in range(one.traits.sends):
                for place, us in enumerate(frame):
                    kind, more = (("pulse", stretch_us), ("space", -stretch_us))[place % 2]
                    lines.append(f"{kind} {us + more}")
                lines.append(f"space {one.traits.period_us - sum(frame)}")
            lines[-1] = "space 400000"
    (tmp_path / "light").write_text("\n".join(lines) + "\n")

    async def scenario() -> str:
        return await output_of("irsimreceive", "lircd.conf", "light", cwd=tmp_path)

    text = asyncio.run(asyncio.wait_for(scenario(), 60))
    names = re.findall(r"^[0-9a-f]{16} 00 (KEY_\d) ", text, re.MULTILINE)
    assert names == list(keys) * 2, text


class Tape:
    """A mock, and all that goes in and out of it with its time in seconds."""

    def __init__(self, mock: Any) -> None:
        self._mock = mock
        self.received: list[tuple[float, bytes]] = []
        self.reported: list[tuple[float, bytes]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mock, name)

    def receive(self, data: bytes, now: int) -> None:
        self.received.append((now / 1e9, data))
        self._mock.receive(data, now)

    def take(self, now: int) -> bytes:
        data: bytes = self._mock.take(now)
        if data:
            self.reported.append((now / 1e9, data))
        return data


class Room:
    """Toys on virtual ports, in one air."""

    def __init__(self) -> None:
        self.timer = Timer(asyncio.get_running_loop())
        self.host = MockHost(self.timer, new_air())

    def add(self, port: Path, **parameters: Any) -> Tape:
        tape = Tape(create_mock("ir_toy", port.name, self.host.air, parameters, (0.0, 0.0, 0.0)))
        self.host.add(tape, VirtualPort(self.timer, str(port)))
        return tape

    def close(self) -> None:
        self.host.close()
        self.timer.close()


def in_room(scenario: Any) -> None:
    async def play() -> None:
        room = Room()
        try:
            await scenario(room)
        finally:
            room.close()

    run(play())


@pytest.mark.judge("lircd", "irsend")
@pytest.mark.parametrize("name", ["nec", "rc5", "rc6", "sirc"])
def test_what_irsend_sends_decodes_in_our_codec(name: str, tmp_path: Path) -> None:
    """Bytes, count and time: irsend's exit code is not enough."""
    code, pair = Code(4, 0x2A), (4, 0x2A)

    async def scenario(room: Room) -> None:
        port = tmp_path / "ir0"
        toy, other = room.add(port), room.add(tmp_path / "ir1")
        other.receive(b"s", room.timer.now())
        # Without repeats: LIRC waits for ever when it is late for one.
        conf = remote(name, {"KEY_OK": pair}).replace("  min_repeat 2\n", "")
        async with lircd(tmp_path, port, conf) as socket:
            command = ["irsend", "-d", str(socket), "SEND_ONCE", name, "KEY_OK"]
            end = time.monotonic() + DEADLINE_S
            reported = "late"
            while reported:  # late with a block, as on a loaded machine, it reports it
                assert time.monotonic() < end, reported
                toy.received.clear()
                toy.reported.clear()
                reported = await output_of(*command, cwd=tmp_path)
            await until(lambda: all_of(toy.reported).endswith(b"C"), what="the end")
            samples = lambda: all_of(other.reported).removeprefix(b"S01")  # noqa: E731
            await until(lambda: pairs_in(name, samples())[-1:] == [pair], what="the other toy")

        wire = all_of(toy.received).partition(START)[2]
        burst = wire.partition(END)[0] + END
        assert pairs_in(name, burst) == [pair]
        # One byte before the first block and one for each, the last one too; the result.
        answers = ROOM * (1 + math.ceil(len(burst) / 62))
        answers += b"t" + len(burst).to_bytes(2, "big") + b"C"
        assert all_of(toy.reported).removeprefix(b"V222").removeprefix(b"S01") == answers
        started = next(at for at, data in toy.received if data.endswith(START[-1:]))
        light_s = sum(CODECS[name].encode(code)) / 1e6
        assert toy.reported[-1][0] - started >= light_s

    in_room(scenario)


def all_of(tape: list[tuple[float, bytes]]) -> bytes:
    return b"".join(data for _, data in tape)


def pairs_in(name: str, samples: bytes) -> list[tuple[int, int] | None]:
    """Address and command of each frame in a burst."""
    counts = [samples[at] << 8 | samples[at + 1] for at in range(0, len(samples), 2)]
    light = [round(count * TICK_US) for count in counts if count != 0xFFFF]
    frames = pulses_of(as_lines(light), CODECS[name].traits.gap_us)
    return [pair_of(name, frame) for frame in frames]


def as_lines(light: list[int]) -> list[str]:
    return [f"{('pulse', 'space')[place % 2]} {us}" for place, us in enumerate(light)]


def pair_of(name: str, frame: list[int]) -> tuple[int, int] | None:
    code = CODECS[name].decode(frame)
    return (code.address, code.command) if isinstance(code, Code) else None


@pytest.mark.judge("lircd", "irw", "irsend")
def test_lirc_and_a_simulated_robot_receive_each_other(tmp_path: Path) -> None:
    """The shipped configuration, LIRC on its spare toy."""
    conf = remote("nec", {"KEY_L": (4, ord("L")), "KEY_K": (4, ord("K")), "KEY_Y": (4, ord("Y"))})
    gateway = Gateway(tmp_path, ["--config", CONFIG, "--report", "out.json"])

    async def scenario() -> None:
        wanted = [" 00 KEY_L nec\n", " 00 KEY_K nec\n"]  # both senders of the file
        shows_all = lambda text: all(line in text for line in wanted)  # noqa: E731
        await shown_by_irw(tmp_path, tmp_path / "ir-spare", [conf], shows_all)
        came = lambda: '"Y"' in gateway.text()  # noqa: E731
        await sent_by_irsend(tmp_path, tmp_path / "ir-spare", conf, "KEY_Y", came)

    try:
        run(scenario())
        assert gateway.stop() == 130
    finally:
        gateway.stop()
    text = gateway.text()
    assert re.search(r'ir0 +ch 4 +"Y" 1 B +from 04 +-> rover\.rx', text), text
    assert report_in(tmp_path)["stations"]["ir0"]["delivered"] >= 1
