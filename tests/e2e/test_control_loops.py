"""Control loops as a user runs them: signals, and peers that disconnect or never come."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.control_loop_peers import (
    Peer,
    RobotServer,
    configuration,
    connect,
    port_in,
    set_value,
    write_configuration,
)
from tests.e2e.running import (
    HOST,
    Gateway,
    free_port,
    run,
    wait_until,
)

GO = set_value(1, 5.0)
STOP = set_value(1, 0.0) + set_value(2, 0.0)


@contextmanager
def driving(folder: Path, safety: str) -> Iterator[tuple[Gateway, Peer, Peer]]:
    """A gateway, and the robot and the controller of its loop: the robot moves."""
    with ExitStack() as stack:
        server = RobotServer()
        stack.callback(server.close)
        config = write_configuration(folder, configuration(server.port, more=safety))
        options = ["--config", config, "--report", str(folder / "out.json")]
        gateway = stack.enter_context(Gateway(folder, options, ready=False))
        robot = server.accept()
        stack.callback(robot.finish)
        wait_until(lambda: port_in(gateway.text()), what="the listener")
        controller = connect(port_in(gateway.text()))
        stack.callback(controller.finish)
        controller.send(GO)
        robot.wait_for(GO)
        yield gateway, robot, controller


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_motors_on_the_wire(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with driving(tmp_path, "    safety: {late_s: 60}") as (gateway, robot, _):
        gateway.process.send_signal(number)
        robot.wait_for(STOP)
        robot.wait_for_end()
        assert robot.received == b""  # once, and nothing after it
        assert gateway.stop() == code
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["exit_code"] == code
    assert report["control_loops"]["cab"]["stops"] == {"gateway_ended": 1}


def test_a_latched_stop_is_the_exit_code(tmp_path: Path) -> None:
    latch = "    safety: {latch: true, late_s: 60}"
    with driving(tmp_path, latch) as (gateway, robot, controller):
        controller.finish()
        robot.wait_for(STOP)
        wait_until(lambda: "latched until `hilgw arm cab`" in gateway.text())
        assert gateway.stop(signal.SIGINT) == 7
        assert "cab: safety stop latched: disconnected" in gateway.text()
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["exit_code"] == 7
    assert report["control_loops"]["cab"]["latched"] == "disconnected"


def test_a_robot_that_never_comes_is_waited_for_in_one_line(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, configuration(free_port(), host=HOST))
    done = run("--config", config, "--duration", "2.5s", cwd=tmp_path)
    assert done.returncode == 4, done.stdout
    assert done.stdout.count("cab.body     waiting: ") == 1
    assert "Connection refused" in done.stderr
