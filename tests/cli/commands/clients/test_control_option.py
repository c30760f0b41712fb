"""--control names the gateway of a request, before the command and after it."""

from pathlib import Path

import pytest

from hilgw.cli.main import main

COMMANDS = {
    "arm": ["rover"],
    "place": ["rover", "1", "2", "3"],
    "send": ["rover.tx", "hello"],
    "set": ["rover.tx", "--range", "2"],
}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_socket_named_is_the_one_asked(
    command: str, before: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option, words = ["--control", str(tmp_path / "none.sock")], [command, *COMMANDS[command]]
    assert main([*option, *words] if before else [*words, *option]) == 5
    assert "none.sock" in capsys.readouterr().err
