"""Requests to a running gateway of this machine: `hilgw send`, `place` and `set`.

Also the options of all commands that select the gateway.
"""

import argparse
from typing import TYPE_CHECKING

from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import finite
from hilgw.errors import UsageError

if TYPE_CHECKING:
    from hilgw.client import Gateway


# The options that select the gateway; they may precede the command.
SELECTION = (
    Option(
        "-c",
        "--config",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="only the gateway that runs this configuration",
    ),
    Option(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="only the gateway with this control socket",
    ),
)


def _channel(text: str) -> int:
    try:
        channel = int(text, 0)
    except ValueError:
        channel = -2
    if channel < -1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a channel; write -1 or more")
    return channel


COMMANDS = {
    "send": Command(
        description="Sends one packet from a robot's emitter (rover.tx) or through a hardware "
        "station (xbee0) of the gateway that has it.",
        epilog='examples: hilgw send rover.tx --channel 12 "hello"\n'
        "          hilgw send xbee0 --hex '01 ff 00'",
        options=(
            Option("station", metavar="STATION", help="rover.tx, xbee0 ..."),
            Option("text", metavar="TEXT", nargs="?", help="the payload, sent as UTF-8"),
            Option("--hex", metavar="BYTES", help="the payload in hex digits"),
            Option(
                "--channel", type=_channel, metavar="N", help="channel; default: the station's own"
            ),
            *SELECTION,
        ),
    ),
    "place": Command(
        description="Sets the pose of a robot, a module or an obstacle in the gateway that has "
        "it. A motion of the object ends.",
        epilog="examples: hilgw place rover 1 -2.5 0\n"
        "          hilgw place rover 1 0 0 --rotation 0 0 1 1.57\n"
        "          hilgw place rover --unknown",
        options=(
            Option("object", metavar="OBJECT", help="rover, xbee0, wall ..."),
            Option("position", metavar="X Y Z", type=finite, nargs="*", help="position in m"),
            Option(
                "--rotation",
                metavar=("X", "Y", "Z", "ANGLE"),
                type=finite,
                nargs=4,
                help="axis and angle in rad, as Webots' rotation; default: none",
            ),
            Option("--unknown", action="store_true", help="the position is unknown"),
            *SELECTION,
        ),
    ),
    "set": Command(
        description="Changes the channel of an Emitter or Receiver, or the range of an Emitter, "
        "in the gateway that has it, as setChannel and setRange do. With "
        "--at, sends an AT command through an XBee to another module of its network.",
        epilog="examples: hilgw set rover.rx --channel 5\n"
        "          hilgw set rover.tx --channel -1 --range 2.5\n"
        "          hilgw set xbee0 --at 0013A2004AB67FB2 D4 05\n"
        "          hilgw set rover --battery 1000",
        options=(
            Option("device", metavar="DEVICE", help="rover.tx, rover.rx, xbee0 ..."),
            Option("--channel", metavar="N", type=int, help="-1: all channels"),
            Option("--range", metavar="M", type=finite, help="in m; -1: unlimited"),
            Option(
                "--at",
                nargs="+",
                metavar=("REMOTE", "COMMAND"),
                help="address of the module, AT command, value (hexadecimal digits; for NI text); "
                "without a value it reads",
            ),
            Option(
                "--battery",
                metavar="J",
                type=finite,
                help="of a robot: charges its battery to this energy",
            ),
            *SELECTION,
        ),
    ),
}


def selected(args: argparse.Namespace) -> dict[str, str | None]:
    """Return the values of the options."""
    return {name: getattr(args, name, None) for name in ("control", "config")}


def gateway_of(args: argparse.Namespace, kind: str, name: str) -> "Gateway":
    """Return the gateway that the options select, or that has this name.

    Args:
        args: The options of the command.
        kind: What the name is, as for `gateways_with` of `hilgw.client.gateway`.
        name: The name to look for.

    Raises:
        HilgwError: No gateway, or more than one, fits.
    """
    from hilgw.client.gateway import gateway_with

    return gateway_with(kind, name, **selected(args))


