"""Checks that span several parts of a configuration; they run on what passed validation.

Errors are added to the document's problems; legal but doubtful settings get a warning.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from hilgw import plugins
from hilgw.adapters._common.rates import near_rate
from hilgw.adapters.declaration import UsbId, line_of
from hilgw.bodies.base import ForwardingBody
from hilgw.config.access import check_listener
from hilgw.config.backends import check_real, is_mocked_at
from hilgw.config.context import Context, Inspection
from hilgw.config.model import AdapterConfig, NodeConfig, PartConfig
from hilgw.config.modes import BODY_KEYS, bodies, check_modes
from hilgw.config.programs import check_programs
from hilgw.config.proxies import check_proxies, proxied, proxy_of, world_name
from hilgw.config.reach import check_reach
from hilgw.config.references import check_references
from hilgw.config.scene import check_scene
from hilgw.config.source.document import Document
from hilgw.config.source.positions import Diagnostic, Path, spell
from hilgw.config.speed import check_speed
from hilgw.controllers.base import PeerController, ProgramController, SteppedController
from hilgw.devices.fields import normalise
from hilgw.devices.properties import NodeFields
from hilgw.errors import ConfigError, PortError, quoted
from hilgw.settings import MockSpec
from hilgw.transports.port_names import doubt
from hilgw.transports.serial.urls import kind_of
from hilgw.transports.tcp.address import parse_address

_LOOPBACK = "127.0.0.1"
_NO_PATH = ("has unprintable characters", "write the path only")

Problem = tuple[str, str, str]  # key (empty: the part itself), what is wrong, fix


def check(document: Document, context: Context) -> list[Diagnostic]:
    """Adds errors to the document's problems; returns the warnings."""
    inspection = Inspection(document, context)
    check_references(inspection)
    check_real(inspection)
    _check_devices(inspection)
    _check_parts(inspection)
    _check_adapters(inspection)
    _check_ports(inspection)
    _check_names(inspection)
    _check_nodes(inspection)
    check_scene(inspection)
    check_speed(inspection)
    for path, config in inspection.made("robots", None, "controller"):
        listen = getattr(config.settings, "listen", None)
        stepped = plugins.conforms(peer_of(config), SteppedController)
        if listen is not None and (stepped or proxy_of(config) is not None):
            check_listener(inspection, (*path, "listen"), listen)
    check_programs(inspection)
    check_modes(inspection, _webots_version(inspection))
    for path, config, peer in _peers(inspection):
        _check_webots_version(inspection, path, config, peer)
        _check_peer_mock(inspection, path, config, peer)
    _check_addresses(inspection)
    check_proxies(inspection)
    _check_proxy_mocks(inspection)
    _check_device_users(inspection)
    _check_forwarding(inspection)
    if not document.problems:
        check_reach(inspection)
    return inspection.warnings


def peer_of(part: PartConfig | None) -> PeerController | None:
    """The controller when it is a peer on a connection; None for one that runs in the gateway."""
    controller = None if part is None else plugins.load(plugins.CONTROLLERS, part.kind)
    return controller if plugins.conforms(controller, PeerController) else None


# --- each part by itself --------------------------------------------------------------------------


def _check_devices(inspection: Inspection) -> None:
    """The rules that span the fields of one device."""
    for path, fields in inspection.made("robots", None, "devices", None):
        if isinstance(fields, NodeFields):
            continue
        try:
            notes = normalise(fields)[1]
        except ConfigError as error:
            inspection.config_error(path, error)
            continue
        for note in notes:
            key = (*path, note.split()[0])
            inspection.warn(key if key in inspection.document.values else path, note)


def _check_parts(inspection: Inspection) -> None:
    """The checks that controllers and bodies bring along."""
    for path, config in inspection.made("robots", None, "controller"):
        _run_own_check(inspection, path, plugins.CONTROLLERS, config, config.settings)
    for path, config in bodies(inspection):
        _run_own_check(inspection, path, plugins.BODIES, config, config.settings)


def _check_adapters(inspection: Inspection) -> None:
    """Line settings, the checks that adapters bring along, and their mocks."""
    for path, config in inspection.made("adapters", None):
        try:
            line_of(config.common)
        except ConfigError as error:
            inspection.config_error(path, error)
        _run_own_check(inspection, path, plugins.ADAPTERS, config, config.settings, config.common)
        _question_rate(inspection, path, config)
        if _needs_mock(inspection, path):
            try:
                part = plugins.load(plugins.ADAPTERS, config.kind)
                spec = part.mock(config.settings, config.common)
            except ConfigError as error:
                inspection.error(path, error.what, error.fix)
            else:
                _check_mock(inspection, path, spec)


def _question_rate(inspection: Inspection, path: Path, config: AdapterConfig) -> None:
    """Warns of a rate that is legal, and probably mistyped."""
    rate = config.common.baudRate
    near = near_rate(rate, plugins.load(plugins.ADAPTERS, config.kind).limits.rates)
    if near is not None and not inspection.document.is_bad((*path, "baudRate")):
        inspection.warn((*path, "baudRate"), f"{rate} is not a usual rate", f"did you mean {near}?")


