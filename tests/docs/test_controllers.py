"""docs/controllers.md, controller-kinds.md, robot-functions.md and modes.md as they describe it."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import hilgw.api
from hilgw import client
from hilgw.medium.mocap import decode
from hilgw.medium.pose import Pose
from hilgw.testing.sim import wait_until
from tests.config.cases import install
from tests.docs.reading import blocks, pages
from tests.e2e.running import Gateway, patient, report_in, run, run_program
from tests.engine.robot.stepped import MS, SteppedGateway

PAGE = pages("controllers", "python-api")
FILES = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert set(FILES) == {"brain.py", "rover.yaml"}
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.process
def test_the_program_drives_to_the_wall_and_reports_it_by_radio(folder: Path) -> None:
    assert run("check", "rover.yaml", cwd=folder).stderr == ""
    with Gateway(folder, ["--config", "rover.yaml", *patient("rover")]) as gateway:
        wait_until(lambda: re.search(r"rover\.tx +ch 12 +\"wall at \d+\"", gateway.text()))


# As declared in the reference manual of Webots, for the functions of the example.
HEADERS = {
    "robot.h": """
        typedef unsigned short WbDeviceTag;
        int wb_robot_init(void);
        int wb_robot_step(int duration);
        void wb_robot_cleanup(void);
        double wb_robot_get_basic_time_step(void);
        WbDeviceTag wb_robot_get_device(const char *name);
    """,
    "motor.h": """
        #include <webots/robot.h>
        void wb_motor_set_position(WbDeviceTag tag, double position);
        void wb_motor_set_velocity(WbDeviceTag tag, double velocity);
    """,
}
# In the place of libController: prints its calls, and ends the controller after three steps.
LIBRARY = """
    #include <stdio.h>
    #include <webots/motor.h>
    static int steps;
    int wb_robot_init(void) { puts("init"); return 0; }
    int wb_robot_step(int duration) { printf("step %d\\n", duration); return ++steps < 3 ? 0 : -1; }
    void wb_robot_cleanup(void) { puts("cleanup"); }
    double wb_robot_get_basic_time_step(void) { return 32.0; }
    WbDeviceTag wb_robot_get_device(const char *name) { puts(name); return 7; }
    void wb_motor_set_position(WbDeviceTag tag, double at) { printf("%d at %g\\n", tag, at); }
    void wb_motor_set_velocity(WbDeviceTag tag, double v) { printf("%d with %g\\n", tag, v); }
