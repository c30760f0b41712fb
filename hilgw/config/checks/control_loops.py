"""Checks of controllers and bodies: versions, mocks, addresses, forwarding, devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hilgw import plugins
from hilgw.bodies.base import ForwardingBody
from hilgw.config.checks.access import check_listener
from hilgw.config.checks.mocks import check_mock, needs_mock
from hilgw.config.checks.modes import BODY_KEYS, bodies
from hilgw.config.checks.proxies import proxied, proxy_of, world_name
from hilgw.config.context import Inspection
from hilgw.config.model import PartConfig
from hilgw.config.source.positions import Path, spell
from hilgw.controllers.base import PeerController, ProgramController, SteppedController
from hilgw.errors import ConfigError
from hilgw.transports.tcp.address import parse_address

_LOOPBACK = "127.0.0.1"


def peer_of(part: PartConfig | None) -> PeerController | None:
    """The controller when it is a peer on a connection; None for one that runs in the gateway."""
    controller = None if part is None else plugins.load(plugins.CONTROLLERS, part.kind)
    return controller if plugins.conforms(controller, PeerController) else None


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
        listen = getattr(config.settings, "listen", None)
        stepped = plugins.conforms(peer_of(config), SteppedController)
        if listen is not None and (stepped or proxy_of(config) is not None):
            name = getattr(config.settings, "robot", None) or str(path[1])
            check_listener(inspection, (*path, "listen"), listen, name)


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
    if plugins.conforms(peer, ProgramController):
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
        if not (version and proxy and part) or not needs_mock(inspection, at):
            continue
        name = world_name(str(path[-1]), robot)
        check_mock(inspection, at, proxy.mock(part.settings, name, version))
        check_mock(inspection, at, proxy.simulator(part.settings, [name], version), "simulator")


def check_addresses(inspection: Inspection) -> None:
    """Two robots with one address, and a controller and a body that would connect to each other."""
    listeners: dict[Any, Path] = {}
    robots: dict[Any, Path] = {}  # Webots has many at one address: with its name there
    controllers = list(inspection.made("robots", None, "controller"))
    sharing = [  # their controllers name the robot
        {
            path
            for path, config in controllers
            if plugins.conforms(peer_of(config), SteppedController)
        },
        {path for path, config in controllers if proxy_of(config) is not None},
    ]
    parts = (("connect", body, robots) for body in BODY_KEYS)
    for key, part, seen in (("listen", "controller", listeners), *parts):
        for path, config in inspection.made("robots", None, part):
            at = (*path, key)
            url = getattr(config.settings, key, None)
            if url is None or inspection.document.is_bad(at):
                continue
            try:
                address = _address(url)
            except ValueError:
                inspection.error(
                    at,
                    "the port is out of range",
                    "allowed: 0 to 65535, e.g. tcp://127.0.0.1:27015",
                )
                continue
            name = getattr(config.settings, "robot", None) if key == "connect" else None
            peer = address if name is None else (*address, name)
            if not address[1]:
                if key == "connect":
                    inspection.error(at, "no robot listens on port 0", "write the robot's port")
            elif key == "listen" and any({path, seen.get(address)} <= each for each in sharing):
                continue
            elif peer in seen:
                what = f"{spell(seen[peer])} has this address too"
                inspection.error(at, what, "use another port")
            elif key == "connect" and address in listeners:
                what = f"{spell(listeners[address])} listens here: the control loop has no robot"
                inspection.error(at, what, "use another port")
            else:
                seen[peer] = path


def _address(url: str) -> tuple[str, int]:
    """Host and port, in one spelling. ValueError."""
    host, port = parse_address(url)
    return _LOOPBACK if host == "localhost" else host.lower(), port


def check_forwarding(inspection: Inspection) -> None:
    """Two robots that forward the packets of one world: each would send what the other sends. And
    a controller in the gateway, which would read the packets itself."""
    worlds: dict[Any, Path] = {}
    for path, robot in inspection.made("robots", None):
        if robot.body is None:
            continue
        body = plugins.load(plugins.BODIES, robot.body.kind)
        if not isinstance(body, ForwardingBody):
            continue
        forwarding = body.forwarding(robot.body.settings)
        if not forwarding:
            continue
        at = (*path, "body", "to_medium" if forwarding.to_medium else "from_medium")
        try:
            first = worlds.setdefault(_address(robot.body.settings.connect), path)
        except ValueError:
            continue  # _check_addresses has reported it
        if first != path:
            what = f"{spell(first)} forwards the packets of this world too, and each would repeat"
            inspection.error(at, f"{what} the other's", "let one robot have all of them")
        if robot.controller is not None and peer_of(robot.controller) is None:
            what = f"the controller {robot.controller.kind} reads the packets itself"
            inspection.error(at, what, "remove the controller, or what is forwarded")


def check_device_users(inspection: Inspection) -> None:
    """Devices of a robot whose controller cannot use them."""
    for path, robot in inspection.made("robots", None):
        config = robot.controller
        has_peer = config is not None and peer_of(config) is not None
        for name in () if has_peer else robot.devices.keys() - robot.radios.keys():
            what = "has no effect: no controller outside the gateway uses it"
            inspection.warn((*path, "devices", name), what)
        if not robot.radios or config is None or not has_peer:
            continue
        if not getattr(config.settings, "extensions", True):
            inspection.warn(
                (*path, "controller"),
                "the controller cannot use the robot's devices without extensions: true",
            )
