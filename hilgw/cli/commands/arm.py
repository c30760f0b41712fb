"""`hilgw arm ROBOT`: enables motors again after a latched safety stop."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "arm",
        description="Enables the motors of a robot again after a latched safety stop "
        "(safety: {latch: true}), in the gateway that runs on this machine.",
        epilog="example: hilgw arm rover",
    )
    parser.add_argument(
        "robot", metavar="ROBOT", help="a robot with a body or an external controller"
    )
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,  # it may precede the command
        help="the control socket of the gateway",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are enabled. Raises HilgwError for an unknown name."""
    from hilgw.cli.commands.send import request_gateway

    request_gateway(getattr(args, "control", None), {"do": "arm", "robot": args.robot}, args.robot)
    print(f"{args.robot}: armed")
    return 0
