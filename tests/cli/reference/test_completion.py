"""Completion scripts and the manual page: the shells and man's own checker judge them."""

import re
from pathlib import Path

import pytest

from hilgw.cli.commands.completion import SHELLS
from hilgw.cli.groups import COMMANDS, GROUPS
from hilgw.cli.help import EXIT_CODES, PURPOSES
from hilgw.cli.main import main
from hilgw.cli.parser import whole_parser
from hilgw.cli.reference.completion import script
from hilgw.cli.reference.manual import manual
from tests.e2e.running import run_program

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
        found = set(shown.split()) - {"hilgw.bash"}
        assert {word for word in found if line[-1] != " " or word[:2] != "--"} == expected
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
