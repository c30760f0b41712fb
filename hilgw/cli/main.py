"""The command line: finds the command, imports only that one, turns errors into exit codes."""

from __future__ import annotations

import argparse
import contextlib
import sys
from importlib import import_module
from typing import NoReturn

from hilgw.cli import streams
from hilgw.errors import ConfigError, HilgwError

COMMANDS = {
    "run": "run a gateway (the default)",
    "check": "check configuration files and say every error with its place",
    "schema": "print the JSON Schema of a configuration file, for editors",
    "example": "print a configuration that runs as it is",
    "bridge": "a serial port on TCP, for any program",
    "doctor": "find what stands between you and a serial port, with the cure",
    "ports": "list the serial ports of this machine",
    "scan": "find known modules on serial ports, and an XBee's network",
    "adapters": "list the kinds of hardware, their limits and how Webots' fields map",
    "mock": "run firmware mocks on virtual ports, for any program",
    "send": "send one packet through a running gateway",
    "place": "put a robot, a module or an obstacle somewhere in a running gateway",
    "set": "change channel or range of a device in a running gateway",
    "arm": "let a robot's motors move again after a latched failsafe",
}

EPILOG = """\
examples:
  hilgw --config configs/xbee.yaml
  hilgw --config configs/xbee.yaml --duration 10s --report out.json
  hilgw example xbee > my.yaml
  hilgw COMMAND --help

exit codes:
  0 success           1 failure           2 usage          3 configuration
  4 port              5 peer              6 mismatch       7 failsafe latched
  130 Ctrl-C          143 SIGTERM         129 terminal closed
"""


def _command_of(arguments: list[str]) -> str | None:
    """The command named, if any; options of the default command may stand before it."""
    takes_value = {"--config", "-c", "--set", "--backend", "--duration", "--report"}
    takes_value |= {"--ready-file", "--control"}
    rest = iter(arguments)
    for argument in rest:
        if argument in takes_value:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument
    return None


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser with this command's options only: importing all would cost every start."""
    run = import_module("hilgw.cli.commands.run")
    parser = argparse.ArgumentParser(
        prog="hilgw",
        description="Connects the Emitter and Receiver devices of simulated robots to real serial, "
        "infra-red and radio hardware.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="versions, and which C forms are active")
    run.add_options(parser)
    parser.set_defaults(run=run.run)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, help_text in COMMANDS.items():
        if name == command:
            import_module(f"hilgw.cli.commands.{name}").add_parser(commands)
        else:
            commands.add_parser(name, help=help_text, add_help=False)
    return parser


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = _parser(_command_of(arguments))
    args, rest = parser.parse_known_args(arguments)
    # argparse gives an optional last word away when an option stands before it.
    if len(rest) == 1 and getattr(args, "text", "") is None and not rest[0].startswith("-"):
        args.text = rest.pop()
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, *_: object) -> NoReturn:
        print_version()
        sys.exit(0)


def print_version() -> None:
    """The versions, as `--version` says them."""
    import_module("hilgw.cli.version").show()


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments == ["--version"]:
            print_version()  # without the parser: asked for by scripts
            return 0
        args = _parse(arguments)
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit:  # argparse said what there is to say
        streams.give_up()
        raise
    except HilgwError as error:
        # Errors of a file begin with their place, as a compiler's: editors jump there.
        prefix = "" if isinstance(error, ConfigError) else "hilgw: "
        sys.stderr.write(f"{prefix}{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        streams.give_up()  # the reader of our output left (`hilgw ... | head`): no word is needed
        return 1
    except OSError as error:
        streams.give_up()
        where = error.filename or "cannot write"
        with contextlib.suppress(OSError):
            sys.stderr.write(f"hilgw: {where}: {error.strerror or error}\n")
            sys.stderr.flush()
        streams.give_up()
        return 1
