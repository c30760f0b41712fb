"""The doorway to the serial library: opening, configuring, and the library's errors in our words.

No other file imports serial or serial_asyncio. pyserial opens and configures every port, in a
thread, because both can block. Where descriptors can be watched the bytes then move over
`FdStream`; elsewhere, or when asked, by pyserial-asyncio.
"""

from __future__ import annotations

import errno
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import serial

from hilgw.errors import PortError
from hilgw.transports import threads
from hilgw.transports.base import LineSettings, Scheduler, Transport

OPEN_DEADLINE_S = 10.0
# select(), which pyserial uses, cannot watch descriptors from here on; far more ports than a
# gateway has are open then, or something leaks.
DESCRIPTOR_LIMIT = 1024
DataPath = Literal["auto", "posix", "asyncio"]

_ABSENT = {errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR, errno.EIO, errno.ECONNREFUSED}
_BUSY = {errno.EBUSY, errno.EAGAIN, errno.EMFILE, errno.ENFILE}
_DENIED = {errno.EACCES, errno.EPERM}
_UNSUPPORTED = {errno.ENOTTY, errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP}


async def open_serial(
    port: str,
    line: LineSettings,
    scheduler: Scheduler,
    *,
    path: DataPath = "auto",
    allow_urls: bool = False,
) -> Transport:
    """Open `port` with these line settings, ready to start().

    port: a device path or COMn; loop:// ; with allow_urls also socket://HOST:PORT and
    rfc2217://HOST:PORT. path: how the bytes move. Raises PortError, whose reason says whether the
    port is absent, busy, denied, lost or unsupported. What the user should know about the port
    that was opened stands in `notices` of the transport.
    """
    kind = _kind_of(port, allow_urls)
    if kind == "device":
        opening = functools.partial(_open_device, port, line)
        device = await _in_time(port, opening)
        if path == "asyncio" or os.name != "posix":
            raise NotImplementedError
        from hilgw.transports.serial_stream import SerialStream

        return SerialStream(device.port, port, device.notices, is_pty=device.is_pty)
    raise NotImplementedError


def _kind_of(port: str, allow_urls: bool) -> str:
    """device, loop, socket or rfc2217. pyserial knows more schemes; some of them write files."""
    scheme, separator, _ = port.partition("://")
    if not separator:
        return "device"
    scheme = scheme.lower()
    if port == "loop://":
        return "loop"
    if scheme in ("socket", "rfc2217") and "logging" not in port:
        if allow_urls:
            return scheme
        raise PortError(
            f"{scheme}:// is not allowed here",
            reason=PortError.UNSUPPORTED,
            where=port,
            fix="allow network ports in the configuration",
        )
    raise PortError(
        "no such kind of port",
        reason=PortError.UNSUPPORTED,
        where=port,
        fix="use a device path, loop://, socket:// or rfc2217://",
    )


class _Port(serial.Serial):
    """pyserial's port, but DTR and RTS keep what they have unless a state was asked for.

    pyserial sets both at each open, which reboots many boards.
    """

    def __init__(self, line: LineSettings) -> None:
        self.asked_dtr, self.asked_rts = line.dtr, line.rts
        super().__init__(
            None,
            baudrate=line.baudRate,
            bytesize=line.data_bits,
            parity=line.parity,
            stopbits=line.stop_bits,
            rtscts=line.rtscts,
            timeout=0,
            exclusive=True if os.name == "posix" else None,
        )
        if line.dtr is not None:
            self.dtr = line.dtr
        if line.rts is not None:
            self.rts = line.rts

    def _update_dtr_state(self) -> None:
        if self.asked_dtr is not None:
            super()._update_dtr_state()  # type: ignore[misc]

    def _update_rts_state(self) -> None:
        if self.asked_rts is not None:
            super()._update_rts_state()  # type: ignore[misc]


class _Device:
    """A port that was opened, and what was found out on the way."""

    def __init__(self, port: Any, notices: list[str], is_pty: bool) -> None:
        self.port = port
        self.notices = notices
        self.is_pty = is_pty


