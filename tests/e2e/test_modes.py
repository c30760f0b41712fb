"""A program moves from the simulated to the real robot: by its own call, and by `hilgw mode`."""

import json
import re
from pathlib import Path

from tests.e2e.running import HOST, Gateway, free_port, report_in, run, wait_until

ROBOT = """
version: 1
backend: mock
webots: R2025a
medium: {step_ms: 16}
robots:
  rover:
    body:
      kind: webots
      connect: "tcp://127.0.0.1:1234"
      mock: {devices: "left_wheel:RotationalMotor, ds_front:DistanceSensor", synchronization: "no"}
    remote: {kind: wc2ec, port: /dev/rover, silence_s: 30, mock: {webots: R2025a, dialect: full}}
    safety: {late_s: 30}  # of a machine that is busy
    controller: {kind: python, file: brain.py}
"""
BRAIN = """
import math
from controller import Robot
robot = Robot()
wheel, eye = robot.getDevice("left_wheel"), robot.getDevice("ds_front")
eye.enable(16)
wheel.setPosition(math.inf)
mode = robot.getMode()
print("mode", mode, flush=True)
robot.setMode(Robot.MODE_CROSS_COMPILATION, "")
while robot.getMode() == Robot.MODE_SIMULATION:  # until the real robot is there
    robot.setMode(Robot.MODE_REMOTE_CONTROL, "")
    if robot.step() == -1:
        break
print("mode", robot.getMode(), flush=True)
while robot.step() != -1:
    wheel.setVelocity(2)
    if robot.getMode() != Robot.MODE_REMOTE_CONTROL and mode == 0:
        mode = 1
        print("back in simulation", flush=True)
print("left in order", flush=True)
"""


def test_a_program_takes_the_real_robot_and_a_user_gives_it_back(tmp_path: Path) -> None:
    (tmp_path / "rover.yaml").write_text(ROBOT)
    (tmp_path / "brain.py").write_text(BRAIN)
    options = ["--config", "rover.yaml", "--report", "out.json", "--control", "control"]
    options += ["--status", "full"]
    with Gateway(tmp_path, options) as gateway:
        wait_until(lambda: "mode 2" in gateway.text())
        motors = re.compile(r"remote \|.*left_wheel\s.*velocity\s+2", re.DOTALL)
        wait_until(lambda: motors.search(gateway.text()))
        asked = run("mode", "rover", "--control", "control", cwd=tmp_path)
        assert asked.stdout + asked.stderr == "rover: remote (body up, remote up)\n"
        done = run("mode", "rover", "simulation", "--json", "--control", "control", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        up = {"body": "up", "remote": "up"}
        assert json.loads(done.stdout) == {"robot": "rover", "mode": "simulation", "bodies": up}
        wait_until(lambda: "back in simulation" in gateway.text())
        unknown = run("mode", "nobody", "remote", "--control", "control", cwd=tmp_path)
        assert unknown.returncode == 1 and "no robot 'nobody'" in unknown.stderr
        gateway.stop()
        text = gateway.text()
    assert "mode=1 does not exist for a Python program" in text
    assert "rover.remote motors stopped: another body takes its place" in text
    assert "left in order" in text
    report = report_in(tmp_path)["control_loops"]["rover"]
    assert report["mode"] == "simulation"
    assert report["bodies"]["remote"]["stops"] == {"exchanged": 1}
    assert report["bodies"]["body"]["stops"]["gateway_ended"] == 1


def test_a_remote_body_that_cannot_be_opened_ends_nothing(tmp_path: Path) -> None:
    text = ROBOT.replace("backend: mock", "backend: real").replace("/dev/rover", "/etc/hostname")
    text = text.replace("mock: {webots: R2025a, dialect: full}", "baudRate: 115200")
    (tmp_path / "rover.yaml").write_text(text.replace("127.0.0.1:1234", f"{HOST}:{free_port()}"))
    (tmp_path / "brain.py").write_text("")
    done = run("--config", "rover.yaml", "--duration", "1s", cwd=tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    assert re.search(r"rover\.remote .*/etc/hostname.*; next try in", done.stdout), done.stdout
    # It ran to its end, without the body in Webots.
    assert re.search(r"summary after [1-9]", done.stdout), done.stdout
