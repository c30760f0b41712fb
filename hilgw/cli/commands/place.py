"""`hilgw place BODY X Y Z`: puts something somewhere in a running gateway."""

from __future__ import annotations

import argparse

from hilgw.errors import UsageError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from hilgw.cli.output.text import finite

    parser = commands.add_parser(
        "place",
        description="Puts a robot, a module or an obstacle of the gateway that runs on this "
        "machine somewhere, in metres. If it has a motion, that ends.",
        epilog="examples: hilgw place rover 1 -2.5 0\n"
        "          hilgw place rover 1 0 0 --rotation 0 0 1 1.57\n"
        "          hilgw place rover --unknown",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("body", metavar="BODY", help="rover, xbee0, wall ...")
    parser.add_argument("position", metavar="X Y Z", type=finite, nargs="*", help="where, in m")
    parser.add_argument(
        "--rotation",
        metavar=("X", "Y", "Z", "ANGLE"),
        type=finite,
        nargs=4,
        help="axis and angle in rad, as Webots' rotation; default: unturned",
    )
    parser.add_argument("--unknown", action="store_true", help="nobody knows where it is")
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,  # it may stand before the command, too
        help="the gateway's control socket",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when it is there; raises HilgwError for an unknown name."""
    from hilgw.cli.commands.send import tell_gateway

    if len(args.position) != (0 if args.unknown else 3):
        raise UsageError("place it where?", fix="give X Y Z in metres, or --unknown")
    if args.rotation is not None and not any(args.rotation[:3]):
        raise UsageError("the rotation has no axis", fix="e.g. --rotation 0 0 1 1.57")
    position = None if args.unknown else args.position
    request = {"do": "place", "body": args.body, "position": position, "rotation": args.rotation}
    tell_gateway(getattr(args, "control", None), request, args.body)
    where = "unknown" if position is None else "{:g}, {:g}, {:g} m".format(*position)
    print(f"{args.body}: {where}")
    return 0
