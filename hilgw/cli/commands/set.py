"""`hilgw set DEVICE`: channel and range of a robot's device in a running gateway."""

from __future__ import annotations

import argparse

from hilgw.errors import UsageError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from hilgw.cli.output.text import finite

    parser = commands.add_parser(
        "set",
        description="Changes the channel of an Emitter or Receiver, or the range of an Emitter, "
        "in the gateway that runs on this machine, as setChannel and setRange do.",
        epilog="examples: hilgw set rover.rx --channel 5\n"
        "          hilgw set rover.tx --channel -1 --range 2.5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("device", metavar="DEVICE", help="rover.tx, rover.rx ...")
    parser.add_argument("--channel", metavar="N", type=int, help="-1: all channels")
    parser.add_argument("--range", metavar="M", type=finite, help="in m; -1: unlimited")
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,  # it may precede the command
        help="the control socket of the gateway",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0. Raises HilgwError with the reason when the device refuses."""
    from hilgw.cli.commands.send import request_gateway

    if args.channel is None and args.range is None:
        raise UsageError("nothing to set", fix="give --channel N or --range M")
    request = {"do": "set", "device": args.device, "channel": args.channel, "range": args.range}
    request_gateway(getattr(args, "control", None), request, args.device)
    print(f"{args.device}: set")
    return 0
