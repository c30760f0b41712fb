"""A real robot on a serial line, from the start of its gateway to a stop that lasts."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.control_loop_peers import controller_process, port_in, set_value, write_configuration
from tests.e2e.running import COMMAND, Gateway, report_in, run, start

GO = set_value(0, 5.0)
NOT_ARMED = "the robot is not armed; `hilgw arm create` lets the motors move"


@contextmanager
def mock(folder: Path, kind: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`hilgw mock`, until it reports that it is ready."""
    command = (*COMMAND, "mock", kind, *arguments)
    process = start(folder, *command, stdout=subprocess.PIPE, text=True)
    try:
        while (line := process.stdout.readline()) and not line.startswith("ready"):
            pass
        assert line, f"{kind} ended"
        yield process
    finally:
        process.kill()
        process.communicate()


# A busy machine makes neither the robot silent nor the gateway late, also to its guardian.
def test_a_real_robot_moves_while_it_is_armed(tmp_path: Path) -> None:
    config = write_configuration(
        tmp_path,
        f"""version: 1
webots: R2020a
guardian_ms: 10000
robots:
  create:
    body: {{kind: create2, port: {tmp_path}/robot, silence_s: 20}}
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:0"}}
    safety: {{command_timeout_s: 1.5, late_s: 20}}
""",
    )
    arguments = ["--config", config, "--report", "out.json"]

    def up(times: int) -> bool:
        return gateway.text().count("create.body  up") == times

    def arm(controllers: int = 0) -> None:
        """Once so many controllers have gone."""
        wait_until(lambda: gateway.text().count("create.controller waiting") > controllers)
        done = run("arm", "create", cwd=tmp_path)
        assert done.stdout == "create: armed\n", done.stderr

    with mock(tmp_path, "create2", "--link", "robot"), Gateway(tmp_path, arguments) as gateway:
        assert "not armed: `hilgw arm create` or the option --arm" in gateway.text()
        port = port_in(gateway.text())
        with controller_process(port, GO):
            wait_until(lambda: NOT_ARMED in gateway.text())
        arm(1)
        with controller_process(port, GO) as pid:
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: "motors stopped: the controller sends no messages" in gateway.text())
        arm(2)
        with controller_process(port, GO) as pid:
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: "motors stopped: the controller disconnected" in gateway.text())
        arm(3)
        assert up(1)
    with Gateway(tmp_path, arguments, ready=False) as gateway:
        with mock(tmp_path, "create2", "--link", "robot"):
            wait_until(lambda: up(1))
            arm()
        wait_until(lambda: "the body is gone" in gateway.text())
        with mock(tmp_path, "create2", "--link", "robot"):
            wait_until(lambda: up(2))
            with controller_process(port_in(gateway.text()), GO):
                wait_until(lambda: NOT_ARMED in gateway.text())
            assert gateway.stop(signal.SIGINT) == 130  # no stop is latched
        report = report_in(tmp_path)["control_loops"]["create"]
    assert (report["armed"], report["latched"], report["stops"]) == (False, None, {})
    assert report["refused"]["disarmed"] >= 1
