"""How many cases hypothesis tries, as a share of what the profile has: so `explore` tries more of
all tests."""

from typing import Any

from hypothesis import settings


def part_of(most: int) -> int:
    """As many as `most`, in the profile of the whole suite; in others the same share of it."""
    return max(1, most * settings.default.max_examples // 25)


def cases(share: float, **more: Any) -> settings:
    return settings(max_examples=max(1, round(share * settings.default.max_examples)), **more)
