"""The first check: the gateway, the steps at the terminal, and the report."""

import argparse
import platform
import signal
import sys
import tempfile
from datetime import UTC, datetime
from typing import NoReturn

from hilgw import __version__, plugins
from hilgw.cli.first_check.gateway import GatewayRobot
from hilgw.cli.first_check.results import Result, all_passed, markdown
from hilgw.cli.first_check.steps import FirstCheck
from hilgw.cli.first_check.terminal import Person
from hilgw.cli.output import files
from hilgw.cli.signals import EXIT_BY_SIGNAL
from hilgw.cli.version import installed
from hilgw.config.model import GatewayConfig
from hilgw.config.queries import is_mocked
from hilgw.config.shipped import found
from hilgw.discovery.ports import probable_device, usb_ids
from hilgw.errors import HilgwError, UsageError
from hilgw.protocols.webots.codec import NEWEST

SHOWN_BYTES = 1500  # of what the gateway printed, where it ends early


def run(args: argparse.Namespace, config: GatewayConfig) -> int:
    """Return 0 when all steps passed, else 1.

    Raises HilgwError; SystemExit after a signal.
    """
    name, robot_config, began = args.robot, config.robots[args.robot], datetime.now(UTC)
    body = robot_config.body
    if body is None or robot_config.remote is not None:
        raise UsageError(
            "the first check is for a robot with one body",
            where=name,
            fix="put the real robot alone under `body:`",
        )
    report = args.report or f"hilgw-doctor-{name}-{began:%Y%m%d-%H%M%S}.md"
    files.expect_test_report(report)
    robot = GatewayRobot(name, body.settings, command_of(args, config))
    robot.is_mock = is_mocked(config, f"{name}.body")
    frame = plugins.load(plugins.BODIES, body.kind).stop_frame(body.settings)
    robot.has_watchdog = frame.has_watchdog
    person, results = Person(sys.stdin.fileno()), list[Result]()
    facts = _facts(robot, body.kind, f"{began:%Y-%m-%d %H:%M:%S} UTC")
    with tempfile.TemporaryFile() as output, person.at_the_keys():
        _leave_on_signals()
        try:
            person.show("\n".join(f"{key}: {text}" for key, text in facts.items()))
            person.show("waiting for the robot")
            facts["end"] = "it was ended early"
            robot.start(output)
            robot.ready()
            facts["identity"] = robot.report()["ports"][f"{name}.body"]["identity"]
            for result in FirstCheck(robot, person).results():
                results.append(result)
            facts["end"] = "complete"
        except HilgwError as error:
            output.seek(0)
            printed = output.read()[-SHOWN_BYTES:].decode(errors="replace").strip()
            error.what += f"; the gateway: {printed}" if printed else ""
            facts["end"] = str(error)
            raise
        finally:
            robot.close()
            files.write(report, markdown(facts, results))
            person.show(f"\ntest report: {report}")
    return 0 if all_passed(results) else 1


def command_of(args: argparse.Namespace, config: GatewayConfig) -> list[str]:
    """Return the command that runs the user's file with all robots disarmed.

    This process takes the place of the robot's controller.
    """
    overrides = list(getattr(args, "overrides", []))
    overrides += [
        f"robots.{name}.safety.{key}"
        for name, robot in config.robots.items()
        if robot.bodies
        for key in ("armed=false", "latch=true")
    ]
    controller = f"{{kind: webots, library: {NEWEST}, ipc: true, backend: real}}"
    overrides.append(f"robots.{args.robot}.controller={controller}")
    command = [sys.executable, "-P", "-m", "hilgw", "run", found(args.config), "--quiet"]
    command += [word for each in overrides for word in ("--set", each)]
    for option in ("backend", "speed"):
        if hasattr(args, option):
            command += [f"--{option}", str(getattr(args, option))]
    return command


def _facts(robot: GatewayRobot, kind: str, date: str) -> dict[str, str]:
    vid, pid = usb_ids(robot.port)
    usb = "none" if vid is None else f"{vid:04x}:{pid:04x} {probable_device(vid, pid)}".strip()
    return {
        "robot": robot.name,
        "date": date,
        "body": f"{kind}, a mock: this tests the dialogue, and nothing of the hardware"
        if robot.is_mock
        else kind,
        "port": robot.port,
        "USB ids": usb,
        "hilgw": __version__,
        "Python": platform.python_version(),
        "pyserial": installed().get("pyserial", "unknown"),
        "platform": platform.platform(),
    }


def _leave_on_signals() -> None:
    """End the check in order on a signal: stop the robot, write the report, restore the terminal.

    Another signal does not disturb that.
    """

    def leave(number: int, _: object) -> NoReturn:
        for ending in EXIT_BY_SIGNAL:
            signal.signal(ending, signal.SIG_IGN)
        raise SystemExit(EXIT_BY_SIGNAL[signal.Signals(number)])

    for number in EXIT_BY_SIGNAL:
        signal.signal(number, leave)
