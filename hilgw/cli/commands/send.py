"""`hilgw send STATION`: one packet through a running gateway."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hilgw.errors import HilgwError, UsageError

FIXES = {
    "invalid": "a packet has at least one byte",
    "channel": "allowedChannels, or the mapping of the hardware, does not have this channel",
    "full": "it is larger than what bufferSize leaves now",
    "overflow": "it is larger than what bufferSize leaves now",
    "down": "the hardware is down and its queue is full",
    "too_long": "the hardware cannot carry as much in one packet; hilgw adapters says the limits",
}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "send",
        description="Sends one packet out of a robot's emitter (rover.tx) or through a hardware "
        "station (xbee0) of the gateway that runs on this machine.",
        epilog='examples: hilgw send rover.tx --channel 12 "hello"\n'
        "          hilgw send xbee0 --hex '01 ff 00'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("station", metavar="STATION", help="rover.tx, xbee0 ...")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="what to send, as UTF-8")
    parser.add_argument("--hex", metavar="BYTES", help="what to send, as hex digits")
    parser.add_argument(
        "--channel", type=_channel, metavar="N", help="channel; default: the station's own"
    )
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,  # it may stand before the command, too
        help="the gateway's control socket",
    )
    parser.set_defaults(run=run)


def _channel(text: str) -> int:
    try:
        channel = int(text, 0)
    except ValueError:
        channel = -2
    if channel < -1:
        raise argparse.ArgumentTypeError(f"{text!r} is no channel; write a number from -1")
    return channel


def _payload(args: argparse.Namespace) -> bytes:
    if (args.text is None) == (args.hex is None):
        raise UsageError("send what?", fix="give TEXT or --hex BYTES, one of them")
    if args.text is not None:
        return str(args.text).encode(errors="surrogateescape")
    try:
        return bytes.fromhex(args.hex.replace(":", " "))
    except ValueError:
        raise UsageError(
            f"{args.hex!r} is not hex", fix="write pairs of digits: 01 ff 00"
        ) from None


def tell_gateway(
    control: str | None,
    request: dict[str, Any],
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 5.0,
) -> dict[str, Any]:
    """Sends one request to a running gateway; its answer. HilgwError when it refuses.

    fixes: what to do, by the reason of a refusal.
    """
    from hilgw.client.control_socket import ask, find_gateway

    answer = ask(find_gateway(control), request, timeout_s)
    if "error" in answer:
        error = HilgwError(answer["error"])
        error.exit_code = answer.get("exit_code", 1)
        raise error
    if "refused" in answer:
        reason = str(answer["refused"])
        raise HilgwError(
            f"refused: {reason.replace('_', ' ')}", where=where, fix=fixes.get(reason, "")
        )
    return answer


def run(args: argparse.Namespace) -> int:
    """0 when the packet was queued; 1 when it was refused, with the reason."""
    data = _payload(args)
    request = {"do": "send", "station": args.station, "data": data.hex(), "channel": args.channel}
    tell_gateway(getattr(args, "control", None), request, args.station, FIXES)
    print(f"{args.station}: {len(data)} B queued")
    return 0
