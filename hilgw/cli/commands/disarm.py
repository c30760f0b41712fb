"""`hilgw disarm ROBOT...`: stops robots, whose motors do not move until `hilgw arm`."""

from __future__ import annotations

import argparse

from hilgw.cli.commands.arm import add_options, chosen


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "disarm",
        description="Stops robots of the gateway that runs on this machine; their motors do not "
        "move until `hilgw arm`. Controllers stay connected.",
        epilog="example: hilgw disarm --all",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are stopped. Raises HilgwError for an unknown name."""
    from hilgw.client.arming import disarm

    robots, gateway = chosen(args)
    for robot in disarm(*robots, **gateway):
        print(f"{robot}: disarmed")
    return 0
