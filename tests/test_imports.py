"""The import direction of docs/architecture.md, pure code, and what `pip install hilgw` needs."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib import import_module
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hilgw.cli.version import LIBRARIES
from tests.sources import ROOT, files, imports, nodes, place

LAYERS = [
    {"reasons", "errors", "forms", "records", "settings", "units", "plugins", "__init__"},
    {"devices", "events", "framing", "guardian"},
    {"medium", "protocols", "control", "worlds"},
    {"transports", "view"},
    {"adapters", "bodies", "controllers", "record", "client"},
    {"engine", "security", "discovery", "config", "api"},
    {"federation"},
    {"bridge", "assemble"},
    {"web", "testing"},
    {"cli"},
    {"commands"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
PURE = {"devices", "framing", "medium", "protocols", "control", "worlds", "events", "view"} | {
    "adapters",
    "bodies",
    "controllers",
}
IMPURE = {"asyncio", "time", "socket", "logging", "threading", "os", "select", "subprocess"}
MODULES = files("hilgw")
MOCKS = files("firmware_mocks")


def room_of(path: Path) -> str:
    return _room(path.relative_to(ROOT / "hilgw").with_suffix("").parts)


def _room(parts: tuple[str, ...]) -> str:
    """Commands are a layer of their own: their rooms bring them, and `cli` finds them by name."""
    return "commands" if {*parts[1:2]} & {"command", "commands"} else parts[0]


@cache
def imports_of(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            if node.module == "hilgw":
                names |= {f"hilgw.{alias.name}" for alias in node.names}
    return frozenset(names)


def rooms_of(path: Path) -> set[str]:
    """The rooms of hilgw that a file imports."""
    return {
        _room(tuple(name.split(".")[1:])) for name in imports_of(path) if name.startswith("hilgw.")
    }


def test_imports_go_one_way() -> None:
    assert MODULES
    assert [
        f"{place(path)}: {room} imports {other}"
        for path in MODULES
        for room in [room_of(path)]
        for other in rooms_of(path) - {room, "__version__"}
        if LEVEL[other] >= LEVEL[room] > 0
    ] == []


BRING_COMMANDS = {"bridge", "federation", "record", "web", "worlds"}


def test_the_command_line_imports_no_room_that_brings_commands() -> None:
    own = [path for path in MODULES if path.is_relative_to(ROOT / "hilgw" / "cli")]
    assert own
    assert [
        f"{place(path)} imports {room}" for path in own for room in rooms_of(path) & BRING_COMMANDS
    ] == []


def test_pure_code_does_no_io() -> None:
    pure = [path for path in MODULES if room_of(path) in PURE]
    assert pure
    assert [
        f"{place(path)} imports {name}"
        for path in pure
        for name in imports_of(path)
        if name.split(".")[0] in IMPURE
    ] == []


CLIENT = {"api", "client"}
CLIENT_MAY_IMPORT = CLIENT | {
    "errors",
    "devices",
    "events",
    "forms",
    "protocols",
    "settings",
    "units",
    "view",
}


def test_only_the_command_line_the_page_and_the_client_import_the_client() -> None:
    """Client code runs in a user's process: it shares with the gateway only what is pure."""
    client = [path for path in MODULES if room_of(path) in CLIENT]
    assert {room_of(path) for path in client} == CLIENT
    assert [
        f"{place(path)} imports {name}"
        for path in client
        for name in (rooms_of(path) - CLIENT_MAY_IMPORT)
        | (imports_of(path) & {"asyncio", "pydantic"})
    ] == []
    assert [
        f"{place(path)} imports {room}"
        for path in MODULES
        if room_of(path) not in CLIENT | {"cli", "commands", "web"}
        for room in rooms_of(path) & CLIENT
    ] == []


def test_the_page_is_made_of_what_a_client_has() -> None:
    """No gateway imports it, and it imports none; of the medium it has the poses."""
    web = [path for path in MODULES if room_of(path) == "web"]
    allowed = CLIENT_MAY_IMPORT | {"web", "record", "security", "transports", "reasons", "medium"}
    assert web
    assert [
        f"{place(path)} imports {room}" for path in web for room in rooms_of(path) - allowed
    ] == []


def test_firmware_mocks_are_independent() -> None:
    """They are sans-I/O, and use no library."""
    assert MOCKS
    assert [
        f"{place(path)} imports {name}"
        for path in MOCKS
        for name in imports_of(path)
        for top in [name.split(".")[0]]
        if top in IMPURE or top not in sys.stdlib_module_names | {"firmware_mocks"}
    ] == []


