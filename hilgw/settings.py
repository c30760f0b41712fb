"""How a part declares its settings: a frozen dataclass, one `setting()` per field.

Configuration checks, the JSON schema, `hilgw adapters`, the generated documentation and the
error texts are all made from these declarations, so a setting is described once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any


def setting(
    doc: str,
    default: Any = MISSING,
    *,
    default_factory: Any = MISSING,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    also: Sequence[float] = (),
    choices: Sequence[Any] = (),
    pattern: str = "",
    unit: str = "",
    example: Any = None,
    refers: str = "",
) -> Any:
    """A dataclass field with its documentation and its limits.

    ge, gt, le: bounds of a number, or of each item of a list; `also` names values allowed beside
    them (Webots' -1). choices: the only values allowed. pattern: a regular expression the whole
    string must match. unit: shown in the documentation. refers: the text (or each value of a
    mapping, each item of a list) is the name of an emitter or a receiver of the same robot, or of
    a robot, an adapter or an air of the file; a default of "" is no name.
    """
    metadata = {
        "doc": doc,
        "ge": ge,
        "gt": gt,
        "le": le,
        "also": tuple(also),
        "choices": tuple(choices),
        "pattern": pattern,
        "unit": unit,
        "example": example,
        "refers": refers,
    }
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class MockSpec:
    """The firmware mock that stands in for the hardware: its name, and parameters that make it
    what the settings of the hardware describe."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