def _run_own_check(
    inspection: Inspection,
    path: Path,
    group: plugins.Group,
    config: AdapterConfig | PartConfig,
    *settings: Any,
) -> None:
    own: Callable[..., list[Problem]] | None
    own = getattr(plugins.load(group, config.kind), "check", None)
    if own is not None:
        inspection.errors(path, own(*settings))


# --- mocks ----------------------------------------------------------------------------------------


def _needs_mock(inspection: Inspection, path: Path) -> bool:
    """Whether a mock with the settings at `path` runs: not when these have errors."""
    return is_mocked_at(inspection, path) and not inspection.has_errors_below(path)


def _check_mock(inspection: Inspection, path: Path, spec: MockSpec, setting: str = "mock") -> None:
    """setting: where its parameters are."""
    try:
        for key, what, fix in _problems_of_mock(inspection, spec.name, spec.parameters):
            at = (*path, setting, key)
            at = at if at in inspection.document.values else path
            inspection.error(at, f"{setting}: {what}", fix)
    except ConfigError as error:
        inspection.error(path, error.what, error.fix)


def _problems_of_mock(
    inspection: Inspection,
    name: str,
    parameters: Mapping[str, Any],
    other_keys: Collection[str] = (),
) -> Iterator[Problem]:
    """All parameters that the firmware mock refuses. other_keys: also suggested for a typo.

    Raises ConfigError when there is no mock of this name, or it does not load.
    """
    if not plugins.has(plugins.MOCKS, name):
        raise plugins.unknown("mock", name, plugins.names(plugins.MOCKS))
    kind = plugins.load_mock(name)
    known = [*other_keys, *kind.parameters]
    accepted = {key: value for key, value in parameters.items() if key in kind.parameters}
    yield from _wrong_values(kind, accepted)
    # One by one, so that each costs the same: a mock may accept more than the names it lists.
    for parameter in parameters:
        if parameter in kind.parameters:
            continue
        if _refusal(kind, {**accepted, parameter: parameters[parameter]}):
            what = f"{quoted(name)} has no such parameter"
            yield parameter, what, inspection.suggest(parameter, known)
        else:
            accepted[parameter] = parameters[parameter]


def _wrong_values(kind: plugins.MockKind, parameters: dict[str, Any]) -> Iterator[Problem]:
    """The values that the mock refuses, of parameters that it lists; deletes these."""
    while problem := _refusal(kind, parameters):
        parameter, separator, message = problem.partition(": ")
        if not separator or parameter not in parameters:
            yield "", problem, f"see `hilgw mock {kind.name} --help`"
            parameters.clear()
        else:
            yield parameter, message, f"{parameter}: {kind.parameters[parameter]}"
            del parameters[parameter]


def _refusal(kind: plugins.MockKind, parameters: dict[str, Any]) -> str:
    """The mock's error for parameters it refuses; empty when it takes them."""
    try:
        kind.check(parameters)
    except (ValueError, TypeError) as error:
        return str(error) or "refused"
    return ""


# --- ports, names and nodes -----------------------------------------------------------------------


def _check_ports(inspection: Inspection) -> None:
    """Invalid ports, and two users of one port."""
    seen: dict[Any, Path] = {}
    parts = (("robots", None, key) for key in ("controller", *BODY_KEYS))
    users = (("adapters", None), *parts)
    for path, data in itertools.chain(*(inspection.each(*pattern) for pattern in users)):
        at = (*path, "port")
        key = _port_key(inspection, data.get("port"))
        if isinstance(key, str) and "://" in key:
            _check_port_url(inspection, at, key)
        if key == "loop://":
            continue  # each opens its own
        if key == "":
            inspection.error(at, "the port is empty", "write a device path, or loop://")
        elif isinstance(key, str) and not data["port"].isprintable():
            inspection.error(at, *_NO_PATH)
        elif key in seen:
            inspection.error(at, f"{spell(seen[key])} has this port too", "use another port")
        elif key is not None:
            seen[key] = path
            if isinstance(key, str) and (doubted := doubt(data["port"])):
                inspection.warn(at, f"{quoted(data['port'])} {doubted[0]}", doubted[1])


def _check_port_url(inspection: Inspection, at: Path, url: str) -> None:
    try:
        kind_of(url, allow_urls=True)
    except PortError as error:
        inspection.error(at, f"{quoted(url)}: {error.what}", error.fix)
        return
    if url != "loop://" and inspection.get("network_ports") is not True:
        fix = "write network_ports: true at the top of the file to allow it"
        inspection.error(at, f"{quoted(url)} is a port on the network", fix)


def _port_key(inspection: Inspection, port: Any) -> str | UsbId | None:
    """A key that is equal for two settings of the same port; None when the setting is invalid."""
    if isinstance(port, str):
        if "://" in port or not port.strip():
            return port.strip()
        return port.upper() if port[:3].upper() == "COM" else _real(port)
    usb = port.get("usb") if isinstance(port, dict) else None
    made: UsbId | None = inspection.context.made(usb)
    return made


