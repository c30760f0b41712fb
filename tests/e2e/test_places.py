"""A robot that drives for a gateway of one shell is stopped from another shell of the same user."""

import os
import sys
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e import running
from tests.e2e.control_loop_peers import (
    RobotServer,
    configuration,
    connect,
    port_in,
    set_value,
    write_configuration,
)

ELSEWHERE = """
import sys
from pathlib import Path
from hilgw.cli.main import main
from hilgw.protocols.gateway import paths

paths.SESSIONS, paths.SHARED = Path({0!r}, "sessions"), Path({0!r}, "tmp")
sys.exit(main())
"""


@pytest.mark.parametrize(
    "runtime", [None, "", "run", "/nowhere/at/all"], ids=["unset", "empty", "folder", "gone"]
)
def test_any_shell(runtime: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop from any shell reaches the robot. runtime: XDG_RUNTIME_DIR of the shell that stops;
    None: not set. The short name leaves room in the path of a socket, as the next one's."""
    command = [sys.executable, "-c", ELSEWHERE.format(str(tmp_path))]
    monkeypatch.setattr(running, "COMMAND", command)
    for name in ("sessions", "other", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "sessions" / f"{os.getuid()}").symlink_to(tmp_path / "run")
    robots = RobotServer()
    file = write_configuration(tmp_path, configuration(robots.port))
    with running.Gateway(tmp_path, ["--config", file], ready=False) as gateway:
        robot = robots.accept()
        wait_until(lambda: port_in(gateway.text()))
        controller = connect(port_in(gateway.text()))
        controller.send(set_value(1, 5.0))
        robot.wait_for(set_value(1, 5.0))
        environment = running.environment(tmp_path / "other")
        environment.pop("XDG_RUNTIME_DIR")
        if runtime is not None:
            environment["XDG_RUNTIME_DIR"] = runtime
        monkeypatch.setattr(running, "environment", lambda _: environment)
        done = running.run_program(*command, "disarm", "--all", cwd=tmp_path / "other")
        assert (done.returncode, done.stdout) == (0, "cab: disarmed\n"), done.stderr
        robot.wait_for(set_value(1, 0.0))
        controller.finish()
        robot.finish()
    robots.close()
