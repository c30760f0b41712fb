"""The commands of CONTRIBUTING.md run; what a project shows beside its code agrees with it."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import hilgw
from hilgw.config import model
from hilgw.config.schema.describe import rows
from hilgw.control.safety import SafetySettings
from tests.docs.reading import pages
from tests.e2e.running import ROOT, copy_checkout, run, run_program

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINES = [
    line.strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    for line in block.strip().splitlines()
]
FIRST_CHANGE = PAGE.partition("## A first change")[2].partition("\n## ")[0]
# The numbered steps: what changes, and in which file.
STEPS = re.split(r"^\d\. ", FIRST_CHANGE, flags=re.M)[1:]
NEW_EVENT = re.split(
    r"^\d\. ", PAGE.partition("## Add a kind of event")[2].partition("\n## ")[0], flags=re.M
)[1:]
SHARED = ("conftest", "cases", "apart/sitecustomize", "e2e/running")
COMMANDS = [line for line in LINES if line.startswith("hilgw ")]


def change(checkout: Path, step: str) -> None:
    """Makes the changes that a step of the page shows, in the file that it names first."""
    path = checkout / re.findall(r"`((?:hilgw|tests)/[\w/]+\.py)`", step)[0]
    for block in re.findall(r"```diff\n(.*?)   ```", step, re.S):
        lines = [line.removeprefix("   ") for line in block.splitlines()]
        old = "\n".join(line[1:] for line in lines if line[:1] != "+")
        new = "\n".join(line[1:] for line in lines if line[:1] != "-")
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), encoding="utf-8")


def copy_with_tests(folder: Path, tests: str) -> None:
    """Copy the checkout with one folder of tests, and what all tests share."""
    copy_checkout(folder, "hilgw", "firmware_mocks", tests)
    for name in ("apart", "e2e"):
        (folder / "tests" / name).mkdir()
    for name in ("pyproject.toml", *(f"tests/{each}.py" for each in SHARED)):
        shutil.copy(ROOT / name, folder / name)


PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def run_in(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return run_program(*command, cwd=checkout, timeout_s=300, PYTHONPATH=str(checkout))


@pytest.mark.process
def test_the_first_change_turns_its_test_from_red_to_green(tmp_path: Path) -> None:
    copy_with_tests(tmp_path, "tests/cli")
    add_test, command, code, *_ = STEPS
    program, *arguments = shlex.split(re.findall(r"```sh\n(.*?)```", command, re.S)[0])
    assert program == "tools/test"

    def tested() -> str:
        return run_in(tmp_path, *PYTEST, *arguments).stdout

    change(tmp_path, add_test)
    red = tested()
    for shown in re.findall(r"`([^`]+)`", command.partition("```")[0]):
        assert shown in red, red
    change(tmp_path, code)
    green = tested()
    assert " passed" in green and "failed" not in green, green
    python = ("hilgw/cli/output/text.py", "tests/cli/output/test_terminal.py")
    for check in (("check",), ("format", "--check")):
        done = run_in(tmp_path, sys.executable, "-m", "ruff", *check, *python)
        assert done.returncode == 0, done.stdout


@pytest.mark.process
def test_the_commands_run(tmp_path: Path) -> None:
    for line in COMMANDS:
        done = run(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert [file for file in tmp_path.rglob("test_buzz.py") if file.is_file()]


def test_the_files_that_it_names_exist() -> None:
    for target in re.findall(r"`(t(?:ools|ests)/[^` ]*)[^`]*`", PAGE):
        assert (ROOT / target).exists(), target


# The event as a subscriber or a recording gets it.
REPORTED = """
from hilgw.engine.observer import Observers
from hilgw.engine.recording.event_stream import EventStream
from hilgw.events.wire import encode_event

class Subscriber(EventStream):
    def takers(self, kind, *names, lost=False):
        return names
    def emit(self, takers, event):
        print(takers, encode_event(event, 1, 2.0, 3).decode())

observers = Observers(Subscriber())
observers.slip("rover", "left", 0.25)
"""


@pytest.mark.process
def test_a_kind_of_event_is_added_in_the_files_that_the_page_names(tmp_path: Path) -> None:
    copy_with_tests(tmp_path, "tests/view")
    entry, observer, _ = NEW_EVENT
    change(tmp_path, entry)
    done = run_in(tmp_path, *PYTEST, "-q", "tests/view")
    assert done.returncode == 0, done.stdout
    change(tmp_path, observer)
    about = '"robot":"rover","device":"left","speed":0.25'
    event = f'{{"event":"slip","mono_ns":1,"wall_s":2.0,"time_ns":3,{about}}}'
    expected = ["('rover.left',)", event]
    assert run_in(tmp_path, sys.executable, "-c", REPORTED).stdout.split() == expected


SAFETY = (ROOT / "SAFETY.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def entries() -> dict[str, str]:
    """Version -> its entry in the changelog, newest first."""
    parts = re.split(r"^## (\S+) - .*$", CHANGELOG, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_one_version_everywhere() -> None:
    versions = {hilgw.__version__, PROJECT["version"], CITATION["version"], next(iter(entries()))}
    assert versions == {"0.2.0"}
    manual = (ROOT / "docs" / "hilgw.1").read_text(encoding="utf-8")
    assert '"hilgw 0.2.0"' in manual.splitlines()[0]


def test_an_entry_of_the_changelog_is_for_people() -> None:
    for version, entry in entries().items():
        assert len(entry.strip().splitlines()) <= 40, version


def test_the_times_of_safety_are_those_of_the_settings() -> None:
    defaults = {
        row.key: row.default
        for row in (*rows(SafetySettings), *rows(model.GatewayConfig, deep=False))
    }
    (late,) = (row.doc for row in rows(SafetySettings) if row.key == "late_s")
    assert "not set: 0.5 for a real body" in late and "0.5 s (`late_s`)" in SAFETY
    assert f"{int(defaults['guardian_ms']) / 1000} s (`guardian_ms`)" in SAFETY
    (timeout,) = (row.doc for row in rows(SafetySettings) if row.key == "command_timeout_s")
    assert "not set: 0.5 for a real body" in timeout
    assert "0.5 s (`command_timeout_s`)" in SAFETY


GLOSSARY_PAGE = pages("glossary")
ROWS = re.findall(r"^\| ([^|]+?) \| (?:[^|]*) \| ([^|]+) \|", GLOSSARY_PAGE, re.MULTILINE)
WHERE = re.compile(r"`([\w/.]+)`: ((?:`[\w.]+`(?:, )?)+)")
NAMED = [
    (term, folder, name)
    for term, where in ROWS
    for folder, names in WHERE.findall(where)
    for name in re.findall(r"`([\w.]+)`", names)
]


def test_a_row_names_what_exists() -> None:
    assert len(NAMED) > 40
    for term, folder, name in NAMED:
        place = next(base / folder for base in (ROOT / "hilgw", ROOT) if (base / folder).exists())
        modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
        defined = rf"^\s*(?:class|def) {name.rpartition('.')[0] or name}\b|^{name}\b"
        assert any(re.search(defined, module.read_text(), re.MULTILINE) for module in modules), term
