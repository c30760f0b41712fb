"""Checks of controllers and bodies: versions, mocks, addresses, proxies, programs, modes."""

from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from hilgw import plugins
from hilgw.config.checks.network import check_listener
from hilgw.config.checks.parts import check_mock, needs_mock
from hilgw.config.context import Inspection
from hilgw.config.model import DEFAULT_RELEASE, PartConfig, RobotConfig
from hilgw.config.paths import program_file
from hilgw.config.queries import (
    bodies,
    endpoint,
    forwarding_of,
    is_mocked,
    is_simulated,
    part_name,
    peer_of,
    program_of,
    proxy_of,
    stepped_of,
    world_name,
)
from hilgw.config.source.text import Path, spell
from hilgw.control.modes import RobotMode, differing, of_one_only
from hilgw.control.parts import Connects, InWebots, Listens, RunsProgram
from hilgw.devices.nodes import upright_axis
from hilgw.errors import ConfigError, printable, quoted

if TYPE_CHECKING:
    from hilgw.devices.kinds import Device

Address = tuple[str, int]


def _peers(inspection: Inspection) -> Iterator[tuple[Path, PartConfig, Any]]:
    for path, config in bodies(inspection):
        yield path, config, plugins.load(plugins.BODIES, config.kind)
    for path, config in inspection.made("robots", None, "controller"):
        if (peer := peer_of(config)) is not None:
            yield path, config, peer


def webots_version(inspection: Inspection) -> str | None:
    """Return the Webots version of the file; None if it is invalid."""
    version = inspection.get("webots") or DEFAULT_RELEASE
    is_bad = inspection.document.is_bad(("webots",))
    return version if isinstance(version, str) and not is_bad else None


def check_peers(inspection: Inspection) -> None:
    """Check the Webots version, also for each peer and proxy, and the mocks of peers."""
    if (version := webots_version(inspection)) is not None:
        try:
            upright_axis(version)
        except ConfigError as error:
            inspection.error(("webots",), error.what, error.fix)
    for path, config, peer in _peers(inspection):
        _check_webots_version(inspection, path, config, peer.session, None)
        _check_peer_mock(inspection, path, config, peer)
    for path, config in inspection.made("robots", None, "controller"):
        if (proxy := proxy_of(config)) is not None:
            _check_webots_version(inspection, path, config, proxy.proxy, (), {})


def check_listeners(inspection: Inspection) -> None:
    """Check the addresses on which controllers are accepted against `access`."""
    for path, config in inspection.made("robots", None, "controller"):
        settings = config.settings
        if not isinstance(settings, Listens) or settings.listen is None:
            continue
        if any(_sharing(config)):
            name = (settings.robot if isinstance(settings, InWebots) else None) or str(path[1])
            check_listener(inspection, (*path, "listen"), settings.listen, name)


def _sharing(controller: PartConfig) -> tuple[bool, bool]:
    """Return whether it may share its address with stepped controllers, and with proxies.

    Controllers of these kinds send the name of their robot.
    """
    return stepped_of(controller) is not None, proxy_of(controller) is not None


def _check_webots_version(
    inspection: Inspection,
    path: Path,
    config: PartConfig,
    session: Callable[..., Any],
    *of: Any,
) -> None:
    """Check that a session can be made for this version.

    `session` makes the session of a peer or proxy from the settings, the version and `of`.
    """
    version = webots_version(inspection)
    if version is None or inspection.has_errors_below(path):
        return  # a session is made of settings without errors
    try:
        session(config.settings, version, *of)
    except ConfigError as error:
        version_path = ("webots",) if ("webots",) in inspection.document.values else path
        inspection.error(
            version_path, f"{error.what}; {spell(path)} is of kind {config.kind}", error.fix
        )


def _check_peer_mock(inspection: Inspection, path: Path, config: PartConfig, peer: Any) -> None:
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
    """Check the mocks of a controller behind a proxy, and of the Webots behind it."""
    version = webots_version(inspection)
    for path, robot in _proxied(inspection):
        part_path, proxy, part = (*path, "controller"), proxy_of(robot.controller), robot.controller
        if not (version and proxy and part) or inspection.has_errors_below(part_path):
            continue
        name = world_name(str(path[-1]), robot)
        if is_mocked(inspection, part_name(part_path)):
            check_mock(inspection, part_path, proxy.mock(part.settings, name, version))
        if is_mocked(inspection, part_name((*path, "webots"))):
            check_mock(
                inspection, part_path, proxy.simulator(part.settings, [name], version), "simulator"
            )


