"""The files that a configuration names: their paths are relative to it."""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hilgw.config import shipped
from hilgw.config.model import (
    AccessConfig,
    AdapterConfig,
    GatewayConfig,
    MotionFile,
    PartConfig,
    RobotConfig,
)
from hilgw.control.parts import RunsProgram
from hilgw.settings import PROGRAM

P = TypeVar("P", AdapterConfig, PartConfig)


def in_folder(config: GatewayConfig, folder: Path) -> GatewayConfig:
    """Return the configuration with all its files below `folder`, which holds the configuration."""
    robots = {name: _robot(robot, folder) for name, robot in config.robots.items()}
    adapters = {name: _recorded(part, folder) for name, part in config.adapters.items()}
    access, federation = _access(config.access, folder), config.federation
    if federation is not None:
        federation = replace(federation, zenoh=_zenoh(federation.zenoh, folder))
    return replace(config, access=access, robots=robots, adapters=adapters, federation=federation)


ZENOH_FILES = ("_certificate", "_private_key", "_file")  # ends of its settings that name a file


def _zenoh(settings: Any, folder: Path) -> Any:
    if not isinstance(settings, dict):
        return settings
    return {
        key: str(folder / value)
        if isinstance(value, str) and str(key).endswith(ZENOH_FILES)
        else _zenoh(value, folder)
        for key, value in settings.items()
    }


def program_file(folder: Path, file: str) -> Path:
    """Return the file next to the configuration, or else the shipped program of this name.

    A copy of a shipped configuration names the shipped program.
    """
    beside, of_hilgw = folder / file, shipped.folder()
    if not beside.exists() and of_hilgw is not None and Path(file).name == file:
        known = of_hilgw / file
        return known if known.is_file() else beside
    return beside


def _robot(robot: RobotConfig, folder: Path) -> RobotConfig:
    motion, parts = robot.motion, robot.parts
    part = parts.get("controller")
    if isinstance(motion, MotionFile):
        motion = replace(motion, path=str(folder / motion.path))
    if part is not None and isinstance(part.settings, RunsProgram):
        file = str(program_file(folder, part.settings.file))
        parts["controller"] = replace(part, settings=replace(part.settings, file=file))
    changed: dict[str, Any] = {key: _recorded(each, folder) for key, each in parts.items()}
    return replace(robot, motion=motion, **changed)


def _recorded(part: P, folder: Path) -> P:
    mock: Any = getattr(part.settings, "mock", {})
    if PROGRAM in mock:
        mock = mock | {"folder": str(folder / mock.get("folder", ""))}
        part = replace(part, settings=replace(part.settings, mock=mock))
    if part.own.recording is None:
        return part
    return replace(part, own=replace(part.own, recording=str(folder / part.own.recording)))


def _access(access: AccessConfig, folder: Path) -> AccessConfig:
    tls, tokens = access.tls, {}
    for name, token in access.tokens.items():
        tokens[name] = replace(token, file=str(folder / token.file))
    if tls is not None:
        key, clients = (
            None if file is None else str(folder / file) for file in (tls.key, tls.clients)
        )
        tls = replace(tls, certificate=str(folder / tls.certificate), key=key, clients=clients)
    return replace(access, tokens=tokens, tls=tls)
