"""Control loops as a user runs them: signals, lost peers, and Python programs as controllers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e import control_loop_peers
from tests.e2e.running import (
    COMMAND,
    DEADLINE_S,
    HOST,
    Gateway,
    free_port,
    in_process,
    patient,
    report_in,
    run,
    start,
    wait_until,
)


class Running:
    """A gateway in a process of its own, the robot it has connected to, the port it listens on."""

    def __init__(self, folder: Path, more: str = "", *arguments: str) -> None:
        self.server = control_loop_peers.RobotServer()
        config = control_loop_peers.write_configuration(
            folder, control_loop_peers.configuration(self.server.port, more=more)
        )
        self.folder, options = folder, ["--config", config, "--report", "out.json", *arguments]
        self.gateway = Gateway(folder, options, ready=False)
        self.robot = self.server.accept()
        wait_until(lambda: "cab.body     up" in self.gateway.text(), what="the body")
        wait_until(lambda: control_loop_peers.port_in(self.gateway.text()), what="the listener")
        self.port = control_loop_peers.port_in(self.gateway.text())
        self._peers = [self.robot]

    def controller(self) -> control_loop_peers.Peer:
        self._peers.append(control_loop_peers.connect(self.port))
        return self._peers[-1]

    def driving(self) -> control_loop_peers.Peer:
        controller = self.controller()
        controller.send(GO)
        self.robot.wait_for(GO)
        return controller

    def signal(self, number: int) -> None:
        self.gateway.process.send_signal(number)

    def wait(self) -> int:
        return self.gateway.process.wait(DEADLINE_S)

    def end(self) -> None:
        self.gateway.stop(signal.SIGKILL)
        for peer in self._peers:
            peer.finish()
        self.server.close()


@contextmanager
def running(folder: Path, more: str = "", *arguments: str) -> Iterator[Running]:
    loop = Running(folder, more, *arguments)
    try:
        yield loop
    finally:
        loop.end()


LATCH = "    safety: {latch: true, late_s: 60}"
GO = control_loop_peers.set_value(1, 5.0)
STOP = control_loop_peers.set_value(1, 0.0) + control_loop_peers.set_value(2, 0.0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_motors(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with running(tmp_path, "    safety: {late_s: 60}") as loop:
        loop.driving()
        loop.signal(number)
        loop.robot.wait_for(STOP)
        loop.robot.wait_for_end()
        assert loop.robot.received == b""  # once, and nothing after it
        assert loop.wait() == code
    report = report_in(tmp_path)
    assert report["exit_code"] == code
    assert report["control_loops"]["cab"]["stops"] == {"gateway_ended": 1}


def test_a_robot_that_never_comes_is_waited_for_in_one_line(tmp_path: Path) -> None:
    config = control_loop_peers.write_configuration(
        tmp_path, control_loop_peers.configuration(free_port(), host=HOST)
    )
    done = run("--config", config, "--duration", "2.5s", cwd=tmp_path)
    assert done.returncode == 4, done.stdout
    assert done.stdout.count("cab.body     waiting: ") == 1
    assert "Connection refused" in done.stderr


@pytest.mark.parametrize("number", [None, signal.SIGINT])
def test_a_latched_stop_is_the_exit_code(tmp_path: Path, number: signal.Signals | None) -> None:
    with running(tmp_path, LATCH, *(() if number else ("--duration", "3s"))) as loop:
        loop.driving().finish()
        loop.robot.wait_for(STOP)
        if number:
            wait_until(lambda: "latched until" in loop.gateway.text())
            loop.signal(number)
        assert loop.wait() == 7
        text = loop.gateway.text()
    report = report_in(tmp_path)
    assert "cab: safety stop latched: disconnected" in text
    assert report["exit_code"] == 7
    assert report["control_loops"]["cab"]["latched"] == "disconnected"


@pytest.mark.wall_clock("a process is suspended for longer than the watchdog allows")
def test_a_suspended_gateway_stops_first_and_drops_waiting_bytes(tmp_path: Path) -> None:
    with running(tmp_path, "    safety: {late_s: 0.5}") as loop:
        controller = loop.driving()
        loop.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        for speed in range(1, 40):
            controller.send(control_loop_peers.set_value(1, speed / 10))
        wait_until(lambda: time.monotonic() - stopped > 1.0)
        loop.robot.send(control_loop_peers.sensor_data(0, 1.0))
        loop.signal(signal.SIGCONT)
        loop.robot.wait_for(STOP)
        controller.wait_for_end()
        # The thread and the loop may both have reported it.
        assert loop.robot.received in (b"", STOP)
        loop.signal(signal.SIGINT)
        assert loop.wait() == 130
    assert report_in(tmp_path)["control_loops"]["cab"]["stops"] == {"late": 1}


def test_arm_lets_the_motors_move_again(tmp_path: Path) -> None:
    with running(tmp_path, LATCH) as loop:
        loop.driving().finish()
        loop.robot.wait_for(STOP)
        wait_until(lambda: "latched until `hilgw arm cab`" in loop.gateway.text())
        assert run("arm", "cap", cwd=tmp_path).returncode == 1
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "cab: armed\n"), done.stderr
        loop.driving()
        loop.signal(signal.SIGINT)
        assert loop.wait() == 130


ROBOT = """
version: 1
backend: mock
medium: {step_ms: 16}
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, type: radio, channel: 3}
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", mock: {dialect: full}}
    controller: {kind: python, file: brain.py, args: [--word, hello], restart: on-failure}
