"""POSIX ttys: modes, speeds, queues, latency, and the processes that have one open.

Without pyserial; functions for Linux only are marked.
"""

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_IFLAG, _OFLAG, _CFLAG, _LFLAG, _ISPEED, _OSPEED, _CC = range(7)
_COOKED_INPUT = (
    termios.IGNBRK
    | termios.BRKINT
    | termios.PARMRK
    | termios.ISTRIP
    | termios.INLCR
    | termios.IGNCR
    | termios.ICRNL
    | termios.IXON
    | termios.IXOFF
)
_COOKED_LOCAL = termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN
_TCGETS2 = 0x802C542A  # struct termios2, 44 bytes, the two speeds at its end
_PTY_MAJORS = range(136, 144)  # Linux: pseudo terminal slaves


def make_raw(fd: int) -> None:
    """Set raw mode: all 256 values pass unchanged, without echo; closing keeps DTR and RTS.

    Speed, parity and stop bits are unchanged. A read without data fails with EAGAIN (VMIN 1), so
    an empty read always means a hang-up. Raises termios.error or OSError.
    """
    attributes = termios.tcgetattr(fd)
    attributes[_IFLAG] &= ~_COOKED_INPUT
    attributes[_OFLAG] &= ~termios.OPOST
    attributes[_LFLAG] &= ~_COOKED_LOCAL
    attributes[_CFLAG] &= ~termios.HUPCL
    attributes[_CFLAG] |= termios.CREAD | termios.CLOCAL
    attributes[_CC][termios.VMIN] = 1
    attributes[_CC][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSANOW, attributes)


def is_pseudo_terminal_path(path: str) -> bool:
    """Return whether this path is a pty; False for a path that does not exist."""
    try:
        number = Path(path).stat().st_rdev
    except (OSError, ValueError):
        return False
    if sys.platform == "linux":
        return os.major(number) in _PTY_MAJORS
    return os.path.realpath(path).startswith(("/dev/pts/", "/dev/ttys"))


def lock(fd: int) -> None:
    """Make the kernel refuse every other open, except by root, until the tty is closed.

    The lock ends with the last descriptor of this tty. For real ports, not for ptys.
    """
    fcntl.ioctl(fd, termios.TIOCEXCL)


def baud_rate(fd: int) -> int | None:
    """Return the output speed of this tty (on the master of a pty: set by its client).

    Non-standard rates are included. None when unknown, and for B0.
    """
    with suppress(OSError):  # not of this kernel, or not of this driver: by termios, below
        block = fcntl.ioctl(fd, _TCGETS2, bytes(44))
        return int(struct.unpack_from("=I", block, 40)[0]) or None
    try:
        constant = termios.tcgetattr(fd)[_OSPEED]
    except termios.error:
        return None
    return _SPEEDS.get(constant)


def modem_inputs(fd: int) -> tuple[bool, bool, bool, bool]:
    """Return CTS, DSR, RI and CD; raises OSError, ENOTTY on a pty."""
    (bits,) = struct.unpack("=i", fcntl.ioctl(fd, termios.TIOCMGET, bytes(4)))
    lines = (termios.TIOCM_CTS, termios.TIOCM_DSR, termios.TIOCM_RI, termios.TIOCM_CD)
    cts, dsr, ri, cd = (bool(bits & line) for line in lines)
    return cts, dsr, ri, cd


def purge(fd: int, *, received: bool, to_send: bool) -> int:
    """Discard what the driver holds; return its unsent bytes, 0 on a pty, or raise OSError."""
    unsent = waiting(fd) if to_send else 0
    try:
        if received:
            termios.tcflush(fd, termios.TCIFLUSH)
        if to_send:
            termios.tcflush(fd, termios.TCOFLUSH)
    except termios.error as error:
        raise OSError(*error.args) from error
    return unsent


def discard(fd: int) -> None:
    """Discard the bytes in the kernel buffers of this tty, so that closing it does not wait."""
    with suppress(termios.error, OSError):  # the device is gone, and its buffers too
        termios.tcflush(fd, termios.TCIOFLUSH)


def waiting(fd: int) -> int:
    """Return the number of bytes the kernel has not sent yet; 0 when unknown."""
    try:
        return int(struct.unpack("=i", fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0


def unread(fd: int) -> int:
    """Return the number of received bytes in the kernel, of a tty or a socket; 0 when unknown."""
    try:
        return int(struct.unpack("=i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])
    except OSError:
        return 0


_SPEEDS: dict[int, int] = {
    getattr(termios, name): int(name[1:])
    for name in dir(termios)
    if name[0] == "B" and name[1:].isdigit() and name != "B0"
}


# --- latency ------------------------------------------------------------------------------------

SYSFS_TTY = Path("/sys/class/tty")


def shorten_latency(port: str) -> list[str]:
    """Set the latency timer of an FTDI chip, which collects received bytes, to 1 ms (Linux).

    Return notices: the change, or the fix when it is not permitted; none for other ports.
    """
    timer = SYSFS_TTY / os.path.basename(os.path.realpath(port)) / "device" / "latency_timer"  # noqa: PTH119
    try:
        before = int(timer.read_text())
        if before <= 1:
            return []
        timer.write_text("1")
    except PermissionError:
        return [
            f"the FTDI latency timer is {before} ms, without permission to change it; "
            f"as root: echo 1 > {timer}, or install the udev rule"
        ]
    except (OSError, ValueError):
        return []
    return [f"the FTDI latency timer was changed from {before} ms to 1 ms"]


# --- processes that have a port open ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the port open."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid})"


def holders(port: str) -> list[Holder]:
    """Return the processes that have this device open, as far as this user can see (Linux).

    The host of a pty that keeps the far end open, such as a mock, is left out.
    """
    return [holder for holder, opened, hosts in _users(port) if opened > hosts]


def host(port: str) -> Holder | None:
    """Return the process that provides a port on this pty: it has master and far end open.

    A terminal emulator has only the master open, the programs in it only the far end.
    """
    return next((holder for holder, opened, hosts in _users(port) if opened and hosts), None)


def _users(port: str) -> Iterator[tuple[Holder, int, bool]]:
    """Yield the processes with this device open, how many times, and whether they host that pty."""
    try:
        device = Path(port).stat().st_rdev
    except OSError:
        return
    for process in _processes() if device else ():
        opened, hosts = _count(process, device)
        if opened:
            yield Holder(int(process.name), _command(process)), opened, hosts


def _processes() -> list[Path]:
    try:
        return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _count(process: Path, device: int) -> tuple[int, bool]:
    """Return how many descriptors a process has on a device, and whether it hosts that pty.

    Only links into /dev are followed: a stat on a dead network mount would block.
    """
    opened, hosts = 0, False
    with suppress(OSError):  # the process ended, or belongs to another user
        for link in (process / "fd").iterdir():
            with suppress(OSError):  # it has closed this descriptor
                target = str(link.readlink())
                if target.endswith("/ptmx"):
                    hosts = hosts or _index(process, link.name) == os.minor(device)
                elif target.startswith("/dev/") and link.stat().st_rdev == device:
                    opened += 1
    return opened, hosts and os.major(device) in _PTY_MAJORS


def _index(process: Path, fd: str) -> int | None:
    """Return the number of the pty whose master is this descriptor of /dev/ptmx."""
    for line in (process / "fdinfo" / fd).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "tty-index":
            return int(value)
    return None


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "a process"
