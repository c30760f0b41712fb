"""The parameters of the simulator."""

from dataclasses import dataclass

from firmware_mocks import parameters as values
from firmware_mocks._webots import wire
from firmware_mocks.parameters import Parameters, parameter

YES_FIRST, NO_FIRST = ("yes", "no"), ("no", "yes")


@dataclass(frozen=True)
class Settings(Parameters):
    """Robots, devices, poses and scripts are checked with the world that they make."""

    robots: object = parameter("names of the robots", "robot", values.unread)
    devices: object = parameter(
        "NAME:TYPE FIELD=VALUE, ... of each robot; the first two RotationalMotors are its wheels; "
        "a PositionSensor or Brake belongs to the motor before it; lists as allowedChannels=3+4 "
        "(default all: one or more of each type)",
        "all",
        values.unread,
    )
    poses: object = parameter(
        "x,y,heading of each robot in metres and radians, separated by ; (default: a row in the "
        "middle)",
        "",
        values.unread,
    )
    width: float = parameter("width of the room in metres", 2.0, values.number, 0.5, 1000)
    depth: float = parameter("depth of the room in metres", 1.5, values.number, 0.5, 1000)
    step_ms: float = parameter("basicTimeStep", 32, values.number, 1, 10_000)
    synchronization: str = parameter(
        "whether the world waits for a robot's controller: yes, no",
        "yes",
        values.choice,
        YES_FIRST,
    )
    speed: str = parameter(
        "real-time, or fast: as fast as the controllers request",
        "real-time",
        values.choice,
        ("real-time", "fast"),
    )
    wait: str = parameter(
        "whether the world begins when each robot has had its first controller: no, yes",
        "no",
        values.choice,
        NO_FIRST,
    )
    accept: str = parameter(
        "whether controllers may connect: yes, or no: FORBIDDEN", "yes", values.choice, YES_FIRST
    )
    loading_ns: int = parameter(
        "time after the start and after a reset in which the world loads",
        0,
        values.milliseconds,
        name="loading_ms",
    )
    reset_ms: float = parameter(
        "simulated time after which the world is reset, 0: never",
        0,
        values.number,
        0,
        values.DAY_MS,
    )
    scripts: object = parameter(
        "NAME: SCRIPT of robots whose controller runs in the simulator, separated by |; the "
        "statements are those of webots-controller (default: none)",
        "",
        values.unread,
    )
    plugin: str = parameter(
        "file of the remote-control plug-in that controllers load (default none)",
        "",
        values.string,
    )
    framing: str = parameter(
        "tcp, or ipc: a local socket, without handshake and images",
        "tcp",
        values.choice,
        ("tcp", "ipc"),
    )
    webots: str = parameter(
        f"version of its configuration and node numbers: {', '.join(wire.VERSIONS)}",
        "R2025a",
        values.choice,
        wire.VERSIONS,
    )
