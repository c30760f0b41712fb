"""The command line: files in the place of a command, and what a mistyped word may mean."""

import re
from pathlib import Path

import pytest

from hilgw.cli.parser import parse
from hilgw.config.shipped import found
from tests.cli.conftest import Command

MINIMAL = "version: 1\n"


@pytest.mark.parametrize(
    "words",
    ["my.yaml", "run my.yaml", "--config my.yaml", "run -c my.yaml", "-c my.yaml run", "./my.yaml"],
)
def test_a_file_runs(words: str, hilgw: Command) -> None:
    Path("my.yaml").write_text(MINIMAL)
    code, out, _ = hilgw(*words.split(), "--duration", "1ms")
    assert code == 0 and "the ledger adds up" in out


def test_the_name_of_a_shipped_configuration(hilgw: Command) -> None:
    """NAME and configs/NAME.yaml; a bare NAME.yaml is a file of one's own, and so is a NAME."""
    assert hilgw("check", "xbee")[0] == hilgw("check", "configs/xbee.yaml")[0] == 0
    code, _, err = hilgw("check", "xbee.yaml")
    assert code == 3 and "did you mean xbee?" in err
    Path("xbee").write_text(MINIMAL)
    code, out, _ = hilgw("--config", "xbee", "--duration", "1ms")
    assert code == 0 and "xbee0" not in out
    # `hilgw mock epuck --link ./epuck` makes a port, which would be read for ever.
    Path("epuck").symlink_to("/dev/null")
    assert Path(found("epuck")).name == "epuck.yaml"


@pytest.mark.parametrize(
    ("words", "usage", "error"),
    [
        ("chekc a.yaml", "usage: hilgw [", "unknown command 'chekc'; did you mean check?"),
        ("xbee", "usage: hilgw [", "did you mean hilgw --config xbee?"),
        ("qqqq", "usage: hilgw [", "unknown command 'qqqq'; hilgw --help --all lists the "),
        ("scan --jsn", "usage: hilgw scan ", "unknown option --jsn; did you mean --json?"),
        ("--cofnig a.yaml", "usage: hilgw run ", "unknown option --cofnig; did you mean --config?"),
        ("bridge p --listen h:1 --baudrat=9", "usage: hilgw bridge ", "--baudRate"),
        ("a.yaml b.yaml", "usage: hilgw run ", "too many arguments: b.yaml"),
        ("scan --qqqq", "usage: hilgw scan ", "unknown option --qqqq"),
        ("completion zhs", "usage: hilgw completion ", "SHELL: 'zhs' is not one of the choi"),
        ("mode rover remot", "usage: hilgw mode ", "did you mean 'remote'?"),
        ("scan --baudRate x", "usage: hilgw scan ", "--rate: 'x' is not a whole number"),
        ("mocap-send --rate x", "usage: hilgw mocap-send ", "'x' is not a number"),
        ("replay", "usage: hilgw [", "'replay'; hilgw FILE --replay RECORDING runs on a"),
        ("top", "usage: hilgw [", "'top'; hilgw status shows the state of all"),
        ("stop", "usage: hilgw [", "Ctrl-C ends a gateway, hilgw disarm stops robots"),
        ("version", "usage: hilgw [", "unknown command 'version'; did you mean --version?"),
        ("hall.wbt", "usage: hilgw [", "no such file: hall.wbt"),
        ("lab/robot", "usage: hilgw [", "no such file: lab/robot"),
        ("send --channel -1", "usage: hilgw send ", "arguments are required: STATION"),
        ("say -- rover", "usage: hilgw say ", "arguments are required"),
        ("check --back mock", "usage: hilgw check ", "arguments are required"),
        ("exec brain.py", "", "no configuration given; write hilgw exec CONFIG brain.py"),
        ("mock xbee --set chanel=3", "", "such parameter; did you mean channel?"),
        ("mock uart_node --set delayms=3", "", "such parameter; did you mean delay_ms?"),
        ("-c a.yaml run b.yaml", "", "two configurations given"),
    ],
)
def test_a_mistyped_word_gets_its_usage_and_what_was_meant(
    words: str, usage: str, error: str, hilgw: Command
) -> None:
    code, out, err = hilgw(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(usage) and error in err


@pytest.mark.parametrize(
    ("text", "error"), [(None, "my.yaml: no such file"), ("version: 1\nrobot: {}\n", "my.yaml:2")]
)
def test_a_file_that_cannot_run_has_errors(text: str | None, error: str, hilgw: Command) -> None:
    if text is not None:
        Path("my.yaml").write_text(text)
    code, out, err = hilgw("my.yaml")
    assert (code, out) == (3, "") and error in err


@pytest.mark.parametrize("own", [True, False])
def test_without_arguments_it_shows_the_next_steps(own: bool, hilgw: Command) -> None:
    if own:
        Path("robot.yaml").write_text(MINIMAL)
    code, _, shown = hilgw()
    assert code == 2
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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("show run.pcapng --lost rover xbee0", {"names": ["rover", "xbee0"], "lost": True}),
        ("show --lost run.pcapng a --json b", {"names": ["a", "b"], "json": True}),
        ("plot run.pcapng -o run.svg rover.gps", {"names": ["rover.gps"]}),
        ("key rover --hold 2 up", {"keys": ["up"], "hold": 2.0}),
        ("send xbee0 --channel 3 hello", {"text": "hello", "channel": 3}),
    ],
)
def test_options_may_precede_the_last_words(words: str, expected: dict[str, object]) -> None:
    args = vars(parse(words.split()))
    assert {key: args[key] for key in expected} == expected
