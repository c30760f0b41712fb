"""Declaration of settings: a frozen dataclass, one `setting()` per field.

Validation, the JSON Schema, `hilgw adapters`, the generated documentation and the error messages
are made from these declarations, so each setting is described once.
"""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, TypedDict, Unpack

LONGEST_NAME = 64
"""Characters of the name of a robot, a device or any other object of a configuration."""

Problem = tuple[str, str, str]
"""An error in settings: the path below their part, what is wrong, the fix."""


class Declaration(TypedDict, total=False):
    ge: float
    gt: float
    le: float
    also: Sequence[float]
    choices: Sequence[Any]
    pattern: str
    unit: str
    example: Any
    refers: str


"""Declarations of a setting besides its default.

ge, gt, le: bounds of a number, or of each item of a list; `also`: values allowed besides these
(Webots' -1). choices: the only values allowed. pattern: a regular expression the whole string must
match. unit: shown in the documentation. refers: the text (or each value of a mapping, each item of
a list) is the name of an emitter or a receiver of the same robot, or of a robot, an adapter or an
air of the file; a default of "" means none.
"""
_UNDECLARED: dict[str, Any] = {
    **dict.fromkeys(Declaration.__annotations__),
    **dict.fromkeys(("pattern", "unit", "refers"), ""),
    **dict.fromkeys(("also", "choices"), ()),
}


def setting(
    doc: str,
    default: Any = MISSING,
    *,
    default_factory: Any = MISSING,
    **declared: Unpack[Declaration],
) -> Any:
    """Return a dataclass field with its documentation and its limits."""
    if unknown := declared.keys() - Declaration.__annotations__:
        raise TypeError(f"a setting declares no {', '.join(sorted(unknown))}")
    metadata = {"doc": doc, **_UNDECLARED, **declared}
    return field(default=default, default_factory=default_factory, metadata=metadata)


PROGRAM = "program"
PROGRAM_KEYS = (PROGRAM, "line", "restart", "folder", "baudRate")
"""The mock whose firmware is another process, and its parameters."""


@dataclass(frozen=True, slots=True)
class MockSpec:
    """The firmware mock that replaces the hardware.

    Its name, and the parameters that match the settings of the hardware.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if PROGRAM in self.parameters:
            object.__setattr__(self, "name", PROGRAM)
            kept = {key: self.parameters[key] for key in PROGRAM_KEYS if key in self.parameters}
            object.__setattr__(self, "parameters", kept)

    def on_line(self, baudRate: int) -> "MockSpec":
        """Return the mock for a line of this rate; only a `program` needs it as a parameter."""
        if self.name != PROGRAM:
            return self
        return MockSpec(self.name, {"baudRate": baudRate} | self.parameters)


def boot_setting() -> Any:
    """Return the setting `boot_s` of anything on a serial port."""
    return setting(
        "silence after opening the port, for boards that opening resets; what they send meanwhile "
        "is discarded",
        0.0,
        ge=0,
        le=60,
        unit="s",
    )
