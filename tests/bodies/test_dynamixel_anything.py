"""Dynamixel servos to which anything happens in any order: a stop holds, and they come back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hilgw.control.events import Disconnected, HardwareFault, Refused, StopReason
from tests.bodies.bench import BodyBench
from tests.bodies.kinds import DYNAMIXEL, LEFT, RIGHT
from tests.bodies.servos import stands

motor = st.sampled_from([LEFT, RIGHT])
number = st.sampled_from([1, 2])
HAPPENS = st.one_of(
    st.tuples(st.just("velocity"), motor, st.sampled_from([-3.0, -1.0, 0.0, 2.0])),
    st.tuples(st.just("position"), motor, st.sampled_from([-1.0, 0.0, 1.2, math.inf, 99.0])),
    st.tuples(st.just("acceleration"), motor, st.sampled_from([-1.0, 3.0])),
    st.tuples(
        st.just("settings"), motor, st.sampled_from([(1.0, 0.0), (math.inf, 0.0), (0.5, 1.0)])
    ),
    st.tuples(st.just("stop"), st.none(), st.none()),
    st.tuples(st.just("stop_motor"), motor, st.none()),
    st.tuples(st.just("restart"), number, st.none()),
    st.tuples(st.just("error"), number, st.sampled_from([0, 1, 4, 33])),
    st.tuples(st.just("register"), number, st.sampled_from([(98, 0), (98, 60), (64, 0), (64, 1)])),
    st.tuples(st.just("cut"), st.booleans(), st.none()),
    st.tuples(st.just("reopen"), st.none(), st.none()),
)


def happen(line: BodyBench, what: str, whom: Any, value: Any) -> None:
    session, servos = line.session, line.mock.servos
    if what in ("velocity", "position", "acceleration"):
        line.command(whom, what, value)
    elif what == "settings":
        line.settings(whom, *value, -1.0, 1.0)
    elif what == "stop":
        line.handle(session.stop(StopReason.DISARMED, line.now))
    elif what == "stop_motor":
        line.handle(session.stop_motor(line.index(whom), line.now))
    elif what == "restart":
        servos[whom].boot()
    elif what == "error":
        servos[whom].fail(value)
    elif what == "register":
        servos[whom].put(*value, 1)
    elif what == "cut":
        line.cut = whom
    else:
        session.close()
        line.handle(session.open(line.now))


def as_the_control_loop(line: BodyBench) -> None:
    """A loss and a fault stop the motors."""
    for kind, reason in ((Disconnected, StopReason.BODY), (HardwareFault, StopReason.HARDWARE)):
        if line.found(kind):
            line.handle(line.session.stop(reason, line.now))


@pytest.mark.parametrize("on_loss", ["hold", "release"])
@settings(max_examples=15)
@given(events=st.lists(st.tuples(HAPPENS, st.sampled_from([0, 1, 7, 60, 400])), max_size=14))
def test_a_stop_holds_and_the_servos_come_back(on_loss: str, events: list[Any]) -> None:
    line = DYNAMIXEL.up(on_loss=on_loss)
    for happens, wait_ms in events:
        happen(line, *happens)
        for _ in range(max(1, wait_ms // 10)):
            line.run(min(wait_ms, 10))
            as_the_control_loop(line)
    line.cut = False
    line.handle(line.session.stop(StopReason.ENDED, line.now))
    for servo in line.mock.servos.values():
        servo.fail(0)
    for _ in range(350):
        line.run(10)
        as_the_control_loop(line)
    assert stands(line, 300)
    assert line.session.faults() == []
    for name in (LEFT, RIGHT):
        assert not any(isinstance(event, Refused) for event in line.command(name, "velocity", 1.0))
    line.run(300)
    assert all(servo.moves for servo in line.mock.servos.values())
    line.handle(line.session.stop(StopReason.ENDED, line.now))
    line.run(1)
    assert stands(line, 300)
    assert all(servo.table[98] == 10 for servo in line.mock.servos.values())