"""
# The first run fails while the robot drives; the second one ends with the gateway.
BRAIN = """
import math, os, pathlib, sys
from controller import Robot, Camera, Supervisor
first = pathlib.Path(__file__).with_name("first")
robot = Robot()
print(robot.getName(), robot.getBasicTimeStep(), sys.argv[1:], "HILGW_TOKEN" in os.environ)
wheel = robot.getDevice("left_wheel")
wheel.setPosition(math.inf)
wheel.setVelocity(3)
for _ in range(5):
    robot.step()
if not first.exists():
    first.touch()
    sys.exit("out of battery")
pathlib.Path(__file__).with_name("driving").touch()
while robot.step() != -1:
    pass
print("left in order", flush=True)
"""


def test_a_program_is_started_restarted_and_ended(tmp_path: Path) -> None:
    (tmp_path / "rover.yaml").write_text(ROBOT)
    (tmp_path / "brain.py").write_text(BRAIN)
    options = ["--config", "rover.yaml", "--report", "out.json", *patient("rover")]
    with Gateway(tmp_path, options) as gateway:
        wait_until((tmp_path / "driving").exists)
        gateway.stop()
        text = gateway.text()
    words = "rover 16.0 ['--word', 'hello'] True"
    assert text.count(words) == 2 and "rover.controller out of battery" in text
    assert "the program ended with exit code 1; starts again in 0.5 s" in text
    assert "left in order" in text
    assert "motors stopped: the controller disconnected" in text
    program = report_in(tmp_path)["rover.controller.program"]
    assert program["runs"] == 2 and program["exit_codes"][0] == 1
    # On a busy machine its interpreter may end later than the second that a program has for it.
    assert program["exit_codes"][1] in (0, -signal.SIGTERM)


SAFETY = "    safety: {command_timeout_s: 60}\n"  # how long time waits for the program at most
SLOW_TO_LEAVE = """
import time
from controller import Robot
robot = Robot()
steps = 0
while robot.step(32) != -1:
    steps += 1