# --- `hilgw send STATION`: one packet through a running gateway -----------------------------------


def _payload(args: argparse.Namespace) -> bytes:
    if (args.text is None) == (args.hex is None):
        problem = "no payload" if args.text is None else "two payloads"
        raise UsageError(problem, fix="give either TEXT or --hex BYTES")
    if args.text is not None:
        return str(args.text).encode(errors="surrogateescape")
    try:
        return bytes.fromhex(args.hex.replace(":", " "))
    except ValueError:
        raise UsageError(
            f"{args.hex!r} is not hex", fix="write pairs of digits: 01 ff 00"
        ) from None


def run_send(args: argparse.Namespace) -> None:
    """Queue the packet.

    Raises:
        HilgwError: The packet is refused; the error has the reason.
    """
    data = _payload(args)
    gateway = gateway_of(args, "station", args.station)
    gateway.send(args.station, data, args.channel)
    print(f"{args.station}: {len(data)} B queued{gateway.suffix()}")


# --- `hilgw place OBJECT X Y Z`: sets the pose of an object in a running gateway ------------------


def run_place(args: argparse.Namespace) -> None:
    """Set the pose.

    Raises:
        HilgwError: The name is unknown.
    """
    if len(args.position) != (0 if args.unknown else 3):
        raise UsageError("no position", fix="give X Y Z in metres, or --unknown")
    if args.rotation is not None and not any(args.rotation[:3]):
        raise UsageError("the rotation has no axis", fix="e.g. --rotation 0 0 1 1.57")
    position = None if args.unknown else args.position
    gateway = gateway_of(args, "object", args.object)
    gateway.place(args.object, position, args.rotation)
    where = "unknown" if position is None else "{:g}, {:g}, {:g} m".format(*position)
    print(f"{args.object}: {where}{gateway.suffix()}")


# --- `hilgw set DEVICE`: channel and range of a device; registers of a remote module --------------


TEXT = ("NI",)  # AT commands whose value is text


def run_set(args: argparse.Namespace) -> int:
    """Set what the options give, and return 0.

    Raises:
        HilgwError: The device refuses; the error has the reason.
    """
    if args.battery is not None:
        return _charge(args)
    if args.at is not None:
        return _remote_at(args)
    if args.channel is None and args.range is None:
        raise UsageError("nothing to set", fix="give --channel N or --range M")
    gateway = gateway_of(args, "device", args.device)
    gateway.set(args.device, channel=args.channel, range=args.range)
    range_m = None if args.range is None else "unlimited" if args.range < 0 else f"{args.range:g} m"
    values = (("channel", "all" if args.channel == -1 else args.channel), ("range", range_m))
    shown = ", ".join(f"{name} {value}" for name, value in values if value is not None)
    print(f"{args.device}: {shown}{gateway.suffix()}")
    return 0


def _charge(args: argparse.Namespace) -> int:
    if args.at or args.channel is not None or args.range is not None:
        raise UsageError("--battery is of a robot alone", fix="hilgw set rover --battery 1000")
    gateway = gateway_of(args, "robot", args.device)
    gateway.charge(args.device, args.battery)
    print(f"{args.device}: battery {args.battery:g} J{gateway.suffix()}")
    return 0


def _remote_at(args: argparse.Namespace) -> int:
    if not 2 <= len(args.at) <= 3 or args.channel is not None or args.range is not None:
        raise UsageError("--at takes REMOTE COMMAND [VALUE], and no other setting")
    address, name = args.at[0], args.at[1].upper()
    value = _value(name, args.at[2]) if len(args.at) == 3 else b""
    gateway = gateway_of(args, "hardware station", args.device)
    answer = gateway.command(args.device, address, name, value)
    if value:
        print(f"{answer.address}: {name} = {_shown(name, value)}{gateway.suffix()}")
    else:
        print(f"{_shown(name, answer.value)}{gateway.suffix()}")
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
