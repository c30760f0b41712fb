"""What `pip install hilgw` pulls in: only what installs where robots are, each for a reason."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from hilgw.cli.version import LIBRARIES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PURE = "a wheel in pure Python"
WHEELS = "wheels for x86-64, aarch64, armv7l, musl, macOS and Windows, of 3.11 and of 3.14"
NO_COMPILER = "builds without a compiler, in pure Python"
ALLOWED = {
    "pyserial": PURE,
    "pyserial-asyncio": PURE,
    "shtab": PURE,
    "pydantic": PURE,
    "annotated-types": PURE,
    "typing-extensions": PURE,
    "typing-inspection": PURE,
    "pydantic-core": WHEELS,
    "cobs": WHEELS,
    "pyyaml": f"wheels except for armv7l, where it {NO_COMPILER}",
    "crcmod": NO_COMPILER,
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pulled_in(requirements: list[str]) -> set[str]:
    """All libraries, on any platform, without extras."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        one = waiting.pop()
        if normal(one.name) in found or (one.marker and "extra" in str(one.marker)):
            continue
        found.add(normal(one.name))
        waiting += map(Requirement, requires(one.name) or ())
    return found


def base() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return listed


def test_the_base_needs_only_what_installs_everywhere() -> None:
    assert pulled_in(base()) == set(ALLOWED)


def test_the_version_command_lists_the_libraries_of_the_base() -> None:
    assert [normal(Requirement(each).name) for each in base()] == [*map(normal, LIBRARIES)]


def test_the_page_of_installation_names_each_with_its_reason() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    shown = {name: reason for names, reason in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert shown == ALLOWED
