"""The controller of configs/python-controller.yaml: drives, and reports what it sees by radio.

It is written as for Webots, and runs there unchanged. docs/controllers.md explains it.
"""

import math
import sys

from controller import Robot

SPEED = 4.0  # rad/s
NEAR = 300.0  # of the distance sensors, whose values end at 1000

robot = Robot()
step = int(robot.getBasicTimeStep())
emitter, receiver = robot.getDevice("tx"), robot.getDevice("rx")
receiver.enable(step)
left, right = robot.getDevice("left_wheel"), robot.getDevice("right_wheel")
for wheel in (left, right):
    wheel.setPosition(math.inf)  # velocity control
eyes = [robot.getDevice(name) for name in ("ds_left", "ds_front", "ds_right")]
for eye in eyes:
    eye.enable(step)

steps = 0
while robot.step(step) != -1:
    nearest = min(eye.getValue() for eye in eyes)
    turns = nearest < NEAR
    left.setVelocity(SPEED)
    right.setVelocity(-SPEED if turns else SPEED)
    if steps % 15 == 0:
        emitter.send(f"ping {steps // 15}")
    while receiver.getQueueLength():
        print(f"{robot.getTime():.2f} s: {receiver.getString()}")
        receiver.nextPacket()
    steps += 1
print(f"{steps} steps", file=sys.stderr)
