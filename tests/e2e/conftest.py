"""What tests of the programs share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.rig import Device


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    device = Device(tmp_path / "tty")
    yield device
    device.close()
