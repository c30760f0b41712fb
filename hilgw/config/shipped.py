"""The configurations that come with hilgw: package data of a wheel, configs/ in a checkout."""

from __future__ import annotations

from pathlib import Path

import hilgw
from hilgw.errors import UsageError, quoted, suggest


def examples() -> dict[str, str]:
    """Every shipped configuration: name -> text."""
    package = Path(hilgw.__file__).parent
    for directory in (package / "configs", package.parent / "configs"):
        if directory.is_dir():
            files = sorted(directory.glob("*.yaml"))
            return {file.stem: file.read_text(encoding="utf-8") for file in files}
    return {}


def example(name: str) -> str:
    """The text of one. Raises UsageError when there is none of this name."""
    known = examples()
    text = known.get(name.removesuffix(".yaml"))
    if text is None:
        raise UsageError(f"no example is called {quoted(name)}", fix=suggest(name, known))
    return text


def title(text: str) -> str:
    """The first comment of a configuration that is meant for people."""
    for line in text.splitlines():
        comment = line.removeprefix("#").strip()
        if line.startswith("#") and comment and not comment.startswith("yaml-language-server"):
            return comment
    return ""
