"""The search for known hardware on serial ports, and its baud rate, of `hilgw scan`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from hilgw.cli.declaration import Option
from hilgw.errors import PeerError, PortError, UsageError

if TYPE_CHECKING:
    from hilgw.adapters.base import SearchableAdapter
    from hilgw.discovery.scan import FoundDevice


OPTIONS = (
    Option("ports", metavar="PORT", nargs="*", help="default: all ports that are not open"),
    Option("--kind", action="append", metavar="KIND", help="search for this kind only"),
    Option(
        "--baudRate",
        "--rate",
        action="append",
        type=int,
        metavar="N",
        help="try this baud rate only (repeatable)",
    ),
    Option("--no-network", action="store_true", help="do not search for more nodes"),
    Option("--json", action="store_true", help="print as JSON"),
)


def run(args: argparse.Namespace) -> None:
    """Search the ports.

    Raises:
        PeerError: Nothing is found.
        PortError: A named port cannot be searched.
    """
    import asyncio

    hardware = asyncio.run(_scan(args))
    if args.json:
        from hilgw.cli.output.text import print_json

        print_json(hardware)
    if not hardware:
        raise PeerError(
            "no known hardware found", fix="check power and wiring, and run hilgw doctor"
        )


async def _scan(args: argparse.Namespace) -> list[FoundDevice]:
    import asyncio

    from hilgw.engine.event_loop.scheduler import Timer

    hardware: list[FoundDevice] = []
    timer = Timer(asyncio.get_running_loop())
    try:
        ports = _ports(args.ports)
        for number, (port, usb) in enumerate(ports, 1):
            place = f" (port {number} of {len(ports)})" if len(ports) > 1 else ""
            try:
                hardware += await _scan_port(args, port, usb, timer, place)
            except PortError as error:
                if args.ports:
                    raise
                _progress(f"{error}; skipped")
    finally:
        timer.close()
    return hardware


async def _scan_port(
    args: argparse.Namespace, port: str, usb: tuple[int, int] | None, timer: Any, place: str
) -> list[FoundDevice]:
    from hilgw.discovery.scan import Try, scan_port

    steps = scan_port(
        port,
        _adapters(args.kind),
        timer,
        usb=usb,
        rates=tuple(args.baudRate or ()),
        network=not args.no_network,
    )
    hardware = []
    async for step in steps:
        if isinstance(step, Try):
            _progress(f"{step.port}{place}: {step}")
        else:
            hardware.append(step)
            if not args.json:
                _show(step)
    return hardware


def _show(answer: FoundDevice) -> None:
    print(f"{answer.port}: {answer.kind} at {answer.baudRate}: {answer.identity or answer.problem}")
    for node in answer.nodes:
        rssi = "" if node.rssi_dbm is None else f"{node.rssi_dbm} dBm"
        words = (node.address, node.network, node.name, node.role, rssi)
        print("    " + "  ".join(word for word in words if word))


def _progress(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _ports(named: list[str]) -> list[tuple[str, tuple[int, int] | None]]:
    from hilgw.transports.serial import tty
    from hilgw.transports.serial.port import list_ports

    infos = {os.path.realpath(info.path): info for info in list_ports()}
    paths = named or [info.path for info in infos.values() if not tty.holders(info.path)]
    ports: dict[str, tuple[str, tuple[int, int] | None]] = {}
    for path in paths:
        device = os.path.realpath(path)
        info = infos.get(device)
        usb = None
        if info is not None and info.vid is not None and info.pid is not None:
            usb = (info.vid, info.pid)
        ports.setdefault(device, (path, usb))
    return list(ports.values())


def _adapters(kinds: list[str] | None) -> list[SearchableAdapter]:
    from hilgw.adapters.base import SearchableAdapter
    from hilgw.plugins import ADAPTERS, find

    known = find(ADAPTERS)
    for kind in kinds or ():
        if kind not in known:
            raise UsageError(f"unknown kind {kind!r}", fix="known kinds: " + ", ".join(known))
    adapters = [loader() for name, loader in known.items() if not kinds or name in kinds]
    searchable = [adapter for adapter in adapters if isinstance(adapter, SearchableAdapter)]
    if not searchable:
        raise UsageError(
            f"{' and '.join(kinds or known)} cannot be identified without changing settings",
            fix="omit --kind to search for all others",
        )
    return searchable
