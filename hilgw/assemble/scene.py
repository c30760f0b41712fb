"""Puts the bodies of a configuration where they are: robots, modules, obstacles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.config.scene import address_of, mount_of, pose_of, read_motion
from hilgw.devices.nodes import upright_axis
from hilgw.engine.mocap import Mocap
from hilgw.medium.obstacles import Obstacle, obstacle
from hilgw.medium.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from hilgw.adapters.base import StationSettings
    from hilgw.config.model import GatewayConfig, RobotConfig
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.scene import Scene


def stand_robot(scene: Scene, name: str, config: RobotConfig) -> None:
    """A robot: it moves, stands, or is nobody knows where."""
    if config.motion is not None:
        scene.add(name, read_motion(config.motion, name))
    else:
        scene.add(name, pose_of(config.position, config.rotation))


def stand_module(scene: Scene, name: str, common: StationSettings) -> tuple[str, Pose]:
    """The body a module moves with, and its place on it: a robot, or itself."""
    if common.attached_to is not None:
        return common.attached_to, mount_of(common.position, common.rotation)
    scene.add(name, pose_of(common.position, common.rotation))
    return name, IDENTITY


def add_obstacles(gateway: Gateway, config: GatewayConfig) -> None:
    """One that stands by itself is a body of its own, so it can be placed, too."""
    upright = upright_axis(config.webots)
    for name, settings in config.obstacles.items():
        made = obstacle(settings, upright)
        if made.body is None:
            gateway.scene.add(name, made.mount)
            made = Obstacle(made.solid, owner=made.owner, body=name)
        gateway.medium.obstruct(made)
    if config.obstacles:
        gateway.description.append(f"  obstacles: {', '.join(config.obstacles)}")


def add_mocap(gateway: Gateway, config: GatewayConfig) -> None:
    """The port of a motion-capture system, when there is one."""
    if config.medium.mocap is not None:
        address = address_of(config.medium.mocap.listen)
        gateway.mocap = Mocap(address, gateway.scene, gateway.observer)
