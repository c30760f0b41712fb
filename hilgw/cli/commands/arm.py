"""`hilgw arm ROBOT`: lets motors move again after a failsafe that was latched."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "arm",
        description="Lets the motors of a robot move again after a stop that was latched "
        "(failsafe: {latch: true}), in the gateway that runs on this machine.",
        epilog="example: hilgw arm rover",
    )
    parser.add_argument("robot", metavar="ROBOT", help="a robot with a body or an outer controller")
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,  # it may stand before the command, too
        help="the gateway's control socket",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when its motors may move; raises HilgwError for an unknown name."""
    from hilgw.cli.commands.send import tell_gateway

    tell_gateway(getattr(args, "control", None), {"do": "arm", "robot": args.robot}, args.robot)
    print(f"{args.robot}: armed")
    return 0
