"""What observers get once a second: nothing of a body that is gone counts as current."""

from hilgw.engine.observer import ControlLoopStatus
from tests.e2e.control_loop_peers import sensor_data, set_value
from tests.engine.control_loop.fakes import FakeLoop


def moved() -> FakeLoop:
    loop = FakeLoop()
    loop.loop.start()
    loop.robot_comes()
    loop.run(200)
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 5.0))
    loop.body.data_received(sensor_data(0, 0.75))
    return loop


def last(loop: FakeLoop) -> ControlLoopStatus:
    loop.run(1000)
    return loop.observer.statuses[-1]


def test_while_the_body_is_gone_its_values_are_of_the_past() -> None:
    loop = moved()
    status = last(loop)
    assert status.body_down_s is None and status.motors == {"left": {"velocity": 5.0}}
    assert status.sensors == {"ds": 0.75}
    loop.robot_leaves()
    loop.run(3000)
    status = loop.observer.statuses[-1]
    assert status.body_down_s is not None and 2 < status.body_down_s <= 3
    assert status.motors == {} and status.past_motors == {"left": {"velocity": 5.0}}
    assert status.sensors == {} and status.past_sensors == {"ds": 0.75}
    assert loop.loop.report()["motors"] == {"left": {"velocity": 5.0}}
    assert loop.loop.report()["sensors"] == {"ds": 0.75}


def test_the_body_that_returns_was_given_nothing_yet() -> None:
    loop = moved()
    loop.robot_leaves()
    loop.robot_comes()
    status = last(loop)
    assert status.body_down_s is None and status.motors == {}
    assert status.past_motors == {"left": {"velocity": 5.0}}
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 2.0))
    status = last(loop)
    assert status.motors == {"left": {"velocity": 2.0}} and status.past_motors == {}


def test_a_command_that_the_connection_did_not_take_was_not_applied() -> None:
    loop = moved()
    loop.robot.full = True
    loop.controller.data_received(set_value(1, -3.0))
    assert loop.statistics.motors == {"left": {"velocity": 5.0}}
    assert loop.loop.report()["commands_out"] == 1
