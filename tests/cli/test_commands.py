"""Commands of other distributions, by the entry points `hilgw.commands`."""

import re
from pathlib import Path

import pytest

from hilgw.cli.groups import COMMANDS
from hilgw.cli.main import main

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
def test_it_runs_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hello", "rover", "--loud"]) == 0
    assert capsys.readouterr().out == "ROVER\n"


@pytest.mark.usefixtures("install")
def test_its_help_is_that_of_any_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hello", "--help"])
    assert ended.value.code == 0
    assert "Greets a robot." in capsys.readouterr().out


@pytest.mark.usefixtures("install")
def test_an_unknown_option_names_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["hello", "rover", "--lout"])
    assert "unknown option --lout; did you mean --loud?" in capsys.readouterr().err


@pytest.mark.usefixtures("install")
def test_a_mistyped_command_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["helo"])
    assert "did you mean hello?" in capsys.readouterr().err


@pytest.mark.usefixtures("install")
def test_a_faulty_one_is_named_with_its_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broken"]) == 3
    assert "command 'broken' of hilgw-hello does not load" in capsys.readouterr().err


@pytest.mark.usefixtures("install")
def test_a_command_of_hilgw_takes_precedence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--control", "/nowhere"]) == 5
    assert "/nowhere: the gateway does not answer" in capsys.readouterr().out


def test_rooms_bring_their_commands() -> None:
    rooms = {module.split(".")[1] for module, _ in COMMANDS.values()}
    assert rooms == {"cli", "bridge", "web", "worlds", "record"}
