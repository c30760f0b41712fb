"""The command line: mistyped words, `--help`, completion scripts and the manual page."""

import argparse
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from hilgw import __version__
from hilgw.cli.commands import run
from hilgw.cli.commands.completion import SHELLS
from hilgw.cli.declaration import add_options
from hilgw.cli.groups import COMMANDS, GROUPS
from hilgw.cli.help import EXIT_CODES, PURPOSES, help_text
from hilgw.cli.main import main
from hilgw.cli.parser import parse, whole_parser
from hilgw.cli.reference.completion import script
from hilgw.cli.reference.manual import manual
from hilgw.cli.version import LIBRARIES
from hilgw.config.shipped import found
from tests.cli.conftest import Command
from tests.config import cases
from tests.e2e.running import run_program

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
def test_the_help_imports_no_parser_and_that_of_commands_nothing_heavy() -> None:
    modules = imported("--help", "-h", "--help --all")
    assert "hilgw" in modules and not modules & HEAVY_FOR_TEXT
    modules = imported("--version", *(f"{command} --help" for command in COMMANDS))
    assert "argparse" in modules and not modules & HEAVY


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
    assert hilgw("help", "scan") == hilgw("scan", "--help")


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
    assert rooms == {"cli", "bridge", "web", "federation", "worlds", "record"}


WORDS = [
    ("hilgw sc", {"schema", "scan"}),
    ("hilgw scan --ba", {"--baudRate"}),
    ("hilgw mock xb", {"xbee"}),
    ("hilgw adapters xb", {"xbee"}),
    ("hilgw check my", {"my.yaml"}),
    ("hilgw --log my", {"my.yaml"}),
    ("hilgw --backend ", {"real", "mock", "loopback"}),
    ("hilgw --config xbee-z", {"xbee-zigbee"}),
    ("hilgw example ir", {"ir_toy", "irda_sir"}),
    ("hilgw completion ", {"bash", "zsh", "fish"}),
]
BASH = """
source "$1"
read -r -a COMP_WORDS <<< "$2"
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_hilgw
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script_file(shell: str, folder: Path) -> Path:
    file = folder / f"hilgw.{shell}"
    file.write_text(script(shell))
    (folder / "my.yaml").touch()
    return file


def output(*command: str, cwd: Path) -> str:
    done = run_program(*command, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.process
def test_bash_completes(tmp_path: Path) -> None:
    file = str(script_file("bash", tmp_path))
    for line, expected in WORDS:
        shown = output("bash", "-c", BASH, "bash", file, line, cwd=tmp_path)
        words = set(shown.split()) - {"hilgw.bash"}
        assert {word for word in words if line[-1] != " " or word[:2] != "--"} == expected
    asked = f"source {file}; complete -p hilgw"  # a file in the place of a command
    assert "-o default" in output("bash", "-c", asked, cwd=tmp_path)


@pytest.mark.process
@pytest.mark.judge("fish")
def test_fish_completes(tmp_path: Path) -> None:
    file = script_file("fish", tmp_path)
    words = [*WORDS, ("hilgw my", {"my.yaml"})]  # a file in the place of a command
    asked = "; ".join(f"complete -C '{line}'; echo ---" for line, _ in words)
    shown = output("fish", "--no-config", "-c", f"source {file}; {asked}", cwd=tmp_path)
    answers = [part.splitlines() for part in shown.split("---\n")]
    for (line, expected), answer in zip(words, answers, strict=False):
        assert expected <= {each.partition("\t")[0] for each in answer}, line


ZPTY = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "autoload -U compinit; compinit -D; source hilgw.zsh; bindkey '^I' complete-word"
zpty -w -n z $'hilgw my	'
zpty -r -m z text '*my.yaml*' && print found
zpty -d z
"""


@pytest.mark.process
@pytest.mark.judge("zsh")
def test_zsh_completes_a_file_in_the_place_of_a_command(tmp_path: Path) -> None:
    script_file("zsh", tmp_path)
    assert output("zsh", "-f", "-c", ZPTY, cwd=tmp_path) == "found\n"


def test_the_command_prints_each_script(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == script(shell)


def test_every_command_and_option_is_described() -> None:
    _, commands = whole_parser()
    assert list(commands) == list(COMMANDS)
    assert "\n\\&\n" not in manual("1.2")  # the place of a text that is missing


def test_the_manual_page_has_every_command_and_exit_code() -> None:
    page, completion = manual("1.2").replace("\\-", "-"), script("zsh")
    assert '.TH HILGW 1 "" "hilgw 1.2"' in page
    for purpose, group in GROUPS.items():
        section = page.partition(f".SH COMMANDS: {PURPOSES[purpose].upper()}\n")[2]
        section = section.partition("\n.SH ")[0]
        assert re.findall(r"^\.SS hilgw (.*)$", section, re.M) == list(group)
        assert all(f"{purpose}: {text[:9]}" in completion for _, text in group.values())
    for code, meaning in EXIT_CODES.items():
        assert f".B {code}\n{meaning}" in page


@pytest.mark.process
@pytest.mark.judge("mandoc")
def test_mandoc_finds_no_fault_in_the_manual_page(tmp_path: Path) -> None:
    (tmp_path / "hilgw.1").write_text(manual("1.2"))
    done = run_program("mandoc", "-Tlint", "-Wwarning", "hilgw.1", cwd=tmp_path)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
