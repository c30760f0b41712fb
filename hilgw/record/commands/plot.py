"""`hilgw plot FILE NAME...`: a picture of a recording."""

import argparse
from pathlib import Path

from hilgw.cli.declaration import Command, Option
from hilgw.record.commands.reading import FILE, opened, report_end

COMMANDS = {
    "plot": Command(
        description="Draws values, commands (given and applied), packets and losses of a recording "
        "over time, a row for each name. It needs matplotlib: pip install 'hilgw[plot]'.",
        epilog="examples: hilgw plot run.pcapng rover.gps xbee0\n"
        "          hilgw plot run.pcapng --output run.svg",
        options=(
            FILE,
            Option(
                "names",
                metavar="NAME",
                nargs="*",
                help="a robot, device (rover.gps) or station; none: all",
            ),
            Option(
                "-o",
                "--output",
                metavar="FILE",
                type=Path,
                help="default: FILE.png next to the recording",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Print the name of the picture; return 0, or 1 if the recording is damaged."""
    from hilgw.cli.output import files
    from hilgw.cli.output.text import one_line
    from hilgw.record.plot import plot

    recording = opened(args.file)
    path = args.output or args.file.with_suffix(".png")
    with files.output(path) as fresh:
        names = plot(recording, args.names, fresh)
    print(one_line(f"{path}: {', '.join(names)}"))
    return report_end(recording)
