"""`hilgw arm ROBOT...` lets the motors of robots move; `hilgw disarm ROBOT...` stops them."""

from __future__ import annotations

import argparse
import sys

from hilgw.cli.commands.clients import gateway_request, holding
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration
from hilgw.errors import UsageError, printable

ROBOTS = (
    Option(
        "robots",
        metavar="ROBOT",
        nargs="*",
        help="a robot with a body or an external controller (repeatable)",
    ),
    Option("--all", action="store_true", help="all robots"),
    *gateway_request.SELECTION,
)


COMMANDS = {
    "arm": Command(
        description="Lets the motors of robots move, in the gateway that has them: of real robots "
        "at the start, and again after a latched safety stop. It refuses a name that several "
        "gateways have, and a real robot whose body is down (exit code 5; during a handshake it "
        "waits for 2 s); --all arms those that are up and names the others, and needs --config or "
        "--control where several gateways run.",
        epilog="examples: hilgw arm rover\n"
        "          hilgw arm rover --hold\n"
        "          hilgw arm rover --for 60s\n\n" + holding.HELP,
        options=(
            Option("--hold", action="store_true", help="armed while this command runs"),
            Option(
                "--for",
                metavar="TIME",
                type=duration,
                help="as --hold, and for this time at most: 60s",
            ),
            Option(
                "--accept-positions",
                metavar="MOTOR",
                action="append",
                default=[],
                help="arm in spite of the lost zero of this motor: its position is right "
                "(repeatable)",
            ),
            *ROBOTS,
        ),
    ),
    "disarm": Command(
        description="Stops robots in all gateways that run on this machine; their motors do not "
        "move until `hilgw arm`. Controllers stay connected. A gateway that does not confirm the "
        "stop within 1 s is named, and so is a robot whose body is down; the exit code is 5.",
        epilog="example: hilgw disarm --all",
        options=ROBOTS,
    ),
}


def run_arm(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are enabled. Raises HilgwError for an unknown name, PeerError for a
    robot whose body is down. With --hold or --for it returns at the end of the lease, as
    `holding.run`."""
    from hilgw.client.arming import arm_each

    limit_s: float | None = getattr(args, "for")
    if args.hold or limit_s is not None:
        return holding.run(
            _chosen(args), limit_s, gateway_request.selected(args), args.accept_positions
        )

    def show(robot: str, text: str) -> None:
        print(f"{printable(robot)}: {printable(text)}", file=sys.stderr)

    selected = gateway_request.selected(args)
    accepted: list[str] = args.accept_positions
    for robot, gateway in arm_each(
        _chosen(args), **selected, on_note=show, accept_positions=accepted
    ):
        print(f"{printable(robot)}: armed{gateway.suffix()}", flush=True)
    return 0


def run_disarm(args: argparse.Namespace) -> int:
    """Returns 0 when the motors are stopped; 5 when a gateway did not confirm the stop, 1 for an
    unknown name: the others are stopped then."""
    from hilgw.client.arming import disarm_each

    stopped = disarm_each(_chosen(args), **gateway_request.selected(args))
    for robot, gateway in stopped.robots:
        print(f"{printable(robot)}: disarmed{gateway.suffix()}")
    sys.stdout.flush()
    for error in stopped.errors:
        print(f"hilgw: {error}", file=sys.stderr)
    return stopped.error().exit_code if stopped.errors else 0


def _chosen(args: argparse.Namespace) -> list[str]:
    """The robots that the options name, none for all. Raises UsageError for neither robots nor
    --all, and for both."""
    robots: list[str] = args.robots
    if bool(robots) == args.all:
        what = "robots and --all" if robots else "no robot given"
        raise UsageError(what, fix="name robots, or give --all")
    return robots
