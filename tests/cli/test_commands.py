"""Commands of other distributions, by the entry points `hilgw.commands`."""

import re
from pathlib import Path

import pytest

from hilgw.cli.groups import COMMANDS
from tests.cli.conftest import Command

PAGE = (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the distribution of docs/extending.md, and others that are faulty."""
    (module,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder, info = tmp_path / "hilgw_hello", tmp_path / "hilgw_hello-1.0.dist-info"
    folder.mkdir()
    info.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "command.py").write_text(module)
    (folder / "broken.py").write_text("COMMANDS = {}\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hilgw-hello\nVersion: 1.0\n")
    (point,) = re.findall(r"hello = .*", PAGE)
    (info / "entry_points.txt").write_text(
        "[hilgw.commands]\n"
        + point.replace('"', "")
        + "\nbroken = hilgw_hello.broken\nstatus = hilgw_hello.command\n"
    )
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
