"""`hilgw twin FILE`: real links next to Webots' fields, and shadows, of a recording."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration
from hilgw.record.commands.reading import FILE, opened, report_end

if TYPE_CHECKING:
    from hilgw.config.model import GatewayConfig
    from hilgw.record.recording import Recording
    from hilgw.record.twin.links import Links


COMMANDS = {
    "twin": Command(
        description="Compares real parts with their twins: delay, loss and RSSI of each link of "
        "stations with what its Emitter's fields predict, and prints the fields that would fit, "
        "for a .wbt file; of a robot with a shadow the offset, delay and gain of each sensor over "
        "time. It draws both, with matplotlib: pip install 'hilgw[plot]'.",
        epilog="examples: hilgw twin run.pcapng\n"
        "          hilgw twin run.pcapng --output link.svg\n"
        "          hilgw twin shadow.pcapng --window 10s --json",
        options=(
            FILE,
            Option(
                "-o",
                "--output",
                metavar="FILE",
                type=Path,
                help="default: FILE.twin.png next to it",
            ),
            Option(
                "--window",
                type=duration,
                default=2.0,
                help="window for the figures of a shadow (default: 2s)",
            ),
            Option("--json", action="store_true", help="print the figures as JSON"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Print the twins; return 0, or 1 if the recording is damaged or has no twin.

    Raises:
      UsageError: the picture cannot be made.
    """
    from hilgw.cli.output import files
    from hilgw.cli.output.text import one_line, print_json
    from hilgw.errors import HilgwError, UsageError
    from hilgw.record.commands.twin_tables import link_lines, shadow_lines
    from hilgw.record.twin.picture import draw

    recording = opened(args.file)
    links, shadows, begin_ns = _twins(recording, args)
    if not links and not any(shadows.values()):
        raise recording.error or HilgwError(
            "nothing to compare: no packet returned, no robot has a shadow",
            where=str(args.file),
            fix="a module that receives another one of its gateway needs own_echo: keep",
        )
    if args.json:
        print_json({"links": [twin for _, twin in links], "shadows": shadows})
    else:
        print("\n".join([*link_lines(links), *shadow_lines(shadows)]))
    if args.output or not args.json:
        path = args.output or args.file.with_suffix(".twin.png")
        try:
            with files.output(path) as fresh:
                draw(fresh, links, shadows, begin_ns)
        except UsageError as error:
            if args.output:
                raise
            print(f"hilgw: no picture: {error}", file=sys.stderr)
        else:
            print(one_line(str(path)), file=sys.stderr if args.json else sys.stdout)
    return report_end(recording)


def _twins(recording: "Recording", args: argparse.Namespace) -> tuple[Any, dict[str, Any], int]:
    from hilgw.config.load import recorded
    from hilgw.devices.fields import EmitterFields
    from hilgw.record.twin.links import twin_of
    from hilgw.record.twin.picture import BODIES, Shadow

    config, begin_ns = recorded(recording.head), recording.head["time_ns"]
    finder, shadows = _links(config), dict[str, Shadow]()
    for event in recording.events():
        finder.add(event)
        robot, _, body = str(event.get("robot", "")).rpartition(".")
        if event["event"] == "value" and robot and body in BODIES and not event.get("since_ns"):
            shadows.setdefault(robot, Shadow(args.window, begin_ns)).add(event, body)
        elif event["event"] == "mode" and event["mode"] == "shadow" and body in shadows:
            shadows[body].forget()
    if finder.is_full:
        print(f"{args.file}: more packets than are compared", file=sys.stderr)
    emitters = {f"{name}.{device}": fields for name, robot in config.robots.items()
                for device, fields in robot.devices.items()
                if isinstance(fields, EmitterFields)}  # fmt: skip
    links = [(link, twin_of(link, emitters.get(link.source), config.medium.step_ms or 0,
                            config.adapters[link.into].common.rssi_at_1m_dbm))
             for link in finder.found()]  # fmt: skip
    return links, {name: each.sensors() for name, each in shadows.items()}, begin_ns


def _links(config: "GatewayConfig") -> "Links":
    from hilgw.config.scene import mount_of, pose_of
    from hilgw.medium.pose import IDENTITY
    from hilgw.record.twin.links import Links

    mounts, poses = dict[str, Any](), dict[str, Any]()
    for name, robot in config.robots.items():
        poses[name] = pose_of(robot.position, robot.rotation)
    for name, adapter in config.adapters.items():
        own = adapter.common
        mount = mount_of(own.position, own.rotation) if own.attached_to else IDENTITY
        mounts[name] = own.attached_to or name, mount
        poses.setdefault(name, pose_of(own.position, own.rotation))
    return Links(mounts, poses)
