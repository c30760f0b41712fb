"""`hilgw [run] --config FILE`: the gateway itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hilgw import __version__
from hilgw.cli.commands.configurations import loading
from hilgw.cli.declaration import Command, Option
from hilgw.cli.help import RUN, options_of_run
from hilgw.cli.output.text import duration, status_mode
from hilgw.errors import HilgwError, PeerError, SafetyError, UsageError, printable

if TYPE_CHECKING:
    import asyncio

    from hilgw.cli.output.console import ConsoleWriter
    from hilgw.cli.output.terminal import Terminal
    from hilgw.cli.signals import StopSignal
    from hilgw.config.model import GatewayConfig
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.observer import Observer
    from hilgw.engine.recording.recordings import Recordings
    from hilgw.engine.reporting.metrics_server import MetricsServer


OPTIONS = options_of_run(RUN, duration=duration, status=status_mode, **{"from": duration})
COMMANDS = {
    "run": Command(
        description="Runs the gateway of a configuration until Ctrl-C or --duration.",
        epilog="example: hilgw run configs/xbee.yaml --duration 10s --report out.json",
        options=(
            Option("file", metavar="FILE", nargs="?", help="the configuration, as --config"),
            *OPTIONS,
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Run the gateway; return 0, 130 or 143.

    Raises:
        HilgwError: The run failed; the error has its exit code.
    """
    from hilgw.config.shipped import found

    args.config = config_path = found(_config_path(args))
    args.file = os.path.realpath(config_path)
    report = getattr(args, "report", None)
    out = sys.stderr if report == "-" else sys.stdout
    loaded = loading.load(args, config_path)
    args.configuration = loaded.text
    if not getattr(args, "quiet", False):
        out.write(f"hilgw {__version__}  {config_path}\n")
        out.flush()  # at once: the imports below take longer
    from hilgw.cli.output import files

    files.expect_report(report)
    files.expect_recording(getattr(args, "record", None))
    files.clear(getattr(args, "ready_file", None))
    loading.print_findings([], loaded.warnings)
    import asyncio

    with asyncio.Runner(loop_factory=_event_loop(loaded.config)) as runner:
        return runner.run(_run(args, loaded.config, out))


def _config_path(args: argparse.Namespace) -> str:
    given = [name for name in (getattr(args, "config", None), getattr(args, "file", None)) if name]
    if not given:
        raise UsageError("no configuration given", fix=_next_steps())
    if len(given) > 1:
        raise UsageError("two configurations given", fix="name one, and run another gateway")
    return str(given[0])


def _next_steps() -> str:
    from hilgw.cli.output.text import table

    here = sorted(printable(path.name) for path in Path().glob("*.y*ml"))
    own = [(f"hilgw {name}", "run your own") for name in here[:1]]
    steps = [
        ("hilgw --config xbee", "run a shipped configuration, on mocks"),
        *(own or [("hilgw example xbee > my.yaml", "begin your own; hilgw my.yaml runs it")]),
        ("hilgw ports; hilgw scan", "find hardware on the ports of this machine"),
        ("hilgw --help --all", "all commands"),
    ]
    return "\n".join(["next:", *table(steps, indent="  ")])


def _event_loop(config: GatewayConfig) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if config.speed != 1:
        from hilgw.engine.simulated.event_loop import PacedLoop

        return lambda: PacedLoop(config.speed)
    if sys.platform == "linux":
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        return DirectLoop
    return None


async def _run(args: argparse.Namespace, config: GatewayConfig, out: TextIO) -> int:
    from hilgw.cli.output import files
    from hilgw.cli.output.console import console_writer, finish
    from hilgw.cli.output.terminal import log_terminal, open_log
    from hilgw.cli.signals import StopSignal
    from hilgw.engine.control_loop.control_loops import ARM_S

    stop = StopSignal()
    console = console_writer(out)
    fatal: HilgwError | None = None
    with open_log(getattr(args, "log", None)) as log:
        screen = _screen(args, console, stop, is_logged=log is not None)
        terminals = [screen] if log is None else [screen, log_terminal(log, screen)]
        gateway = _build(config, terminals)
        for terminal in terminals:
            terminal.expect(gateway.stations)
        stop.at_once = partial(gateway.control_loops.end, by_hand=True)
        if getattr(args, "arm", False):
            gateway.control_loops.arm_within_s = ARM_S
        try:
            await _serve(gateway, args, terminals, stop.event, config)
        except HilgwError as error:
            fatal = error
        finally:
            gateway.close()
        # A latched safety stop takes precedence over a signal.
        if fatal is not None and stop.code is not None and not isinstance(fatal, SafetyError):
            fatal = None
        if unconfirmed := gateway.control_loops.unconfirmed:
            fatal = _not_confirmed(unconfirmed)
        code = fatal.exit_code if fatal else stop.code or 0
        stop.last_words()
        report = {"hilgw": __version__, "config": args.config, "exit_code": code}
        report.update(gateway.report())
        for terminal in terminals:
            terminal.summary(report)
    finish(console)
    files.write_report(getattr(args, "report", None), report)
    if fatal is not None:
        raise fatal
    return code


