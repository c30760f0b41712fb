"""What all tests share: judges (Debian programs) are required, or skipped with their name."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import settings

# How long one example takes says nothing on a busy machine.
settings.register_profile("hilgw", deadline=None)
settings.load_profile("hilgw")

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("judge"):
        for program in mark.args:
            if shutil.which(program, path=SEARCH) is None:
                message = f"the judge {program} is not installed: apt-get install {program}"
                if os.environ.get("HILGW_REQUIRE_JUDGES") == "1":
                    pytest.fail(message)
                pytest.skip(message)
