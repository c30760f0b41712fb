"""What all tests share: judges (Debian programs) are required, or skipped with their name; tests
that need a real device are there when an option names it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# How long one example takes says nothing on a busy machine. The suite's cases are the same in each
# run; `tools/test --hypothesis-profile explore tests/framing` looks for others.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")

REAL = {  # file of tests/real: the option that names its device
    "test_loop_plug.py": ("--loop-plug", "a real serial port, its TX and RX joined"),
    "test_xbee_module.py": ("--xbee", "a real serial port with an XBee in API mode"),
}
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("real devices")
    for option, meaning in REAL.values():
        group.addoption(option, metavar="PORT", help=meaning)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    option = REAL.get(collection_path.name, ("", ""))[0]
    return True if option and not config.getoption(option) else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("judge"):
        for program in mark.args:
            if shutil.which(program, path=SEARCH) is None:
                message = f"the judge {program} is not installed: apt-get install {program}"
                if os.environ.get("HILGW_REQUIRE_JUDGES") == "1":
                    pytest.fail(message)
                pytest.skip(message)
