"""The import direction of docs/architecture.md, and that pure code stays pure."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = [
    {"reasons", "errors", "records", "settings", "units", "plugins", "__init__"},
    {"devices", "framing"},
    {"medium", "protocols", "control", "worlds", "transports"},
    {"adapters", "bodies", "controllers", "record", "client"},
    {"engine", "security", "discovery", "config", "api"},
    {"bridge", "assemble"},
    {"monitor", "web", "testing"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
PURE = {"devices", "framing", "medium", "protocols", "control", "worlds"} | {
    "adapters",
    "bodies",
    "controllers",
}
IMPURE = {"asyncio", "time", "socket", "logging", "threading", "os", "select", "subprocess"}
MODULES = sorted((ROOT / "hilgw").rglob("*.py"))
MOCKS = sorted((ROOT / "firmware_mocks").rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "hilgw").parts
    return parts[0] if len(parts) > 1 else path.stem


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            if node.module == "hilgw":
                names |= {f"hilgw.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        if not name.startswith("hilgw."):
            continue
        other = name.split(".")[1]
        if other in (room, "__version__"):
            continue
        assert LEVEL[other] < LEVEL[room] or LEVEL[room] == 0, f"{room} imports {other}"


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if room_of(path) in PURE],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_pure_code_does_no_io(path: Path) -> None:
    found = {name.split(".")[0] for name in imports_of(path)} & IMPURE
    assert not found, f"{found} imported in pure code"


CLIENT = {"api", "client"}
CLIENT_MAY_IMPORT = CLIENT | {"errors", "devices", "protocols", "settings", "units"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_command_line_and_the_client_import_the_client(path: Path) -> None:
    """Client code runs in a user's process: it shares with the gateway only what is pure."""
    names = imports_of(path)
    rooms = {name.split(".")[1] for name in names if name.startswith("hilgw.")}
    if room_of(path) in CLIENT:
        assert rooms <= CLIENT_MAY_IMPORT, f"client code imports {rooms - CLIENT_MAY_IMPORT}"
        assert not names & {"asyncio", "pydantic"}
    elif room_of(path) != "cli":
        assert not rooms & CLIENT, f"{room_of(path)} imports {rooms & CLIENT}"


@pytest.mark.parametrize("path", MOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_firmware_mocks_are_independent(path: Path) -> None:
    for name in imports_of(path):
        top = name.split(".")[0]
        assert top == "firmware_mocks" or top in sys.stdlib_module_names, name
        assert top not in IMPURE, f"{name}: mocks are sans-I/O"


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
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in files else node.module)
    return found & files.keys()


def test_one_file_imports_the_serial_library() -> None:
    users = {
        path.relative_to(ROOT / "hilgw").as_posix()
        for path in MODULES
        if any(name.split(".")[0] in ("serial", "serial_asyncio") for name in imports_of(path))
    }
    assert users == {"transports/serial/port.py"}
