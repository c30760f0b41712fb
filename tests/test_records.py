"""Records and dataclasses of hilgw are like those of the standard library."""

import dataclasses
from collections.abc import Callable
from math import nan
from typing import Any

import pytest

from hilgw import records


def classes_by(decorator: Callable[..., Any]) -> list[Any]:
    class Bare: ...

    class Single:
        value: float

    class Pair:
        value: float
        text: str = dataclasses.field(default="a", compare=False, repr=False)

    class Own:
        value: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __repr__(self) -> str:
            return "own"

    return [decorator(each) for each in (Bare, Single, Pair, Own)]


RECORDS = classes_by(records.record)
FROZEN = classes_by(records.dataclass(frozen=True, slots=True))
STANDARD = classes_by(dataclasses.dataclass(frozen=True, slots=True))


def facts(kind: Any) -> list[object]:
    """How objects of this class are shown and compared."""
    values = [1.0, 2.0, nan] if dataclasses.fields(kind) else []
    made = [kind(*each) for each in ([[value] for value in values] or [[], []])]
    made += [kind(1.0, text="b")] if len(dataclasses.fields(kind)) == 2 else []
    equal = [each == other for each in made for other in [*made, values, 1.0]]
    return [*map(repr, made), equal, len(set(made)), kind.__match_args__]


@pytest.mark.parametrize("ours", [RECORDS, FROZEN], ids=["record", "dataclass"])
def test_they_compare_and_show_their_fields_as_the_standard_ones(ours: list[Any]) -> None:
    assert [facts(kind) for kind in ours] == [facts(kind) for kind in STANDARD]
    assert ours[0]() != STANDARD[0]() and ours[1](1.0) != ours[2](1.0)


def test_nothing_sets_a_field_of_a_frozen_one() -> None:
    single = FROZEN[1](1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        single.value = 2.0
