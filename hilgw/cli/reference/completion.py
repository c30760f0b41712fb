"""Scripts that complete the command line in bash, zsh and fish."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hilgw.cli.reference.options import FILES, Command, Option, commands


def bash() -> str:
    """For `source` in bash 4 or later."""
    every = commands()
    names = " ".join(each.name for each in every if each.name)
    values: dict[tuple[str, ...], set[str]] = {}
    for option in (option for each in every for option in each.options if option.metavar):
        values.setdefault(option.choices, set()).update(option.names)
    lines = [
        "# bash completion of hilgw",
        "_hilgw() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        "    local command= words= index",
        "    for ((index = 1; index < COMP_CWORD; index++)); do",
        f"        case ${{COMP_WORDS[index]}} in {names.replace(' ', '|')})",
        "            command=${COMP_WORDS[index]}; break ;;",
        "        esac",
        "    done",
        "    COMPREPLY=()",
        "    case $before in",
    ]
    lines += [
        f"        {'|'.join(sorted(options))}) {_bash_values(choices)}; return ;;"
        for choices, options in values.items()
    ]
    lines += ["    esac", "    case $command in"]
    for each in every:
        words = [name for option in each.options for name in option.names if name[:2] == "--"]
        words += each.words if each.name else names.split()
        pattern = each.name or '""'
        lines.append(f'        {pattern}) words="{" ".join(words)}" ;;')
    lines += [
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o bashdefault -o default -F _hilgw hilgw",
    ]
    return "\n".join(lines) + "\n"


def _bash_values(choices: tuple[str, ...]) -> str:
    words = " ".join(choice for choice in choices if choice != FILES)
    known = f'$(compgen -W "{words}" -- "$word")' if words else ""
    files = '$(compgen -f -- "$word")' if FILES in choices else ""
    return f"COMPREPLY=({' '.join(filter(None, (known, files)))})"


def zsh() -> str:
    """For a folder of $fpath, as _hilgw, or for `source` after compinit."""
    every = commands()
    lines = ["#compdef hilgw", "# zsh completion of hilgw", "_hilgw() {", "    local -a commands"]
    lines.append("    commands=(")
    lines += [f"        {_quoted(f'{each.name}:{each.summary}')}" for each in every if each.name]
    lines += ["    )", "    local curcontext=$curcontext state line", "    _arguments -C \\"]
    lines += [f"        {spec} \\" for spec in _zsh_options(every[0])]
    lines += [
        "        '1: :->command' '*:: :->rest'",
        "    case $state in",
        "        command) _describe command commands; _files -g '*.(yaml|yml)' ;;",
        "        rest)",
        "            case $words[1] in",
    ]
    for each in every[1:]:
        lines.append(f"                {each.name}) _arguments \\")
        lines += [f"                    {spec} \\" for spec in _zsh_options(each)]
        lines.append(f"                    {_zsh_words(each)} ;;")
    lines += ["            esac ;;", "    esac", "}", "compdef _hilgw hilgw"]
    return "\n".join(lines) + "\n"


def _zsh_options(command: Command) -> Iterable[str]:
    for option in command.options:
        text = option.text.replace("\\", "").replace("[", "(").replace("]", ")")
        for name in option.names:
            value = f":{option.metavar.replace(':', ' ')}:{_zsh_values(option)}"
            yield _quoted(f"*{name}[{text}]{value if option.metavar else ''}")


def _zsh_values(option: Option) -> str:
    words = [choice for choice in option.choices if choice != FILES]
    if FILES in option.choices:
        return "_files"
    return f"({' '.join(words)})" if words else " "


def _zsh_words(command: Command) -> str:
    words = f"({' '.join(command.words)})" if command.words else "_files"
    return _quoted(f"*: :{words}")


def fish() -> str:
    """For ~/.config/fish/completions/hilgw.fish, or for `source`."""
    lines = ["# fish completion of hilgw"]
    for each in commands():
        where = f"__fish_seen_subcommand_from {each.name}" if each.name else "__fish_use_subcommand"
        head = f"complete -c hilgw -n {_quoted(where)}"
        if each.name:
            summary = _quoted(each.summary)
            lines.append(f"complete -c hilgw -n __fish_use_subcommand -a {each.name} -d {summary}")
        if each.words:
            lines.append(f"{head} -f -a {_quoted(' '.join(each.words))}")
        for option in each.options:
            lines.append(f"{head} {_fish_option(option)}")
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    words = [f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}" for name in option.names]
    choices = [choice for choice in option.choices if choice != FILES]
    if option.metavar:
        words.append("-r" if FILES in option.choices else "-x")
    if choices:
        words.append(f"-a {_quoted(' '.join(choices))}")
    return " ".join([*words, "-d", _quoted(option.text)])


def _quoted(text: str) -> str:
    """A word in single quotes, for all three shells."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