time.sleep(0.2)  # real time: the gateway's is over at once
print(f"left in order after {steps} steps", flush=True)
"""


@pytest.mark.wall_clock("the program takes a while of its own to end")
def test_a_program_runs_at_any_speed_and_is_ended_in_real_time(tmp_path: Path) -> None:
    """Simulated time waits for each step of the program, and stands still while it ends."""
    text = ROBOT.replace("step_ms: 16", "step_ms: 32")
    (tmp_path / "rover.yaml").write_text(text.replace(", args: [--word, hello]", "") + SAFETY)
    (tmp_path / "brain.py").write_text(SLOW_TO_LEAVE)
    words = ("--config", "rover.yaml", "--speed", "max", "--duration", "100s")
    done = run(*words, "--report", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = report_in(tmp_path)
    [steps] = re.findall(r"left in order after (\d+) steps", done.stdout)
    assert int(steps) >= 3120  # of 3125, but for those before it was there
    assert report["rover.controller.program"]["exit_codes"] == [0]
    assert report["control_loops"]["rover"]["late_steps"] == 0 and report["speed"]["set"] == "max"
    [seconds] = re.findall(r"summary after (\S+) s of simulated time", done.stdout)
    assert float(seconds) < 102  # the last bytes leave in simulated time, the program does not


FREEZES = """
import time
from controller import Robot
Robot().step()
time.sleep(60)
"""


@pytest.mark.wall_clock("a program is named after 5 s without a step")
def test_a_program_that_does_not_step_is_named_once(tmp_path: Path) -> None:
    _, rover = ROBOT.split("  rover:")
    other = rover.replace("brain.py", "other.py").replace("27015", "27017")
    (tmp_path / "rover.yaml").write_text(f"{ROBOT}  other:{other}")
    (tmp_path / "brain.py").write_text(FREEZES)
    (tmp_path / "other.py").write_text("import time; time.sleep(60)")
    runs = "controller the program {}.py runs, and has {} for 5 s"
    lines = [
        f"rover.{runs.format('brain', 'not called robot.step')}",
        f"other.{runs.format('other', 'no Robot()')}",
    ]
    options = [*patient("rover"), *patient("other")]
    with Gateway(tmp_path, ["--config", "rover.yaml", *options]) as gateway:
        wait_until(lambda: all(line in gateway.text() for line in lines), what="both names")
        assert [gateway.text().count(line) for line in lines] == [1, 1]


OPEN = """
version: 1
medium: {{step_ms: 32}}
robots:
  r 1:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: webots, listen: "tcp://{host}:{port}"}}
"""


def test_exec_finds_the_local_socket_of_a_robot_without_an_address(tmp_path: Path) -> None:
    text = OPEN.replace('listen: "tcp://{host}:{port}"', "ipc: true").format()
    (tmp_path / "local.yaml").write_text(text)
    (tmp_path / "script.py").write_text("import os; print(os.environ['WEBOTS_CONTROLLER_URL'])")
    done = run("exec", "local.yaml", "script.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("ipc://1234/r%201\n", "")


def test_exec_runs_a_script_against_a_simulator(tmp_path: Path) -> None:
    """The API against the mock of Webots' simulator, which was written from the protocol alone."""
    (tmp_path / "script.py").write_text(EVERYTHING)
    mock = [*COMMAND, "mock", "webots-simulator", "--listen", f"tcp://{HOST}:0", "--json"]
    devices = "tx:Emitter baudRate=9600 bufferSize=40, left:RotationalMotor, at:PositionSensor, "
    devices += "right:RotationalMotor, gps:GPS, imu:InertialUnit, ds:DistanceSensor, led:LED"
    mock += ["--set", "speed=fast", "--set", f"devices={devices}"]
    with start(tmp_path, *mock, stdout=subprocess.PIPE, text=True) as simulator:
        try:
            listen = json.loads(simulator.stdout.readline())["modules"][0]["listen"]
            url = f"tcp://{listen.removeprefix('tcp://')}/robot"
            done = run("exec", "--url", url, "script.py", cwd=tmp_path)
        finally:
            simulator.terminate()
    assert (done.stdout, done.returncode) == ("all well\n", 0), done.stderr
    assert done.stderr == "Error: wb_emitter_send(): invalid size=0 argument.\n"


