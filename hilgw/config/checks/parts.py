"""Checks of each device, controller, body and adapter by itself; of ports and firmware mocks."""

import itertools
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hilgw import plugins
from hilgw.adapters.declaration import UsbId, line_of, near_rate
from hilgw.config.context import Inspection
from hilgw.config.model import AdapterConfig, NodeConfig, PartConfig
from hilgw.config.queries import BODY_KEYS, bodies, is_mocked, part_name
from hilgw.config.source.text import Path, spell
from hilgw.devices.fields import normalise
from hilgw.devices.properties import NodeFields
from hilgw.errors import ConfigError, PortError, quoted
from hilgw.settings import PROGRAM, PROGRAM_KEYS, MockSpec, Problem
from hilgw.transports.open_errors import doubt
from hilgw.transports.serial.urls import kind_of


def check_devices(inspection: Inspection) -> None:
    """Check the rules that span the fields of one device."""
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


def check_parts(inspection: Inspection) -> None:
    """Run the checks that controllers and bodies bring along."""
    for path, config in inspection.made("robots", None, "controller"):
        _run_own_check(inspection, path, plugins.CONTROLLERS, config, config.settings)
    for path, config in bodies(inspection):
        _run_own_check(inspection, path, plugins.BODIES, config, config.settings)


def check_adapters(inspection: Inspection) -> None:
    """Check line settings and mocks of adapters, and run the checks that adapters bring along."""
    for path, config in inspection.made("adapters", None):
        try:
            line_of(config.common)
        except ConfigError as error:
            inspection.config_error(path, error)
        _run_own_check(inspection, path, plugins.ADAPTERS, config, config.settings, config.common)
        _question_line(inspection, path, config)
        if needs_mock(inspection, path):
            try:
                part = plugins.load(plugins.ADAPTERS, config.kind)
                spec = part.mock(config.settings, config.common)
            except ConfigError as error:
                inspection.error(path, error.what, error.fix)
            else:
                check_mock(inspection, path, spec)


def _question_line(inspection: Inspection, path: Path, config: AdapterConfig) -> None:
    rate, limits = config.common.baudRate, plugins.load(plugins.ADAPTERS, config.kind).limits
    if config.common.data_bits not in limits.data_bits:
        inspection.error(
            (*path, "data_bits"),
            f"the line of kind {config.kind} has no {config.common.data_bits} data bits",
            "remove it: the line has 8",
        )
    near = near_rate(rate, limits.rates)
    if near is not None and not inspection.document.is_bad((*path, "baudRate")):
        inspection.warn((*path, "baudRate"), f"{rate} is not a usual rate", f"did you mean {near}?")


def _run_own_check(
    inspection: Inspection,
    path: Path,
    group: plugins.Group,
    config: AdapterConfig | PartConfig,
    *settings: Any,
) -> None:
    kind = plugins.load(group, config.kind)
    own, doubts = getattr(kind, "check", None), getattr(kind, "doubts", None)
    if own is not None:
        inspection.errors(path, own(*settings))
    for dotted, problem, fix in doubts(*settings) if doubts is not None else ():
        inspection.warn(inspection.below(path, dotted), problem, fix)


# --- serial ports: what they name, and that each has one user -------------------------------------


NO_PATH = ("has unprintable characters", "write the path only")


def check_ports(inspection: Inspection) -> None:
    """Report invalid ports, and two users of one port."""
    seen: dict[Any, Path] = {}
    users = (
        ("estop",),
        ("adapters", None),
        *(("robots", None, key) for key in ("controller", *BODY_KEYS)),
    )
    for path, data in itertools.chain(*(inspection.each(*pattern) for pattern in users)):
        port_path = (*path, "port")
        key = _port_key(inspection, data.get("port"))
        if isinstance(key, str) and "://" in key:
            _check_port_url(inspection, port_path, key)
        if isinstance(key, UsbId) and not key.location and None in (key.vid, key.pid):
            lacks = "vid" if key.vid is None else "pid"
            inspection.error((*port_path, "usb", lacks), "missing", "add it, or use location")
        if key == "loop://":
            continue  # each opens its own
        if key == "":
            inspection.error(port_path, "the port is empty", "write a device path, or loop://")
        elif isinstance(key, str) and not data["port"].isprintable():
            inspection.error(port_path, *NO_PATH)
        elif key in seen:
            inspection.error(port_path, f"{spell(seen[key])} has this port too", "use another port")
        elif key is not None:
            seen[key] = path
            if isinstance(key, str) and (doubted := doubt(data["port"])):
                inspection.warn(port_path, f"{quoted(data['port'])} {doubted[0]}", doubted[1])


def _check_port_url(inspection: Inspection, path: Path, url: str) -> None:
    try:
        kind_of(url, allow_urls=True)
    except PortError as error:
        inspection.error(path, f"{quoted(url)}: {error.what}", error.fix)
        return
    if url != "loop://" and inspection.get("network_ports") is not True:
        inspection.error(
            path,
            f"{quoted(url)} is a port on the network",
            "write network_ports: true at the top of the file to allow it",
        )


