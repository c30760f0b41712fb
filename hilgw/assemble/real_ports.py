"""Real serial ports: how to open them, and what opening does to the board behind them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hilgw.discovery.boards import reset_notice, usb_ids
from hilgw.discovery.ports import exists, resolve_port
from hilgw.transports.serial.modem_lines import describe_modem_lines
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.urls import kind_of

if TYPE_CHECKING:
    from hilgw.adapters.base import UsbId
    from hilgw.engine.supervisor import OpenPort, PortIdentity
    from hilgw.transports.base import LineSettings, Scheduler, Transport


def real_port(
    port: str | UsbId, line: LineSettings, scheduler: Scheduler, *, urls: bool, boot_s: float
) -> tuple[OpenPort, PortIdentity]:
    """Opens the port and adds what is known about the reset of its board; its identity."""

    async def open_port() -> Transport:
        path = resolve_port(port)
        transport = await open_serial(path, line, scheduler, allow_urls=urls)
        notice = reset_notice(*usb_ids(path), boot_s=boot_s)
        if notice:
            transport.notices.append(notice)
        return transport

    return open_port, lambda: exists(port)


def modem_lines_at_start(port: str | UsbId, line: LineSettings, boot_s: float) -> str:
    """What DTR and RTS will be when this port is opened; "" for a port without them."""
    if isinstance(port, str) and (kind_of(port, True) != "device" or _is_pty(port)):
        return ""
    wait = f"; {boot_s:g} s of silence for the board to start" if boot_s else ""
    return describe_modem_lines(line) + wait


def _is_pty(path: str) -> bool:
    if os.name != "posix":
        return False
    from hilgw.transports.serial import tty

    return tty.is_pseudo_terminal_path(path)
