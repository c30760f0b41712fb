"""The first minute: every command of the README and of the first pages, and of tools/run."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hilgw.cli.groups import COMMANDS
from hilgw.cli.signals import EXIT_BY_SIGNAL
from hilgw.errors import HilgwError
from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, run, run_program, start

README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_MODULE = (ROOT / "docs" / "own-module.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def commands(page: str) -> list[str]:
    """The lines of its blocks for a shell."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


LINES = [*commands(README), *commands(OWN_MODULE)]
TOOLS = [line for line in LINES if line.startswith("tools/")]
ACTIVATE = "source .venv/bin/activate"
LASTING = [line for line in LINES if line.startswith("hilgw mock")]
SENDING = [line for line in LINES if line.startswith("hilgw send")]


def words(line: str) -> list[str]:
    return shlex.split(line)[1:]


def test_every_line_is_of_a_kind_that_is_run_here() -> None:
    assert TOOLS == ["tools/run", "tools/test"]
    plain = [*plain_commands(README), *plain_commands(OWN_MODULE)]
    assert all(line.startswith("hilgw ") for line in plain)
    assert LASTING
    assert SENDING


def plain_commands(page: str) -> list[str]:
    return [line for line in commands(page) if line not in [*TOOLS, *LASTING, *SENDING, ACTIVATE]]


