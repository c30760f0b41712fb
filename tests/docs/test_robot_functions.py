"""docs/robot-functions.md: a row for each function of Webots' Robot, and a test for each row."""

import importlib
import json
import re
import threading
from pathlib import Path

import pytest
import yaml

import hilgw.api
from hilgw.config.load import load_text
from tests.e2e.running import Gateway, patient, run, wait_until

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

API, SESSION = "tests.api.test_robot", "tests.controllers.webots.test_robot"
HERE, OLD = "tests.docs.test_robot_functions", "tests.api.test_old_names"
PLUGIN = "tests.e2e.test_webots_plugin"
# Rows that work, or have a successor that works -> a test that fails when they do not.
TESTS = {
    "wb_robot_step": (API, "test_steps_and_time"),
    "wb_robot_step_begin": (API, "test_steps_and_time"),
    "wb_robot_step_end": (API, "test_steps_and_time"),
    "wb_robot_get_supervisor": (API, "test_the_robots_own_data"),
    "wb_robot_get_urdf": ("tests.controllers.webots.test_session", "test_answers_of_devices"),
    "wb_robot_wait": (SESSION, "test_a_key_ends_a_wait_for_user_input"),
    "wb_robot_pin": ("tests.controllers.webots.test_session", "test_commands_of_other_devices"),
    "wb_robot_init": (API, "test_the_requests_are_those_of_libcontroller"),
    "wb_robot_cleanup": (API, "test_the_requests_are_those_of_libcontroller"),
    "wb_robot_get_device": (OLD, "test_old_names_do_what_their_successors_do"),
    "wb_robot_get_device_by_index": (
        "tests.api.devices.test_devices",
        "test_every_device_is_there_by_name_and_by_index",
    ),
    "wb_robot_get_number_of_devices": (
        "tests.api.devices.test_devices",
        "test_every_device_is_there_by_name_and_by_index",
    ),
    "wb_robot_get_mode": (
        "tests.api.test_modes",
        "test_the_mode_is_read_from_and_set_in_the_gateway",
    ),
    "wb_robot_set_mode": (
        "tests.api.test_modes",
        "test_the_mode_is_read_from_and_set_in_the_gateway",
    ),
    "wb_robot_get_synchronization": (API, "test_the_robots_own_data"),
    "wb_robot_battery_sensor": (
        SESSION,
        "test_the_battery_runs_down_in_simulated_time_and_can_be_charged",
    ),
    "wb_robot_get_battery": (API, "test_battery"),
    "wb_robot_get_basic": (API, "test_the_robots_own_data"),
    "wb_robot_get_time": (API, "test_steps_and_time"),
    "wb_robot_get_name": (API, "test_the_robots_own_data"),
    "wb_robot_get_model": (API, "test_the_robots_own_data"),
    "wb_robot_get_data": (HERE, "test_the_commands_of_the_page_drive_a_program"),
    "wb_robot_set_data": (SESSION, "test_paths_and_custom_data_are_in_the_configuration"),
    "wb_robot_get_type": (OLD, "test_old_names_do_what_their_successors_do"),
    "wb_robot_get_project_path": (HERE, "test_the_commands_of_the_page_drive_a_program"),
    "wb_robot_get_world_path": (HERE, "test_the_commands_of_the_page_drive_a_program"),
    "wb_robot_get_controller": (HERE, "test_the_commands_of_the_page_drive_a_program"),
    "wb_robot_keyboard": (SESSION, "test_keys_are_down_for_a_time_on_the_sampling_grid"),
    "wb_robot_wwi": (SESSION, "test_texts_of_the_window_go_both_ways"),
    "wb_robot_window": (SESSION, "test_texts_of_the_window_go_both_ways"),
    "wb_robot_task": (HERE, "test_threads_of_python_take_their_place"),
    "wb_robot_mutex": (HERE, "test_threads_of_python_take_their_place"),
    "wbr_start": (PLUGIN, "test_motors_move_and_the_values_have_webots_units"),
    "wbr_stop": (PLUGIN, "test_back_to_simulation_stops_it_and_it_starts_again"),
    "wbr_has_failed": (PLUGIN, "test_a_gateway_that_dies_fails_the_controller_and_may_come_back"),
    "DifferentialWheels": (HERE, "test_the_commands_of_the_page_drive_a_program"),
    "Robot::get": (OLD, "test_old_names_do_what_their_successors_do"),
}


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


def test_each_row_has_a_test() -> None:
    for function in ROWS:
        key = max((key for key in TESTS if function.startswith(key)), key=len)
        module, test = TESTS[key]
        assert callable(getattr(importlib.import_module(module), test)), function


def test_threads_of_python_take_their_place() -> None:
    lock, seen = threading.Lock(), []
    with lock:
        task = threading.Thread(target=lambda: seen.append(lock.acquire(timeout=0)))
        task.start()
        task.join()
    assert seen == [False]


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.S))
def test_the_files_of_the_page_are_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "brain.py").touch()
    robot = yaml.safe_load(text)
    file = yaml.safe_dump({"version": 1, "robots": {"rover": robot}})
    controller = load_text(file, str(tmp_path / "f.yaml")).config.robots["rover"].controller
    assert controller is not None and (
        controller.settings.battery == (1000, 2000, 0)
        or controller.settings.battery_sensor == "charge"
    )


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
    options = ["rover.yaml", "--report", "report.json", "--status", "full", *patient("rover")]
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
    robot = json.loads((tmp_path / "report.json").read_text())["control_loops"]["rover"]["robot"]
    assert robot == {
        "custom_data": "second",
        "battery_j": 1000.0,
        "keys": 2,
        "window_texts_in": 1,
        "window_texts_out": 1,
    }
