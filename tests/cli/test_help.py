"""`--help` is short, `--help --all` complete; both answer without the imports of a slow start."""

import argparse
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from hilgw import __version__
from hilgw.cli.commands import run
from hilgw.cli.declaration import add_options
from hilgw.cli.groups import COMMANDS, GROUPS
from hilgw.cli.help import PURPOSES, help_text
from hilgw.cli.version import LIBRARIES
from tests.cli.conftest import Command
from tests.config import cases

HEAVY = {"asyncio", "dataclasses", "pydantic", "serial", "yaml"}
HEAVY_FOR_TEXT = HEAVY | {"argparse", "pathlib", "shutil", "typing"}

IMPORTS = """
import contextlib, io, sys
before = set(sys.modules)
from hilgw.__main__ import main
for words in sys.argv[1].split(","):
    sys.argv = ["hilgw", *words.split()]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    assert out.getvalue(), words
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def imported(*command_lines: str) -> set[str]:
    """The top-level modules a fresh interpreter imports for these command lines."""
    command = [sys.executable, "-c", IMPORTS, ",".join(command_lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.process
def test_the_help_imports_no_parser() -> None:
    found = imported("--help", "-h", "--help --all")
    assert "hilgw" in found
    assert not found & HEAVY_FOR_TEXT


@pytest.mark.process
def test_the_version_and_the_help_of_commands_import_nothing_heavy() -> None:
    found = imported("--version", *(f"{command} --help" for command in COMMANDS))
    assert "argparse" in found
    assert not found & HEAVY


def test_all_lists_every_option_and_command() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, run.OPTIONS)
    options = set(re.findall(r"(?<!\S)--?\w[\w-]*", parser.format_help()))
    assert len(options) > 10
    text = help_text(everything=True)
    for option in options:
        assert f"{option} " in text or f"{option}," in text, option
    assert shown_commands(text) == list(COMMANDS)
    for line in text.splitlines():
        assert len(line) <= 80, line


def shown_commands(text: str) -> list[str]:
    """The commands, which stand below their purposes in the order of GROUPS."""
    assert list(GROUPS) == list(PURPOSES) == ["run", "look", "command", "hardware", "write"]
    shown: list[str] = []
    for purpose in GROUPS:
        _, _, rest = text.partition(f"\n{PURPOSES[purpose]}:\n")
        shown += [line.split()[0] for line in rest.partition("\n\n")[0].splitlines()]
    return shown


def test_all_ways_to_it_print_the_same(hilgw: Command) -> None:
    for words in (["--help"], ["-h"], ["help"]):
        assert hilgw(*words) == (0, help_text(), "")
        for both in ([*words, "--all"], ["--all", *words]):
            assert hilgw(*both) == (0, help_text(everything=True), "")
    assert hilgw("--quiet", "-h") == (0, help_text(), "")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_shows_an_example(command: str, hilgw: Command) -> None:
    code, out, _ = hilgw(command, "--help")
    assert code == 0 and f"hilgw {command}" in out.partition("example")[2]
    assert max(map(len, out.splitlines())) <= 80


def test_the_version_names_the_libraries_and_their_c_forms(hilgw: Command) -> None:
    code, out, _ = hilgw("--version")
    first, *lines = out.splitlines()
    assert code == 0 and first.startswith(f"hilgw {__version__} ")
    assert [line.split()[:2] for line in lines] == [[name, version(name)] for name in LIBRARIES]
    assert sum("(C)" in line or "pure Python" in line for line in lines) == 2


PAGE = (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the distribution of docs/extending.md, and others that are faulty."""
    (module,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder = tmp_path / "hilgw_hello"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "command.py").write_text(module)
    (folder / "broken.py").write_text("COMMANDS = {}\n")
    (point,) = re.findall(r"hello = .*", PAGE)
    more = "broken = hilgw_hello.broken\nstatus = hilgw_hello.command"
    points = f"[hilgw.commands]\n{point.replace(chr(34), '')}\n{more}\n"
    cases.install(tmp_path, "hilgw-hello", points)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("hello rover --loud", 0, "ROVER\n"),
        ("hello --help", 0, "Greets a robot."),
        ("hello rover --lout", 2, "unknown option --lout; did you mean --loud?"),
        ("helo", 2, "did you mean hello?"),
        ("broken", 3, "command 'broken' of hilgw-hello does not load"),
        ("status --control /nowhere", 5, "/nowhere: the gateway does not answer"),  # of hilgw
    ],
)
def test_it_is_a_command_as_any_other(words: str, code: int, text: str, hilgw: Command) -> None:
    returned, out, err = hilgw(*words.split())
    assert returned == code and text in out + err


def test_rooms_bring_their_commands() -> None:
    rooms = {module.split(".")[1] for module, _ in COMMANDS.values()}
    assert rooms == {"cli", "bridge", "web", "worlds", "record"}
