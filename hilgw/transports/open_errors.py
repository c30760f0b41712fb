"""Errors of pyserial, termios and the kernel, converted to PortError.

Also names that are probably not those of a serial port of this machine.
"""

import errno
import os
import re
import socket
import sys
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
# flock() fails with EAGAIN. Without a free descriptor the port may open a little later.
_BUSY = {errno.EBUSY, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EADDRINUSE}
_DENIED = {errno.EACCES, errno.EPERM}
_UNSUPPORTED = {errno.ENOTTY, errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP, errno.ELOOP}


def port_error(error: BaseException, name: str) -> PortError:
    """Return the PortError for an error while opening `name`."""
    if isinstance(error, socket.gaierror):  # its number is not an errno
        problem = f"cannot find the host: {error.strerror}"
        return PortError(problem, reason=PortError.ABSENT, where=name, fix="check the name")
    number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else _errno_of(error)
    problem = f"cannot open: {os.strerror(number) if number else error}"
    if number in _ABSENT:
        doubted = doubt(name)
        fix = doubted[1] if doubted else "check the cable and the name"
        return PortError(problem, reason=PortError.ABSENT, where=name, fix=fix)
    if number in _BUSY:
        if number in (errno.EMFILE, errno.ENFILE):
            return PortError(problem, reason=PortError.BUSY, where=name, fix="raise ulimit -n")
        return PortError("in use by another program", reason=PortError.BUSY, where=name)
    if number in _DENIED:
        return PortError(problem, reason=PortError.DENIED, where=name, fix=fix_for_denied(name))
    if number in _UNSUPPORTED or isinstance(error, (ValueError, OverflowError)):
        fix = "check that this is a serial port, and its settings"
        return PortError(problem, reason=PortError.UNSUPPORTED, where=name, fix=fix)
    return PortError(problem, reason=PortError.LOST, where=name)


def held_by(holder: object, name: str) -> PortError:
    """Return the PortError for a port that another program has open.

    Two readers would share the bytes.
    """
    return PortError(
        f"in use by {holder}", reason=PortError.BUSY, where=name, fix="close that program first"
    )


def _errno_of(error: BaseException | None) -> int | None:
    while error is not None:
        number = getattr(error, "errno", None)
        if number is None and error.args:
            number = error.args[0]  # termios.error is not an OSError
        if isinstance(number, int):
            return number
        error = error.__context__
    return None


GIVE_ACCESS = (
    "sudo chgrp dialout {0} && sudo chmod 660 {0}, or a udev rule that "
    'sets GROUP="dialout", MODE="0660"; then join the group dialout'
)


def fix_for_denied(name: str) -> str:
    """Return how to get access to a port that this user may not open."""
    try:
        mode, group = Path(name).stat().st_mode, Path(name).group()
    except (NotImplementedError, OSError, KeyError):
        return "run as a user with access to this port"
    if group == "root" or mode & 0o060 != 0o060:
        return GIVE_ACCESS.format(name)
    return f"join the group {group} (sudo usermod -aG {group} $USER) and log in again"


_LIST = "`hilgw ports` lists the ports of this machine"
_WINDOWS = re.compile(r"(?i)(\\\\\.\\)?COM\d+")
_MACOS = re.compile(r"/dev/(cu|tty)\.\S+")
_BARE = re.compile(r"(tty|rfcomm|cu)\w+|serial/\S+")
_VARIABLE = re.compile(r"\$(\w+|\{[^}]*\}|\([^)]*\))|%\w+%|`[^`]*`")
_TYPOGRAPHIC = re.compile("[\u2018-\u201f]")
_ADDRESS = re.compile(r"[\w.-]+:\d+")


def doubt(name: str) -> tuple[str, str] | None:
    """Return what is wrong with a port's name (the end of a sentence), and the fix.

    Returns:
        None for a name that no fix applies to.
    """
    if name.startswith("~"):
        return "begins with '~', which only a shell expands", "write the whole path"
    if (match := _VARIABLE.search(name)) and not os.path.lexists(name):
        return f"has {match[0]}, which only a shell expands", "write the whole path"
    if _ADDRESS.fullmatch(name):
        return "is an address on TCP without its scheme", f"did you mean socket://{name}?"
    if _WINDOWS.fullmatch(name) and sys.platform != "win32":
        return "is the name of a port on Windows", _LIST
    if match := _TYPOGRAPHIC.search(name):
        return f"has a U+{ord(match[0]):04X}", "write a plain quote, or none"
    if _MACOS.fullmatch(name) and sys.platform != "darwin" and not os.path.lexists(name):
        return "is the name of a port on macOS", _LIST
    if _BARE.fullmatch(name) and not os.path.lexists(name):
        return "is a path in this folder, and not there", f"did you mean /dev/{name}?"
    return None
