"""The engine uses its parts by their Protocols: it never asks what an object happens to have."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hilgw

ROOT = Path(hilgw.__file__).parent
ROOMS = ("engine", "bridge", "assemble", "discovery", "testing")
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
TRANSPORTS = {"FdStream", "SerialStream", "TcpStream", "AsyncioStream", "ThreadedStream"}
DEVICES = {"PipeTransport", "Pipe", "VirtualPort", "TcpDevice"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_parts_are_used_by_their_protocols(path: Path) -> None:
    text = path.read_text()
    assert "ignore[attr-defined" not in text
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        assert name != "hasattr", f"line {call.lineno}"
        assert name != "getattr" or len(call.args) == 2, f"line {call.lineno}"
        if name == "isinstance":
            kinds = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
            assert not kinds & (TRANSPORTS | DEVICES), f"line {call.lineno}"


# --- tests use what users can use -----------------------------------------------------------------

TESTS = Path(__file__).parent
PRIVATE_STILL = {"firmware_mocks/xbee/test_zigpy.py", "protocols/test_rfc2217.py"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_uses(path: Path) -> list[str]:
    """Private attributes of other objects, and private names of hilgw, with their lines."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if ast.unparse(node) != "os._exit" and ast.unparse(node.value) not in ("self", "cls"):
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
        for path in sorted(TESTS.rglob("*.py"))
        if (uses := private_uses(path))
    }
    assert {name: uses for name, uses in found.items() if name not in PRIVATE_STILL} == {}
    assert sorted(PRIVATE_STILL - found.keys()) == [], "take these from the list"
