"""`hilgw bridge`: a bridge between a serial port and TCP."""

import argparse

from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration

BAUD_RATE = 115200
PARITIES = {"N": "N", "E": "E", "O": "O", "NONE": "N", "EVEN": "E", "ODD": "O"}

EPILOG = """\
examples:
  hilgw bridge /dev/ttyUSB0 --listen 127.0.0.1:5000
  hilgw bridge /dev/ttyACM0 --listen [::1]:0 --baudRate 57600 --parity E --framing cobs-crc16
  hilgw bridge /dev/ttyUSB0 --listen 127.0.0.1:5000 --rfc2217 127.0.0.1:2217

All clients receive; a client that does not keep up for a second is disconnected. Any client can
move motors, so only loopback addresses are allowed; from other hosts use ssh -L.
"""


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 365 * 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, e.g. 60")
    return seconds


COMMANDS = {
    "bridge": Command(
        description="Connects a serial port to TCP clients until Ctrl-C or --duration.",
        epilog=EPILOG,
        options=(
            Option(
                "port",
                metavar="PORT",
                help="the serial port, e.g. /dev/ttyUSB0 or rfc2217://HOST:PORT",
            ),
            Option(
                "--listen", metavar="HOST:PORT", required=True, help="port 0: any free one, shown"
            ),
            Option(
                "--rfc2217",
                metavar="HOST:PORT",
                nargs="?",
                const="",
                help="also listen for clients that set the line (RFC 2217); alone: any free port",
            ),
            Option(
                "--baudRate",
                "--baud",
                metavar="N",
                type=int,
                default=BAUD_RATE,
                help=f"default {BAUD_RATE}",
            ),
            Option(
                "--databits",
                metavar="N",
                type=int,
                choices=(7, 8),
                default=8,
                help="7 or 8 (default)",
            ),
            Option(
                "--parity",
                metavar="P",
                type=str.upper,
                choices=PARITIES,
                default="N",
                help="N, E or O",
            ),
            Option(
                "--stop_bits",
                "--stopbits",
                metavar="N",
                type=int,
                choices=(1, 2),
                default=1,
                help="1 (default) or 2",
            ),
            Option("--rtscts", action="store_true", help="RTS/CTS flow control"),
            Option(
                "--framing",
                "--frame",
                metavar="NAME",
                help="pass only valid frames; e.g. cobs-crc16",
            ),
            Option(
                "--writer",
                choices=("first", "last", "all"),
                default="first",
                help="the client that may send to the port (default: the one connected first)",
            ),
            Option("--pace", action="store_true", help="send to the port at its line rate"),
            Option(
                "--idle",
                metavar="SECONDS",
                type=_seconds,
                help="disconnect clients without traffic",
            ),
            Option(
                "--duration", metavar="TIME", type=duration, help="stop after e.g. 10s, 500ms, 2min"
            ),
            Option("--report", metavar="FILE", help="write counts as JSON; -: to stdout"),
            Option(
                "--ready-file",
                metavar="FILE",
                help="write this file when listening and the port is up",
            ),
            Option("-q", "--quiet", action="store_true", help="show only errors and notices"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Run the bridge; return 0, 130 or 143.

    Raises:
        HilgwError: The run failed; the error has its exit code.
    """
    from hilgw.bridge.command import program

    return program.run(args, PARITIES[args.parity])
