"""`hilgw completion SHELL`: prints a script that completes the command line."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser(
        "completion",
        description="Prints a script that completes commands, options, kinds and shipped "
        "configurations in a shell.",
        epilog="examples: source <(hilgw completion bash)\n"
        "          hilgw completion zsh > ~/.zfunc/_hilgw\n"
        "          hilgw completion fish > ~/.config/fish/completions/hilgw.fish",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Prints the script; returns 0."""
    from hilgw.cli.reference import completion

    print(completion.script(args.shell), end="")
    return 0
