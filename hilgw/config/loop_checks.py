"""Checks of loops: addresses that are taken, Webots versions, stand-ins, what nobody can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hilgw import plugins
from hilgw.config.diagnose import descend
from hilgw.config.mock_parameters import check_mock
from hilgw.config.source.positions import spell
from hilgw.controllers.base import PeerController
from hilgw.errors import ConfigError
from hilgw.transports.tcp.stream import parse_address

if TYPE_CHECKING:
    from hilgw.config.checks import Checks
    from hilgw.config.model import PartConfig
    from hilgw.config.source.positions import Path

LOOPBACK = "127.0.0.1"


def peer_of(part: PartConfig | None) -> PeerController | None:
    """The controller of a loop; None for one that decides by itself."""
    controller = None if part is None else plugins.load(plugins.CONTROLLERS, part.kind)
    return controller if isinstance(controller, PeerController) else None


def check_loops(checks: Checks) -> None:
    """Adds what is wrong to the document's problems."""
    for path, config, part in _parts(checks):
        _version(checks, path, config, part)
        _stand_in(checks, path, config, part)
    _addresses(checks)
    _devices(checks)


def _parts(checks: Checks) -> Iterator[tuple[Path, PartConfig, Any]]:
    """Every body, and every controller that is a peer."""
    for path, config in checks.made("robots", None, "body"):
        yield path, config, plugins.load(plugins.BODIES, config.kind)
    for path, config in checks.made("robots", None, "controller"):
        if (part := peer_of(config)) is not None:
            yield path, config, part


def _webots(checks: Checks) -> str | None:
    """The version, where it is written as one."""
    version = descend(checks.document.data, ("webots",))
    if version is None:
        return "R2025a"
    return version if isinstance(version, str) and not checks.document.is_bad(("webots",)) else None


def _version(checks: Checks, path: Path, config: PartConfig, part: Any) -> None:
    version = _webots(checks)
    if version is None or checks.document.is_bad(path):
        return
    try:
        part.session(config.settings, version, None)
    except ConfigError as error:
        at = ("webots",) if ("webots",) in checks.document.values else path
        checks.error(at, error.what, error.fix)


def _stand_in(checks: Checks, path: Path, config: PartConfig, part: Any) -> None:
    """The mock that takes the place of the peer, when one does."""
    version = _webots(checks)
    if version is None or descend(checks.document.data, ("backend",)) not in ("mock", "loopback"):
        return
    if any(bad[: len(path)] == path for bad in checks.document.bad):
        return  # the mock follows settings that are wrong
    try:
        spec = part.mock(config.settings, version)
    except ConfigError:
        return  # said with the version
    try:
        for key, what, fix in check_mock(spec.name, spec.parameters):
            at = (*path, "mock", key)
            checks.error(at if at in checks.document.values else path, f"mock: {what}", fix)
    except ConfigError as error:
        checks.error(path, error.what, error.fix)


def _addresses(checks: Checks) -> None:
    """A robot has one controller, and an address one listener; nor may the two be each other."""
    listeners: dict[tuple[str, int], Path] = {}
    robots: dict[tuple[str, int], Path] = {}
    for key, part, seen in (("listen", "controller", listeners), ("connect", "body", robots)):
        for path, config in checks.made("robots", None, part):
            url = getattr(config.settings, key, None)
            if url is None or checks.document.is_bad((*path, key)):
                continue
            try:
                address = _address(url)
            except ValueError:
                checks.error((*path, key), "no port from 0 to 65535", "e.g. tcp://127.0.0.1:27015")
                continue
            if not address[1]:
                if key == "connect":
                    checks.error((*path, key), "port 0 is nobody's", "write the robot's port")
            elif address in seen:
                checks.error(
                    (*path, key), f"is that of {spell(seen[address])} too", "use another port"
                )
            elif key == "connect" and address in listeners:
                what = f"is where {spell(listeners[address])} listens: a loop without a robot"
                checks.error((*path, key), what, "use another port")
            else:
                seen[address] = path


def _address(url: str) -> tuple[str, int]:
    """Host and port, in one spelling. ValueError."""
    host, port = parse_address(url)
    return LOOPBACK if host == "localhost" else host.lower(), port


def _devices(checks: Checks) -> None:
    """Emitters and Receivers of a robot whose controller cannot know them."""
    for path, robot in checks.made("robots", None):
        config = robot.controller
        if not robot.devices or config is None or peer_of(config) is None:
            continue
        if not getattr(config.settings, "extensions", True):
            checks.warn(
                (*path, "controller"),
                "the controller cannot use the robot's devices: packets need extensions: true",
            )
