"""Recovery from errors, so that one run reports all of them.

Validation stops at a mapping with an error and misses those between its keys. Another run on
corrected data finds them. Corrected data is never used for anything else.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from hilgw.config.context import Context
from hilgw.config.diagnose import MAX_ERRORS
from hilgw.config.source.document import Document
from hilgw.config.source.positions import Path, descend
from hilgw.config.source.scalars import BAD
from hilgw.errors import nearest


def recover(error: ValidationError, document: Document, context: Context) -> bool:
    """Corrects the document's data: renames misspelt keys; deletes unknown ones, numbers out of
    range and unreadable values, and excludes them from checks. Returns whether it changed data.

    Values that determine the meaning of others (text, mappings) stay: without them later errors
    could be wrong.
    """
    recovered = False
    for details in error.errors(include_url=False)[:MAX_ERRORS]:
        path: Path = tuple(details["loc"])
        mapping = descend(document.data, path[:-1]) if path else None
        if not isinstance(mapping, dict) or path[-1] not in mapping:
            continue
        value = mapping[path[-1]]
        if details["type"] == "extra_forbidden":
            del mapping[path[-1]]
            key = nearest(path[-1], context.keys(mapping))
            if key is not None and key not in mapping:
                mapping[key] = value
                _move(document, path, (*path[:-1], key))
            recovered = True
        elif value is BAD or _is_number(value):
            del mapping[path[-1]]
            document.bad.add(path)
            recovered = True
    return recovered


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _move(document: Document, old: Path, new: Path) -> None:
    """Errors of the new key get the positions of the old one."""
    for positions in (document.keys, document.values):
        below = [path for path in positions if path[: len(old)] == old]
        for path in below:
            positions[(*new, *path[len(old) :])] = positions[path]
