"""Adds the objects of a configuration to the scene: robots, modules, obstacles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.config.scene import address_of, mount_of, pose_of, read_motion
from hilgw.devices.nodes import upright_axis
from hilgw.engine.mocap import Mocap
from hilgw.medium.obstacles import Obstacle, obstacle
from hilgw.medium.pose import Mount

if TYPE_CHECKING:
    from hilgw.adapters.base import StationSettings
    from hilgw.config.model import GatewayConfig, RobotConfig
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.scene import Scene


def add_robot(scene: Scene, name: str, config: RobotConfig) -> None:
    """A robot: in motion, at a fixed pose, or at an unknown pose."""
    if config.motion is not None:
        scene.add(name, read_motion(config.motion, name))
    else:
        scene.add(name, pose_of(config.position, config.rotation))


def add_module(scene: Scene, name: str, common: StationSettings) -> Mount:
    """Where the module is: on a robot, or on itself."""
    if common.attached_to is not None:
        return Mount(common.attached_to, mount_of(common.position, common.rotation))
    scene.add(name, pose_of(common.position, common.rotation))
    return Mount(name)


def add_obstacles(gateway: Gateway, config: GatewayConfig) -> None:
    """Adds the obstacles. One that is not on a robot is an object of its own: it can be placed."""
    upright = upright_axis(config.webots)
    for name, settings in config.obstacles.items():
        made = obstacle(settings, upright)
        if made.attached_to is None:
            gateway.scene.add(name, made.mount)
            made = Obstacle(made.solid, owner=made.owner, attached_to=name)
        gateway.medium.obstruct(made)
    if config.obstacles:
        gateway.description.append(f"  obstacles: {', '.join(config.obstacles)}")


def add_mocap(gateway: Gateway, config: GatewayConfig) -> None:
    """The port for motion capture, when the configuration has one."""
    if config.medium.mocap is not None:
        address = address_of(config.medium.mocap.listen)
        gateway.mocap = Mocap(address, gateway.scene, gateway.observer)
