"""`hilgw show FILE`: the events of a recording, as `hilgw watch` shows a gateway."""

import argparse

from hilgw.cli.commands.clients.watch import VIEWS, kinds_of, printer
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration
from hilgw.errors import HilgwError, UsageError
from hilgw.record.commands.reading import FILE, opened, report_end

COMMANDS = {
    "show": Command(
        description="Shows the events of a recording, one line each, as `hilgw watch` shows a "
        "running gateway. Names choose robots, devices (rover.gps) and stations; values and bytes "
        "are shown where a name or an option asks for them.",
        epilog="examples: hilgw show run.pcapng\n"
        "          hilgw show run.pcapng rover.gps --from 10s --to 12s\n"
        "          hilgw show run.pcapng --lost --json",
        options=(
            FILE,
            Option("names", metavar="NAME", nargs="*", help="a robot, device or station"),
            *VIEWS,
            Option(
                "--from",
                dest="begin",
                type=duration,
                default=0.0,
                help="since its start, e.g. 90s, 2min",
            ),
            Option("--to", dest="end", type=duration, help="since its start, e.g. 95s"),
        ),
        defaults={"pcapng": False},
    ),
}


def run(args: argparse.Namespace) -> int:
    """Print the events; return 0, or 1 if the file is damaged.

    Raises:
      HilgwError: it is not a recording, or has nothing of a name.
    """
    from hilgw.events.kinds import LIVE, demand_known, is_about, is_lost
    from hilgw.record.plot import parts_of

    if args.end is not None and args.end < args.begin:
        problem = f"--from {args.begin:g} s is after --to {args.end:g} s"
        raise UsageError(problem, fix="both count from the start of the recording")
    recording = opened(args.file)
    demand_known(args.names, parts_of(recording), recording.events())
    is_line, show = args.frames or args.bytes, printer(args)
    kinds = LIVE if args.json and not is_line else kinds_of(args, is_table=False)
    begin_ns = recording.head["time_ns"] + args.begin * 1e9
    events = recording.events(0.0 if args.frames else args.begin, args.end)
    if args.frames:  # they need all earlier events
        from hilgw.assemble.ports import decoders_of, with_frames

        decoders = decoders_of(recording.head, f"configuration in {recording.path}")
        if unframed := [name for name in args.names if name not in decoders]:
            fix = "stations have; --bytes shows the bytes of a line"
            raise HilgwError(f"{unframed[0]} has no frames", fix=fix)
        events = with_frames(events, decoders)
    for event in events:
        kind = event["event"]
        if (args.begin and event["time_ns"] < begin_ns) or (kind not in kinds and kind in LIVE):
            continue
        if args.lost and not is_lost(event) and (not is_line or kind == "packet"):
            continue
        if is_about(event, args.names):
            show(event)
    return report_end(recording)
