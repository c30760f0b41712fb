"""`hilgw completion SHELL`: prints a script that completes the command line."""

import argparse

from hilgw.cli.declaration import Command, Option

SHELLS = ("bash", "zsh", "fish")


COMMANDS = {
    "completion": Command(
        description="Prints a script that completes commands, options, kinds and shipped "
        "configurations in a shell.",
        epilog="examples: source <(hilgw completion bash)\n"
        "          hilgw completion zsh > ~/.zfunc/_hilgw\n"
        "          hilgw completion fish > ~/.config/fish/completions/hilgw.fish",
        options=(Option("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish"),),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    from hilgw.cli.reference import completion

    print(completion.script(args.shell), end="")
