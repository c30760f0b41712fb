"""`hilgw key ROBOT KEY...` presses keys of a robot's keyboard; `hilgw say ROBOT TEXT` sends its
controller a text, as from its robot window."""

from __future__ import annotations

import argparse
import sys

from hilgw.cli.commands.clients.gateway_request import add_options, selected
from hilgw.errors import UsageError, quoted

HOLD_S = 0.5


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_key(commands)
    parser = commands.add_parser(
        "say",
        description="Sends a text to the controller of a robot, in the gateway that has it; the "
        "controller reads it with wwiReceiveText. The gateway shows what the "
        "controller sends with wwiSendText.",
        epilog='example: hilgw say rover "go home"',
    )
    parser.add_argument("robot", metavar="ROBOT", help="a robot with a Webots or Python controller")
    parser.add_argument("text", metavar="TEXT", help="the text")
    add_options(parser)


def _add_key(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "key",
        description="Presses keys for the controller of a robot, in the gateway that has it: the "
        "controller reads them with Webots' Keyboard. Without a KEY, what you type in "
        "this terminal is pressed until Ctrl-C or Ctrl-D. A key is down for half a second, so that "
        "one held in a terminal stays down.",
        epilog="examples: hilgw key rover up\n"
        "          hilgw key rover control+b --hold 2\n"
        "          hilgw key rover",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("robot", metavar="ROBOT", help="a robot with a Webots or Python controller")
    parser.add_argument(
        "keys",
        metavar="KEY",
        nargs="*",
        help="a character, up, down, left, right, home, end, pageup, pagedown, numpad-..., space; "
        "with shift+, control+ or alt+ before it; several are down at the same time",
    )
    parser.add_argument(
        "--hold",
        metavar="SECONDS",
        type=float,
        default=HOLD_S,
        help="how long they are down, in simulated time; default 0.5",
    )
    add_options(parser)


def run_key(args: argparse.Namespace) -> int:
    """Returns 0. Raises HilgwError with the reason when the gateway refuses."""
    from hilgw.cli.commands.clients.terminal_keys import read_keys
    from hilgw.client.finding import gateway_with
    from hilgw.client.robots import press_at
    from hilgw.devices.keys import code_of

    gateway = gateway_with("robot", args.robot, **selected(args))
    if not args.keys:
        print(f"{args.robot}: type keys; Ctrl-D ends{gateway.suffix()}", file=sys.stderr)
        read_keys(sys.stdin.fileno(), lambda codes: press_at(gateway, args.robot, codes, args.hold))
        return 0
    codes = []
    for word in args.keys:
        code = code_of(word)
        if code is None:
            raise UsageError(f"{quoted(word)} is not a key", fix="hilgw key --help lists them")
        codes.append(code)
    press_at(gateway, args.robot, codes, args.hold)
    if gateway.label:
        print(f"{args.robot}: keys pressed{gateway.suffix()}")
    return 0


def run_say(args: argparse.Namespace) -> int:
    """Returns 0. Raises HilgwError with the reason when the gateway refuses."""
    from hilgw.client.robots import say

    gateway = say(args.robot, args.text, **selected(args))
    if gateway.label:
        print(f"{args.robot}: text sent{gateway.suffix()}")
    return 0