def _not_confirmed(whys: Mapping[str, str]) -> PeerError:
    bodies = "; ".join(f"{name}: {why}" for name, why in whys.items())
    return PeerError(f"stop NOT confirmed: {bodies}", fix="switch the robot off: it may move")


def _screen(
    args: argparse.Namespace, console: TextIO | ConsoleWriter, stop: StopSignal, *, is_logged: bool
) -> Terminal:
    """Return the terminal of the run, which ends with its reader unless that is not needed."""
    import asyncio

    from hilgw.cli.output.terminal import Terminal

    quiet = getattr(args, "quiet", False)
    return Terminal(
        console,
        quiet=quiet,
        verbose=getattr(args, "verbose", False),
        status=getattr(args, "status", "short"),
        clock=asyncio.get_running_loop().time,
        on_lost=(lambda error: None) if quiet or is_logged else stop.output_lost,
    )


def _build(config: GatewayConfig, observers: Sequence[Observer]) -> Gateway:
    import asyncio
    import gc

    from hilgw.assemble.gateway import build

    gateway = build(config, asyncio.get_running_loop(), *observers)
    gc.freeze()  # objects of the start stay for good: scanning them would only delay packets
    return gateway


async def _serve(
    gateway: Gateway,
    args: argparse.Namespace,
    terminals: Sequence[Terminal],
    stop: asyncio.Event,
    config: GatewayConfig,
) -> None:
    from hilgw.cli.output import files
    from hilgw.cli.service import Service
    from hilgw.engine.control_socket.control_server import ControlServer
    from hilgw.engine.control_socket.listener import closed_to
    from hilgw.protocols.gateway.messages import CONTROL

    def show(text: str) -> None:
        for terminal in terminals:
            terminal.line(text)

    if not getattr(args, "quiet", False):
        for terminal in terminals:
            terminal.describe(gateway.description)

    def on_ready() -> None:
        show("ready")
        try:
            files.write_ready(getattr(args, "ready_file", None))
        except HilgwError as error:  # the gateway continues
            show(f"hilgw: {error}")

    group = config.control.group
    recordings = _recordings(gateway, args, config)
    control = ControlServer(
        gateway,
        getattr(args, "control", None),
        config=args.file,
        group=group,
        recordings=recordings,
    )
    service = Service(os.environ, gateway.real_timer)
    gateway.reports["control_socket"] = control.report
    await control.start()
    service.ready()
    if group is not None:
        folder = closed_to(control.path)
        fix = f"; they cannot pass {folder}: name another path with --control" if folder else ""
        show(f"  control socket {control.path}, for the users of the group {group}{fix}")
    gateway.control_loops.show_file(args.file)
    gateway.environment[CONTROL] = str(control.path.absolute())
    metrics = None
    try:
        if config.metrics is not None:
            metrics = _metrics(gateway, config, config.metrics.listen, control.status_parts)
            show(f"  metrics at {await metrics.start(show)}")
        if (file := recordings.begin_at_start(getattr(args, "record", None))) is not None:
            show(f"  recording {file}")
        await gateway.run(stop, getattr(args, "duration", None), on_ready)
    finally:
        service.stopping()
        await recordings.close()
        if metrics is not None:
            metrics.close()
        await control.close()


def _recordings(gateway: Gateway, args: argparse.Namespace, config: GatewayConfig) -> Recordings:
    from hilgw.config.model import RecordConfig
    from hilgw.engine.recording.recordings import Recordings
    from hilgw.engine.reporting.parts import whole
    from hilgw.engine.reporting.status import layout_of

    def head() -> dict[str, Any]:
        import platform

        return {
            "hilgw": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "config": args.file,
            "configuration": args.configuration,  # of the file as it was at the start
            "arguments": sys.argv[1:],
            "webots": config.release,
            "seed": config.medium.seed,
            "speed": config.speed,
            **whole(layout_of(gateway).items()),
        }

    settings = config.record or RecordConfig(at_start=False)
    limits = {
        "max_bytes": int(settings.max_mb * 1e6),
        "max_s": settings.max_s,
        "files": settings.files,
        "free_bytes": int(settings.free_mb * 1e6),
    }
    made = Recordings(
        gateway,
        Path(settings.folder),
        head,
        limits,
        at_start=settings.at_start,
        poses_hz=settings.poses_hz,
    )
    gateway.reports["recordings"] = made.report
    return made


def _metrics(
    gateway: Gateway, config: GatewayConfig, url: str, status: Callable[[], dict[str, Any]]
) -> MetricsServer:
    from hilgw.assemble.network import NetworkPorts
    from hilgw.engine.reporting.metrics_server import MetricsServer, metrics_of

    listening = NetworkPorts(config, gateway).listening(
        url, mocked=False, tokens=True, role="monitor"
    )
    return MetricsServer(listening, lambda: metrics_of(status().items()), gateway.real_timer)