def check_addresses(inspection: Inspection) -> None:
    """Report equal addresses of two robots, and of the controller and the body of one."""
    listeners: dict[Address, tuple[Path, tuple[bool, bool]]] = {}
    for path, config in inspection.made("robots", None, "controller"):
        url = config.settings.listen if isinstance(config.settings, Listens) else None
        address = _address_at(inspection, (*path, "listen"), url)
        if address is None or not address[1] or inspection.document.is_bad((*path, "listen")):
            continue  # port 0: any free one
        sharing = _sharing(config)
        first, other = listeners.setdefault(address, (path, sharing))
        if first != path and not (any(sharing) and sharing == other):
            inspection.error(
                (*path, "listen"), f"{spell(first)} has this address too", "use another port"
            )
    robots: dict[Any, Path] = {}  # Webots has many at one address: with its name there
    for path, config in bodies(inspection):
        address_path, settings = (*path, "connect"), config.settings
        url = settings.connect if isinstance(settings, Connects) else None
        address = _address_at(inspection, address_path, url)
        if address is None or inspection.document.is_bad(address_path):
            continue
        robot = settings.robot if isinstance(settings, InWebots) else None
        if not address[1]:
            inspection.error(address_path, "no robot listens on port 0", "write the robot's port")
            continue
        first_robot = robots.setdefault(address if robot is None else (*address, robot), path)
        if first_robot != path:
            inspection.error(
                address_path, f"{spell(first_robot)} has this address too", "use another port"
            )
        elif address in listeners:
            inspection.error(
                address_path,
                f"{spell(listeners[address][0])} listens here: the control loop has no robot",
                "use another port",
            )


def check_forwarding(inspection: Inspection) -> None:
    """Report robots that forward the packets of one world twice.

    Two such robots would each send the packets of the other; a controller in the gateway would read
    the packets itself.
    """
    worlds: dict[Address, Path] = {}
    for path, robot in inspection.made("robots", None):
        forwarding = forwarding_of(robot.body)
        if not forwarding:
            continue
        setting_path = (*path, "body", "to_medium" if forwarding.to_medium else "from_medium")
        try:
            first = worlds.setdefault(endpoint(robot.body.settings.connect), path)
        except ValueError:
            continue  # check_addresses has reported it
        if first != path:
            problem = (
                f"{spell(first)} forwards the packets of this world too, and each would repeat"
            )
            inspection.error(
                setting_path, f"{problem} the other's", "let one robot have all of them"
            )
        if robot.controller is not None and peer_of(robot.controller) is None:
            inspection.error(
                setting_path,
                f"the controller {robot.controller.kind} reads the packets itself",
                "remove the controller, or what is forwarded",
            )


def check_device_users(inspection: Inspection) -> None:
    """Warn about devices of a robot whose controller cannot use them."""
    for path, robot in inspection.made("robots", None):
        config, peer = robot.controller, peer_of(robot.controller)
        for name in () if peer else robot.devices.keys() - robot.radios.keys():
            inspection.warn(
                (*path, "devices", name), "has no effect: no controller outside the gateway uses it"
            )
        if robot.radios and peer is not None and not peer.carries_packets(config.settings):
            inspection.warn(
                (*path, "controller"),
                "the controller cannot use the robot's devices without extensions: true",
            )


# --- robots behind a proxy ------------------------------------------------------------------------


def _proxied(inspection: Inspection) -> Iterator[tuple[Path, RobotConfig]]:
    for path, robot in inspection.made("robots", None):
        if proxy_of(robot.controller) is not None:
            yield path, robot


def check_proxies(inspection: Inspection) -> None:
    """Check devices, bodies, names and addresses of proxies."""
    names: dict[tuple[Address, str], Path] = {}
    targets: dict[Address, Address] = {}
    listeners: dict[Address, Path] = {}
    connections: list[tuple[Path, Address]] = []
    for path, robot in _proxied(inspection):
        assert robot.controller is not None
        _check_robot(inspection, path, robot)
        part_path, settings = (*path, "controller"), robot.controller.settings
        listen = _address_at(inspection, (*part_path, "listen"), settings.listen)
        connect = _address_at(inspection, (*part_path, "connect"), settings.connect, example=1235)
        if connect is None:
            continue
        connections.append((path, connect))
        if not connect[1]:
            inspection.error(
                (*part_path, "connect"),
                "Webots does not listen on port 0",
                "write the port of Webots",
            )
        if listen is None:
            continue
        listeners.setdefault(listen, path)
        part_path = (*path, "controller", "robot")
        part_path = part_path if part_path in inspection.document.values else path
        key = (connect, world_name(str(path[-1]), robot))
        if key in names:
            inspection.error(
                part_path,
                f"{spell(names[key])} is this robot in Webots too",
                "write the other robot's name: robot: NAME",
            )
        names.setdefault(key, path)
        if listen[1] and targets.setdefault(listen, connect) != connect:
            inspection.error(
                (*path, "controller", "listen"),
                "another robot with this address is in another Webots",
                "use another port",
            )
    for path, connect in connections:
        if connect in listeners:
            inspection.error(
                (*path, "controller", "connect"),
                "hilgw itself listens here, not Webots",
                "write the port of Webots",
            )