"""


@pytest.mark.process
@pytest.mark.judge("gcc")
@pytest.mark.judge("make")
def test_the_example_in_c_is_built_by_its_make_file_and_runs(tmp_path: Path) -> None:
    home, headers = tmp_path / "home", tmp_path / "home" / "include" / "controller" / "c" / "webots"
    libraries = home / "lib" / "controller"
    headers.mkdir(parents=True)
    libraries.mkdir(parents=True)
    for name, text in HEADERS.items():
        (headers / name).write_text("#pragma once\n" + text)
    (tmp_path / "library.c").write_text(LIBRARY)
    for name, kind in (("brain.c", "c"), ("Makefile", "make")):
        [text] = blocks(kind, PAGE)
        (tmp_path / name).write_text(text)
    given = {"WEBOTS_HOME": str(home), "LD_LIBRARY_PATH": str(libraries)}
    given["CC"] = "gcc -Wall -Wextra -Werror"

    def done(*words: str) -> str:
        made = run_program(*words, cwd=tmp_path, timeout_s=120, **given)
        assert made.returncode == 0, made.stderr
        return made.stdout

    library = str(libraries / "libController.so")
    done("gcc", "-shared", "-fPIC", "-I", str(headers.parent), "library.c", "-o", library)
    done("make", "brain")
    expected = ["init", "left_wheel", "7 at inf", "7 with 4", *["step 32"] * 3, "cleanup"]
    assert done("./brain").splitlines() == expected


@pytest.mark.process
def test_the_commands_of_the_page_find_the_robot(folder: Path) -> None:
    """On a port where nothing listens: each one gets as far as the connection of its program."""
    for command in re.findall(r"^    hilgw (exec [^#\n]*\S)", PAGE, re.MULTILINE):
        arguments = command.split()
        (folder / "brain.py").write_text("import os; print(os.environ['WEBOTS_CONTROLLER_URL'])")
        yaml = FILES["rover.yaml"].replace(
            "kind: python\n", 'kind: webots\n      listen: "tcp://127.0.0.1:1234"\n'
        )
        text = re.sub(r"^.*(file|restart):.*\n", "", yaml, flags=re.M)
        (folder / "rover.yaml").write_text(text)
        done = run(*arguments, cwd=folder)
        assert (done.stdout, done.stderr) == ("tcp://127.0.0.1:1234/rover\n", "")


CONTROLLER_KINDS_PAGE = pages("controller-kinds")


def shown(language: str) -> str:
    return blocks(language, CONTROLLER_KINDS_PAGE)[0]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group, points = next(iter(tomllib.loads(shown("toml"))["project"]["entry-points"].items()))
    ((kind, target),) = points.items()
    (tmp_path / f"{target.partition(':')[0]}.py").write_text(shown("python"))
    install(tmp_path, "hilgw-echo", f"[{group}]\n{kind} = {target}\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_the_example_returns_packets() -> None:
    running = SteppedGateway(None, yaml.safe_load(shown("yaml"))["robots"])
    running.begin()
    running.at(1000 * MS)
    robots = running.gateway.robots
    received = [packet.data for packet in running.auditor.sent if packet.source == "rover.tx"]
    assert received[:2] == [b"re: ping 1", b"re: ping 2"]
    assert robots["rover"].summary() == f"returned {len(received)}, refused 0"
    assert len(received) >= 8
    assert running.gateway.report()["stations"]["rover.rx"]["refused"] == {}
    assert ("rover", "echo is ready") in running.auditor.notices
    running.close()


SEMANTICS_PAGE = pages("semantics", "emitter-receiver", "medium", "poses")


@pytest.mark.process
def test_the_page_begins_with_an_example_and_its_output(tmp_path: Path) -> None:
    assert SEMANTICS_PAGE.index("## An example") < SEMANTICS_PAGE.index("| case |")
    file = tmp_path / "example.yaml"
    file.write_text(blocks("yaml", SEMANTICS_PAGE)[0])
    command = re.search(
        r"`hilgw --config FILE (.*?)` prints\n\n```\n(.*?)```", SEMANTICS_PAGE, re.DOTALL
    )
    assert command
    done = run("--config", str(file), *command[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("ready\n")[1].split("summary")[0] == command[2]
    lines = [line.split()[:2] for line in command[2].splitlines()]
    assert lines[:2] == [["0.032", "rover.tx"], ["0.064", "truck.rx"]]


def test_the_datagram_it_shows() -> None:
    (shown,) = re.findall(r'^    (\{"rover".*\})$', SEMANTICS_PAGE, re.MULTILINE)
    assert decode(shown.encode()) == {"rover": Pose((1.0, 2.0, 0.0)), "wall": None}


ROBOT_FUNCTIONS_PAGE = pages("robot-functions")
ROWS = {
    row[0]: row[1:]
    for row in re.findall(
        r"^\| `([\w:]+)` \| (?:`([\w.]+)`)? ?\| (\w+) \| ?(.*) ?\|$", ROBOT_FUNCTIONS_PAGE, re.M
    )
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
    fields = ROBOT_FUNCTIONS_PAGE[ROBOT_FUNCTIONS_PAGE.index("## Fields of the node") :]
    assert all(f"`{name}`" in fields for name in FIELDS.split())


def test_what_a_row_names_exists() -> None:
    assert ROWS
    for function, (python, way, text) in ROWS.items():
        assert way in ("works", "successor", "no"), function
        named = [python] if python else []
        if way == "successor":
            names = re.findall(r"`((?:Robot|Motor|Keyboard)\.\w+|threading\.\w+|sys\.\w+)", text)
            assert names, f"{function}: a successor is named"
            named += names
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
    commands = re.findall(r"^    hilgw ((?:key|say) .*)$", ROBOT_FUNCTIONS_PAGE, re.MULTILINE)
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


MODES_PAGE = pages("modes")


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
