"""No test of a transport leaves a descriptor open."""

from collections.abc import Iterator

import pytest

from hilgw.testing.sim import wait_until
from tests.transports.rig import descriptors


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    """A port of an earlier test may be closed by its thread at any time."""
    before = descriptors().items()
    yield
    wait_until(lambda: descriptors().items() <= before, "the end of what the test opened")
