"""Checks of controllers and bodies: versions, mocks, addresses, forwarding, devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hilgw import plugins
from hilgw.config.checks.access import check_listener
from hilgw.config.checks.mocks import check_mock, needs_mock
from hilgw.config.checks.proxies import Address, address_at, proxied
from hilgw.config.context import Inspection
from hilgw.config.model import PartConfig
from hilgw.config.queries import (
    bodies,
    endpoint,
    forwarding_of,
    is_mocked_at,
    peer_of,
    proxy_of,
    stepped_of,
    world_name,
)
from hilgw.config.source.positions import Path, spell
from hilgw.control.parts import Connects, InWebots, Listens, RunsProgram
from hilgw.errors import ConfigError


def _peers(inspection: Inspection) -> Iterator[tuple[Path, PartConfig, Any]]:
    """Every body, and every controller that is a peer."""
    for path, config in bodies(inspection):
        yield path, config, plugins.load(plugins.BODIES, config.kind)
    for path, config in inspection.made("robots", None, "controller"):
        if (peer := peer_of(config)) is not None:
            yield path, config, peer


def webots_version(inspection: Inspection) -> str | None:
    """The Webots version of the file; None when it is invalid."""
    version = inspection.get("webots")
    if version is None:
        return "R2025a"
    is_bad = inspection.document.is_bad(("webots",))
    return version if isinstance(version, str) and not is_bad else None


def check_peers(inspection: Inspection) -> None:
    """The Webots version of each peer, and its mock."""
    for path, config, peer in _peers(inspection):
        _check_webots_version(inspection, path, config, peer)
        _check_peer_mock(inspection, path, config, peer)


def check_listeners(inspection: Inspection) -> None:
    """The addresses on which controllers are accepted, against `access`."""
    for path, config in inspection.made("robots", None, "controller"):
        settings = config.settings
        if not isinstance(settings, Listens) or settings.listen is None:
            continue
        if any(_sharing(config)):
            name = (settings.robot if isinstance(settings, InWebots) else None) or str(path[1])
            check_listener(inspection, (*path, "listen"), settings.listen, name)


def _sharing(controller: PartConfig) -> tuple[bool, bool]:
    """With which others it may share its address, as these name their robot: with those that are
    stepped, with proxies."""
    return stepped_of(controller) is not None, proxy_of(controller) is not None


def _check_webots_version(
    inspection: Inspection, path: Path, config: PartConfig, peer: Any
) -> None:
    version = webots_version(inspection)
    if version is None or inspection.has_errors_below(path):
        return  # a session is made of settings without errors
    try:
        peer.session(config.settings, version, None)
    except ConfigError as error:
        at = ("webots",) if ("webots",) in inspection.document.values else path
        inspection.error(at, error.what, error.fix)


def _check_peer_mock(inspection: Inspection, path: Path, config: PartConfig, peer: Any) -> None:
    """The mock that runs instead of the peer, with backend mock or loopback."""
    version = webots_version(inspection)
    if version is None or not needs_mock(inspection, path):
        return
    if isinstance(config.settings, RunsProgram):
        return  # on mocks the program itself runs
    try:
        spec = peer.mock(config.settings, version)
    except ConfigError:
        return  # _check_webots_version has reported it
    check_mock(inspection, path, spec)


def check_proxy_mocks(inspection: Inspection) -> None:
    """The mocks of a controller behind a proxy, and of the Webots behind it."""
    version = webots_version(inspection)
    for path, robot in proxied(inspection):
        at, proxy, part = (*path, "controller"), proxy_of(robot.controller), robot.controller
        if not (version and proxy and part) or inspection.has_errors_below(at):
            continue
        name = world_name(str(path[-1]), robot)
        if is_mocked_at(inspection, at):
            check_mock(inspection, at, proxy.mock(part.settings, name, version))
        if is_mocked_at(inspection, (*path, "webots")):
            check_mock(inspection, at, proxy.simulator(part.settings, [name], version), "simulator")


def check_addresses(inspection: Inspection) -> None:
    """Two robots with one address, and a controller and a body that would connect to each other."""
    listeners: dict[Address, tuple[Path, tuple[bool, bool]]] = {}
    for path, config in inspection.made("robots", None, "controller"):
        url = config.settings.listen if isinstance(config.settings, Listens) else None
        address = address_at(inspection, (*path, "listen"), url)
        if address is None or not address[1] or inspection.document.is_bad((*path, "listen")):
            continue  # port 0: any free one
        sharing = _sharing(config)
        first, other = listeners.setdefault(address, (path, sharing))
        if first != path and not (any(sharing) and sharing == other):
            what = f"{spell(first)} has this address too"
            inspection.error((*path, "listen"), what, "use another port")
    robots: dict[Any, Path] = {}  # Webots has many at one address: with its name there
    for path, config in bodies(inspection):
        at, settings = (*path, "connect"), config.settings
        url = settings.connect if isinstance(settings, Connects) else None
        address = address_at(inspection, at, url)
        if address is None or inspection.document.is_bad(at):
            continue
        robot = settings.robot if isinstance(settings, InWebots) else None
        if not address[1]:
            inspection.error(at, "no robot listens on port 0", "write the robot's port")
            continue
        first_robot = robots.setdefault(address if robot is None else (*address, robot), path)
        if first_robot != path:
            what = f"{spell(first_robot)} has this address too"
            inspection.error(at, what, "use another port")
        elif address in listeners:
            what = f"{spell(listeners[address][0])} listens here: the control loop has no robot"
            inspection.error(at, what, "use another port")


def check_forwarding(inspection: Inspection) -> None:
    """Two robots that forward the packets of one world: each would send what the other sends. And
    a controller in the gateway, which would read the packets itself."""
    worlds: dict[Address, Path] = {}
    for path, robot in inspection.made("robots", None):
        forwarding = forwarding_of(robot.body)
        if not forwarding:
            continue
        at = (*path, "body", "to_medium" if forwarding.to_medium else "from_medium")
        try:
            first = worlds.setdefault(endpoint(robot.body.settings.connect), path)
        except ValueError:
            continue  # check_addresses has reported it
        if first != path:
            what = f"{spell(first)} forwards the packets of this world too, and each would repeat"
            inspection.error(at, f"{what} the other's", "let one robot have all of them")
        if robot.controller is not None and peer_of(robot.controller) is None:
            what = f"the controller {robot.controller.kind} reads the packets itself"
            inspection.error(at, what, "remove the controller, or what is forwarded")


def check_device_users(inspection: Inspection) -> None:
    """Devices of a robot whose controller cannot use them."""
    for path, robot in inspection.made("robots", None):
        config, peer = robot.controller, peer_of(robot.controller)
        for name in () if peer else robot.devices.keys() - robot.radios.keys():
            what = "has no effect: no controller outside the gateway uses it"
            inspection.warn((*path, "devices", name), what)
        if robot.radios and peer is not None and not peer.carries_packets(config.settings):
            inspection.warn(
                (*path, "controller"),
                "the controller cannot use the robot's devices without extensions: true",
            )