def test_no_two_files_import_each_other() -> None:
    """No cycle between files, imports for type checking and inside functions included."""
    files = {name_of(path): path for path in (*MODULES, *MOCKS)}
    edges = {name: graph_edges(path, files) - {name} for name, path in files.items()}
    while True:  # take away what imports nothing that is left: only cycles stay
        leaves = {name for name, targets in edges.items() if not targets}
        if not leaves:
            break
        edges = {name: targets - leaves for name, targets in edges.items() if name not in leaves}
    cycles = sorted(edges)
    assert not cycles, f"in or above a cycle: {cycles}"


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def graph_edges(path: Path, files: dict[str, Path]) -> set[str]:
    """The files that this one imports: a name from a package means that module of it, if any."""
    imported: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                imported.add(inner if inner in files else node.module)
    return imported & files.keys()


@pytest.mark.parametrize("page", ["architecture", "rooms", "glossary"])
def test_a_page_of_the_code_names_modules_that_exist(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    paths = (*MODULES, *MOCKS, *files("tests"))
    modules = [f"/{path.relative_to(ROOT).as_posix()}" for path in paths]
    named = re.findall(r"`([a-z0-9_/]+\.py)`", text)
    assert named
    assert [each for each in named if not any(m.endswith(f"/{each}") for m in modules)] == []


def test_one_file_imports_the_serial_library() -> None:
    users = {
        path.relative_to(ROOT / "hilgw").as_posix()
        for path in MODULES
        if any(name.split(".")[0] in ("serial", "serial_asyncio") for name in imports_of(path))
    }
    assert users == {"transports/serial/port.py"}


def bound(file: Path) -> set[str]:
    """The names that a file defines, assigns or imports."""
    return {
        getattr(node, "name", getattr(node, "id", ""))
        for node in nodes(file)
        if not isinstance(getattr(node, "ctx", None), ast.Load)
    }


def test_tools_import_what_is_there() -> None:
    """Type checks leave them out, and they do not run each day."""
    scripts = [
        each
        for each in (ROOT / "tools").iterdir()
        if each.is_file() and each.read_bytes().startswith(b"#!/usr/bin/env python3")
    ]
    names = {
        (str(node.module), alias.name)
        for file in [*files("tools"), *scripts]
        for node in imports(file)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("hilgw", "tests"))
        for alias in node.names
    }
    assert {module.partition(".")[0] for module, _ in names} == {"hilgw", "tests"}
    for module, name in sorted(names):
        if module.startswith("tests."):  # whose import runs much
            assert name in bound((ROOT / module.replace(".", "/")).with_suffix(".py")), module
            continue
        there = import_module(module)
        is_module = hasattr(there, "__path__") and find_spec(f"{module}.{name}") is not None
        assert name in vars(there) or is_module, f"{module}.{name}"


PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PURE_WHEEL = "a wheel in pure Python"
WHEELS = "wheels for x86-64, aarch64, armv7l, musl, macOS and Windows, of 3.11 and of 3.14"
NO_COMPILER = "builds without a compiler, in pure Python"
ALLOWED = {
    "pyserial": PURE_WHEEL,
    "pyserial-asyncio": PURE_WHEEL,
    "shtab": PURE_WHEEL,
    "pydantic": PURE_WHEEL,
    "annotated-types": PURE_WHEEL,
    "typing-extensions": PURE_WHEEL,
    "typing-inspection": PURE_WHEEL,
    "pydantic-core": WHEELS,
    "cobs": WHEELS,
    "pyyaml": f"wheels except for armv7l, where it {NO_COMPILER}",
    "crcmod": NO_COMPILER,
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pulled_in(requirements: list[str]) -> set[str]:
    """All libraries, on any platform, without extras."""
    packages: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        one = waiting.pop()
        if normal(one.name) in packages or (one.marker and "extra" in str(one.marker)):
            continue
        packages.add(normal(one.name))
        waiting += map(Requirement, requires(one.name) or ())
    return packages


def base() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return listed


def test_the_base_needs_only_what_installs_everywhere() -> None:
    assert pulled_in(base()) == set(ALLOWED)


def test_the_version_command_lists_the_libraries_of_the_base() -> None:
    assert [normal(Requirement(each).name) for each in base()] == [*map(normal, LIBRARIES)]


def test_the_page_of_installation_names_each_with_its_reason() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    shown = {name: reason for names, reason in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert shown == ALLOWED
