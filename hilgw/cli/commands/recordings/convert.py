"""`hilgw convert FILE TO`: a recording in the form of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hilgw.cli.commands.recordings.reading import add_file, opened, report_end
from hilgw.errors import HilgwError, UsageError


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "convert",
        description="Writes a recording in the form of another tool, by the name of TO: a folder "
        "gets a CSV file for each device (pandas, PlotJuggler), a .mcap file its channels and "
        "schemas (Foxglove; package mcap), a .jsonl file one event per line.",
        epilog="examples: hilgw convert run.pcapng csv/\n"
        "          hilgw convert run.pcapng run.mcap\n"
        "          hilgw convert run.pcapng - | jq .event",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_file(parser)
    parser.add_argument(
        "to", metavar="TO", help="a new folder, FILE.mcap, FILE.jsonl, or -: JSON lines to stdout"
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 where the recording is damaged. UsageError for a form that is unknown."""
    from hilgw.record.convert import to_csv, to_json_lines, to_mcap

    recording, to = opened(args.file), Path(args.to)
    if args.to == "-":
        to_json_lines(recording, sys.stdout)
        return report_end(recording)
    try:
        if to.suffix == ".mcap":
            with to.open("xb") as out:
                to_mcap(recording, out)
        elif to.suffix in (".jsonl", ".json"):
            with to.open("x") as lines:
                to_json_lines(recording, lines)
        elif to.suffix and not args.to.endswith("/"):
            fix = "FILE.mcap, FILE.jsonl, or a folder for CSV"
            raise UsageError(f"no form has the suffix {to.suffix}", fix=fix)
        else:
            files = to_csv(recording, to)
            print(f"{to}: {len(files)} tables")
    except FileExistsError:
        raise HilgwError("exists already", where=args.to, fix="name a new file") from None
    except OSError as error:
        raise HilgwError(f"cannot be written: {error.strerror}", where=args.to) from error
    return report_end(recording)
