"""Immutable records, made for every message, and dataclasses that are declared in less time.

`dataclasses` compiles each method of each class, which was a third of a start.
"""

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(made: type[T]) -> type[T]:
    """Return a dataclass with slots; type checkers see a frozen one.

    At run time a frozen instance takes more than twice as long to make.
    """
    return _with_methods(dataclasses.dataclass(slots=True, eq=False, repr=False)(made))


@dataclass_transform(frozen_default=True, eq_default=False)
def unique_record(made: type[T]) -> type[T]:
    """Return a record that equals only itself."""
    return dataclasses.dataclass(slots=True, eq=False)(made)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: Literal[True], **options: Any) -> Any:
        """Declare `@dataclass(frozen=True, ...)` of the standard library in less time."""
        declared = dataclasses.dataclass(frozen=frozen, eq=False, repr=False, **options)
        return lambda made: _with_methods(declared(made))


def _with_methods(made: type[T]) -> type[T]:
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    compared = [each.name for each in fields if each.compare] or ["__class__"]
    values = attrgetter(*compared, compared[0])  # of one name it would be the bare value

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    def __repr__(self: Any) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields if each.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    for method in (__eq__, __hash__, __repr__):
        if vars(made).get(method.__name__) is None:
            setattr(made, method.__name__, method)
    return made
