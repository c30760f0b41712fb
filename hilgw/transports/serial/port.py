"""The interface to pyserial: opening, configuring and listing serial ports.

The only module that imports serial and serial_asyncio. pyserial opens and configures every port of
this machine, in a thread, because both can block. The bytes then move over the descriptor; over
pyserial-asyncio where descriptors cannot be watched, or on request. loop:// and ports on the
network have modules of their own.
"""

import asyncio
import functools
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import serial

from hilgw.errors import PortError
from hilgw.guardian import NAME as GUARDIAN
from hilgw.transports import threads
from hilgw.transports.base import LineSettings, Scheduler, SwitchModemLine, Transport
from hilgw.transports.open_errors import held_by, port_error
from hilgw.transports.serial.descriptor import (
    KeepsModemLines,
    NonBlocking,
    pyserial_settings,
    supported_by_pty,
)
from hilgw.transports.serial.urls import kind_of, unsupported

OPEN_DEADLINE_S = 10.0
GUARDIAN_S = 0.5
GUARDIAN_POLL_S = 0.01
SYSFS = Path("/sys/class/tty")
# select(), which pyserial uses, cannot watch descriptors from this number on; a gateway with so
# many open ports has a leak.
DESCRIPTOR_LIMIT = 1024
DataPath = Literal["auto", "posix", "asyncio"]


async def open_serial(
    port: str,
    line: LineSettings,
    scheduler: Scheduler,
    *,
    path: DataPath = "auto",
    allow_urls: bool = False,
    modem_lines: SwitchModemLine | None = None,
) -> Transport:
    """Open `port` with these line settings, ready to start().

    The `notices` of the transport are for the user.

    Args:
        port: A device path or COMn; loop:// ; with allow_urls also socket://HOST:PORT and
            rfc2217://HOST:PORT.
        line: The line settings.
        scheduler: The clock of the gateway.
        path: How the bytes move.
        allow_urls: Whether `port` may be a URL.
        modem_lines: Switches those of a pty, which has none of its own.

    Raises:
        PortError: absent, busy, denied, lost or unsupported.
    """
    kind = kind_of(port, allow_urls)
    if kind == "socket":
        from hilgw.transports.tcp.opening import open_socket

        return await open_socket(port)
    if kind == "rfc2217":
        from hilgw.transports.serial.rfc2217 import open_rfc2217

        return await open_rfc2217(port, line)
    if kind == "loop":
        from hilgw.transports.virtual.pipe import Pipe

        plug = Pipe(scheduler, line, name=port)
        plug.start(lambda data, baud_rate: plug.write(data))
        return await plug.open()
    device: _Device = await _in_time(port, lambda: _open_device(port, line))
    try:
        if path == "asyncio" or os.name != "posix":
            return _over_asyncio(device, port)
        from hilgw.transports.serial.descriptor import SerialStream

        return SerialStream(
            device, port, device.notices, is_pty=device.is_pty, modem_lines=modem_lines
        )
    except BaseException:
        device.close()
        raise


def open_modem_lines(port: str, *, allow_urls: bool) -> Any:
    """Open a port for its modem lines alone, with DTR and RTS on: a tty, or rfc2217:// .

    Blocks. Raises PortError as `open_serial`.
    """
    line = LineSettings(dtr=True, rts=True)
    kind = kind_of(port, allow_urls)
    if kind not in ("device", "rfc2217"):
        raise unsupported("it has no modem lines", port, "use a serial port")
    try:
        if kind == "device":
            return _open_device(port, line)
        from hilgw.transports.serial.rfc2217 import BlockingPort

        return BlockingPort(port, line)
    except PortError:
        raise
    except Exception as error:
        raise port_error(error, port) from error


# --- opening with pyserial ----------------------------------------------------------------------


class _Device(KeepsModemLines, NonBlocking, serial.Serial):
    notices: list[str]


def _configure(port: Any, name: str, line: LineSettings, **more: Any) -> None:
    port.requested = line
    port.apply_settings(pyserial_settings(line))
    for attribute, value in more.items():
        setattr(port, attribute, value)
    if line.dtr is not None:
        port.dtr = line.dtr
    if line.rts is not None:
        port.rts = line.rts
    port.port = name


def _open_device(name: str, line: LineSettings) -> _Device:
    """Open a port that the guardian of a killed gateway may have for some milliseconds more.

    Runs in a thread; errors of pyserial and the kernel are not converted, but for a port that is in
    use.
    """
    guarded, notices = _await_guardian(name) if os.name == "posix" else (False, [])
    end = time.monotonic() + GUARDIAN_S
    while True:
        try:
            port = _open_once(name, line)
        except PortError as error:
            # Only root sees which ports a process still has open while it ends.
            if not guarded or error.reason != PortError.BUSY or time.monotonic() >= end:
                raise
            time.sleep(GUARDIAN_POLL_S)
        else:
            port.notices += notices
            return port


def _open_once(name: str, line: LineSettings) -> _Device:
    port = _Device()
    port.notices = []
    if os.name != "posix":
        _configure(port, name, line, timeout=0)
        port.open()
        return port
    from hilgw.transports.serial import tty

    port.is_pty = tty.is_pseudo_terminal_path(name)
    supported = supported_by_pty(line, port.notices) if port.is_pty else line
    _configure(port, name, supported, timeout=0, exclusive=True)
    try:
        port.open()
        _prepare(port, name, line)
        port.settled = True
    except BaseException as error:
        port.close()
        if isinstance(error, Exception) and not isinstance(error, PortError):
            busy = port_error(error, name)
            if busy.reason == PortError.BUSY:
                raise _held(name) or busy from error
        raise
    return port


