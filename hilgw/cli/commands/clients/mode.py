"""`hilgw mode ROBOT`: which body a robot's controller has, the simulated or the real one."""

import argparse
import json

from hilgw.cli.commands.clients.gateway_request import SELECTION, gateway_of
from hilgw.cli.declaration import Command, Option

MODES = ("simulation", "remote", "shadow")


COMMANDS = {
    "mode": Command(
        description="Gives a robot's controller the simulated body, the real one (remote), or both "
        "(shadow), in the gateway that has it. The body that is left stops; the "
        "other one moves at the next command. Without a mode, shows the present one.",
        epilog="examples: hilgw mode rover\n          hilgw mode rover remote",
        options=(
            Option("robot", metavar="ROBOT", help="a robot with a body and a remote body"),
            Option("mode", metavar="MODE", nargs="?", choices=MODES, help=", ".join(MODES)),
            Option("--json", action="store_true", help="print JSON"),
            *SELECTION,
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Set or show the mode.

    Raises:
        HilgwError: The gateway refuses; the error has the reason.
    """
    gateway = gateway_of(args, "robot", args.robot)
    state = gateway.mode(args.robot, args.mode)
    if args.json:
        more = {"gateway": gateway.label} if gateway.label else {}
        print(json.dumps({"robot": state.robot, "mode": state.mode, "bodies": state.bodies} | more))
    else:
        bodies = ", ".join(f"{name} {word}" for name, word in state.bodies.items())
        shown = f"{state.robot}: {state.mode}" + (f" ({bodies})" if bodies else "")
        print(shown + gateway.suffix())
