"""`hilgw mock KIND`: firmware mocks on virtual ports or TCP, for any program."""

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from hilgw.cli.declaration import Command, Option
from hilgw.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from hilgw.engine.mock_host import Mock, MockHost
    from hilgw.transports.base import DeviceSide

MOST_MODULES = 256
BOOT_S = 0.1  # for modules to boot before they are announced
SPACING_M = 1.0  # of modules in a row, unless --set position moves them
# The option with the address of a mock, by its kind of connection.
OPTIONS = {"serial": "link", "tcp-server": "listen", "tcp-client": "connect"}
FIRST_TCP_PORT = 27015  # WC2EC's; the next module takes the next one

EPILOG = """\
examples:
  hilgw mock --list
  hilgw mock xbee --list
  hilgw mock xbee --link ./a --link ./b --set channel=13 --set 1.position=3,0,0
  hilgw mock xbee --link ./a --set 1.replies=ping:pong
  hilgw mock wc2ec-robot --listen 127.0.0.1:27015
  hilgw mock wc2ec-controller --connect 127.0.0.1:27015
  hilgw mock webots-simulator --listen tcp://127.0.0.1:1234 --set robots=alpha,beta
"""


class GivenModule:
    """A module of the command line.

    option: link, listen or connect; empty: the one that fits its kind. address: the path or
    HOST:PORT given; empty: chosen here; None: no port, the module acts by itself.
    """

    def __init__(self, option: str = "", address: str | None = None) -> None:
        self.option = option
        self.address = address
        self.parameters: dict[str, Any] = {}