def _check_robot(inspection: Inspection, path: Path, robot: RobotConfig) -> None:
    assert robot.controller is not None
    if robot.body is not None:
        inspection.error(
            (*path, "body"),
            "the robot's body is in Webots: its controller there moves it",
            "delete it, or use another kind of controller",
        )
    if not robot.radios:
        inspection.warn(path, "has no Emitter or Receiver: the proxy passes all bytes on")
    for index, name in enumerate(robot.controller.settings.only):
        if name not in robot.radios:
            known = robot.radios
            problem = f"unknown Emitter or Receiver {quoted(name)}"
            fix = inspection.suggest(name, known) if known else "write it under `devices:`"
            inspection.error((*path, "controller", "only", index), problem, fix)


def _address_at(
    inspection: Inspection, path: Path, url: str | None, example: int = 27015
) -> Address | None:
    """Return host and port of an address; None without an address.

    An invalid one is an error, whose fix has `example` as its port.
    """
    if url is None:
        return None
    try:
        return endpoint(url)
    except ValueError:
        inspection.error(
            path, "the port is out of range", f"allowed: 0 to 65535, e.g. tcp://127.0.0.1:{example}"
        )
        return None


# --- programs that hilgw starts -------------------------------------------------------------------


def check_programs(inspection: Inspection) -> None:
    """Check that each program is a file that can be read."""
    folder = FilePath(inspection.document.file).parent
    for path, config in inspection.made("robots", None, "controller"):
        # Of a name that no file can have, pathlib raises an error, which was reported.
        if not isinstance(config.settings, RunsProgram) or inspection.has_errors_below(
            (*path, "file")
        ):
            continue
        program = program_file(folder, config.settings.file)
        if not program.is_file():
            inspection.error(
                (*path, "file"),
                f"there is no file {printable(str(program))}",
                "write the path of the program, relative to the configuration",
            )


def check_restarts(inspection: Inspection) -> None:
    """Report a program that may move a real robot again after its body was lost."""
    for path, robot in inspection.made("robots", None):
        restart_path = (*path, "controller", "restart")
        if program_of(robot.controller) is None:
            continue
        if robot.safety.latch is not False or inspection.get(*restart_path) != "with-body":
            continue
        parts = robot.bodies.items()
        if all(is_simulated(inspection, part_name((*path, key)), part) for key, part in parts):
            continue
        inspection.error(
            restart_path,
            "with `latch: false` the program would move the real robot again without `hilgw arm`",
            "remove `latch: false` from `safety`, or write `restart: never`",
        )


# --- robots with two bodies: under the keys `body` and `remote` -----------------------------------


def check_modes(inspection: Inspection) -> None:
    """Check second bodies: each has a first one with the same devices, each mode has its body."""
    version = webots_version(inspection)
    for path, data in inspection.each("robots", None):
        mode = data.get("mode")
        if data.get("remote") is None:
            if mode in (RobotMode.REMOTE, RobotMode.SHADOW):
                inspection.error(
                    (*path, "mode"),
                    f"mode {mode} needs a remote body",
                    "write the real robot under `remote:`, or delete the mode",
                )
        elif data.get("body") is None:
            inspection.error(
                (*path, "remote"),
                "a remote body is the second one, and there is no first body",
                "rename it to `body`, or write a body, too",
            )
    for path, robot in inspection.made("robots", None):
        if robot.body is not None and robot.remote is not None:
            _check_bodies(inspection, path, robot, version)


def _check_bodies(
    inspection: Inspection, path: Path, robot: RobotConfig, version: str | None
) -> None:
    remote = (*path, "remote")
    assert robot.remote is not None and robot.body is not None
    if forwarding_of(robot.remote):
        inspection.error(
            remote,
            "packets are forwarded for the first body only",
            "write to_medium and from_medium under `body:`",
        )
    first, second = _devices(robot.body, version), _devices(robot.remote, version)
    if not first or not second:
        return
    for problem in differing(first, second):
        inspection.error(
            remote,
            f"the bodies differ: {problem}",
            "give the devices of both bodies one kind, or other names",
        )
    for here, there, role in ((first, second, "body"), (second, first, "remote")):
        if names := of_one_only(here, there):
            inspection.warn(remote, f"only `{role}` has: {', '.join(names)}")


def _devices(part: PartConfig, version: str | None) -> "list[Device]":
    """Return the devices that the settings alone decide; none if the robot reports its devices."""
    if version is None:
        return []
    try:
        session = plugins.load(plugins.BODIES, part.kind).session(part.settings, version, None)
    except ConfigError:
        return []  # reported for the version
    return list(session.devices)
