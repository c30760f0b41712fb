"""Scripts that complete the command line in bash, zsh and fish; shtab writes them."""

from typing import Any

from hilgw.cli.groups import GROUPS
from hilgw.cli.parser import whole_parser

_FILES = ("FILE", "PATH", "CONFIG")  # metavars
# The name of a configuration may stand in the place of a command.
_BASH_FILES = "\ncomplete -o bashdefault -o default -F _shtab_hilgw hilgw\n"
_FISH_FILES = "complete -c hilgw -n '_shtab_hilgw_using' -a '(__fish_complete_path)'\n"
_ZSH_COMMANDS = "_describe 'hilgw commands' _commands"


def script(shell: str) -> str:
    """Return the script for `source`; that of zsh may also be in a folder of $fpath, as _hilgw."""
    import shtab

    parser, others = whole_parser()
    for purpose, group in GROUPS.items():
        for name, (_, summary) in group.items():
            others[name].description = f"{purpose}: {summary}"
    for command, own in {"": parser, **others}.items():
        for action in own._actions:
            _describe(command, action)
    text: str = shtab.complete(parser, shell)
    if shell == "zsh":
        text = text.replace(_ZSH_COMMANDS, f"{_ZSH_COMMANDS}; _files -g '*.(yaml|yml)'")
        return text.replace("eval_context[-1] == eval", "eval_context[-1] == (eval|file)")
    return text + {"bash": _BASH_FILES, "fish": _FISH_FILES}[shell]


def _describe(command: str, action: Any) -> None:
    import shtab

    known = _known(command, action.dest)
    if action.metavar in _FILES and not action.choices:
        action.complete = _words_and_files(" ".join(known)) if known else shtab.FILE
    elif known:
        action.choices = known
    if action.metavar is not None:  # zsh separates parts of a description with colons
        action.metavar = "".join(action.metavar).replace(":", " ")


def _words_and_files(words: str) -> dict[str, Any]:
    name = "_hilgw_configurations"
    return {
        "bash": name,
        "zsh": f"{{compadd -- {words}; _files}}",
        "fish": f"{words} (__fish_complete_path)",
        "preamble": {"bash": f'{name}() {{ compgen -W "{words}" -- "$1"; compgen -f -- "$1"; }}'},
    }


def _known(command: str, name: str) -> tuple[str, ...]:
    from hilgw import plugins
    from hilgw.config.shipped import names

    match command, name:
        case _, "backend":
            return ("real", "mock", "loopback")
        case (_, "config") | ("example", "name") | ("explain", "file"):
            return tuple(names())
        case ("scan", "kind") | ("adapters", "name"):
            return tuple(plugins.names(plugins.ADAPTERS))
        case "mock", "kind":
            return tuple(name.replace("_", "-") for name in plugins.names(plugins.MOCKS))
    return ()
