"""The deadline for a controller that drives: when it holds, and when it runs."""

import asyncio
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.observer import Observer
from hilgw.testing.sim import Clock
from hilgw.units import NS_PER_S, ns_to_s
from tests.e2e.control_loop_peers import DISTANCE, set_value, wire
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.control_loop.running import STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.test_flood import connected

GO = set_value(1, 5.0)
TCP = 'connect: "tcp://127.0.0.1:27015"'
LINE = "port: /dev/ttyS9"


@pytest.mark.parametrize(
    ("backend", "body", "safety", "timeout_s", "text"),
    [
        ("real", TCP, "", 0.5, "real body: the motors stop 0.5 s after"),
        ("real", TCP, "{command_timeout_s: 0}", 0.0, "real body: no deadline"),
        (
            "real",
            f"{TCP}, simulated: true",
            "{command_timeout_s: 0.2}",
            0.2,
            "simulated body: the motors stop 0.2 s after",
        ),
        ("loopback", LINE, "", 0.0, "simulated body: no deadline"),
        ("mock", f"{TCP}, simulated: false", "", 0.5, "real body: the motors stop 0.5 s after"),
    ],
)
async def test_a_real_body_has_a_deadline_by_default_and_the_start_shows_which_holds(
    tmp_path: Path, backend: str, body: str, safety: str, timeout_s: float, text: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        f"""version: 1
backend: {backend}
webots: R2020a
robots:
  cab:
    body: {{kind: wc2ec, {body}}}
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:27016"}}
    {f"safety: {safety}" if safety else ""}
"""
    )
    gateway = build(load_config(str(file)).config, asyncio.get_running_loop(), Observer())
    gateway.close()
    state = gateway.control_loops["cab"].safety.state
    found_s, description = ns_to_s(state.timeout_ns), gateway.description
    assert found_s == timeout_s
    assert sum(text in line for line in description) == 1


def test_a_real_robot_on_tcp_stops_when_its_controller_freezes(tmp_path: Path) -> None:
    safety = "    safety: {armed: true, latch: false}"
    with RunningLoop(tmp_path, safety, body="simulated: false") as running:
        controller = driving(running)
        robot_of(running).wait_for(STOP)
        controller.wait_for_end()
        assert running.stops() == {"command_timeout": 1}


def test_any_valid_message_is_a_sign_of_life_and_nothing_else_is() -> None:
    loop = FakeLoop(command_timeout_s=0.2)
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(GO)
    for _ in range(5):
        loop.run(150)
        loop.controller.data_received(wire.bare(wire.ENABLE_SENSOR, DISTANCE, 0))
    assert not loop.safety.stops
    loop.run(100)
    loop.controller.data_received(set_value(77, 1.0))  # refused: no such device
    loop.controller.data_received(GO[:5])  # half a message
    loop.run(110)
    assert loop.safety.stops == {"command_timeout": 1}
    assert loop.controller.transport is None


def test_the_deadline_waits_for_what_the_event_loop_has_not_read() -> None:
    with connected(command_timeout_s=0.2) as (loop, theirs, events):
        loop.run(190)
        theirs.send(GO)  # in time, and not yet read
        loop.run(200)
        assert not loop.safety.stops
        stream = loop.controller.transport
        assert stream is not None
        stream.start(loop.controller.data_received, lambda error: None)
        while loop.statistics.counts["commands_in"] < 2:
            events.run_until_complete(asyncio.sleep(0))
        loop.run(190)
        assert not loop.safety.stops
        loop.run(20)
        assert loop.safety.stops == {"command_timeout": 1}


def test_a_controller_that_waits_for_the_body_is_not_late_with_its_first_message() -> None:
    loop = FakeLoop()
    loop.controller_comes()
    loop.run(5_000)  # longer than it may take to answer registrations
    assert loop.controller.unanswered_ns() == 0
    loop.robot_comes()
    loop.run(1_000)
    assert loop.controller.unanswered_ns() >= 900_000_000
    loop.controller.data_received(GO)
    assert loop.controller.unanswered_ns() == 0


def test_the_deadline_of_another_process_is_in_real_time_though_the_gateway_is_not() -> None:
    real, simulated = Clock(), Clock()
    loop = FakeLoop(clock=simulated, deadlines=real, command_timeout_s=0.5, late_s=60)
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(GO)
    simulated.run(50 * NS_PER_S)  # at speed max that takes no time
    real.run(NS_PER_S * 4 // 10)
    loop.controller.data_received(GO)
    real.run(NS_PER_S * 4 // 10)
    assert loop.safety.moving
    real.run(NS_PER_S * 2 // 10)
    assert loop.safety.stops == {"command_timeout": 1}
    assert not loop.safety.moving
