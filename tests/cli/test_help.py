"""`--help` is complete, shows examples, and answers without the imports that make a start slow."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

import pytest

from hilgw.cli.commands import COMMANDS, GROUPS, run
from hilgw.cli.help import PURPOSES, help_text
from hilgw.cli.main import main

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
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, ",".join(command_lines)],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.process
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_imports_no_parser(option: str) -> None:
    found = imported(option)
    assert "hilgw" in found
    assert not found & HEAVY_FOR_TEXT


@pytest.mark.process
def test_the_version_and_the_help_of_commands_import_nothing_heavy() -> None:
    found = imported("--version", *(f"{command} --help" for command in COMMANDS))
    assert "argparse" in found
    assert not found & HEAVY


def test_it_lists_every_option_and_command() -> None:
    parser = argparse.ArgumentParser()
    run.add_options(parser)
    options = set(re.findall(r"(?<!\S)--?\w[\w-]*", parser.format_help()))
    assert len(options) > 10
    for option in options:
        assert f"{option} " in help_text() or f"{option}," in help_text(), option
    for line in help_text().splitlines():
        assert len(line) <= 80, line


def test_it_groups_the_commands_by_purpose() -> None:
    assert list(GROUPS) == list(PURPOSES) == ["run", "look", "command", "hardware", "write"]
    text = help_text()
    for purpose, group in GROUPS.items():
        _, _, rest = text.partition(f"\n{PURPOSES[purpose]}:\n")
        lines = rest.partition("\n\n")[0].splitlines()
        assert [line.split()[0] for line in lines] == list(group)


def test_all_ways_to_it_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == help_text()
    with pytest.raises(SystemExit) as end:
        main(["--quiet", "-h"])
    assert (end.value.code, capsys.readouterr().out) == (0, help_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    _, found, examples = capsys.readouterr().out.partition("example")
    assert found
    assert f"hilgw {command}" in examples