def _check_names(inspection: Inspection) -> None:
    """Names that would be ambiguous in commands and reports."""
    robots = inspection.get("robots")
    for path, _ in inspection.each("adapters", None):
        if isinstance(robots, dict) and path[-1] in robots:
            inspection.error(path, f"{quoted(str(path[-1]))} is a robot too", "rename one of them")
    adapters = dict(inspection.each("adapters", None))
    for path, _ in inspection.each("airs", None, "nodes", None):
        adapter = adapters.get(("adapters", path[-1]))
        if adapter is not None and adapter.get("air") == path[1]:
            what = f"{quoted(str(path[-1]))} is an adapter in this air too"
            inspection.error(path, what, "rename one of them")


def _check_nodes(inspection: Inspection) -> None:
    """Unknown mocks, parameters they refuse, and two mocks with one link."""
    links: dict[str, Path] = {}
    for path, node in inspection.made("airs", None, "nodes", None):
        _check_node(inspection, path, node)
        if node.link is None:
            continue
        link = _real(node.link) if node.link else ""
        if not link:
            inspection.error((*path, "link"), "the link is empty", "write a path")
        elif not node.link.isprintable():
            inspection.error((*path, "link"), *_NO_PATH)
        elif link in links:
            what = f"{quoted(str(links[link][-1]))} has this link too"
            inspection.error((*path, "link"), what, "use another link")
        links.setdefault(link, path)


def _check_node(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    keys = inspection.context.keys(inspection.get(*path))
    try:
        for key, what, fix in _problems_of_mock(inspection, node.mock, node.parameters, keys):
            inspection.error((*path, key) if key else path, what, fix)
        _check_replies(inspection, (*path, "replies"), node)
    except ConfigError as error:
        inspection.error((*path, "mock"), error.what, error.fix)


def _check_replies(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    """The answers of a mock, each by itself: an error is at its entry."""
    kind = plugins.load_mock(node.mock)
    if node.replies and "replies" not in kind.parameters:
        what = f"{quoted(node.mock)} does not answer packets"
        inspection.error(path, what, "delete it, or use another mock")
        return
    for key, answer in node.replies.items():
        parameter, _, message = _refusal(kind, {"replies": {key: answer}}).partition(": ")
        if parameter == "replies":
            inspection.error((*path, key), message, f"replies: {kind.parameters[parameter]}")


def _real(path: str) -> str:
    """The path without links; the path itself when the system cannot resolve it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


# --- control loops --------------------------------------------------------------------------------


def _peers(inspection: Inspection) -> Iterator[tuple[Path, PartConfig, Any]]:
    """Every body, and every controller that is a peer."""
    for path, config in bodies(inspection):
        yield path, config, plugins.load(plugins.BODIES, config.kind)
    for path, config in inspection.made("robots", None, "controller"):
        if (peer := peer_of(config)) is not None:
            yield path, config, peer


def _webots_version(inspection: Inspection) -> str | None:
    """The Webots version of the file; None when it is invalid."""
    version = inspection.get("webots")
    if version is None:
        return "R2025a"
    is_bad = inspection.document.is_bad(("webots",))
    return version if isinstance(version, str) and not is_bad else None


def _check_webots_version(
    inspection: Inspection, path: Path, config: PartConfig, peer: Any
) -> None:
    version = _webots_version(inspection)
    if version is None or inspection.document.is_bad(path):
        return
    try:
        peer.session(config.settings, version, None)
    except ConfigError as error:
        at = ("webots",) if ("webots",) in inspection.document.values else path
        inspection.error(at, error.what, error.fix)


def _check_peer_mock(inspection: Inspection, path: Path, config: PartConfig, peer: Any) -> None:
    """The mock that runs instead of the peer, with backend mock or loopback."""
    version = _webots_version(inspection)
    if version is None or not _needs_mock(inspection, path):
        return
    if plugins.conforms(peer, ProgramController):
        return  # on mocks the program itself runs
    try:
        spec = peer.mock(config.settings, version)
    except ConfigError:
        return  # _check_webots_version has reported it
    _check_mock(inspection, path, spec)


def _check_proxy_mocks(inspection: Inspection) -> None:
    """The mocks of a controller behind a proxy, and of the Webots behind it."""
    version = _webots_version(inspection)
    for path, robot in proxied(inspection):
        at, proxy, part = (*path, "controller"), proxy_of(robot.controller), robot.controller
        if not (version and proxy and part) or not _needs_mock(inspection, at):
            continue
        name = world_name(str(path[-1]), robot)
        _check_mock(inspection, at, proxy.mock(part.settings, name, version))
        _check_mock(inspection, at, proxy.simulator(part.settings, [name], version), "simulator")


def _check_addresses(inspection: Inspection) -> None:
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


def _check_forwarding(inspection: Inspection) -> None:
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


def _check_device_users(inspection: Inspection) -> None:
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
