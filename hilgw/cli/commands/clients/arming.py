"""`hilgw arm ROBOT...` lets the motors of robots move; `hilgw disarm ROBOT...` stops them."""

from __future__ import annotations

import argparse
import sys

from hilgw.cli.commands.clients import requests
from hilgw.errors import UsageError


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    arm = commands.add_parser(
        "arm",
        description="Lets the motors of robots move, in the gateway that runs on this machine: of "
        "real robots at the start, and again after a latched safety stop.",
        epilog="example: hilgw arm rover",
    )
    disarm = commands.add_parser(
        "disarm",
        description="Stops robots of the gateway that runs on this machine; their motors do not "
        "move until `hilgw arm`. Controllers stay connected.",
        epilog="example: hilgw disarm --all",
    )
    for parser, run in ((arm, run_arm), (disarm, run_disarm)):
        parser.add_argument(
            "robots",
            metavar="ROBOT",
            nargs="*",
            help="a robot with a body or an external controller (repeatable)",
        )
        parser.add_argument("--all", action="store_true", help="all robots of the gateway")
        requests.add_options(parser)
        parser.set_defaults(run=run)


def run_arm(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are enabled. Raises HilgwError for an unknown name."""
    from hilgw.client.arming import arm

    notes: list[str] = []
    robots, gateway = _chosen(args)
    for robot in arm(
        *robots, **gateway, on_note=lambda name, text: notes.append(f"{name}: {text}")
    ):
        print(f"{robot}: armed", flush=True)
    for note in notes:
        print(note, file=sys.stderr)
    return 0


def run_disarm(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are stopped. Raises HilgwError for an unknown name."""
    from hilgw.client.arming import disarm

    robots, gateway = _chosen(args)
    for robot in disarm(*robots, **gateway):
        print(f"{robot}: disarmed")
    return 0


def _chosen(args: argparse.Namespace) -> tuple[list[str], dict[str, str | None]]:
    """The robots that the options name, none for all, and the gateway. Raises UsageError for
    neither robots nor --all, and for both."""
    robots: list[str] = args.robots
    if bool(robots) == args.all:
        what = "robots and --all" if robots else "no robot given"
        raise UsageError(what, fix="name robots, or give --all")
    return robots, {name: getattr(args, name, None) for name in ("control", "config")}
