"""`hilgw doctor`: finds what blocks access to serial ports, with the fix of each problem."""

from __future__ import annotations

import argparse
import sys


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser(
        "doctor",
        description="Checks groups, busy ports, ModemManager, login prompts, FTDI latency, udev "
        "rules and libraries. Changes nothing. Exit code 1 when it finds a problem.",
        epilog="example: hilgw doctor --json",
    ).add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    """Returns 0 without problems, else 1."""
    from hilgw.cli.output.text import Style, print_json, use_colour
    from hilgw.discovery.doctor import examine

    findings = examine()
    if args.json:
        print_json(findings)
    else:
        style = Style(use_colour(sys.stdout))
        for finding in findings:
            mark = style.good("ok     ") if finding.ok else style.bad("problem")
            print(f"{mark}  {finding.subject}: {finding.what}")
            if finding.fix:
                print(f"         fix: {finding.fix}")
    return 0 if all(finding.ok for finding in findings) else 1
