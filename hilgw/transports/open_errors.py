"""Whatever pyserial, termios or the kernel raise, as the one error this project uses."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from hilgw.errors import PortError

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
# EAGAIN is what flock() says. Without a descriptor left the port may well be there a little later.
_BUSY = {errno.EBUSY, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EADDRINUSE}
_DENIED = {errno.EACCES, errno.EPERM}
_UNSUPPORTED = {errno.ENOTTY, errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP, errno.ELOOP}


def port_error(error: BaseException, name: str) -> PortError:
    """The PortError for `error`, raised while `name` was being opened."""
    if isinstance(error, socket.gaierror):  # its number is none of the kernel's
        what = f"cannot find the host: {error.strerror}"
        return PortError(what, reason=PortError.ABSENT, where=name, fix="check the name")
    number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else _errno_of(error)
    what = f"cannot open: {os.strerror(number) if number else error}"
    if number in _ABSENT:
        fix = "check the cable and the name"
        return PortError(what, reason=PortError.ABSENT, where=name, fix=fix)
    if number in _BUSY:
        return _busy(what, number, name)
    if number in _DENIED:
        return PortError(what, reason=PortError.DENIED, where=name, fix=_cure_of_denial(name))
    if number in _UNSUPPORTED or isinstance(error, (ValueError, OverflowError)):
        fix = "check that this is a serial port, and its settings"
        return PortError(what, reason=PortError.UNSUPPORTED, where=name, fix=fix)
    return PortError(what, reason=PortError.LOST, where=name)


def held_by(holder: object, name: str) -> PortError:
    """The port is another program's; sharing it would steal bytes from one of the two."""
    return PortError(
        f"in use by {holder}", reason=PortError.BUSY, where=name, fix="end that program first"
    )


def _busy(what: str, number: int | None, name: str) -> PortError:
    if number in (errno.EMFILE, errno.ENFILE):
        return PortError(what, reason=PortError.BUSY, where=name, fix="raise ulimit -n")
    return PortError("in use by another program", reason=PortError.BUSY, where=name)


def _errno_of(error: BaseException | None) -> int | None:
    """pyserial drops the number in some of its errors; then the cause below has it."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number is None and error.args:
            number = error.args[0]  # termios.error is no OSError
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
    if group == "root":  # no group for users
        return "hilgw doctor says how to let others open it"
    return f"join the group {group} (sudo usermod -aG {group} $USER) and log in again"