@pytest.mark.parametrize(("page", "made"), [(README, "my.yaml"), (OWN_MODULE, "out.json")])
def test_the_plain_commands_in_their_order(page: str, made: str, tmp_path: Path) -> None:
    for line in plain_commands(page):
        command, _, target = line.partition(" > ")
        done = run(*words(command), cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if target:
            (tmp_path / target).write_text(done.stdout)
    assert (tmp_path / made).exists()


@pytest.mark.parametrize("line", LASTING)
def test_the_mocks_run_until_they_are_stopped(line: str, tmp_path: Path) -> None:
    with Gateway(tmp_path, words(line)) as mock:
        links = [word for word in words(line) if word.startswith("./")]
        for link in links:
            assert (tmp_path / link).exists()
        assert mock.stop(signal.SIGTERM) == 143
        for link in links:
            assert not (tmp_path / link).is_symlink()


def test_sending_by_hand(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", str(ROOT / "configs" / "xbee.yaml")]):
        for line in SENDING:
            done = run(*words(line), cwd=tmp_path)
            assert done.returncode == 0, done.stderr


def test_tools_run_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shown = re.search(r"answers:\n\n```\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    # The script sets up .venv in a checkout, or that of $PYTHON; the tests run in the one it made.
    other = f".venv-{sys.version_info[0]}.{sys.version_info[1]}"
    own = other if os.environ.get("PYTHON") else ".venv"
    if not (ROOT / own / "bin" / "hilgw").exists():
        pytest.fail("run the tests by tools/test")
    output = (tmp_path / "out.txt").open("w")
    tool = str(ROOT / "tools" / "run")
    process = start(tmp_path, tool, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: "pong 1" in (tmp_path / "out.txt").read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        output.close()
    assert process.returncode == 130
    printed = (tmp_path / "out.txt").read_text()
    for line in shown[1].splitlines():
        assert without_figures(line) in without_figures(printed), line


def without_figures(text: str) -> str:
    """Addresses are the mocks' own and stay; times, RSSI, blanks, and how far a port is, vary."""
    text = re.sub(r"^ +\d+\.\d+ ", "", text, flags=re.MULTILINE)
    text = re.sub(r"(waits for \w+) \([a-z ]+\)", r"\1", text)
    return re.sub(r"-\d+ dBm", "dBm", text)


def test_every_command_has_a_row() -> None:
    names = re.findall(r"^\| `hilgw ([a-z][a-z0-9-]+)", COMMANDS_PAGE, re.MULTILINE)
    assert sorted(names) == sorted(COMMANDS)


def test_every_exit_code_has_a_row() -> None:
    """Those of all errors, and those of the signals."""
    kinds = [HilgwError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    wanted = {0, *(kind.exit_code for kind in kinds), *EXIT_BY_SIGNAL.values()}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", COMMANDS_PAGE, re.M)} == wanted
    assert 8 in wanted


def test_another_python_has_a_venv_of_its_own(tmp_path: Path) -> None:
    script = '. tools/setup.sh && echo "$venv"'
    for python, venv in (("", ".venv"), (sys.executable, ".venv-{}.{}".format(*sys.version_info))):
        command = ["sh", "-c", script]
        environ = os.environ | {"PYTHON": python}
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        assert done.stdout.strip() == venv
    for tool in ("tools/test", "tools/run"):
        environ = os.environ | {"PYTHON": "python0"}
        done = subprocess.run([ROOT / tool], env=environ, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert "PYTHON=python0 does not run" in done.stderr


def test_each_python_of_the_machine_runs_the_tests(tmp_path: Path) -> None:
    """With Pythons that only print: which of them are found, and what happens when one fails."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "bin").mkdir()
    script, tests = tmp_path / "tools" / "test_pythons", tmp_path / "tools" / "test"
    script.write_text((ROOT / "tools" / "test_pythons").read_text())
    tests.write_text('echo "$PYTHON $*"; [ "$PYTHON" != python3.13 ]\n')
    tests.chmod(0o700)
    for version, program in (("11", "false"), ("12", "true"), ("13", "true"), ("14", "false")):
        (tmp_path / "bin" / f"python3.{version}").symlink_to(f"/bin/{program}")
    environ = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "PYENV_ROOT": str(tmp_path / "none")}
    command = ["sh", str(script), "-k", "one"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "Python 3.11: not on this machine",
        "Python 3.12: python3.12",
        "python3.12 -k one",
        "Python 3.13: python3.13",
        "python3.13 -k one",
        "Python 3.14: not on this machine",
        "failed with Python 3.13",
    ]
    assert done.returncode == 1


PYTHON = """#!/bin/sh
case "$1 $2" in
"-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
"-m pip") shift 5; cat "$2"; echo "pip $3 $4" ;;
"-m pytest") echo "$@"; exit 3 ;;
esac
"""


def test_the_lower_bounds_are_installed_exactly_and_tested(tmp_path: Path) -> None:
    """With a Python that only prints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    libraries = [*project["dependencies"], *extras["testing"], *extras["zenoh"]]
    pins = [library.partition(",")[0].replace(">=", "==") for library in libraries]
    assert "cobs==1.2.1" in pins  # 1.2.0 has no max_encoded_length
    script, python = ROOT / "tools" / "test_lower_bounds", tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o700)
    environ = os.environ | {"PYTHON": str(python), "TMPDIR": str(tmp_path)}
    done = subprocess.run([script, "-k", "one"], env=environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        *(pins * 2),
        f"pip -e {ROOT}[testing,zenoh]",
        "-m pytest -q -p no:cacheprovider -k one",
    ]
    assert (done.returncode, done.stderr) == (3, "")
    assert list(tmp_path.iterdir()) == [python]
    done = subprocess.run([script], env=environ, capture_output=True, text=True)
    for word in done.stdout.splitlines()[-1].split():
        if word.startswith("tests/"):
            assert (ROOT / word).exists(), word


HINT = "(from now on: hilgw)"


def tool(name: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_program(str(ROOT / "tools" / name), *arguments, cwd=cwd, timeout_s=300, **env)


def activated(line: str, cwd: Path) -> str:
    """The hilgw of a shell that has obeyed the hint, or the error."""
    command = line.removesuffix(HINT).strip().replace("source ", ". ", 1)
    shell = ["sh", "-c", f"cd {shlex.quote(str(cwd))} && {command} && command -v hilgw"]
    done = subprocess.run(shell, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


def test_tools_run_takes_options_for_the_example_and_ends_with_the_hint(tmp_path: Path) -> None:
    done = tool("run", "--duration", "4s", "--report", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "configs/xbee.yaml" in done.stdout and "ready" in done.stdout
    assert (tmp_path / "out.json").exists()
    last = done.stderr.splitlines()[-1]
    assert last.startswith("source ") and last.endswith(HINT)
    hilgw = activated(last, tmp_path)
    assert Path(hilgw).is_relative_to(ROOT) and os.access(hilgw, os.X_OK)


def test_tools_test_ends_with_the_hint(tmp_path: Path) -> None:
    done = tool("test", "--version", cwd=ROOT)
    assert done.returncode == 0 and "pytest" in done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.endswith(HINT) and Path(activated(last, ROOT)).is_relative_to(ROOT)
    done = tool("test", "-q", "tests/no_such_folder", cwd=tmp_path)
    assert done.returncode == 4 and done.stderr.splitlines()[-1].endswith(HINT)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--duration 8s", True),
        ("-q --set adapters.xbee0.channel=13 --log out.log", True),
        ("--speed max --arm", True),
        ("--duration 8s my.yaml", False),
        ("--config my.yaml --duration 8s", False),
        ("--config=my.yaml", False),
        ("-q watch --full", False),
        ("--help --all", False),
    ],
)
def test_which_arguments_are_options_alone(line: str, expected: bool) -> None:
    script = '. tools/setup.sh; only_options "$@"'
    done = run_program("sh", "-c", script, "sh", *line.split(), cwd=ROOT)
    assert (done.returncode == 0) is expected


def test_a_tool_ends_with_the_hint_without_the_folder_of_its_user(tmp_path: Path) -> None:
    """tools/docs, tools/soak and tools/bench/all, too, end well after the first set-up."""
    command = ("sh", "-euc", ". tools/setup.sh; hint")
    done = run_program(*command, cwd=ROOT, PATH="/usr/bin:/bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(activated(done.stdout.strip(), tmp_path)).is_relative_to(ROOT)
