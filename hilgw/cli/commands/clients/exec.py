"""`hilgw exec CONFIG brain.py`: a Python program as the controller of a robot."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from hilgw.cli.declaration import Command, Option
from hilgw.errors import UsageError, printable, quoted, suggest

COMMANDS = {
    "exec": Command(
        description="Runs a Python program that was written for Webots, without Webots' library: "
        "`from controller import Robot` is that of hilgw. It controls a robot of the gateway that "
        "runs CONFIG, or with --url or WEBOTS_CONTROLLER_URL a robot of a gateway elsewhere or of "
        "Webots.",
        epilog="examples: hilgw exec configs/webots-controller.yaml brain.py\n"
        "          hilgw exec --url tcp://192.168.1.2:1234/rover brain.py --fast",
        options=(
            Option("--robot", metavar="NAME", help="which robot; default: the only one"),
            Option(
                "--url",
                metavar="URL",
                help="tcp://HOST:PORT/ROBOT, tls://... or ipc://INSTANCE/ROBOT",
            ),
            Option(
                "--python",
                metavar="PATH",
                default=sys.executable,
                help="the Python that runs the program, for packages of its own; default: that of "
                "hilgw",
            ),
            Option(
                "words",
                metavar="[CONFIG] PROGRAM [ARGUMENT]",
                nargs=argparse.REMAINDER,
                help="the configuration, without --url; the program and its arguments",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Replace this process with the program, whose exit code becomes that of hilgw.

    Raises:
        HilgwError: There is no such program.
    """
    from hilgw.api.exec_watch import watch
    from hilgw.protocols.webots.handshake import URL, program_environment

    words = list(args.words)
    begins = words[:1] and words[0].endswith(".py")  # with the program
    url = args.url or (os.environ.get(URL, "") if begins else "")
    if not url and len(words) == 1 and begins:
        raise UsageError(
            "no configuration given",
            fix=f"write hilgw exec CONFIG {printable(words[0])}, or --url URL, or set {URL}",
        )
    if not url and words:
        url = _address(words.pop(0), args.robot)
    elif args.robot is not None:
        raise UsageError("--robot and --url exclude each other", fix="write the robot in the URL")
    if not words:
        raise UsageError(
            "no program given",
            fix="write hilgw exec CONFIG brain.py, or hilgw exec --url URL brain.py",
        )
    if words[0].startswith("--"):
        raise UsageError(
            f"{printable(words[0])} comes too late", fix="write hilgw exec [OPTIONS] CONFIG PROGRAM"
        )
    program = Path(words[0])
    if not program.is_file():
        raise UsageError("there is no such program", where=str(program), fix="check the path")
    python = shutil.which(args.python)
    if python is None:
        raise UsageError(
            "--python: there is no such program",
            where=args.python,
            fix="name a program, such as .venv/bin/python",
        )
    _check(url)
    sys.stdout.flush()
    sys.stderr.flush()
    environment = program_environment(url, os.environ) | watch(program.name)
    os.execve(python, [python, *words], environment)
    raise AssertionError("execve returned")


def _check(url: str) -> None:
    from hilgw.api.address import NotReady, find

    try:
        find({**os.environ, "WEBOTS_CONTROLLER_URL": url})
    except NotReady:
        pass  # the program waits for it


def _address(config: str, wanted: str | None) -> str:
    from urllib.parse import quote

    from hilgw.config.load import load_config
    from hilgw.config.shipped import found
    from hilgw.protocols.webots.handshake import DEFAULT_PORT

    addresses = {
        name: robot.controller.settings.listen
        or f"ipc://{DEFAULT_PORT}"  # the local socket; one of both is set
        for name, robot in load_config(found(config)).config.robots.items()
        if robot.controller is not None and robot.controller.kind == "webots"
    }
    if wanted is not None and wanted not in addresses:
        raise UsageError(
            f"no robot {quoted(wanted)} with a controller of kind webots",
            where=config,
            fix=suggest(wanted, addresses),
        )
    if not addresses:
        raise UsageError(
            "no robot has a controller of kind webots",
            where=config,
            fix="give one controller: {kind: webots, listen: tcp://127.0.0.1:1234}",
        )
    if wanted is None and len(addresses) > 1:
        raise UsageError(
            f"several robots have a controller: {', '.join(addresses)}",
            where=config,
            fix="name one with --robot",
        )
    name = wanted or next(iter(addresses))
    return f"{addresses[name]}/{quote(name, safe='')}"
