"""`hilgw arm ROBOT`: enables motors again after a latched safety stop."""

from __future__ import annotations

import argparse

from hilgw.cli.gateways import add_options, request_gateway


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
    add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are enabled. Raises HilgwError for an unknown name."""
    request_gateway(args, {"do": "arm", "robot": args.robot}, args.robot)
    print(f"{args.robot}: armed")
    return 0
