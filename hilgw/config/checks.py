"""Checks across parts, made on whatever passed the checks of its own.

Errors are added to the document's problems; what is legal but worth a word is a warning.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hilgw import plugins
from hilgw.adapters.base import StationSettings, UsbId, line_of
from hilgw.config.context import Context
from hilgw.config.diagnose import descend
from hilgw.config.loop_checks import check_loops
from hilgw.config.mock_parameters import check_mock
from hilgw.config.model import AdapterConfig, NodeConfig, PartConfig
from hilgw.config.references import check_references
from hilgw.config.source.document import Document
from hilgw.config.source.positions import WARNING, Diagnostic, Path, spell
from hilgw.config.world import check_world
from hilgw.devices.fields import normalise
from hilgw.errors import ConfigError, PortError, quoted
from hilgw.transports.serial.urls import kind_of

_NUMBER = re.compile(r"-?[0-9]{1,19}")  # a key of a mapping by channel
_NO_PATH = ("has characters in it that no path has", "write the path alone")


def check(document: Document, context: Context) -> list[Diagnostic]:
    """Adds errors to the document's problems; gives the warnings."""
    check_references(document, context)
    checks = Checks(document, context)
    checks.devices()
    checks.parts()
    checks.adapters()
    checks.ports()
    checks.names()
    checks.nodes()
    check_world(checks)
    check_loops(checks)
    return checks.warnings


