"""Tools for tests: the conformance classes of adapters and bodies, and fixtures for your own.

Imports are lazy, because pytest loads the plugin in each run.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.testing.conformance import AdapterConformance
    from hilgw.testing.conformance.bodies import BodyConformance
    from hilgw.testing.conformance.subject import BrokenRule, Vector

__all__ = ["AdapterConformance", "BodyConformance", "BrokenRule", "Vector"]

_HOMES = {
    "AdapterConformance": "conformance",
    "BodyConformance": "conformance.bodies",
    "BrokenRule": "conformance.subject",
    "Vector": "conformance.subject",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
