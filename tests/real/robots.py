"""What every robot on a serial port has to do, **with its wheels off the ground**: it is the one
that was asked for, its sensors have values, its wheels turn, and it stops."""

import json
from pathlib import Path
from typing import Any

from hilgw.testing.sim import wait_until
from tests.e2e.running import DEADLINE_S, Gateway, run

# A busy machine is not a fault of the robot.
CONFIG = """
version: 1
guardian_ms: 2000
medium: {{step_ms: 32}}
robots:
  robot:
    body: {body}
    controller: {{kind: python, file: probe.py}}
    safety: {{command_timeout_s: 5, late_s: 5}}
"""
PATIENT = {"silence_s": 5}
PROBE = '''
import json, math
from controller import Accelerometer, Robot

SPEED = 2.0  # rad/s
robot = Robot()
step = int(robot.getBasicTimeStep())
wheels = [robot.getDevice(name) for name in {motors}]
angles = [robot.getDevice(name) for name in {angles}]
sensors = [robot.getDevice(name) for name in {sensors}]
for each in angles + sensors:
    each.enable(step)
for wheel in wheels:
    wheel.setPosition(math.inf)
    wheel.setVelocity(0.0)

def turn(speed, seconds):
    """What the wheels turn in this time, or until each has turned a radian."""
    first, end = None, math.inf
    while robot.step(step) != -1 and robot.getTime() < end:
        now = [each.getValue() for each in angles]
        if any(map(math.isnan, now)):
            continue
        if first is None:
            first, end = now, robot.getTime() + seconds
        for wheel in wheels:
            wheel.setVelocity(speed)
        turned = [abs(b - a) for a, b in zip(first, now)]
        if speed and min(turned) > 1.0:
            break
    return [b - a for a, b in zip(first, now)]

def come_to_rest(seconds):
    """Until the wheels have not turned for a second, or the time is over."""
    while seconds > 0 and max(map(abs, turn(0.0, 1.0))) > 0.01:
        seconds -= 1

still = turn(0.0, 0.4)
driven = turn(SPEED, {patience_s})
come_to_rest({patience_s})
stopped = turn(0.0, 0.4)
values = {{}}
for each in sensors:
    vector = isinstance(each, Accelerometer)
    values[each.getName()] = each.getValues() if vector else each.getValue()
with open("found.json", "w") as file:
    json.dump([still, driven, stopped, values], file)
turn(SPEED, {patience_s})  # it ends while it drives
'''


class Found:
    """The output of the program and the report of one run. still, driven, stopped: rad that the
    wheels turned before, while and after they were driven."""

    def __init__(self, data: list[Any], report: dict[str, Any]) -> None:
        self.still, self.driven, self.stopped, self.values = data
        self.identity: str = report["ports"]["robot.body"]["identity"]
        self.stops: dict[str, int] = report["control_loops"]["robot"]["stops"]


def drive(folder: Path, body: dict[str, Any], sensors: list[str]) -> Found:
    """Runs the program on the robot. sensors: those that are read besides its wheels."""
    sides = ("left", "right")
    (folder / "probe.py").write_text(
        PROBE.format(
            motors=[f"{side} wheel motor" for side in sides],
            angles=[f"{side} wheel sensor" for side in sides],
            sensors=sensors,
            patience_s=DEADLINE_S,
        )
    )
    (folder / "robot.yaml").write_text(CONFIG.format(body=json.dumps(body)))
    report = folder / "report.json"
    with Gateway(folder, ["--config", "robot.yaml", "--report", str(report)]) as gateway:
        armed = run("arm", "robot", cwd=folder)
        assert armed.returncode == 0, armed.stderr
        file = folder / "found.json"
        ended = "the program ended"
        wait_until(lambda: ended in gateway.text(), timeout_s=4 * DEADLINE_S)
        assert file.exists(), gateway.text()
        wait_until(lambda: "motors stopped: the controller disconnected" in gateway.text())
        gateway.stop()
    return Found(json.loads(file.read_text()), json.loads(report.read_text()))


def check(robot: Found) -> None:
    """The wheels turn while they are driven, and at no other time."""
    assert max(map(abs, robot.still + robot.stopped)) < 0.1, vars(robot)
    assert min(robot.driven) > 0.9, vars(robot)
    assert robot.stops["disconnected"] == 1, robot.stops
    flat = [value if isinstance(value, list) else [value] for value in robot.values.values()]
    assert all(number == number for numbers in flat for number in numbers), robot.values
