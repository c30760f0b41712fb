"""The command line: files in the place of a command, and what a mistyped word may mean."""

import re
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.cli.parser import parse
from hilgw.config.shipped import found, names

MINIMAL = "version: 1\n"


@pytest.mark.parametrize(
    "words",
    [
        ["my.yaml"],
        ["run", "my.yaml"],
        ["--config", "my.yaml"],
        ["run", "-c", "my.yaml"],
        ["-c", "my.yaml", "run"],
        ["./my.yaml"],
    ],
    ids=" ".join,
)
def test_a_file_runs(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    Path("my.yaml").write_text(MINIMAL)
    assert main([*words, "--duration", "1ms"]) == 0
    assert "the ledger adds up" in capsys.readouterr().out


def test_a_file_that_does_not_exist_is_not_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.yaml"]) == 3
    assert "nowhere.yaml: no such file" in capsys.readouterr().err


def test_options_of_the_default_command_may_precede_the_file() -> None:
    args = parse(["--duration", "2s", "-q", "my.yaml", "--set", "a=b"])
    assert (args.file, args.duration, args.quiet, args.overrides) == ("my.yaml", 2.0, True, ["a=b"])


def test_two_configurations_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", "a.yaml", "run", "b.yaml"]) == 2
    assert "two configurations given" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["xbee", "xbee.yaml", "configs/xbee.yaml"])
def test_the_name_of_a_shipped_configuration(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """NAME and configs/NAME.yaml; a bare NAME.yaml is a file of one's own."""
    monkeypatch.chdir(tmp_path)
    code = main(["check", name])
    own = name == "xbee.yaml"
    assert code == (3 if own else 0)
    assert ("did you mean xbee?" in capsys.readouterr().err) == own


def test_a_file_of_this_name_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("xbee").write_text(MINIMAL)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main(["--config", "xbee", "--duration", "1ms"]) == 0
    assert "xbee0" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "usage", "error"),
    [
        (["chekc", "a.yaml"], "usage: hilgw [", "unknown command 'chekc'; did you mean check?"),
        (["xbee"], "usage: hilgw [", "did you mean hilgw --config xbee?"),
        (
            ["qqqq"],
            "usage: hilgw [",
            "unknown command 'qqqq'; hilgw --help --all lists the ",
        ),
        (["scan", "--jsn"], "usage: hilgw scan ", "unknown option --jsn; did you mean --json?"),
        (
            ["--cofnig", "a.yaml"],
            "usage: hilgw run ",
            "unknown option --cofnig; did you mean --config?",
        ),
        (["bridge", "p", "--listen", "h:1", "--baudrat=9"], "usage: hilgw bridge ", "--baudRate"),
        (["a.yaml", "b.yaml"], "usage: hilgw run ", "too many arguments: b.yaml"),
        (["scan", "--qqqq"], "usage: hilgw scan ", "unknown option --qqqq"),
        (["check", "--jsn"], "usage: hilgw check ", "unknown option --jsn; did you mean --json?"),
        (["mocap-send", "h:1", "--fiel", "x"], "usage: hilgw mocap-send ", "mean --file?"),
        (["completion", "zhs"], "usage: hilgw completion ", "SHELL: 'zhs' is not one of the choi"),
        (["completion", "zhs"], "usage: hilgw completion ", "did you mean 'zsh'?"),
        (["mode", "rover", "remot"], "usage: hilgw mode ", "did you mean 'remote'?"),
        (["scan", "--baudRate", "x"], "usage: hilgw scan ", "--rate: 'x' is not a whole number"),
        (["mocap-send", "--rate", "x"], "usage: hilgw mocap-send ", "'x' is not a number"),
        (["replay"], "usage: hilgw [", "'replay'; hilgw FILE --replay RECORDING runs on a"),
        (["top"], "usage: hilgw [", "'top'; hilgw status shows the state of all"),
        (["stop"], "usage: hilgw [", "Ctrl-C ends a gateway, hilgw disarm stops robots"),
        (["version"], "usage: hilgw [", "unknown command 'version'; did you mean --version?"),
        (["hall.wbt"], "usage: hilgw [", "no such file: hall.wbt"),
        (["lab/robot"], "usage: hilgw [", "no such file: lab/robot"),
        (["send", "--channel", "-1"], "usage: hilgw send ", "arguments are required: STATION"),
        (["say", "--", "rover"], "usage: hilgw say ", "arguments are required"),
        (["check", "--back", "mock"], "usage: hilgw check ", "arguments are required"),
    ],
)
def test_a_mistyped_word_gets_its_usage_and_what_was_meant(
    words: list[str], usage: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    shown = capsys.readouterr().err
    assert caught.value.code == 2
    assert shown.startswith(usage) and error in shown


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["exec", "brain.py"], "no configuration given; write hilgw exec CONFIG brain.py"),
        (["mock", "xbee", "--set", "chanel=3"], "such parameter; did you mean channel?"),
        (["mock", "uart_node", "--set", "delayms=3"], "such parameter; did you mean delay_ms?"),
    ],
)
def test_a_mistyped_argument_names_what_was_meant(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert error in capsys.readouterr().err


def test_help_is_a_word_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert capsys.readouterr().out.startswith("usage: hilgw [")
    with pytest.raises(SystemExit) as caught:
        main(["help", "scan"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("usage: hilgw scan ")


@pytest.mark.parametrize("own", [True, False])
def test_without_arguments_it_shows_the_next_steps(
    own: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if own:
        Path("robot.yaml").write_text(MINIMAL)
    assert main([]) == 2
    shown = capsys.readouterr().err
    for command in ("hilgw --config xbee", "hilgw scan", "hilgw --help"):
        assert command in shown
    assert ("hilgw robot.yaml" in shown) == own
    assert ("hilgw example xbee > my.yaml" in shown) != own
    steps = [re.fullmatch(r"  (\S+(?: \S+)*  +)\S.*", line) for line in shown.splitlines()[1:]]
    assert len({step and step.end(1) for step in steps}) == 1, shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["--baud", "57600"], ["--baudRate", "57600"]),
        (["--stopbits", "2"], ["--stop_bits", "2"]),
        (["--frame", "cobs"], ["--framing", "cobs"]),
    ],
)
def test_options_have_the_names_of_the_configuration(old: list[str], new: list[str]) -> None:
    words = ["bridge", "port", "--listen", "127.0.0.1:0"]
    assert vars(parse([*words, *old])) == vars(parse([*words, *new]))


def test_a_port_of_the_same_name_hides_no_shipped_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hilgw mock epuck --link ./epuck` makes one, which would be read for ever."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "epuck").symlink_to("/dev/null")
    assert Path(found("epuck")).name == "epuck.yaml"
    (tmp_path / "xbee").write_text(MINIMAL)
    assert found("xbee") == "xbee"


def test_every_shipped_configuration_has_a_name() -> None:
    assert "xbee" in names() and "xbee-zigbee" in names()
