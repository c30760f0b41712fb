"""`hilgw diff A B`: the differences of two recordings."""

import argparse
from typing import Any

from hilgw.cli.declaration import Command
from hilgw.record.commands.reading import opened, recording, report_end

SHOWN = 20  # differences
DIFFERENT = 1


COMMANDS = {
    "diff": Command(
        description="Compares two recordings: the first difference of each stream (the bytes that "
        "a line sent, the values of a sensor, ...), the first one on top, and the counts. Times "
        "are not compared. Exits with 1 where they differ.",
        epilog="example: hilgw diff good.pcapng bad.pcapng",
        options=(
            recording("first"),
            recording("second"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Print the differences; return 0 without any, 1 with some or if a file is damaged."""
    from hilgw.cli.output.text import one_line
    from hilgw.record.compare import compare

    first, second = opened(args.first), opened(args.second)
    comparison = compare(first, second)
    for difference in comparison.differences[:SHOWN]:
        stream = one_line(difference.stream)
        print(f"{difference.time_s:.6f} s  {stream}: event {difference.number} differs")
        print(f"  {args.first}: {shown(difference.first, difference.second)}")
        print(f"  {args.second}: {shown(difference.second, difference.first)}")
    if len(comparison.differences) > SHOWN:
        print(f"... and {len(comparison.differences) - SHOWN} more streams differ")
    for stream, (ours, theirs) in comparison.counts.items():
        if ours != theirs:
            print(f"{one_line(stream)}: {ours} and {theirs}")
    if not comparison.differences:
        print("no difference")
    ends = max(report_end(first), report_end(second))
    return max(ends, DIFFERENT if comparison.differences else 0)


def shown(item: Any, other: Any) -> str:
    from hilgw.cli.output.text import one_line
    from hilgw.events.kinds import words

    if item is None:
        return "nothing more"
    if isinstance(item, int):
        return f"byte 0x{item:02x}"
    text, differ = words(item), ""
    if other is not None and words(other) == text:
        differ = "".join(f"; {key} {one}" for key, one in item.items() if other.get(key) != one)
    return one_line(text + differ)
