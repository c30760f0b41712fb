"""The suite itself and the workflows that run it: where, how, and what is left out."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from hilgw.protocols.gateway import messages
from tests.conftest import FAST, take_fewer_examples
from tests.e2e import running

ROOT = Path(__file__).parent.parent


def run_tests(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A run of pytest in this checkout; its conftest needs no plugin of Hypothesis."""
    unused = "-p", "no:cacheprovider", "-p", "no:hypothesispytest"
    command = [sys.executable, "-m", "pytest", "-q", *unused, *arguments]
    env = {name: value for name, value in os.environ.items() if name not in ("USER", "LOGNAME")}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
        **options,
    )  # fmt: skip


def ignore_signals() -> None:
    """As nohup and a background job of a shell begin."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def test_the_fast_tests_are_those_that_files_are_left_out_for() -> None:
    """A file of which all tests wait is not even imported."""
    assert f'-m "{FAST}"' in (ROOT / "tools" / "test").read_text(encoding="utf-8")


@pytest.mark.parametrize(("most", "taken"), [(8, 9), (25, 30), (1000, 30)])
def test_the_rules_of_a_kind_have_the_share_of_the_profile(
    most: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Subject:
        examples = 30

    profile = SimpleNamespace(default=SimpleNamespace(max_examples=most))
    monkeypatch.setattr("tests.cases.settings", profile)
    take_fewer_examples([SimpleNamespace(cls=Subject), SimpleNamespace()])  # type: ignore[list-item]
    assert Subject.examples == taken


@pytest.mark.process
@pytest.mark.parametrize("workers", ["0", "1"])
def test_it_passes_with_ignored_signals_and_without_a_user(workers: str) -> None:
    picked = "clean_stop and (SIGINT or SIGHUP)"  # nohup and a shell ignore these
    done = run_tests(
        "tests/e2e/test_exit_codes.py", "-k", picked, "-n", workers, preexec_fn=ignore_signals
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.process
def test_a_test_that_starts_a_process_without_the_mark_fails(tmp_path: Path) -> None:
    text = "import subprocess\n\ndef test_it():\n    try:\n        subprocess.run(['true'])\n"
    file = tmp_path / "test_one.py"
    file.write_text(text + "    except Exception:\n        pass\n")
    conftest = f"--confcutdir={ROOT}", "-p", "tests.conftest"
    done = run_tests(str(file), *conftest)
    assert done.returncode == 1
    assert "mark it with @pytest.mark.process" in done.stdout


FOUND = """
from hilgw.protocols.gateway import messages
print(messages.SHARED, messages.SESSIONS, messages.SERVICES)
"""


@pytest.mark.process
def test_a_program_that_a_test_starts_finds_no_gateway_of_the_user(tmp_path: Path) -> None:
    """A stop that it is asked for would reach robots in use."""
    here = messages.SHARED, messages.SESSIONS, messages.SERVICES
    assert not {Path("/tmp"), Path("/run/user"), Path("/run/hilgw")} & {*here}
    for done in (
        running.run_program(sys.executable, "-P", "-c", FOUND, cwd=tmp_path),
        running.python(tmp_path, "-c", FOUND),
    ):
        assert done.stdout.split() == [*map(str, here)], done.stderr


FOLDER = ROOT / ".github" / "workflows"


def jobs(name: str) -> dict[str, Any]:
    loaded = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    assert loaded[True]  # YAML 1.1 reads the key `on` as true
    by_name: dict[str, Any] = loaded["jobs"]
    return by_name


def commands(name: str) -> list[str]:
    steps = [step for job in jobs(name).values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    return [step["run"] for step in steps if "run" in step]


def test_each_python_is_tested_as_root_and_as_a_user() -> None:
    matrix = jobs("tests.yml")["tests"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert matrix == {"python": ["3.11", "3.12", "3.13", "3.14"], "user": ["root", "user"]}
    assert matrix["python"] == versions
    as_user, as_root = commands("tests.yml")
    assert as_user == "tools/test" and as_root.startswith("sudo ")


def test_the_tools_they_run_exist() -> None:
    lines = [line for file in FOLDER.glob("*.yml") for line in commands(file.name)]
    tools = re.findall(r"(?<!\S)tools/\w+", " ".join(lines))
    assert tools and all(os.access(ROOT / tool, os.X_OK) for tool in tools)
