"""The page about the plug-in: its commands build it and run, its names agree with the code."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.e2e.plugin_host import VELOCITY, Built, PluginHost
from tests.e2e.running import COMMAND, ROOT, Gateway, run_program, start, wait_until

PAGE = (ROOT / "docs" / "webots-plugin.md").read_text(encoding="utf-8")
DEVICES = {"left wheel motor": "RotationalMotor", "left wheel sensor": "PositionSensor"}
(CONFIG,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^    ((?:make|hilgw) .*)$", PAGE, re.MULTILINE)
pytestmark = pytest.mark.process

DECLARATIONS = """
#include <stddef.h>
#include <string.h>
enum { WB_MODE_SIMULATION, WB_MODE_CROSS_COMPILATION, WB_MODE_REMOTE_CONTROL };
const char *wb_robot_wwi_receive_text(void);
int wb_robot_get_mode(void);
void wb_robot_set_mode(int mode, const char *argument);
"""


@pytest.mark.judge("gcc")
def test_its_c_code_compiles(tmp_path: Path) -> None:
    (code,) = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "code.c").write_text(DECLARATIONS + f"void poll_window(void) {{\n{code}}}\n")
    done = run_program("gcc", "-fsyntax-only", "-Wall", "-Werror", "code.c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.judge("gcc", "make")
def test_from_make_to_the_moving_robot(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("d")
    built = Built(folder)
    make, mock, begin = COMMANDS
    words = make.replace("/usr/local/webots", str(folder / "webots")).replace("$HOME", str(folder))
    done = run_program(*shlex.split(words), f"OUT={folder}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (place,) = re.findall(r"`my_project(/plugins/\S+\.so)`", PAGE)
    built.plugin = Path(f"{folder}/my_project{place}")
    assert built.plugin.is_file()
    (folder / "robot.yaml").write_text(CONFIG)
    robot = start(folder, *COMMAND, *shlex.split(mock)[1:], stdout=subprocess.DEVNULL)
    try:
        wait_until((folder / "create2").exists, what="the mock")
        keys = ("safety.command_timeout_s", "safety.late_s", "body.silence_s")
        more = [f"--set=robots.create.{key}=20" for key in keys]
        more.append("--set=robots.create.body.simulated=true")
        with (
            Gateway(folder, [*shlex.split(begin)[1:], *more]) as gateway,
            PluginHost(built, folder, "create", DEVICES) as host,
        ):
            wait_until(lambda: "create.body  up" in gateway.text(), what="the robot")
            host.emit("target 1 inf")
            assert host.start(), host.text()
            host.motor(VELOCITY, "left wheel motor", 3.0)
            host.enable("left wheel sensor")
            wait_until(lambda: host.step_until("left wheel sensor")[0] > 0.2, what="the wheel")
            host.ask("stop")
            wait_until(lambda: "motors stopped" in gateway.text(), what="the stop")
    finally:
        robot.terminate()
        robot.wait()
