"""`hilgw release xbee0 -- COMMAND`: a port of a running gateway for a flashing tool, and back."""

import argparse
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hilgw.cli.commands.clients.gateway_request import SELECTION, selected
from hilgw.cli.declaration import Command, Option
from hilgw.errors import PeerError, UsageError, printable

WAIT_S = 20.0  # motors stop first, a driver may be slow to close, and a board to start
POLL_S = 0.05
GONE = {"state": "gone", "reason": "with the configuration of this gateway, which is another one"}


COMMANDS = {
    "release": Command(
        usage="hilgw release [-c FILE | --control PATH] NAME [-- COMMAND ...]",
        description="Hands the serial port of a running gateway to another program, such as one "
        "that flashes the board on it, and takes it back when that program or this command ends. "
        "{port} in COMMAND is the path of the device; so is HILGW_PORT in its environment. Motors "
        "of a body on the port are stopped first, and stay disarmed until `hilgw arm`; packets for "
        "a module on it wait in its queue. Without COMMAND the port is free until Enter or Ctrl-C. "
        "The exit code is that of COMMAND (a signal: 128 and its number), 2 where it cannot be "
        "started.",
        epilog="examples: hilgw release rover.controller -- avrdude -c arduino -p m328p -P {port} "
        "-U sketch.hex\n"
        "          hilgw release xbee0 -- esptool --port {port} write_flash 0 firmware.bin\n"
        "          hilgw release xbee0",
        options=(
            Option(
                "name",
                metavar="NAME",
                help="a station (xbee0), a body or a controller (rover.body)",
            ),
            Option(
                "words",
                metavar="COMMAND",
                nargs=argparse.REMAINDER,
                help="the program and its arguments",
            ),
            *SELECTION,
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Return the exit code of the command.

    Raises:
        HilgwError: The port is not handed over.
    """
    from hilgw.client.gateway import gateway_with

    name, words = args.name, args.words[1:] if args.words[:1] == ["--"] else args.words
    gateway = gateway_with("port", name, **selected(args))
    command = os.path.basename(words[0]) if words else "hilgw release"  # noqa: PTH119
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_released = False
    try:
        with gateway.released(name, command) as port:
            is_released = True
            note = "" if words else "; Enter or Ctrl-C gives it back"
            text = f"{name}: {port.path} is handed over to {command}{port.note}{note}"
            print(printable(text), file=sys.stderr)  # stdout is the command's
            return _use(words, port.path)
    finally:
        if is_released:
            print(printable(_outcome(name, lambda: gateway.report()["ports"])), file=sys.stderr)


def _use(words: list[str], path: str) -> int:
    """Run the command to its end and return its exit code; without one, wait for Enter or Ctrl-C.

    An input that has ended, as of a service, is not Enter.
    """
    if not words:
        if not sys.stdin.readline():
            signal.pause()
        return 0
    command, environment = [each.replace("{port}", path) for each in words], {"HILGW_PORT": path}
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if number != signal.SIGINT or not any(map(os.isatty, (0, 1, 2))):  # whose Ctrl-C both get
            early.append(number) if process is None else process.send_signal(number)

    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # before it runs
        signal.signal(signal_number, pass_on)
    try:
        process = subprocess.Popen(command, env=os.environ | environment)
    except OSError as error:
        reason = error.strerror
        # A folder of PATH that this user must not enter is the error, whatever the others have.
        if "/" not in command[0] and shutil.which(command[0], os.F_OK) is None:
            reason = os.strerror(errno.ENOENT)
        raise UsageError(f"cannot start {printable(words[0])}: {reason}") from None
    for number in early:
        process.send_signal(number)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _outcome(name: str, ports: Callable[[], dict[str, Any]]) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ends this wait only
    start_s, port, state = time.monotonic(), {"reason": "the gateway does not answer"}, ""
    with suppress(PeerError):
        while state not in ("up", GONE["state"]) and time.monotonic() < start_s + WAIT_S:
            time.sleep(POLL_S)
            port = ports().get(name, GONE)
            state = port["state"]
    after = f"after {time.monotonic() - start_s:.1f} s"
    is_up = state == "up"
    return f"{name} is {'up again' if is_up else 'not up'} {after}" + (
        "" if is_up else f": {state} {port['reason']}"
    )
