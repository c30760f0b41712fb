"""`hilgw say ROBOT TEXT`: a text for a controller, as from its robot window."""

from __future__ import annotations

import argparse

from hilgw.cli.gateways import add_options


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "say",
        description="Sends a text to the controller of a robot, in the gateway that runs on this "
        "machine; the controller reads it with wwiReceiveText. The gateway shows what the "
        "controller sends with wwiSendText.",
        epilog='example: hilgw say rover "go home"',
    )
    parser.add_argument("robot", metavar="ROBOT", help="a robot with a Webots or Python controller")
    parser.add_argument("text", metavar="TEXT", help="the text")
    add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0. Raises HilgwError with the reason when the gateway refuses."""
    from hilgw.client.user import say

    say(args.robot, args.text, getattr(args, "control", None), getattr(args, "config", None))
    return 0
