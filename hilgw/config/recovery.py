"""What a file was probably meant to say, so that checks go on behind its first mistakes.

The mapping that holds a mistake would not be looked at any further: what is wrong between its
keys would come to light in the next run only. Nothing that was recovered is ever used.
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
    """Changes the document's data: misspelt keys are renamed; unknown ones, numbers out of range
    and what could not be read are left out, to be checked no more. Says whether it did anything.

    Values that decide what others mean (words, mappings) are never left out: what is said behind
    them would not be true.
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
    """What is said about the key stands where it was written."""
    for positions in (document.keys, document.values):
        below = [path for path in positions if path[: len(old)] == old]
        for path in below:
            positions[(*new, *path[len(old) :])] = positions[path]