@dataclass
class Checks:
    """One run over one document."""

    document: Document
    context: Context
    warnings: list[Diagnostic] = field(default_factory=list)

    # --- helpers: walk the data, say something ----------------------------------------------------

    def each(self, *path: str | None) -> Iterator[tuple[Path, Any]]:
        """Every mapping at a path of the data; None stands for any name."""
        return _walk(self.document.data, (), path)

    def made(self, *path: str | None) -> Iterator[tuple[Path, Any]]:
        """The same, as the object made from it, for all that passed."""
        for at, data in self.each(*path):
            if (part := self.context.made(data)) is not None:
                yield at, part

    def error(self, path: Path, what: str, fix: str) -> None:
        if not self.document.is_bad(path):
            self.document.report(self.document.place_of_value(path), path, what, fix)

    def warn(self, path: Path, what: str, fix: str = "") -> None:
        place = self.document.place_of_value(path)
        self.warnings.append(Diagnostic.at(place, path, what, fix, WARNING))

    def below(self, path: Path, dotted: str) -> Path:
        """The path `dotted` means below `path`. Keys may be numbers, and may have dots in them."""
        parts = dotted.split(".") if dotted else []
        while parts:
            here = descend(self.document.data, path)
            keys = here if isinstance(here, dict) else ()
            length = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in keys), 0)
            if length:
                path = (*path, ".".join(parts[:length]))
            else:
                path = (*path, int(parts[0]) if _NUMBER.fullmatch(parts[0]) else parts[0])
            del parts[: length or 1]
        return path

    def say(self, path: Path, problems: Iterable[tuple[str, str, str]]) -> None:
        for dotted, what, fix in problems:
            self.error(self.below(path, dotted), what, fix)

    # --- the checks -------------------------------------------------------------------------------

    def devices(self) -> None:
        """The rules that span the fields of one device."""
        for path, fields in self.made("robots", None, "devices", None):
            try:
                notes = normalise(fields)[1]
            except ConfigError as error:
                self.say(path, [(error.where, error.what, error.fix)])
                continue
            for note in notes:
                key = (*path, note.split()[0])
                self.warn(key if key in self.document.values else path, note)

    def parts(self) -> None:
        """The own checks of controllers and bodies."""
        for key, group in (("controller", plugins.CONTROLLERS), ("body", plugins.BODIES)):
            for path, part in self.made("robots", None, key):
                self.own_check(path, group, part, part.settings)

    def adapters(self) -> None:
        """The lines and the own checks of adapters."""
        for path, adapter in self.made("adapters", None):
            common: StationSettings = adapter.common
            try:
                line_of(common)
            except ConfigError as error:
                self.say(path, [(error.where, error.what, error.fix)])
            self.own_check(path, plugins.ADAPTERS, adapter, adapter.settings, common)
            self.stand_in(path, adapter)

    def stand_in(self, path: Path, adapter: AdapterConfig) -> None:
        """The mock that takes the place of the hardware, when one does."""
        if descend(self.document.data, ("backend",)) not in ("mock", "loopback"):
            return
        if any(bad[: len(path)] == path for bad in self.document.bad):
            return  # the mock follows settings that are wrong
        try:
            part = plugins.load(plugins.ADAPTERS, adapter.kind)
            spec = part.mock(adapter.settings, adapter.common)
            for key, what, fix in check_mock(spec.name, spec.parameters):
                at = (*path, "mock", key)
                self.error(at if at in self.document.values else path, f"mock: {what}", fix)
        except ConfigError as error:
            self.error(path, error.what, error.fix)

    def own_check(
        self, path: Path, group: plugins.Group, part: AdapterConfig | PartConfig, *settings: Any
    ) -> None:
        own: Callable[..., list[tuple[str, str, str]]] | None
        own = getattr(plugins.load(group, part.kind), "check", None)
        if own is not None:
            self.say(path, own(*settings))

    def ports(self) -> None:
        """Ports that are none, and two adapters on one port."""
        seen: dict[Any, Path] = {}
        places = (("adapters", None), ("robots", None, "controller"), ("robots", None, "body"))
        for path, data in itertools.chain(*(self.each(*place) for place in places)):
            at = (*path, "port")
            key = self.port_key(data.get("port"))
            if isinstance(key, str) and "://" in key:
                self.port_url(at, key)
            if key == "loop://":
                continue  # each has its own
            if key == "":
                self.error(at, "the port has no name", "write a device path, or loop://")
            elif isinstance(key, str) and not data["port"].isprintable():
                self.error(at, *_NO_PATH)
            elif key in seen:
                self.error(at, f"is the port of {spell(seen[key])} too", "a port has one user")
            elif key is not None:
                seen[key] = path

    def port_url(self, at: Path, url: str) -> None:
        """What is neither a path nor a COM name."""
        try:
            kind_of(url, allow_urls=True)
        except PortError as error:
            self.error(at, f"{quoted(url)}: {error.what}", error.fix)
            return
        if url != "loop://" and descend(self.document.data, ("network_ports",)) is not True:
            fix = "write network_ports: true at the top of the file to allow it"
            self.error(at, f"{quoted(url)} is a port on the network", fix)

    def port_key(self, port: Any) -> str | UsbId | None:
        """What two settings of the same port have in common; None when it cannot be said."""
        if isinstance(port, str):
            if "://" in port or not port.strip():
                return port.strip()
            return port.upper() if port[:3].upper() == "COM" else _real(port)
        made: UsbId | None = self.context.made(descend(port, ("usb",)))
        return made

    def names(self) -> None:
        """Names that would mean two things in commands and reports."""
        robots = descend(self.document.data, ("robots",))
        for path, _ in self.each("adapters", None):
            if isinstance(robots, dict) and path[-1] in robots:
                self.error(path, f"{quoted(str(path[-1]))} is a robot too", "rename one of them")
        adapters = dict(self.each("adapters", None))
        for path, _ in self.each("airs", None, "nodes", None):
            adapter = adapters.get(("adapters", path[-1]))
            if adapter is not None and adapter.get("air") == path[1]:
                what = f"{quoted(str(path[-1]))} is an adapter in this air too"
                self.error(path, what, "rename one of them")

    def nodes(self) -> None:
        """Mocks that do not exist, their parameters, and two of them behind one link."""
        links: dict[str, Path] = {}
        for path, node in self.made("airs", None, "nodes", None):
            self.node(path, node)
            if node.link is None:
                continue
            link = _real(node.link) if node.link else ""
            if not link:
                self.error((*path, "link"), "the link has no name", "write a path")
            elif not node.link.isprintable():
                self.error((*path, "link"), *_NO_PATH)
            elif link in links:
                what = f"is the link of {quoted(str(links[link][-1]))} too"
                self.error((*path, "link"), what, "one node per link")
            links.setdefault(link, path)

    def node(self, path: Path, node: NodeConfig) -> None:
        keys = self.context.keys(descend(self.document.data, path))
        try:
            for key, what, fix in check_mock(node.mock, node.parameters, keys):
                self.error((*path, key) if key else path, what, fix)
        except ConfigError as error:
            self.error((*path, "mock"), error.what, error.fix)


def _walk(data: Any, path: Path, pattern: tuple[str | None, ...]) -> Iterator[tuple[Path, Any]]:
    if not isinstance(data, dict):
        return
    if not pattern:
        yield path, data
        return
    for key in data if pattern[0] is None else (pattern[0],):
        if key in data:
            yield from _walk(data[key], (*path, key), pattern[1:])


def _real(path: str) -> str:
    """The path without links; the path itself when the system knows no such name."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
