"""The Python files of this repository as syntax trees."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def files(room: str) -> list[Path]:
    """Those below a directory of the repository."""
    return sorted((ROOT / room).rglob("*.py"))


def nodes(file: Path) -> list[ast.AST]:
    """All nodes of its syntax tree, as `ast.walk` finds them, in half of its time."""
    all_nodes: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    for node in all_nodes:
        for value in vars(node).values():
            if isinstance(value, list):
                all_nodes += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                all_nodes.append(value)
    return all_nodes


BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # of these, what has blocks is made


def statements(file: Path) -> list[ast.AST]:
    """Return all statements of a file, in a fraction of the time of all nodes."""
    all_statements: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    for node in all_statements:
        for value in vars(node).values():
            if isinstance(value, list) and value and isinstance(value[0], BLOCKS):
                all_statements += value
    return all_statements


@cache
def imports(file: Path) -> list[ast.Import | ast.ImportFrom]:
    """All of them, also those in functions and for type checking."""
    return [node for node in statements(file) if isinstance(node, ast.Import | ast.ImportFrom)]


def calls(file: Path, text: str) -> list[ast.Call]:
    """Return all calls in a file that has this text (a regular expression); skip other files."""
    if not re.search(text, file.read_text(encoding="utf-8")):
        return []
    return [node for node in nodes(file) if isinstance(node, ast.Call)]


def place(file: Path, node: ast.expr | None = None) -> str:
    """Where to look: the path in the repository, and the line of a node."""
    path = file.relative_to(ROOT).as_posix()
    return f"{path}:{node.lineno}" if node else path
