"""Which parts are mocks: with backend mock or loopback all of them, but those listed in `real:`."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw import plugins
from hilgw.config.context import Inspection
from hilgw.config.model import GatewayConfig, PartConfig
from hilgw.config.source.positions import Path
from hilgw.errors import quoted

MOCKED = ("mock", "loopback")
PARTS = ("controller", "body", "remote")
_NO_PART = "write a station, ROBOT.controller, ROBOT.body or ROBOT.remote"


def is_mocked(config: GatewayConfig, part: str) -> bool:
    """part: a station, ROBOT.controller, .body or .remote; of a proxy, ROBOT.webots too."""
    return config.backend in MOCKED and part not in config.real


def is_simulated(config: GatewayConfig, robot: str, key: str = "body") -> bool:
    """Whether the body under this key of the robot has no real motors."""
    part = getattr(config.robots[robot], key)
    return _is_simulated(part, mocked=is_mocked(config, f"{robot}.{key}"))


def _is_simulated(part: PartConfig, *, mocked: bool) -> bool:
    simulated: bool | None = part.settings.simulated
    if simulated is not None:
        return simulated
    return mocked or bool(plugins.load(plugins.BODIES, part.kind).simulated)


def name_of(path: Path) -> str:
    """The name of the part at `path`, as in `real:`."""
    return ".".join(map(str, path[1:]))


def is_mocked_at(inspection: Inspection, path: Path) -> bool:
    """The same for the part at `path`, in a file that may have errors."""
    real = inspection.get("real")
    listed = real if isinstance(real, list) else []
    return inspection.get("backend") in MOCKED and name_of(path) not in listed


def is_simulated_at(inspection: Inspection, path: Path, part: PartConfig) -> bool:
    """As `is_simulated`, of the body at `path`, in a file that may have errors."""
    return _is_simulated(part, mocked=is_mocked_at(inspection, path))


def check_real(inspection: Inspection) -> None:
    """Each name in `real:` is a part of the file."""
    real = inspection.get("real")
    if not isinstance(real, list) or inspection.document.is_bad(("real",)):
        return
    known = dict.fromkeys(_parts(inspection))
    for index, name in enumerate(real):
        if isinstance(name, str) and name not in known:
            fix = inspection.suggest(name, known) if known else _NO_PART
            inspection.error(("real", index), f"there is no part {quoted(name)}", fix)


def _parts(inspection: Inspection) -> Iterator[str]:
    for path, _ in inspection.each("adapters", None):
        yield name_of(path)
    for path, data in inspection.each("robots", None):
        for part in PARTS:
            if isinstance(data.get(part), dict):
                yield name_of((*path, part))
        controller = data.get("controller")
        if isinstance(controller, dict) and controller.get("kind") == "webots_proxy":
            yield name_of((*path, "webots"))
