"""Records: immutable dataclasses that are made for every message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(made: type[T]) -> type[T]:
    """A dataclass with slots, for type checkers a frozen one: at run time one that is frozen takes
    more than twice as long to make."""
    return dataclass(slots=True, unsafe_hash=True)(made)


@dataclass_transform(frozen_default=True, eq_default=False)
def unique_record(made: type[T]) -> type[T]:
    """A record that equals only itself."""
    return dataclass(slots=True, eq=False)(made)
