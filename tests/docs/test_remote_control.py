import re

import pytest

from hilgw.cli.main import main
from tests.docs.reading import pages

WIDTH = "92"
PAGE = pages("remote-control", "refused-commands", "robots")
COMMANDS = re.findall(r"^    hilgw (.*)$", PAGE, re.MULTILINE)

"""docs/remote-control.md: its commands run in their order, its output is the real one, its names
exist."""


def test_the_explanation_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", WIDTH)
    (marked,) = re.findall(r"<!-- output: hilgw (.*?) -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    command, block = marked
    assert command in COMMANDS
    assert main(command.split()) == 0
    assert block.strip("\n") == f"```text\n{capsys.readouterr().out}```"
