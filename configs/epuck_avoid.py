"""The controller of configs/epuck.yaml: drives, and turns away from walls.

It is written as for Webots, and runs there unchanged, on an E-puck. docs/epuck.md explains it.
"""

import math

from controller import Robot

SPEED = 4.0  # rad/s: 80 mm/s
NEAR = 130.0  # of the infra-red sensors: about 5 cm
CLEAR = 90.0

robot = Robot()
step = int(robot.getBasicTimeStep())
left, right = robot.getDevice("left wheel motor"), robot.getDevice("right wheel motor")
for wheel in (left, right):
    wheel.setPosition(math.inf)  # velocity control
    wheel.setVelocity(0.0)
eyes = [robot.getDevice(f"ps{place}") for place in range(8)]
for eye in eyes:
    eye.enable(step)
body = robot.getDevice("led8")

turn = 0.0
while robot.step(step) != -1:
    near = [eye.getValue() for eye in eyes]
    on_right, on_left = max(near[:3]), max(near[5:])  # ps0 to ps2, ps5 to ps7
    if max(on_right, on_left) > NEAR and not turn:
        turn = SPEED / 2 if on_left > on_right else -SPEED / 2
    elif max(near[0], near[1], near[6], near[7]) < CLEAR:
        turn = 0.0
    left.setVelocity(turn or SPEED)
    right.setVelocity(-turn or SPEED)
    body.set(1 if turn else 0)
