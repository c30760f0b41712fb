"""The program of `hilgw bridge`: its settings, the run, the report."""

import argparse
import asyncio
import gc
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

from hilgw import __version__
from hilgw.bridge.bridge import NAME, Bridge, BridgeSettings
from hilgw.cli.output import files
from hilgw.cli.output.console import ConsoleWriter, console_writer, finish
from hilgw.cli.output.terminal import Terminal
from hilgw.cli.signals import StopSignal
from hilgw.discovery.ports import port_identity
from hilgw.engine.control_socket.look_server import LookServer, Watched
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.observer import Observers
from hilgw.errors import ConfigError, HilgwError, UsageError
from hilgw.events.words import in_words, reason_counts
from hilgw.framing import create
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from hilgw.transports.tcp.address import is_loopback, parse_address


def run(args: argparse.Namespace, parity: str) -> int:
    """Run the bridge with this letter of a parity; see the command."""
    settings = _settings(args, parity)
    framing = _framing(args.framing)
    files.expect_report(args.report)
    files.clear(args.ready_file)
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform == "linux":
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        new_loop = DirectLoop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_run(args, settings, framing))


def _settings(args: argparse.Namespace, parity: str) -> BridgeSettings:
    host, tcp_port = _address("--listen", args.listen)
    rfc2217 = None
    if args.rfc2217 is not None:
        rfc2217 = _address("--rfc2217", args.rfc2217) if args.rfc2217 else (host, 0)
    if not 0 < args.baudRate < 1 << 31:
        raise UsageError(
            f"--baudRate {args.baudRate}: not a baud rate", fix="e.g. --baudRate 115200"
        )
    line = LineSettings(args.baudRate, args.databits, parity, args.stop_bits, args.rtscts)
    return BridgeSettings(
        args.port, host, tcp_port, line, args.writer, args.pace, rfc2217, args.idle
    )


def _address(option: str, text: str) -> tuple[str, int]:
    try:
        host, port = parse_address(text)
    except ValueError:
        raise UsageError(
            f"{option} {text}: not HOST:PORT", fix="e.g. 127.0.0.1:5000 or [::1]:5000"
        ) from None
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"{option} {text}: unknown address", fix="e.g. 127.0.0.1:5000") from None
    if not all(is_loopback(str(address[0])) for *_, address in addresses):
        raise UsageError(
            f"{option} {text}: not a loopback address; any client can move motors",
            fix="listen on 127.0.0.1 or [::1], and from other hosts use ssh -L",
        )
    return host, port


def _framing(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        framing = create(name)
    except ConfigError as error:  # the name comes from the command line
        raise UsageError(f"--framing: {error.what}", fix=error.fix) from None
    if framing.pause_ns:
        raise UsageError(
            f"--framing {name}: TCP does not preserve pauses", fix="use e.g. cobs-crc16 or slip"
        )
    return name


async def _run(args: argparse.Namespace, settings: BridgeSettings, frame: str | None) -> int:
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

    bridge = Bridge(
        settings,
        timer,
        open_port=lambda: open_serial(settings.port, settings.line, timer, allow_urls=True),
        identity=lambda: port_identity(settings.port),
        observer=observers,
        new_framing=None if frame is None else partial(create, frame),
        inform=inform,
    )
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


def _ready(args: argparse.Namespace, terminal: Any) -> None:
    # Objects of the start stay for good: scanning them for garbage would only cost pauses.
    gc.freeze()
    if not args.quiet:
        terminal.line("ready")
    files.write_ready(args.ready_file)


def _finish(
    args: argparse.Namespace, bridge: Bridge, out: TextIO | ConsoleWriter, code: int
) -> None:
    report = {"hilgw": __version__, "exit_code": code, **bridge.report()}
    if not args.quiet:
        _summarise(report, out)
    finish(out)
    files.write_report(args.report, report)


def _summarise(report: dict[str, Any], out: TextIO | ConsoleWriter) -> None:
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
