"""How many cases hypothesis tries, as a share of what the profile has: so `explore` tries more of
all tests."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def cases(share: float, **more: Any) -> settings:
    return settings(max_examples=max(1, round(share * settings.default.max_examples)), **more)