COMMANDS = {
    "mock": Command(
        description="Runs mocks of one kind that share an air, each on a virtual port or a TCP "
        "connection, until Ctrl-C.",
        epilog=EPILOG,
        options=(
            Option("kind", nargs="?", metavar="KIND", help="the mock, e.g. xbee"),
            Option("--list", action="store_true", help="list the kinds, or KIND's parameters"),
            Option(
                "--link",
                action="append",
                default=[],
                metavar="PATH",
                help="path of a virtual port, one for each module (repeatable; default: one, with "
                "a path of our choice)",
            ),
            *(
                Option(
                    f"--{name}",
                    action="append",
                    default=[],
                    metavar="HOST:PORT",
                    help=f"{text}, for kinds on TCP (repeatable; default: "
                    f"127.0.0.1:{FIRST_TCP_PORT})",
                )
                for name, text in (
                    ("listen", "address a module listens on"),
                    ("connect", "address a module connects to"),
                )
            ),
            Option(
                "--set",
                action="append",
                default=[],
                dest="settings",
                metavar="[N.]NAME=VALUE",
                help="a parameter of all modules, or of module N, counted from 0 (repeatable); a "
                "module without --link, --listen or --connect has no port",
            ),
            Option("--seed", type=int, default=0, metavar="N", help="random seed"),
            Option("--loss", type=float, default=0.0, metavar="P", help="share of frames lost"),
            Option("--ready-file", metavar="FILE", help="write this file when all ports exist"),
            Option("--json", action="store_true", help="print as JSON, one line"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Run until a signal; return 130 or 143.

    Raises:
        HilgwError: The run failed; the error has its exit code.
    """
    if args.list:
        return _list(args)
    if args.kind is None:
        raise UsageError("no mock given", fix="try hilgw mock xbee, or hilgw mock --list")
    import asyncio

    from hilgw.cli.output import files
    from hilgw.plugins import mock_of

    files.clear(args.ready_file)
    args.kind = mock_of(args.kind)
    given = [(name, address) for name in OPTIONS.values() for address in getattr(args, name)]
    modules = _modules(given, args.settings)
    try:
        return asyncio.run(_serve(args, modules))
    except ConfigError as error:  # the parameters come from the command line
        raise UsageError(error.what, where=error.where, fix=error.fix) from None


def _modules(given: list[tuple[str, str]], settings: list[str]) -> list[GivenModule]:
    modules = [GivenModule(*each) for each in given] or [GivenModule("", "")]
    shared: dict[str, Any] = {}
    for setting in settings:
        match = re.fullmatch(r"(?:(\d{1,9})\.)?([^=.]+)=(.*)", setting, re.DOTALL)
        if match is None:
            raise UsageError(f"--set {setting}: not NAME=VALUE", fix="e.g. --set channel=12")
        index, name, value = match.groups()
        if index is None:
            shared[name.strip()] = value
            continue
        if int(index) >= MOST_MODULES:
            raise UsageError(f"--set {setting}: more than {MOST_MODULES} modules")
        while len(modules) <= int(index):
            modules.append(GivenModule())
        modules[int(index)].parameters[name.strip()] = value
    for module in modules:
        module.parameters = {**shared, **module.parameters}
    return modules


def _list(args: argparse.Namespace) -> int:
    from hilgw.plugins import MOCKS, load_mock, mock_of, names

    if args.kind is None:
        entries = {}
        for name in names(MOCKS):
            try:
                entries[name.replace("_", "-")] = load_mock(name).summary
            except ConfigError as error:  # of another distribution; the others are listed
                sys.stderr.write(f"hilgw: {error}\n")
    else:
        entries = dict(load_mock(mock_of(args.kind)).parameters)
    from hilgw.cli.output.text import print_json, table

    if args.json:
        print_json(entries)
        return 0
    for line in table(entries.items()):
        print(line)
    return 0


async def _serve(args: argparse.Namespace, modules: list[GivenModule]) -> int:
    import asyncio
    import contextlib

    from hilgw.cli.output import files
    from hilgw.cli.signals import StopSignal
    from hilgw.engine.control_socket.look_server import LookServer, Watched
    from hilgw.engine.event_loop.scheduler import Timer
    from hilgw.engine.mock_host import MockHost
    from hilgw.engine.observer import Observers
    from hilgw.plugins import new_air

    stop = StopSignal()
    timer = Timer(asyncio.get_running_loop())
    notify = lambda *words: print(*words, sep=": ", file=sys.stderr)  # noqa: E731
    host = MockHost(timer, new_air(args.seed, args.loss), notify, notify)
    observers = Observers()
    host.lines.report_to(observers)

    def report() -> dict[str, Any]:
        return {"mocks": {mock.name: mock.describe() for mock in host.mocks}}

    watched = Watched(observers, timer, report, lambda: [mock.name for mock in host.mocks])
    server = LookServer(watched, config=f"hilgw mock {args.kind}")
    try:
        await server.start_beside(notify)
        described = await _plug_in(args.kind, host, timer, modules)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.event.wait(), BOOT_S)
        _announce(args, described)
        files.write_ready(args.ready_file)
        await stop.event.wait()
        return stop.code or 0
    finally:
        await server.close()
        host.close()
        timer.close()


async def _plug_in(
    kind: str, host: "MockHost", timer: Any, modules: list[GivenModule]
) -> list[dict[str, Any]]:
    from hilgw.engine.mock_host import SERIAL, create_mock, part_of

    # All parameters are checked before the first port is made.
    mocks = [
        create_mock(
            kind, f"{kind}{index}", host.air, module.parameters, (index * SPACING_M, 0.0, 0.0)
        )
        for index, module in enumerate(modules)
    ]
    for mock, module in zip(mocks, modules, strict=True):
        wanted = OPTIONS[part_of(mock, "network", SERIAL)]
        if module.option not in ("", wanted):
            raise UsageError(f"{kind} has no --{module.option}", fix=f"use --{wanted}")
        module.option = wanted
    described = []
    for index, (mock, module) in enumerate(zip(mocks, modules, strict=True)):
        device = None if module.address is None else await _device(mock, module, index, timer)
        host.add(mock, device)
        link = module.address if module.option == "link" else ""
        described.append({module.option: device and (link or device.path), "name": mock.name})
    for entry, mock in zip(described, mocks, strict=True):
        entry["is"] = mock.describe()
    return described


async def _device(mock: "Mock", module: GivenModule, index: int, timer: Any) -> "DeviceSide":
    from hilgw.engine.mock_host import RETRY_S, part_of
    from hilgw.transports.tcp.address import parse_address
    from hilgw.transports.tcp.device import TcpClientDevice, TcpListenerDevice, TcpServerDevice
    from hilgw.transports.virtual.pty import VirtualPort

    if module.option == "link":
        return VirtualPort(timer, module.address or None)
    try:
        address = parse_address(module.address or f"127.0.0.1:{FIRST_TCP_PORT + index}")
    except ValueError as error:
        raise UsageError(f"--{module.option} {error}", fix="e.g. 127.0.0.1:27015") from None
    if module.option == "listen":
        server = (
            TcpListenerDevice(*address) if part_of(mock, "accept") else TcpServerDevice(*address)
        )
        await server.listen()
        return server
    if not address[1]:
        raise UsageError(
            f"--connect {module.address}: port 0 is not valid", fix="e.g. 127.0.0.1:27015"
        )
    client = TcpClientDevice(part_of(mock, "retry_s", RETRY_S))
    client.aim(*address)
    return client


def _announce(args: argparse.Namespace, described: list[dict[str, Any]]) -> None:
    if args.json:
        print(json.dumps({"mock": args.kind, "modules": described}))
    else:
        for entry in described:
            address = next(iter(entry.values()))
            print(f"{address or '(no port)'}  {entry['name']}: {entry['is']}")
        print("ready; stop with Ctrl-C")
    sys.stdout.flush()
