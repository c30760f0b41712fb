"""Errors of pyserial, termios and the kernel, converted to PortError."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from hilgw.errors import PortError
from hilgw.transports.port_names import doubt

_ABSENT = {
    errno.ENOENT,
    errno.ENODEV,
    errno.ENXIO,
    errno.ENOTDIR,
    errno.EIO,
    errno.ECONNREFUSED,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ETIMEDOUT,
}
# flock() fails with EAGAIN. Without a free descriptor the port may open a little later.
_BUSY = {errno.EBUSY, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EADDRINUSE}
_DENIED = {errno.EACCES, errno.EPERM}
_UNSUPPORTED = {errno.ENOTTY, errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP, errno.ELOOP}


def port_error(error: BaseException, name: str) -> PortError:
    """The PortError for an error while opening `name`."""
    if isinstance(error, socket.gaierror):  # its number is not an errno
        what = f"cannot find the host: {error.strerror}"
        return PortError(what, reason=PortError.ABSENT, where=name, fix="check the name")
    number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else _errno_of(error)
    what = f"cannot open: {os.strerror(number) if number else error}"
    if number in _ABSENT:
        doubted = doubt(name)
        fix = doubted[1] if doubted else "check the cable and the name"
        return PortError(what, reason=PortError.ABSENT, where=name, fix=fix)
    if number in _BUSY:
        return _busy(what, number, name)
    if number in _DENIED:
        return PortError(what, reason=PortError.DENIED, where=name, fix=_fix_for_denied(name))
    if number in _UNSUPPORTED or isinstance(error, (ValueError, OverflowError)):
        fix = "check that this is a serial port, and its settings"
        return PortError(what, reason=PortError.UNSUPPORTED, where=name, fix=fix)
    return PortError(what, reason=PortError.LOST, where=name)


def held_by(holder: object, name: str) -> PortError:
    """The PortError for a port that another program has open: two readers would share the bytes."""
    return PortError(
        f"in use by {holder}", reason=PortError.BUSY, where=name, fix="close that program first"
    )


def _busy(what: str, number: int | None, name: str) -> PortError:
    if number in (errno.EMFILE, errno.ENFILE):
        return PortError(what, reason=PortError.BUSY, where=name, fix="raise ulimit -n")
    return PortError("in use by another program", reason=PortError.BUSY, where=name)


def _errno_of(error: BaseException | None) -> int | None:
    """The errno; some errors of pyserial have none, then the one of their cause."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number is None and error.args:
            number = error.args[0]  # termios.error is not an OSError
        if isinstance(number, int):
            return number
        error = error.__context__
    return None


def _fix_for_denied(name: str) -> str:
    try:
        import grp

        group = grp.getgrgid(Path(name).stat().st_gid).gr_name
    except (ImportError, OSError, KeyError):
        return "run as a user with access to this port"
    if group == "root":  # no group gives access
        return "run hilgw doctor: it reports how to get access"
    return f"join the group {group} (sudo usermod -aG {group} $USER) and log in again"
