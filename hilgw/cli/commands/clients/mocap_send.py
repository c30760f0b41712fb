"""`hilgw mocap-send`: sends poses to a gateway, as a motion-capture system does."""

from __future__ import annotations

import argparse
import itertools
import math
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.cli.declaration import Command, Option
from hilgw.errors import HilgwError, UsageError, printable, quoted

if TYPE_CHECKING:
    from hilgw.medium.motion import Motion

NS = 1_000_000_000


COMMANDS = {
    "mocap-send": Command(
        description="Sends poses to a gateway, as a motion-capture system does: UDP datagrams of\n"
        "JSON that map each object to [x, y, z, qx, qy, qz, qw], metres and a quaternion.\n"
        'The gateway listens with medium: {mocap: {listen: "127.0.0.1:9763"}}. A file has\n'
        "lines time_s,name,x,y,z,qx,qy,qz,qw.",
        epilog="examples: hilgw mocap-send 127.0.0.1:9763 --circle rover --radius 2 --period 8\n"
        "          hilgw mocap-send 127.0.0.1:9763 --file poses.csv --rate 100\n"
        "          hilgw mocap-send 127.0.0.1:9763 --lost rover",
        options=(
            Option("address", metavar="HOST:PORT", help="address of the gateway"),
            Option(
                "--file",
                metavar="FILE",
                exclusive="what!",
                help="the objects of a file of timed poses",
            ),
            Option("--circle", metavar="OBJECT", exclusive="what!", help="one object on a circle"),
            Option(
                "--lost",
                metavar="OBJECT",
                exclusive="what!",
                nargs="+",
                help="report once that these are lost",
            ),
            Option(
                "--center",
                metavar=("X", "Y", "Z"),
                type=float,
                nargs=3,
                default=(0.0, 0.0, 0.0),
                help="center of the circle in metres (default 0 0 0)",
            ),
            *(
                Option(
                    name,
                    metavar=unit,
                    type=float,
                    default=default,
                    help=f"{meaning} (default {default:g})",
                )
                for name, unit, default, meaning in (
                    ("--radius", "M", 1.0, "radius of the circle"),
                    ("--period", "S", 10.0, "time of one round"),
                    ("--rate", "HZ", 50.0, "datagrams per second"),
                )
            ),
            Option(
                "--duration",
                metavar="S",
                type=float,
                help="default: that of the file, or unlimited",
            ),
            Option(
                "--y-up",
                action="store_true",
                help="the world's y axis points up instead of its z axis",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Send the poses, and print the number of datagrams.

    Raises UsageError for values that are not valid, ConfigError for a faulty file of poses,
    HilgwError when nothing can be sent.
    """
    try:
        with connect(args.address) as sender:
            if args.lost is not None:
                send(sender, dict.fromkeys(args.lost))
                return
            moving, end_ns = _what(args)
            sent = play(sender, moving, args.rate, end_ns, 1 if args.y_up else 2)
    except OSError as error:
        raise HilgwError(
            f"cannot send: {error.strerror or error}", where=printable(args.address)
        ) from None
    objects = "1 object" if len(moving) == 1 else f"{len(moving)} objects"
    print(f"{sent} datagrams of {objects}", flush=True)


def _what(args: argparse.Namespace) -> tuple[dict[str, Motion], int | None]:
    if not 0 < args.rate <= 10_000:
        raise UsageError(f"--rate {args.rate:g} is out of range", fix="use 1 to 10000 Hz")
    if args.duration is not None and not 0 <= args.duration < math.inf:
        raise UsageError(f"--duration {args.duration:g} is not a time", fix="seconds, e.g. 10")
    moving = motions(args)
    return moving, length_ns(moving, args.duration)


def motions(args: argparse.Namespace) -> dict[str, Motion]:
    """Return the motions, by object."""
    from hilgw.medium.motion import Circle, read_timed_poses

    if args.circle is not None:
        x, y, z = args.center
        return {args.circle: Circle(center=(x, y, z), radius=args.radius, period_s=args.period)}
    try:
        poses = read_timed_poses(Path(args.file).read_text(encoding="utf-8"), args.file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {printable(args.file)}: {error}") from None
    if not poses:
        raise UsageError(f"{printable(args.file)} has no poses")
    return dict(poses)


def length_ns(moving: dict[str, Motion], duration_s: float | None) -> int | None:
    """Return the duration of the motions; None is unlimited."""
    from hilgw.medium.motion import TimedPoses

    if duration_s is not None:
        return round(duration_s * NS)
    lasts = [each.times_ns[-1] for each in moving.values() if isinstance(each, TimedPoses)]
    return max(lasts, default=None)


def play(
    sender: socket.socket, moving: dict[str, Motion], rate: float, end_ns: int | None, up: int
) -> int:
    """Send every pose at this rate, and the last one; return the number of datagrams."""
    begin, sent = time.monotonic_ns(), 0
    for tick in itertools.count():
        elapsed = round(tick * NS / rate)
        if end_ns is not None:
            elapsed = min(elapsed, end_ns)
        time.sleep(max(begin + elapsed - time.monotonic_ns(), 0) / NS)
        poses = {name: motion.at(elapsed, up) for name, motion in moving.items()}
        sent += send(sender, {n: (*p.position, *p.quaternion()) for n, p in poses.items()})
        if elapsed == end_ns:
            break
    return sent


def send(sender: socket.socket, poses: dict[str, tuple[float, ...] | None]) -> int:
    """Send these poses, in halves if one datagram cannot hold them.

    Returns:
        The number of datagrams.
    """
    from hilgw.medium.mocap import MAX_DATAGRAM_BYTES, encode

    try:
        datagram = encode(poses)
    except UnicodeEncodeError:
        raise UsageError("the name of an object is not valid UTF-8") from None
    if len(datagram) > MAX_DATAGRAM_BYTES:
        if len(poses) == 1:
            raise UsageError("the name of an object is too long for a datagram")
        items, half = list(poses.items()), len(poses) // 2
        return send(sender, dict(items[:half])) + send(sender, dict(items[half:]))
    try:
        sender.send(datagram)
    except ConnectionRefusedError:
        pass  # the port is closed: the gateway has not started, or has ended
    return 1


def connect(address: str) -> socket.socket:
    """Return a UDP socket to this address.

    Raises:
        UsageError: The address is not HOST:PORT, or there is no such host.
    """
    host, _, port = address.rpartition(":")
    try:
        if not host or not 0 < int(port) < 65536:
            raise ValueError
        info = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
    except (OSError, ValueError):
        raise UsageError(
            f"{quoted(address)} is not a HOST:PORT address", fix="e.g. 127.0.0.1:9763"
        ) from None
    sender = socket.socket(info[0], socket.SOCK_DGRAM)
    sender.connect(info[4])
    return sender
