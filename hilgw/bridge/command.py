"""`hilgw bridge`: a bridge between a serial port and TCP."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, TextIO

from hilgw import __version__
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import duration
from hilgw.errors import ConfigError, HilgwError, UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from hilgw.bridge.bridge import Bridge, BridgeSettings
    from hilgw.cli.output.console import ConsoleWriter
    from hilgw.engine.event_loop.scheduler import Timer
    from hilgw.engine.observer import Observer
    from hilgw.framing.base import Framing

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
    import asyncio

    from hilgw.cli.output import files

    settings = _settings(args)
    framing = _framing(args.framing)
    files.expect_report(args.report)
    files.clear(args.ready_file)
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform == "linux":
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        new_loop = DirectLoop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_run(args, settings, framing))


# --- the command line -------------------------------------------------------------------------


def _settings(args: argparse.Namespace) -> BridgeSettings:
    from hilgw.bridge.bridge import BridgeSettings
    from hilgw.transports.base import LineSettings

    host, tcp_port = _address("--listen", args.listen)
    rfc2217 = None
    if args.rfc2217 is not None:
        rfc2217 = _address("--rfc2217", args.rfc2217) if args.rfc2217 else (host, 0)
    if not 0 < args.baudRate < 1 << 31:
        raise UsageError(
            f"--baudRate {args.baudRate}: not a baud rate", fix="e.g. --baudRate 115200"
        )
    line = LineSettings(
        args.baudRate, args.databits, PARITIES[args.parity], args.stop_bits, args.rtscts
    )
    return BridgeSettings(
        args.port, host, tcp_port, line, args.writer, args.pace, rfc2217, args.idle
    )


def _address(option: str, text: str) -> tuple[str, int]:
    import socket

    from hilgw.transports.tcp.address import is_loopback

    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if (
        not colon
        or not bare
        or not port.isdecimal()
        or int(port) > 65535
        or (":" in bare and bare == host)
    ):
        raise UsageError(f"{option} {text}: not HOST:PORT", fix="e.g. 127.0.0.1:5000 or [::1]:5000")
    try:
        addresses = socket.getaddrinfo(bare, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"{option} {text}: unknown address", fix="e.g. 127.0.0.1:5000") from None
    if not all(is_loopback(str(address[0])) for *_, address in addresses):
        raise UsageError(
            f"{option} {text}: not a loopback address; any client can move motors",
            fix="listen on 127.0.0.1 or [::1], and from other hosts use ssh -L",
        )
    return bare, int(port)


def _framing(name: str | None) -> str | None:
    if name is None:
        return None
    from hilgw.framing import create

    try:
        framing = create(name)
    except ConfigError as error:  # the name comes from the command line
        raise UsageError(f"--framing: {error.what}", fix=error.fix) from None
    if framing.pause_ns:
        raise UsageError(
            f"--framing {name}: TCP does not preserve pauses", fix="use e.g. cobs-crc16 or slip"
        )
    return name


# --- the run ----------------------------------------------------------------------------------


async def _run(args: argparse.Namespace, settings: BridgeSettings, frame: str | None) -> int:
    import asyncio

    from hilgw.bridge.bridge import NAME
    from hilgw.cli.output.console import console_writer
    from hilgw.cli.output.terminal import Terminal
    from hilgw.cli.signals import StopSignal
    from hilgw.engine.control_socket.look_server import LookServer, Watched
    from hilgw.engine.event_loop.scheduler import Timer
    from hilgw.engine.observer import Observers

    stop = StopSignal()
    console = console_writer(sys.stderr if args.report == "-" else sys.stdout)
    lost = (lambda error: None) if args.quiet else stop.output_lost
    terminal = Terminal(console, quiet=args.quiet, on_lost=lost)
    timer = Timer(asyncio.get_running_loop())
    observers = Observers(terminal)
    watched = Watched(observers, timer, lambda: bridge.report(), lambda: (NAME, "tcp"))
    server = LookServer(watched, config=f"hilgw bridge {settings.port}")

    def inform(text: str) -> None:
        if not args.quiet:
            terminal.line(text)
        server.subscriptions.notice("tcp", text)

    bridge = _build(settings, frame, timer, observers, inform)
    bridge.supervisor.lines.report_to(observers)
    fatal: HilgwError | None = None
    try:
        bridge.on_ready = lambda: _ready(args, terminal)
        await server.start_beside(inform)
        await bridge.run(stop.event, args.duration)
    except HilgwError as error:
        fatal = error
    finally:
        await server.close()
        timer.close()
    code = stop.code or (fatal.exit_code if fatal else 0)
    stop.last_words()
    _finish(args, bridge, console, code)
    if fatal is not None and stop.code is None:
        raise fatal
    return code


def _build(
    settings: BridgeSettings,
    frame: str | None,
    timer: Timer,
    observer: Observer,
    inform: Callable[[str], None],
) -> Bridge:
    from hilgw.bridge.bridge import Bridge
    from hilgw.discovery.ports import port_identity
    from hilgw.framing import create
    from hilgw.transports.serial.port import open_serial

    def new_framing() -> Framing:
        return create(frame)

    return Bridge(
        settings,
        timer,
        open_port=lambda: open_serial(settings.port, settings.line, timer, allow_urls=True),
        identity=lambda: port_identity(settings.port),
        observer=observer,
        new_framing=None if frame is None else new_framing,
        inform=inform,
    )


def _ready(args: argparse.Namespace, terminal: Any) -> None:
    import gc

    from hilgw.cli.output import files

    # Objects of the start stay for good: scanning them for garbage would only cost pauses.
    gc.freeze()
    if not args.quiet:
        terminal.line("ready")
    files.write_ready(args.ready_file)


def _finish(
    args: argparse.Namespace, bridge: Bridge, out: TextIO | ConsoleWriter, code: int
) -> None:
    from hilgw.cli.output import files
    from hilgw.cli.output.console import finish

    report = {"hilgw": __version__, "exit_code": code, **bridge.report()}
    if not args.quiet:
        _summarise(report, out)
    finish(out)
    files.write_report(args.report, report)


def _summarise(report: dict[str, Any], out: TextIO | ConsoleWriter) -> None:
    from hilgw.events.words import in_words, reason_counts

    lines = [f"summary after {report['duration_s']:.1f} s"]
    for direction in ("to_serial", "to_tcp"):
        flow = report[direction]
        dropped = reason_counts(flow["dropped"])
        lines.append(
            f"  {in_words(direction):<10} {flow['sent_bytes']} B"
            + (f", {flow['frames']} frames" if flow["frames"] else "")
            + (f"; dropped {dropped}" if dropped else "")
        )
    clients = report["clients"]
    lines.append(f"  clients    {clients['accepted']}, too slow {clients['too_slow']}")
    try:
        out.write("\n".join(lines) + "\n")
        out.flush()
    except OSError:
        pass  # the reader is gone; the report is still written