EVERYTHING = """
import math
from controller import Robot
robot = Robot()
tx, left, right = (robot.getDevice(name) for name in ("tx", "left", "right"))
gps, imu, ds = (robot.getDevice(name) for name in ("gps", "imu", "ds"))
for sensor in (gps, imu, robot.getDevice("at")):
    sensor.enable(32)
ds.enable(64)
assert left.getPositionSensor() is robot.getDevice("at") and right.getPositionSensor() is None
for motor in (left, right):
    motor.setPosition(math.inf)
    motor.setVelocity(4.0)
assert math.isnan(ds.getValue())
assert [tx.send(bytes(30)), tx.send(bytes(11)), tx.send(""), tx.send([1.5])] == [1, 0, 0, 1]
assert robot.step(32) == 0
start = gps.getValues()
assert math.isnan(ds.getValue())
for _ in range(20):
    assert robot.step(32) == 0
assert ds.getValue() > 0 and robot.getDevice("at").getValue() > 1
moved = math.dist(start, gps.getValues())
assert moved > 0.01 and len(imu.getQuaternion()) == 4 and abs(imu.getRollPitchYaw()[0]) < 1e-9
assert abs(robot.getTime() - 21 * 0.032) < 1e-9
print("all well")
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["exec"], "no program given"),
        (["exec", "--url", "tcp://127.0.0.1:1/r"], "no program given"),
        (["exec", "--url", "tcp://127.0.0.1:1/r", "nix.py"], "there is no such program"),
        (["exec", "open.yaml", "--python", "x", "brain.py"], "--python comes too late"),
        (["exec", "--url", "http://h/r", "brain.py"], "cannot use 'http://'"),
        (["exec", "brain.py"], "or set WEBOTS_CONTROLLER_URL"),
        (["exec", "rover.yaml", "brain.py"], "no robot has a controller of kind webots"),
        (["exec", "--robot", "b", "open.yaml", "brain.py"], "no robot 'b' with a controller"),
    ],
)
def test_errors_of_exec(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "execve")  # of this process
    (tmp_path / "brain.py").write_text(BRAIN)
    (tmp_path / "rover.yaml").write_text(ROBOT)
    (tmp_path / "open.yaml").write_text(OPEN.format(host=HOST, port=1234))
    code, _, errors = in_process(*arguments, cwd=tmp_path)
    assert code != 0 and message in errors and "Traceback" not in errors


@pytest.mark.parametrize("url", ["tcp://h:1/r", "tls://h/r", "ipc://1/r", "tcp://h", "rover"])
def test_exec_takes_the_address_of_the_environment(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a program alone; a configuration or --url is an address itself."""
    asked: list[tuple[list[str], str]] = []

    def execve(_: str, words: list[str], environment: dict[str, str]) -> None:
        asked.append((words[1:], environment["WEBOTS_CONTROLLER_URL"]))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setenv("WEBOTS_CONTROLLER_URL", url)
    (tmp_path / "brain.py").write_text(BRAIN)
    (tmp_path / "open.yaml").write_text(OPEN.format(host=HOST, port=1234))
    for words in ([], ["open.yaml"], ["--url", "tcp://other:2/r"]):
        assert in_process("exec", *words, "brain.py", "--fast", cwd=tmp_path) == (0, "", "")
    words, own = ["brain.py", "--fast"], f"tcp://{HOST}:1234/r%201"
    assert asked == [(words, url), (words, own), (words, "tcp://other:2/r")]
    for wrong in ("http://h/r", "tcp://[::1/r", "tcp://"):
        monkeypatch.setenv("WEBOTS_CONTROLLER_URL", wrong)
        code, _, errors = in_process("exec", "brain.py", cwd=tmp_path)
        assert code == 5 and f"hilgw: {wrong}: " in errors


def test_exec_names_the_mock_that_has_the_robot(tmp_path: Path) -> None:
    text = OPEN.format(host=HOST, port=free_port()).replace("webots,", "webots, backend: mock,")
    (tmp_path / "open.yaml").write_text(text)
    (tmp_path / "script.py").write_text("from controller import Robot\nRobot()\n")
    with Gateway(tmp_path, ["--config", "open.yaml", *patient("r 1")]) as gateway:
        wait_until(lambda: "up: Webots controller" in gateway.text())
        done = run("exec", "open.yaml", "script.py", cwd=tmp_path)
        fix = "start the gateway with --set 'robots.r 1.controller.backend=real'"
        wait_until(lambda: f"robot 'r 1' has a controller, a mock: {fix}" in gateway.text())
    assert f"a mock controller has the robot; {fix}" in done.stderr and done.returncode == 1
    assert "Traceback" not in done.stderr


def test_exec_runs_a_program_in_a_python_of_its_own(tmp_path: Path) -> None:
    """A Python without hilgw gets hilgw, and none of the packages beside it."""
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", own], check=True)
    (tmp_path / "open.yaml").write_text(OPEN.format(host=HOST, port=free_port()))
    script = "import sys\nfrom importlib.util import find_spec\nfrom controller import Robot\n"
    script += "print(sys.prefix, find_spec('pydantic_core'), Robot().getName())"
    (tmp_path / "script.py").write_text(script)
    with Gateway(tmp_path, ["--config", "open.yaml", *patient("r 1")]):
        python = ["--python", str(own / "bin" / "python")]
        done = run("exec", *python, "open.yaml", "script.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{own} None r 1\n", "")
    done = run("exec", "--python", "nix", "open.yaml", "script.py", cwd=tmp_path)
    assert "nix: --python: there is no such program" in done.stderr and done.returncode == 2
