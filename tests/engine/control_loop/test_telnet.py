"""A body at a raw address on the network, behind which telnet doubles each FF of its answers."""

import pytest

from hilgw.errors import MismatchError
from tests.engine.control_loop.on_mocks import OnMock, declared

SAFETY = {"command_timeout_s": 60.0, "late_s": 1.0, "latch": False}


class Behind(OnMock):
    """doubles: telnet is in between; also of what it makes of our bytes, the stop is the last."""

    doubles = False

    def plug(self) -> None:
        self.loop.robot.name = "socket://10.0.0.1:4001"
        super().plug()

    def carry(self) -> None:
        take = self.mock.take
        if self.doubles:
            self.mock.take = lambda now: take(now).replace(b"\xff", b"\xff\xff")
        try:
            super().carry()
        finally:
            self.mock.take = take


@pytest.mark.parametrize("kind", ["create2", "dynamixel"])
def test_answers_with_each_ff_twice_stop_the_body_and_are_named(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("left wheel sensor", "right wheel sensor")
    settings = declared(kind).settings_with(always_on=names)
    robot = Behind(kind, settings, **SAFETY).start()
    monkeypatch.setattr(robot.loop, "settle", lambda: False)  # which forgets what failed
    robot.command(*{"create2": (-0.3, -0.3), "dynamixel": (-1.0, -1.0)}[kind])
    robot.run(6_000)  # backwards, beyond zero: the answers have many FF
    assert robot.loop.failures == [] and robot.moves
    robot.written, robot.doubles = b"", True
    robot.run(3_000, until=lambda: robot.loop.failures)
    robot.carry()
    assert robot.stop.search(robot.written)
    ((name, error), *_) = robot.loop.failures
    assert name == "cab.body" and isinstance(error, MismatchError)
    assert "telnet" in error.what and "rfc2217://" in error.fix


def test_a_body_on_a_serial_line_is_not_suspected() -> None:
    robot = Behind("create2", **SAFETY).start()
    robot.loop.robot.name = "/dev/ttyUSB0"
    robot.loop.body.attach(robot.loop.robot)
    robot.run(2_000)
    robot.doubles = True
    robot.command(-0.5, -0.5)
    robot.run(3_000)
    assert not [error for _, error in robot.loop.failures if isinstance(error, MismatchError)]
