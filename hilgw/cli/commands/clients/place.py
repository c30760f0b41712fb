"""`hilgw place OBJECT X Y Z`: sets the pose of an object in a running gateway."""

from __future__ import annotations

import argparse

from hilgw.cli.commands.clients.gateway_request import add_options, request_gateway
from hilgw.errors import UsageError
from hilgw.protocols.gateway.messages import Do


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from hilgw.cli.output.text import finite

    parser = commands.add_parser(
        "place",
        description="Sets the pose of a robot, a module or an obstacle in the gateway that has "
        "it. A motion of the object ends.",
        epilog="examples: hilgw place rover 1 -2.5 0\n"
        "          hilgw place rover 1 0 0 --rotation 0 0 1 1.57\n"
        "          hilgw place rover --unknown",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("object", metavar="OBJECT", help="rover, xbee0, wall ...")
    parser.add_argument("position", metavar="X Y Z", type=finite, nargs="*", help="position in m")
    parser.add_argument(
        "--rotation",
        metavar=("X", "Y", "Z", "ANGLE"),
        type=finite,
        nargs=4,
        help="axis and angle in rad, as Webots' rotation; default: none",
    )
    parser.add_argument("--unknown", action="store_true", help="the position is unknown")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the pose is set. Raises HilgwError for an unknown name."""
    if len(args.position) != (0 if args.unknown else 3):
        raise UsageError("no position", fix="give X Y Z in metres, or --unknown")
    if args.rotation is not None and not any(args.rotation[:3]):
        raise UsageError("the rotation has no axis", fix="e.g. --rotation 0 0 1 1.57")
    position = None if args.unknown else args.position
    request = {
        "do": Do.PLACE,
        "object": args.object,
        "position": position,
        "rotation": args.rotation,
    }
    _, gateway = request_gateway(args, request, "object", args.object)
    where = "unknown" if position is None else "{:g}, {:g}, {:g} m".format(*position)
    print(f"{args.object}: {where}{gateway.suffix()}")
    return 0
