"""The engine uses its parts by their Protocols: it never asks what an object happens to have."""

import ast
import re
from pathlib import Path

from tests.sources import calls, files, nodes, place

ROOMS = ("engine", "bridge", "assemble", "discovery", "testing")
TRANSPORTS = {"FdStream", "SerialStream", "TcpStream", "AsyncioStream", "ThreadedStream"}
DEVICES = {"PipeTransport", "Pipe", "VirtualPort", "TcpDevice"}
ASKING = r"\b(?:isinstance|hasattr|getattr)\("


def asks_what_it_is(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name == "isinstance":
        kinds = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
        return bool(kinds & (TRANSPORTS | DEVICES))
    return name == "hasattr" or (name == "getattr" and len(call.args) != 2)


def test_parts_are_used_by_their_protocols() -> None:
    parts = [path for room in ROOMS for path in files(f"hilgw/{room}")]
    assert {path.relative_to(TESTS.parent).parts[1] for path in parts} == set(ROOMS)
    assert [place(path) for path in parts if "ignore[attr-defined" in path.read_text()] == []
    assert [
        place(path, call) for path in parts for call in calls(path, ASKING) if asks_what_it_is(call)
    ] == []


# --- tests use what users can use -----------------------------------------------------------------

TESTS = Path(__file__).parent
PRIVATE_STILL = {
    "conftest.py",  # xdist has no public way to group tests for one worker
    "firmware_mocks/xbee/test_zigpy.py",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# Text of each file that uses a private name of something else, and of few others.
PRIVATE = re.compile(
    r"(?<!\bself)(?<!\bcls)\._[a-zA-Z]|import[^\n]*\b_[a-zA-Z]|^ +_\w+( as \w+)?,$", re.M
)


def private_uses(path: Path) -> list[str]:
    """Private attributes of other objects, and private names of hilgw, with their lines."""
    if not PRIVATE.search(path.read_text(encoding="utf-8")):
        return []  # quick: it is not parsed
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                continue
            if ast.unparse(node) != "os._exit":
                found.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            for name in names:
                if name.startswith("hilgw.") and any(map(is_private, name.split("."))):
                    found.append(f"{node.lineno}: {name}")
    return found


def test_tests_touch_nothing_private() -> None:
    found = {
        path.relative_to(TESTS).as_posix(): uses
        for path in files("tests")
        if (uses := private_uses(path))
    }
    assert {name: uses for name, uses in found.items() if name not in PRIVATE_STILL} == {}
    assert sorted(PRIVATE_STILL - found.keys()) == [], "take these from the list"
