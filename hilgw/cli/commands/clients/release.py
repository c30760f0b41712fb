"""`hilgw release xbee0 -- COMMAND`: a port of a running gateway for a flashing tool, and back."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from hilgw.cli.commands.clients.gateway_request import add_options, selected
from hilgw.cli.signals import leave_at_once_on_signals
from hilgw.errors import HilgwError, UsageError, printable

if TYPE_CHECKING:
    from hilgw.client.releasing import Release

PORT = "{port}"
CANNOT_START = 127  # as shells say it
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "release",
        usage="hilgw release [-c FILE | --control PATH] NAME [-- COMMAND ...]",
        description="Hands the serial port of a running gateway to another program, such as one "
        "that flashes the board on it, and takes it back when that program or this command ends. "
        f"{PORT} in COMMAND is the path of the device; so is HILGW_PORT in its environment. Motors "
        "of a body on the port are stopped first, and stay disarmed until `hilgw arm`; packets for "
        "a module on it wait in its queue. Without COMMAND the port is free until Enter or Ctrl-C. "
        f"The exit code is that of COMMAND (a signal: 128 and its number), {CANNOT_START} where it "
        "cannot be started.",
        epilog="examples: hilgw release rover.controller -- avrdude -c arduino -p m328p -P {port} "
        "-U sketch.hex\n"
        "          hilgw release xbee0 -- esptool --port {port} write_flash 0 firmware.bin\n"
        "          hilgw release xbee0",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", metavar="NAME", help="a station (xbee0), a body or a controller (rover.body)"
    )
    parser.add_argument(
        "words", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments"
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Returns the exit code of the command. HilgwError when the port is not handed over."""
    from hilgw.client.control_socket import gateway_with
    from hilgw.client.releasing import Release

    words = list(args.words)
    if words[:1] == ["--"]:
        del words[0]
    if words and words[0].startswith("-"):
        fix = f"write hilgw release [OPTIONS] {args.name} -- COMMAND"
        raise UsageError(f"{words[0]} is no command", fix=fix)
    if words and shutil.which(words[0]) is None:
        raise _cannot_start(words[0], "there is no such program")
    user = os.path.basename(words[0]) if words else "hilgw release"  # noqa: PTH119
    gateway = gateway_with("port", args.name, **selected(args))
    with closing(Release(gateway, args.name, user)) as release:
        _show(f"{args.name}: {release.path} is handed over to {user}")
        for note in release.notes:
            _show(note)
        try:
            return _use(words, release.path) if words else _wait()
        finally:
            _take_back(release, args.name)


def _use(words: list[str], path: str) -> int:
    """Runs the command to its end; returns its exit code. HilgwError when it cannot be started."""
    environment = {**os.environ, "HILGW_PORT": path}
    try:
        process = subprocess.Popen([word.replace(PORT, path) for word in words], env=environment)
    except OSError as error:
        raise _cannot_start(words[0], error.strerror or str(error)) from None

    def pass_on(number: int, _: Any) -> None:
        if number != signal.SIGINT or not _has_terminal():  # whose Ctrl-C both get
            with suppress(OSError):
                process.send_signal(number)

    for name in PASSED_ON:
        if signal.getsignal(signal.Signals[name]) != signal.SIG_IGN:
            signal.signal(signal.Signals[name], pass_on)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _has_terminal() -> bool:
    """Whether the keys of the terminal go to this process and the command."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _wait() -> int:
    """Until Enter, the end of the input, or Ctrl-C. /dev/null, as of a service, is no input."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _show("Enter or Ctrl-C gives it back")
    try:
        if os.isatty(0) or not stat.S_ISCHR(os.fstat(0).st_mode):
            sys.stdin.readline()
        else:
            signal.pause()
    except KeyboardInterrupt:
        return 130
    return 0


def _take_back(release: Release, name: str) -> None:
    """The port is back with the request: a signal only ends the wait for it."""
    leave_at_once_on_signals()
    start_s = time.monotonic()
    try:
        down = release.take_back()
    except HilgwError as error:
        _show(f"hilgw: {name} is not taken back: {error}")
        return
    taken = f"after {time.monotonic() - start_s:.1f} s"
    _show(f"{name} is not up {taken}: {down}" if down else f"{name} is up again {taken}")


def _cannot_start(program: str, why: str) -> HilgwError:
    error = HilgwError(f"cannot start {printable(program)}: {why}", fix="check its path")
    error.exit_code = CANNOT_START
    return error


def _show(text: str) -> None:
    """stdout is the command's."""
    with suppress(OSError):
        print(printable(text), file=sys.stderr, flush=True)
