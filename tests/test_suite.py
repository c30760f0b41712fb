"""The suite itself: where it may run, and what `tools/test --fast` leaves out."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import FAST, take_fewer_examples

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
