"""`hilgw arm ROBOT...`: lets the motors of robots move."""

from __future__ import annotations

import argparse

from hilgw.cli import gateways
from hilgw.errors import UsageError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "arm",
        description="Lets the motors of robots move, in the gateway that runs on this machine: of "
        "real robots at the start, and again after a latched safety stop.",
        epilog="example: hilgw arm rover",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `arm` and `disarm`."""
    parser.add_argument(
        "robots",
        metavar="ROBOT",
        nargs="*",
        help="a robot with a body or an external controller (repeatable)",
    )
    parser.add_argument("--all", action="store_true", help="all robots of the gateway")
    gateways.add_options(parser)


def chosen(args: argparse.Namespace) -> tuple[list[str], dict[str, str | None]]:
    """The robots that the options name, none for all, and the gateway. Raises UsageError for
    neither robots nor --all, and for both."""
    robots: list[str] = args.robots
    if bool(robots) == args.all:
        what = "robots and --all" if robots else "no robot given"
        raise UsageError(what, fix="name robots, or give --all")
    return robots, {name: getattr(args, name, None) for name in ("control", "config")}


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are enabled. Raises HilgwError for an unknown name."""
    from hilgw.client.arming import arm

    robots, gateway = chosen(args)
    for robot in arm(*robots, **gateway):
        print(f"{robot}: armed")
    return 0
