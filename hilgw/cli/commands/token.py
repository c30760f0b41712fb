"""`hilgw token FILE`: makes a token for a client on another host."""

import argparse

from hilgw.cli.declaration import Command, Option

COMMANDS = {
    "token": Command(
        description="Makes a token in a new file that only this user can read. Name the file in "
        "`access: {tokens: ...}` of a configuration; a client presents the token.",
        epilog="example: hilgw token lab.token",
        options=(Option("file", metavar="FILE", help="the new file"),),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Make the token.

    Raises:
        ConfigError: The file exists, or cannot be made.
    """
    from pathlib import Path

    from hilgw.security.access import write_token

    write_token(Path(args.file))
    print(f"{args.file}: a new token; write access: {{tokens: {{NAME: {{file: {args.file}}}}}}}")
