"""The controller of configs/gcode.yaml: draws a square of 40 mm, again and again.

It is written as for Webots, and runs there unchanged. docs/text-robots.md explains it.
"""

from controller import Robot

SPEED = 0.05  # m/s
LIFT = 0.005  # m, while it goes to the first corner
CORNERS = ((0.02, 0.02), (0.06, 0.02), (0.06, 0.06), (0.02, 0.06))
NEAR = 0.0005  # m

robot = Robot()
step = int(robot.getBasicTimeStep())
motors = [robot.getDevice(f"{axis} motor") for axis in "xyz"]
sensors = [robot.getDevice(f"{axis} sensor") for axis in "xyz"]
for motor in motors[:2]:
    motor.setVelocity(SPEED)
for sensor in sensors:
    sensor.enable(step)

corner = 0
while robot.step(step) != -1:
    target = (*CORNERS[corner % 4], 0.0 if corner else LIFT)
    for motor, position in zip(motors, target, strict=True):
        motor.setPosition(position)
    places = [sensor.getValue() for sensor in sensors]
    if all(abs(place - end) < NEAR for place, end in zip(places, target, strict=True)):
        print(f"{robot.getTime():.2f} s: corner {corner % 4 + 1}")
        corner += 1
