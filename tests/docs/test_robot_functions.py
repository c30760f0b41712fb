"""docs/robot-functions.md has a row for each function of Webots' Robot; docs/modes.md."""

import importlib
import json
import re
from pathlib import Path

import pytest

import hilgw.api
from hilgw import client
from tests.e2e.running import Gateway, patient, report_in, run, wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "robot-functions.md").read_text()
ROWS = {
    row[0]: row[1:]
    for row in re.findall(r"^\| `([\w:]+)` \| (?:`([\w.]+)`)? ?\| (\w+) \| ?(.*) ?\|$", PAGE, re.M)
}
# All functions of the reference manual, Robot, with the old names.
C = """step init cleanup get_device get_device_by_index get_number_of_devices
battery_sensor_enable battery_sensor_disable get_battery_sampling_period battery_sensor_get_value
get_basic_time_step get_mode set_mode get_name get_model get_data set_data get_type
get_project_path get_world_path get_controller_name get_controller_arguments get_synchronization
get_time keyboard_enable keyboard_disable keyboard_get_key task_new mutex_new mutex_delete
mutex_lock mutex_unlock window_custom_function wwi_send_text wwi_receive_text step_begin step_end
get_supervisor get_urdf wait_for_user_input_event pin_to_static_environment"""
CPP = """Accelerometer Camera Compass Connector DistanceSensor Display Emitter GPS Gyro InertialUnit
LED LightSensor Motor Pen PositionSensor RangeFinder Receiver Servo TouchSensor"""
OTHERS = "DifferentialWheels wbr_start wbr_stop wbr_has_failed wbr_stop_actuators"
FIELDS = """controller controllerArgs data synchronization battery cpuConsumption selfCollision
showRobotWindow robotWindow remoteControl"""


def test_each_function_has_a_row() -> None:
    names = {f"wb_robot_{name}" for name in C.split()}
    names |= {f"Robot::get{name}" for name in CPP.split()} | set(OTHERS.split())
    assert set(ROWS) == names
    fields = PAGE[PAGE.index("## Fields of the node") :]
    assert all(f"`{name}`" in fields for name in FIELDS.split())


def test_what_a_row_names_exists() -> None:
    assert ROWS
    for function, (python, way, text) in ROWS.items():
        assert way in ("works", "successor", "no"), function
        named = [python] if python else []
        if way == "successor":
            found = re.findall(r"`((?:Robot|Motor|Keyboard)\.\w+|threading\.\w+|sys\.\w+)", text)
            assert found, f"{function}: a successor is named"
            named += found
        for name in named:
            owner, _, attribute = name.partition(".")
            if owner in ("threading", "sys"):
                assert hasattr(importlib.import_module(owner), attribute), function
            else:
                assert hasattr(getattr(hilgw.api, owner), attribute or "__init__"), function


ROVER = """
version: 1
backend: mock
medium: {step_ms: 16}
robots:
  rover:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", mock: {dialect: full}}
    controller:
      {kind: python, file: brain.py, args: [--fast, x], customData: first, battery: [1000, 1000, 0]}
"""
# The arrow starts the wheels, Ctrl-B ends them; a text is answered.
BRAIN = """
import math
from controller import Keyboard, Robot
robot = Robot()
print(robot.getProjectPath(), robot.getWorldPath(), robot.getCustomData())
print(robot.getControllerName(), robot.getControllerArguments())
robot.setCustomData("second")
wheels = [robot.getDevice("left_wheel"), robot.getDevice("right_wheel")]
for wheel in wheels:
    wheel.setPosition(math.inf)
    wheel.setVelocity(0)
keyboard = robot.getKeyboard()
keyboard.enable(16)
robot.step(16)
print("reads keys")
while robot.step(16) != -1:
    while (key := keyboard.getKey()) != -1:
        for wheel in wheels:
            wheel.setVelocity({Keyboard.UP: 3.0, Keyboard.CONTROL | ord("B"): 1.0}[key])
    while (text := robot.wwiReceiveText()) is not None:
        robot.wwiSendText("heard " + text)
"""


@pytest.mark.process
def test_the_commands_of_the_page_drive_a_program(tmp_path: Path) -> None:
    (tmp_path / "rover.yaml").write_text(ROVER)
    (tmp_path / "brain.py").write_text(BRAIN)
    commands = re.findall(r"^    hilgw ((?:key|say) .*)$", PAGE, re.MULTILINE)
    assert commands == ["key rover up", "key rover control+b --hold 2", 'say rover "go home"']
    options = ["rover.yaml", "--report", "out.json", "--status", "full", *patient("rover")]
    with Gateway(tmp_path, options) as gateway:
        wait_until(lambda: "reads keys" in gateway.text())
        for command, sign in zip(commands, ["velocity 3", "velocity 1", "heard go"], strict=True):
            words = command.replace('"go home"', "go").split()
            done = run(*words, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            wait_until(lambda sign=sign: sign in gateway.text(), sign)  # type: ignore[misc]
        gateway.stop()
        text = gateway.text()
    assert f"{tmp_path} {tmp_path}/rover.yaml first" in text and "brain --fast x" in text
    assert "window: heard go" in text
    robot = report_in(tmp_path)["control_loops"]["rover"]["robot"]
    assert robot == {
        "custom_data": "second",
        "battery_j": 1000.0,
        "keys": 2,
        "window_texts_in": 1,
        "window_texts_out": 1,
    }


MODES_PAGE = (Path(__file__).parents[2] / "docs" / "modes.md").read_text()


def answer(command: str, cwd: Path) -> str:
    """Return what the command prints, once the remote robot has registered all its devices: hilgw
    may have opened its line amid the first registration, and gets the rest a second later."""
    texts: list[str] = []

    def is_registered() -> bool:
        done = run(*command.split(), "--control", "control", cwd=cwd)
        texts.append(done.stdout + done.stderr)
        return "the remote body registers its devices" not in texts[-1]

    wait_until(is_registered, what=command)
    return texts[-1]


@pytest.mark.process
def test_the_commands_change_the_mode(tmp_path: Path) -> None:
    commands = re.findall(r"^    hilgw (mode [^#\n]*\S)", MODES_PAGE, re.MULTILINE)
    assert len(commands) == 3
    assert "`hilgw --config shadow`" in MODES_PAGE
    options = ["--config", "shadow", "--report", "out.json", "--control", "control"]
    # On a busy machine, which is late, the robots would have stopped, or been lost, before.
    more = patient("rover", "remote.silence_s")
    options += ["--status", "full", *more]
    with Gateway(tmp_path, options) as gateway:
        wait_until(lambda: "ready" in gateway.text())
        shadow = re.compile(r"shadow\s+\|.*\|\s+shadow\s+\w+\s+offset", re.S)
        wait_until(lambda: shadow.search(gateway.text()))
        asked = client.Gateway(tmp_path / "control")
        wait_until(lambda: asked.report()["control_loops"]["rover"]["commands_out"], what="motion")
        answers = [answer(each, tmp_path) for each in commands]
        gateway.stop()
        text = gateway.text()
    up = {"body": "up", "remote": "up"}
    assert answers == [
        "rover: shadow (body up, remote up)\n",
        "rover: remote (body up, remote up)\n",
        json.dumps({"robot": "rover", "mode": "simulation", "bodies": up}) + "\n",
    ], text
    report = report_in(tmp_path)["control_loops"]["rover"]
    stops = report["bodies"]["body"]["stops"]  # of the robot that was left, unless it stood already
    assert stops.get("exchanged") == 1 or sum(stops.values()) > 1, (stops, text)
