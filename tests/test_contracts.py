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
DEVICES = {"PipeTransport", "PipeDevice", "VirtualPort", "TcpDevice"}


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
