"""Tables of faulty configurations: one edit of a good file, and the error it causes."""

from pathlib import Path


def cases(name: str) -> list[tuple[str, str, str]]:
    """(old, new, error) for each line of a table beside this file; # begins a comment."""
    rows = []
    for row in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            old, new, error = row.replace("⏎", "\n").split(" => ")
            rows.append((old, new, error))
    return rows
