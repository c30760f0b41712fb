"""`hilgw doctor`: what on this machine stands in the way, each with its exact cure."""

from __future__ import annotations

import argparse
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        description="Looks at groups, busy ports, ModemManager, login prompts, FTDI latency, udev "
        "rules and libraries. Changes nothing. Exit code 1 when it found something.",
        epilog="example: hilgw doctor --json",
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all is well, 1 with findings."""
    from hilgw.discovery.doctor import examine

    findings = examine()
    if args.json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        from hilgw.cli.output.text import Style, use_colour

        style = Style(use_colour(sys.stdout))
        for finding in findings:
            mark = style.good("ok     ") if finding.ok else style.bad("problem")
            print(f"{mark}  {finding.subject}: {finding.what}")
            if finding.cure:
                print(f"         cure: {finding.cure}")
    return 0 if all(finding.ok for finding in findings) else 1
