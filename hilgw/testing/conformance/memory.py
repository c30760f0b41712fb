"""How much an object holds, with all it leads to."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_NOT_ITS_OWN = (type, ModuleType, BuiltinFunctionType, CodeType)


def size_of(root: Any) -> int:
    """Bytes of `root` and of everything reached from it; classes, modules and code left out."""
    seen: set[int] = set()
    waiting = [root]
    total = 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _NOT_ITS_OWN):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, FunctionType):
            waiting += item.__closure__ or ()
        else:
            waiting += gc.get_referents(item)
    return total
