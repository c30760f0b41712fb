"""A controller that computes for long between two steps is named once."""

from collections import Counter

from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.engine.control_loop.servers.webots_server import PAUSE_S, Pause
from hilgw.protocols.webots.requests import encode_request
from hilgw.protocols.webots.robot_messages import RobotConfiguration


class Session:
    is_served = False

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()


def test_a_pause_is_long_once_and_a_step_ends_it() -> None:
    session = Session()
    pause = Pause(session)
    seen = [pause.is_long(at / 2, runs=True) for at in range(40)]
    assert seen.index(True) == PAUSE_S * 2 and seen.count(True) == 1
    session.counts["steps"] += 1
    assert [pause.is_long(20.0 + at, runs=True) for at in range(7)] == [False] * 5 + [True, False]


def test_a_controller_that_waits_for_an_answer_or_is_absent_makes_no_pause() -> None:
    session = Session()
    pause = Pause(session)
    session.is_served = True
    assert not any(pause.is_long(float(at), runs=True) for at in range(20))
    session.is_served = False
    assert not any(pause.is_long(20.0 + at, runs=False) for at in range(20))
    assert [pause.is_long(40.0 + at, runs=True) for at in range(6)] == [False] * 4 + [True, False]


def test_a_session_serves_while_a_request_waits_and_after_the_end() -> None:
    session = WebotsControllerSession(RobotConfiguration(name="rover", basicTimeStep=32.0))
    session.open(0)
    assert not session.is_served
    session.receive(encode_request(0, ()), 0)
    assert session.is_served
    session.answer(0)
    assert not session.is_served
    session.receive(encode_request(32, ()), 0)
    assert session.is_served
    session.quit()
    assert session.is_served
