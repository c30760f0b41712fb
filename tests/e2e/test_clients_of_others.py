"""Clients of others, unmodified on the mocks of robots: Create 2, G-code machine, Dynamixel."""

from collections import defaultdict
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

from hilgw.testing.sim import wait_until

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
        found, result = client.broadcastPing(port)
        assert result == COMM_SUCCESS and sorted(found) == [1, 2]
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