def _open_device(name: str, line: LineSettings) -> _Device:
    """Runs in a thread. OSError, ValueError and what else pyserial raises come out as they are."""
    from hilgw.transports import tty

    notices: list[str] = []
    carried = line
    is_pty = tty.is_pseudo_terminal_path(name)
    if is_pty and (line.parity != "N" or line.data_bits != 8):
        carried = LineSettings(line.baudRate, 8, "N", line.stop_bits, line.rtscts)
        notices.append("a pseudo terminal carries neither parity nor 7 bits; it is kept at 8N")
    if is_pty and line.rs485 != "none":
        notices.append("a pseudo terminal has no RTS; rs485 is left out")
    port = _Port(carried)
    port.port = name
    port.open()
    try:
        if line.rs485 != "none" and not is_pty:
            _switch_by_rts(port, line.rs485)
        tty.make_raw(port.fileno())
        if not is_pty:
            tty.lock(port.fileno())
        if port.fileno() >= DESCRIPTOR_LIMIT:
            raise PortError(
                f"descriptor {port.fileno()} is beyond what serial ports may use",
                reason=PortError.UNSUPPORTED,
                where=name,
                fix="close other ports and connections",
            )
    except BaseException:
        port.close()
        raise
    return _Device(port, notices, is_pty)


def _switch_by_rts(port: Any, mode: str) -> None:
    """Let the driver turn the RS-485 transceiver round. PortError where it cannot."""
    from serial.rs485 import RS485Settings

    on = mode == "half-duplex"
    try:
        port.rs485_mode = RS485Settings(rts_level_for_tx=on, rts_level_for_rx=not on)
    except (ValueError, OSError, NotImplementedError) as error:
        raise PortError(
            "the driver does not switch RS-485",
            reason=PortError.UNSUPPORTED,
            where=port.port,
            fix="leave rs485 out; many adapters switch by themselves",
        ) from error


async def _in_time(name: str, opening: Any) -> Any:
    try:
        return await threads.run_in_thread(
            opening, deadline_s=OPEN_DEADLINE_S, undo=lambda device: device.port.close()
        )
    except TimeoutError:
        raise PortError(
            f"opening took longer than {OPEN_DEADLINE_S:g} s",
            reason=PortError.LOST,
            where=name,
            fix="unplug the device and plug it in again",
        ) from None
    except PortError:
        raise
    except Exception as error:
        raise port_error(error, name) from error


def port_error(error: BaseException, name: str) -> PortError:
    """Whatever pyserial, termios or the kernel raised, as the one error this project uses."""
    number = _errno_of(error)
    text = os.strerror(number) if number else str(error)
    reason, fix = PortError.LOST, ""
    if number in _ABSENT:
        reason, fix = PortError.ABSENT, "check the cable, or list the ports with: hilgw ports"
    elif number in _BUSY:
        reason = PortError.BUSY
    elif number in _DENIED:
        reason, fix = PortError.DENIED, _cure_of_denial(name)
    elif number in _UNSUPPORTED or isinstance(error, ValueError):
        reason = PortError.UNSUPPORTED
    return PortError(f"cannot open: {text}", reason=reason, where=name, fix=fix)


def _errno_of(error: BaseException | None) -> int | None:
    """pyserial drops the number in some of its errors; then the cause below has it."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number is None and error.args and isinstance(error.args[0], int):
            number = error.args[0]
        if isinstance(number, int):
            return number
        error = error.__context__
    return None


def _cure_of_denial(name: str) -> str:
    try:
        import grp

        group = grp.getgrgid(Path(name).stat().st_gid).gr_name
    except (ImportError, OSError, KeyError):
        return "run as a user who may open it"
    return f"add yourself to the group {group}: sudo usermod -aG {group} $USER, then log in again"


def natural_key(name: str) -> list[int | str]:
    """Sorts ttyUSB2 before ttyUSB10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@dataclass(frozen=True, slots=True)
class PortInfo:
    """A serial port of this machine. vid, pid: USB ids, None for a port that is not USB."""

    path: str
    description: str
    vid: int | None
    pid: int | None
    serial: str


def list_ports() -> list[PortInfo]:
    """The serial ports of this machine, those without hardware behind them left out."""
    from serial.tools import list_ports as library

    found = sorted(library.comports(), key=lambda info: natural_key(info.device))
    return [
        PortInfo(
            info.device,
            "" if info.description in (None, "n/a") else info.description,
            info.vid,
            info.pid,
            info.serial_number or "",
        )
        for info in found
    ]
