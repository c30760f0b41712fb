"""Back ends: what is behind the port of a part."""

from __future__ import annotations

from enum import StrEnum


class Backend(StrEnum):
    """The hardware; its mock on a virtual port; its mock in this process."""

    REAL = "real"
    MOCK = "mock"
    LOOPBACK = "loopback"

    @property
    def is_mocked(self) -> bool:
        """Whether a mock is there instead of the hardware."""
        return self is not Backend.REAL
