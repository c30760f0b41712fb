"""create-serial, a client of others, unmodified on the mock of the Create 2."""

from typing import Any

import pytest
from create_serial import create as create_serial

from hilgw.testing.sim import wait_until

CHARGE, CAPACITY, MODE, LEFT, RIGHT = 25, 26, 35, 43, 44  # packets of the Open Interface
CLIFF_LEFT_SIGNAL, VOLTAGE = 28, 22


def test_it_drives_reads_and_stops(firmware_mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
