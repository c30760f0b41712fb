"""`hilgw doctor` finds what blocks access to serial ports, with the fix of each problem.

With a robot of a configuration, it runs the first check of this robot's motors and stops.
"""

import argparse
import sys

from hilgw.cli.commands.configurations import loading
from hilgw.cli.declaration import Command, Option
from hilgw.errors import UsageError, printable, suggest

COMMANDS = {
    "doctor": Command(
        description="Checks groups, busy ports, ModemManager, login prompts, FTDI latency, udev "
        "rules and libraries; with --config, the ports of this file with their permissions too. "
        "Changes nothing. Exit code 1 when it finds a problem. "
        "With ROBOT, it is the first check of a real robot: it turns each motor a little, asks "
        "before each motion and what was seen, tests the stop, a frozen hilgw and a pulled cable, "
        "and writes a test report. Lift the robot: --wheels-up. Exit code 0 only if all passed.",
        epilog="examples: hilgw doctor --config create2 --backend real\n"
        "          hilgw doctor --config create2 --backend real create --wheels-up",
        options=(
            Option("robot", metavar="ROBOT", nargs="?", help="a robot of the configuration"),
            Option("-c", "--config", metavar="FILE", help="the configuration with the ports"),
            Option(
                "--wheels-up",
                action="store_true",
                help="no wheel touches the ground: motors may turn",
            ),
            Option(
                "--report",
                metavar="FILE",
                help="the test report (default: hilgw-doctor-ROBOT-TIME.md)",
            ),
            *loading.OPTIONS,
            Option("--json", action="store_true", help="print as JSON"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Return 0 without problems, else 1, or raise HilgwError."""
    if args.robot is not None or args.wheels_up:
        return _first_check(args)
    from hilgw.cli.commands.configurations import loading
    from hilgw.cli.output.text import Style, print_json, use_colour
    from hilgw.config.queries import real_ports
    from hilgw.discovery.doctor import Finding, examine

    ports = real_ports(loading.load(args, args.config).config) if args.config else {}
    findings = examine(configured=ports)
    if args.config and not ports:
        findings.append(Finding(args.config, ok=True, what="no real port here: --backend real"))
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


def _first_check(args: argparse.Namespace) -> int:
    if args.config is None or args.robot is None:
        missing = "--config FILE" if args.config is None else "ROBOT"
        raise UsageError(
            f"{missing} is missing", fix="hilgw doctor --config FILE ROBOT --wheels-up"
        )
    if not args.wheels_up:
        raise UsageError(
            "the motors of the robot will turn",
            fix="lift it, so that no wheel touches the ground: --wheels-up",
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the first check asks a person, and needs a terminal",
            fix="run it in a terminal, next to the robot",
        )
    from hilgw.cli.commands.configurations import loading
    from hilgw.cli.first_check import check

    config = loading.load(args, args.config).config
    if args.robot not in config.robots:
        raise UsageError(
            f"no robot {printable(args.robot)} in this file", fix=suggest(args.robot, config.robots)
        )
    return check.run(args, config)