def _prepare(port: _Device, name: str, line: LineSettings) -> None:
    from hilgw.transports.serial import tty

    fd = port.fileno()
    if fd >= DESCRIPTOR_LIMIT:
        problem = f"descriptor {fd} is too large for a serial port"
        raise unsupported(problem, name, "close other ports and connections")
    if port.is_pty:
        tty.make_raw(fd)
        return
    tty.lock(fd)
    if (held := _held(name, but=os.getpid())) is not None:
        raise held
    if line.rs485 != "none":
        set_rs485(port, line.rs485)
    tty.make_raw(fd)
    port.notices += tty.shorten_latency(name)
    try:
        port.set_low_latency_mode(True)
        port.notices.append("the driver's low-latency mode is set")
    except (OSError, ValueError, NotImplementedError, AttributeError):
        pass  # a driver without this mode


def _await_guardian(name: str) -> tuple[bool, list[str]]:
    """Wait until the guardian of a killed gateway closes the port, and end a frozen one.

    That takes some milliseconds. Return whether a guardian had the port, and notices.
    """
    from hilgw.guardian import leftover
    from hilgw.transports.serial import tty

    end = time.monotonic() + GUARDIAN_S
    holders = tty.holders(name)
    is_seen = {each.command for each in holders} == {GUARDIAN}
    while {each.command for each in holders} == {GUARDIAN} and time.monotonic() < end:
        time.sleep(GUARDIAN_POLL_S)
        holders = tty.holders(name)
    guardians = [each.pid for each in holders if each.command == GUARDIAN]
    return is_seen, [text for pid in guardians if (text := leftover.end(pid))]


def _held(name: str, but: int | None = None) -> PortError | None:
    """Return the error that reports which program has the port open; None if none is visible.

    Of a gateway, not its guardian. The process `but` may have it open.
    """
    from hilgw.transports.serial import tty

    others = [holder for holder in tty.holders(name) if holder.pid != but]
    others.sort(key=lambda holder: holder.command == GUARDIAN)
    return held_by(others[0], name) if others else None


def set_rs485(port: Any, mode: str) -> None:
    """Make the driver switch the RS-485 direction with RTS; raises PortError if it cannot."""
    from serial.rs485 import RS485Settings

    on = mode == "half-duplex"
    try:
        port.rs485_mode = RS485Settings(rts_level_for_tx=on, rts_level_for_rx=not on)
    except (ValueError, OSError, NotImplementedError) as error:
        fix = "remove rs485; many adapters switch the direction themselves"
        raise unsupported("the driver does not support RS-485", port.port, fix) from error


async def _in_time(name: str, opening: Callable[[], Any]) -> Any:
    try:
        return await threads.run_in_thread(
            opening, deadline_s=OPEN_DEADLINE_S, undo=lambda port: port.close()
        )
    except TimeoutError as error:
        problem = f"opening took longer than {OPEN_DEADLINE_S:g} s"
        raise PortError(
            problem, reason=PortError.LOST, where=name, fix="unplug the device and plug it in again"
        ) from error
    except PortError:
        raise
    except Exception as error:
        raise port_error(error, name) from error


# --- moving the bytes ---------------------------------------------------------------------------


def _over_asyncio(device: _Device, name: str) -> Transport:
    import serial_asyncio

    from hilgw.transports.asyncio_stream import AsyncioStream
    from hilgw.transports.serial.descriptor import close_without_waiting

    class Aborting(serial_asyncio.SerialTransport):  # type: ignore[misc]
        """A transport of a library that ends with abort() in all cases, once.

        The library's close() waits for a stalled peer, and the library reports some ends of a port
        as faults of the program.
        """

        def _abort(self, exc: Exception | None) -> None:
            if not self._closing:
                super()._abort(exc)

        def _close(self, exc: Exception | None = None) -> None:
            self._abort(exc)

        def _fatal_error(self, exc: Exception, message: str = "") -> None:
            self._abort(exc)

        def _write_ready(self) -> None:
            try:
                super()._write_ready()
            except OSError as error:
                self._abort(error)

    loop = asyncio.get_running_loop()
    fd = device.fileno() if os.name == "posix" else None
    stream = AsyncioStream(name, fd=fd, closes_later=True)
    stream.notices = device.notices
    device.close_instead = functools.partial(
        close_without_waiting, loop, fd, device.is_pty, stream.closed
    )
    stream.connection_made(Aborting(loop, stream, device))
    return stream


# --- listing ports ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PortInfo:
    """A serial port of this machine.

    vid, pid: USB ids, None for a port that is not USB. location: its USB socket, with the interface
    of a device that has several; "" for no USB port.
    """

    path: str
    description: str
    vid: int | None
    pid: int | None
    serial: str
    location: str = ""


def list_ports() -> list[PortInfo]:
    """Return the serial ports of this machine that have hardware."""
    from serial.tools import list_ports as library

    ports = sorted(
        (info for info in library.comports() if _has_hardware(info.device)),
        key=lambda info: natural_key(info.device),
    )
    return [
        PortInfo(
            info.device,
            "" if info.description in (None, "n/a") else info.description,
            info.vid,
            info.pid,
            info.serial_number or "",
            getattr(info, "location", None) or "",
        )
        for info in ports
    ]


def _has_hardware(path: str) -> bool:
    """Return whether a port has hardware.

    The kernel also keeps ports for UARTs that are not there; their type is 0, unknown (Linux,
    Documentation/ABI/testing/sysfs-tty, /sys/class/tty/ttyS0/type).
    """
    try:
        return (SYSFS / Path(path).name / "type").read_text().strip() != "0"
    except OSError:
        return True


def natural_key(name: str) -> list[int | str]:
    """Return a key that sorts ttyUSB2 before ttyUSB10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
