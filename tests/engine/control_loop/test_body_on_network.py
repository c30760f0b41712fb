"""A body on the network, whose connection may be dead though it takes all bytes."""

from typing import Any

import pytest

from hilgw.engine.control_loop.peer_link import UNANSWERED_NS
from hilgw.units import NS_PER_MS
from tests.engine.control_loop.on_mocks import OnMock


class Swallowed(OnMock):
    """Behind a box that acknowledges all bytes and, once it swallows, passes none on."""

    swallows = False
    name = "socket://10.0.0.1:4001"

    def plug(self) -> None:
        self.loop.robot.name = self.name
        super().plug()

    def put(self, data: Any) -> None:
        super().put(b"" if self.swallows else data)

    def collected(self, data: bytes) -> None:
        super().collected(b"" if self.swallows else data)


@pytest.mark.parametrize("is_remote", [True, False])
def test_a_connection_without_answers_is_given_up(
    is_remote: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the silence of a robot, and where it answers nothing from the first byte on."""
    monkeypatch.setattr(Swallowed, "name", Swallowed.name if is_remote else "/dev/ttyUSB0")
    robot = Swallowed("create2", late_s=60.0, command_timeout_s=60.0).start()
    monkeypatch.setattr(robot.loop, "settle", lambda: False)  # which forgets what failed
    robot.swallows = True
    reasons = []
    for limit_ms in (2_000, UNANSWERED_NS // NS_PER_MS + 1_000):
        robot.run(limit_ms)
        reasons.append(str(robot.loop.failures[0][1]) if robot.loop.failures else "")
        robot.loop.failures.clear()
        robot.loop.body.detach()
        robot.plug()
    if is_remote:
        assert "silent for 0.5 s" in reasons[0] and "no answer on this connection" in reasons[1]
    else:
        assert reasons == ["", ""]