def _port_key(inspection: Inspection, port: Any) -> str | UsbId | None:
    """Return a key that is equal for settings of the same port; None for an invalid setting."""
    if isinstance(port, str):
        if "://" in port or not port.strip():
            return port.strip()
        return port.upper() if port[:3].upper() == "COM" else real_path(port)
    usb = port.get("usb") if isinstance(port, dict) else None
    made: UsbId | None = inspection.context.made(usb)
    return made


def real_path(path: str) -> str:
    """Return the path without links; the path itself if the system cannot resolve it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


# --- firmware mocks: those of a part, and the nodes of an air -------------------------------------


def check_nodes(inspection: Inspection) -> None:
    """Report unknown mocks, parameters that they reject, and two mocks with one link."""
    links: dict[str, Path] = {}
    for path, node in inspection.made("airs", None, "nodes", None):
        _check_node(inspection, path, node)
        if node.link is None:
            continue
        link = real_path(node.link) if node.link else ""
        if not link:
            inspection.error((*path, "link"), "the link is empty", "write a path")
        elif not node.link.isprintable():
            inspection.error((*path, "link"), *NO_PATH)
        elif link in links:
            inspection.error(
                (*path, "link"),
                f"{quoted(str(links[link][-1]))} has this link too",
                "use another link",
            )
        links.setdefault(link, path)


def _check_node(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    keys = inspection.context.keys(inspection.get(*path))
    try:
        for key, problem, fix in _problems_of_mock(inspection, node.mock, node.parameters, keys):
            inspection.error((*path, key) if key else path, problem, fix)
        _check_replies(inspection, (*path, "replies"), node)
    except ConfigError as error:
        inspection.error((*path, "mock"), error.what, error.fix)


def _check_replies(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    """Check each answer of a mock by itself, so that an error is at its entry."""
    kind = plugins.load_mock(node.mock)
    if node.replies and "replies" not in kind.parameters:
        inspection.error(
            path, f"{quoted(node.mock)} does not answer packets", "delete it, or use another mock"
        )
        return
    for key, answer in node.replies.items():
        parameter, _, message = _refusal(kind, {"replies": {key: answer}}).partition(": ")
        if parameter == "replies":
            inspection.error((*path, key), message, f"replies: {kind.parameters[parameter]}")


def needs_mock(inspection: Inspection, path: Path) -> bool:
    """Return True if a mock with the settings at `path` runs, and these have no errors."""
    return is_mocked(inspection, part_name(path)) and not inspection.has_errors_below(path)


def check_mock(inspection: Inspection, path: Path, spec: MockSpec, setting: str = "mock") -> None:
    """Check the parameters of a mock; they are at the key `setting` of `path`."""
    if spec.name == PROGRAM:  # the parameters of other mocks are left out of it
        for key in inspection.get(*path, setting):
            if key not in PROGRAM_KEYS:
                fix = inspection.suggest(key, PROGRAM_KEYS)
                inspection.error((*path, setting, key), "a program has no such parameter", fix)
    try:
        for key, problem, fix in _problems_of_mock(inspection, spec.name, spec.parameters):
            key_path = (*path, setting, key)
            key_path = key_path if key_path in inspection.document.values else path
            inspection.error(key_path, f"{setting}: {problem}", fix)
    except ConfigError as error:
        inspection.error(path, error.what, error.fix)


def _problems_of_mock(
    inspection: Inspection,
    name: str,
    parameters: Mapping[str, Any],
    other_keys: Collection[str] = (),
) -> Iterator[Problem]:
    """Yield a problem for each parameter that the firmware mock rejects.

    `other_keys` are names that are also suggested for a typo.

    Raises:
        ConfigError: there is no mock of this name, or it does not load.
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
            yield (
                parameter,
                f"{quoted(name)} has no such parameter",
                inspection.suggest(parameter, known),
            )
        else:
            accepted[parameter] = parameters[parameter]


def _wrong_values(kind: plugins.MockKind, parameters: dict[str, Any]) -> Iterator[Problem]:
    while problem := _refusal(kind, parameters):
        parameter, separator, message = problem.partition(": ")
        if not separator or parameter not in parameters:
            yield "", problem, f"see `hilgw mock {kind.name} --list`"
            parameters.clear()
        else:
            value = parameters.pop(parameter)
            if value is None:
                yield parameter, "must have a value", "write it, or delete the key"
            else:
                yield (
                    parameter,
                    _in_words(message, value),
                    f"{parameter}: {kind.parameters[parameter]}",
                )


def _in_words(message: str, value: Any) -> str:
    for kind, name in ((list, "a list"), (dict, "a mapping")):
        if isinstance(value, kind):
            return message.replace(repr(value), name)
    return message


def _refusal(kind: plugins.MockKind, parameters: dict[str, Any]) -> str:
    try:
        kind.check(parameters)
    except (ValueError, TypeError) as error:
        return str(error) or "refused"
    return ""


def check_switch(inspection: Inspection) -> None:
    """Check that the switch's port has modem lines, and none that are joined without a switch."""
    for section, estop in inspection.made("estop"):
        scheme = str(estop.port).strip().partition("://")
        if scheme[1] and scheme[0] in ("loop", "socket"):
            inspection.error(
                (*section, "port"),
                f"{scheme[0]}:// has no input for a switch",
                "use the path of a serial port, or rfc2217://HOST:PORT",
            )
