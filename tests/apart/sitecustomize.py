"""Begins each Python that a test starts: it finds no gateway of the user who runs the tests.

A stop and `hilgw web` look in every folder that any shell of this user may choose: XDG_RUNTIME_DIR
alone would not keep them from a gateway that drives a real robot.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

VARIABLE = "HILGW_TEST_PLACES"
"""Has the folder that `tests.conftest` makes, with these in place of those of the machine."""
PLACES = {"SHARED": "tmp", "SESSIONS": "sessions", "SERVICES": "services"}
MESSAGES = "hilgw.protocols.gateway.messages"


class Apart:
    """Finds this one module of hilgw, and changes its folders as soon as it is imported."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == MESSAGES else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                folder = Path(os.environ[VARIABLE])
                vars(module).update({each: folder / place for each, place in PLACES.items()})

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if VARIABLE in os.environ:
    sys.meta_path.insert(0, Apart)
