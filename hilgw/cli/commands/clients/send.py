"""`hilgw send STATION`: one packet through a running gateway."""

from __future__ import annotations

import argparse

from hilgw.cli.commands.clients.gateway_request import add_options, request_gateway
from hilgw.errors import UsageError
from hilgw.protocols.gateway.messages import Do

FIXES = {
    "invalid": "send at least one byte",
    "channel": "use a channel of allowedChannels and of the mapping of the hardware",
    "full": "wait, or increase bufferSize",
    "overflow": "wait, or increase bufferSize",
    "down": "the hardware is down and its queue is full; check the port",
    "too_long": "send less; `hilgw adapters NAME` shows the limit of the hardware",
}


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "send",
        description="Sends one packet from a robot's emitter (rover.tx) or through a hardware "
        "station (xbee0) of the gateway that has it.",
        epilog='examples: hilgw send rover.tx --channel 12 "hello"\n'
        "          hilgw send xbee0 --hex '01 ff 00'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("station", metavar="STATION", help="rover.tx, xbee0 ...")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the payload, sent as UTF-8")
    parser.add_argument("--hex", metavar="BYTES", help="the payload in hex digits")
    parser.add_argument(
        "--channel", type=_channel, metavar="N", help="channel; default: the station's own"
    )
    add_options(parser)


def _channel(text: str) -> int:
    try:
        channel = int(text, 0)
    except ValueError:
        channel = -2
    if channel < -1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a channel; write -1 or more")
    return channel


def _payload(args: argparse.Namespace) -> bytes:
    if (args.text is None) == (args.hex is None):
        what = "no payload" if args.text is None else "two payloads"
        raise UsageError(what, fix="give either TEXT or --hex BYTES")
    if args.text is not None:
        return str(args.text).encode(errors="surrogateescape")
    try:
        return bytes.fromhex(args.hex.replace(":", " "))
    except ValueError:
        raise UsageError(
            f"{args.hex!r} is not hex", fix="write pairs of digits: 01 ff 00"
        ) from None


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the packet is queued. Raises HilgwError with the reason when refused."""
    data = _payload(args)
    request = {"do": Do.SEND, "station": args.station, "data": data.hex(), "channel": args.channel}
    _, gateway = request_gateway(args, request, "station", args.station, FIXES)
    print(f"{args.station}: {len(data)} B queued{gateway.suffix()}")
    return 0
