"""How many cases hypothesis tries, as a share of what the profile has: so `explore` tries more of
all tests."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from hypothesis import settings


def part_of(most: int) -> int:
    """As many as `most`, in the profile of the whole suite; in others the same share of it."""
    return max(1, most * settings.default.max_examples // 25)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Split at these places, counted modulo the size."""
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(places)]


def cases(share: float, **more: Any) -> settings:
    return settings(max_examples=max(1, round(share * settings.default.max_examples)), **more)
