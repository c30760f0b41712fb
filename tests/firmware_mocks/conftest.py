"""Every test of a mock gets a bench of its own."""

import pytest

from tests.firmware_mocks.bench import XBeeAir


@pytest.fixture
def bench() -> XBeeAir:
    return XBeeAir()
