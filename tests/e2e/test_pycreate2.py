"""pycreate2, a client of others, unmodified on the mock of the Create 2."""

from typing import Any
from unittest.mock import Mock

import pytest
from pycreate2 import Create2

from hilgw.testing.sim import wait_until


@pytest.fixture
def robot(firmware_mock: Any) -> Any:
    return firmware_mock("create2", width=20, depth=20)


def test_it_drives_reads_and_stops(robot: Any) -> None:
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
