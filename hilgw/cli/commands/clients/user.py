"""The commands `hilgw key` and `hilgw say`, which act as the user of a robot.

`hilgw key ROBOT KEY...` presses keys of a robot's keyboard; `hilgw say ROBOT TEXT` sends its
controller a text, as from its robot window.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable

from hilgw.cli.commands.clients.gateway_request import SELECTION, gateway_of
from hilgw.cli.declaration import Command, Option
from hilgw.cli.keys import single_keys
from hilgw.devices.keys import MOST_KEYS, Keys, code_of
from hilgw.errors import UsageError, quoted

HOLD_S = 0.5


COMMANDS = {
    "key": Command(
        description="Presses keys for the controller of a robot, in the gateway that has it: the "
        "controller reads them with Webots' Keyboard. Without a KEY, what you type in "
        "this terminal is pressed until Ctrl-C or Ctrl-D. A key is down for half a second, so that "
        "one held in a terminal stays down.",
        epilog="examples: hilgw key rover up\n"
        "          hilgw key rover control+b --hold 2\n"
        "          hilgw key rover",
        options=(
            Option("robot", metavar="ROBOT", help="a robot with a Webots or Python controller"),
            Option(
                "keys",
                metavar="KEY",
                nargs="*",
                help="a character, up, down, left, right, home, end, pageup, pagedown, "
                "numpad-..., space; with shift+, control+ or alt+ before it; several are down at "
                "the same time",
            ),
            Option(
                "--hold",
                metavar="SECONDS",
                type=float,
                default=HOLD_S,
                help="how long they are down, in simulated time; default 0.5",
            ),
            *SELECTION,
        ),
    ),
    "say": Command(
        description="Sends a text to the controller of a robot, in the gateway that has it; the "
        "controller reads it with wwiReceiveText. The gateway shows what the "
        "controller sends with wwiSendText.",
        epilog='example: hilgw say rover "go home"',
        options=(
            Option("robot", metavar="ROBOT", help="a robot with a Webots or Python controller"),
            Option("text", metavar="TEXT", help="the text"),
            *SELECTION,
        ),
    ),
}


def run_key(args: argparse.Namespace) -> None:
    """Press the keys.

    Raises:
        HilgwError: The gateway refuses; the error has the reason.
    """
    gateway = gateway_of(args, "robot", args.robot)
    if not args.keys:
        print(f"{args.robot}: type keys; Ctrl-D ends{gateway.suffix()}", file=sys.stderr)
        read_keys(sys.stdin.fileno(), lambda codes: gateway.key(args.robot, codes, args.hold))
        return
    codes = []
    for word in args.keys:
        code = code_of(word)
        if code is None:
            raise UsageError(f"{quoted(word)} is not a key", fix="hilgw key --help lists them")
        codes.append(code)
    gateway.key(args.robot, codes, args.hold)
    if gateway.label:
        print(f"{args.robot}: keys pressed{gateway.suffix()}")


def run_say(args: argparse.Namespace) -> None:
    """Send the text.

    Raises:
        HilgwError: The gateway refuses; the error has the reason.
    """
    gateway = gateway_of(args, "robot", args.robot)
    gateway.say(args.robot, args.text)
    if gateway.label:
        print(f"{args.robot}: text sent{gateway.suffix()}")


# --- the keys that a terminal sends, as codes of Webots' keyboard ---------------------------------


END_OF_TEXT = b"\x04"  # Ctrl-D
READ_BYTES = 1024
_FINAL = {
    "A": Keys.UP,
    "B": Keys.DOWN,
    "C": Keys.RIGHT,
    "D": Keys.LEFT,
    "F": Keys.END,
    "H": Keys.HOME,
}
_TILDE = {
    "1": Keys.HOME,
    "4": Keys.END,
    "5": Keys.PAGEUP,
    "6": Keys.PAGEDOWN,
    "7": Keys.HOME,
    "8": Keys.END,
}
_KEY = re.compile(
    r"\x1b[\[O](?P<number>[0-9]*)(;(?P<modifier>[0-9]+))?(?P<final>[A-Za-z~])"
    r"|(?P<alt>\x1b?)(?P<one>[^\x1b])"
)


def keys_of(data: bytes) -> list[int]:
    """Return the keys in what a terminal sent (xterm, VT220), without those that Webots lacks."""
    codes = (_code(match) for match in _KEY.finditer(data.decode("ascii", "ignore")))
    return [code for code in codes if code is not None]


def _code(match: re.Match[str]) -> int | None:
    if (one := match["one"]) is not None:
        code = _character(one)
        return code if code is None or not match["alt"] else code | Keys.ALT
    final, number = match["final"], match["number"]
    code = _TILDE.get(number) if final == "~" else _FINAL.get(final)
    bits = int(match["modifier"] or 1) - 1  # xterm: 1 and a bit for each
    for bit, modifier in ((1, Keys.SHIFT), (2, Keys.ALT), (4, Keys.CONTROL)):
        if code is not None and bits & bit:
            code |= modifier
    return code


def _character(one: str) -> int | None:
    """Return the code of a character: a letter is its capital, with shift where it is one."""
    if "\x01" <= one <= "\x1a" and one not in "\t\n\r\b":
        return ord(one) + 0x40 | Keys.CONTROL
    if not " " <= one <= "~":
        return None
    return ord(one.upper()) | (Keys.SHIFT if one.isupper() else 0)


def read_keys(descriptor: int, press: Callable[[list[int]], None]) -> None:
    """Call press(codes) for what is typed, until Ctrl-D or the end of the input."""
    with single_keys(descriptor):
        while data := os.read(descriptor, READ_BYTES):
            typed, end, _ = data.partition(END_OF_TEXT)
            if codes := list(dict.fromkeys(keys_of(typed))):
                press(codes[:MOST_KEYS])
            if end:
                return
