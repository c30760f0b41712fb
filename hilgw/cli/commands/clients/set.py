"""`hilgw set DEVICE`: channel and range of a robot's device; registers of a remote module."""

from __future__ import annotations

import argparse

from hilgw.cli.commands.clients.gateway_request import add_options, request_gateway
from hilgw.errors import UsageError
from hilgw.protocols.gateway.messages import Do

TEXT = ("NI",)  # AT commands whose value is text
ANSWER_S = 15.0  # a remote module has 10 s


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from hilgw.cli.output.text import finite

    parser = commands.add_parser(
        "set",
        description="Changes the channel of an Emitter or Receiver, or the range of an Emitter, "
        "in the gateway that has it, as setChannel and setRange do. With "
        "--at, sends an AT command through an XBee to another module of its network.",
        epilog="examples: hilgw set rover.rx --channel 5\n"
        "          hilgw set rover.tx --channel -1 --range 2.5\n"
        "          hilgw set xbee0 --at 0013A2004AB67FB2 D4 05",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("device", metavar="DEVICE", help="rover.tx, rover.rx, xbee0 ...")
    parser.add_argument("--channel", metavar="N", type=int, help="-1: all channels")
    parser.add_argument("--range", metavar="M", type=finite, help="in m; -1: unlimited")
    parser.add_argument(
        "--at",
        nargs="+",
        metavar=("REMOTE", "COMMAND"),
        help="address of the module, AT command, value (hexadecimal digits; for NI text); without "
        "a value it reads",
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0. Raises HilgwError with the reason when the device refuses."""
    if args.at is not None:
        return _remote_at(args)
    if args.channel is None and args.range is None:
        raise UsageError("nothing to set", fix="give --channel N or --range M")
    request = {"do": Do.SET, "device": args.device, "channel": args.channel, "range": args.range}
    _, gateway = request_gateway(args, request, "device", args.device)
    range_m = None if args.range is None else "unlimited" if args.range < 0 else f"{args.range:g} m"
    channel = "all" if args.channel == -1 else args.channel
    values = (("channel", channel), ("range", range_m))
    shown = ", ".join(f"{name} {value}" for name, value in values if value is not None)
    print(f"{args.device}: {shown}{gateway.suffix()}")
    return 0


def _remote_at(args: argparse.Namespace) -> int:
    """Sends the AT command, and prints the value of a register that was read; returns 0."""
    if not 2 <= len(args.at) <= 3 or args.channel is not None or args.range is not None:
        raise UsageError("--at takes REMOTE COMMAND [VALUE], and no other setting beside it")
    address, name = args.at[0], args.at[1].upper()
    value = _value(name, args.at[2]) if len(args.at) == 3 else b""
    request = {"do": Do.COMMAND, "station": args.device, "address": address, "name": name}
    request["value"] = value.hex()
    kind = "hardware station"
    answer, gateway = request_gateway(args, request, kind, args.device, timeout_s=ANSWER_S)
    shown = bytes.fromhex(answer["value"])
    if value:
        print(f"{answer['address']}: {name} = {_shown(name, value)}{gateway.suffix()}")
    else:
        print(f"{_shown(name, shown)}{gateway.suffix()}")
    return 0


def _shown(name: str, value: bytes) -> str:
    return value.decode("utf-8", "replace") if name in TEXT else value.hex().upper()


def _value(name: str, text: str) -> bytes:
    if name in TEXT:
        return text.encode(errors="surrogateescape")
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")
    except ValueError:
        raise UsageError(
            f"{text!r} is not a value of {name}", fix="write hexadecimal digits, such as 05 or FFFF"
        ) from None
