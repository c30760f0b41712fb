"""What a POSIX tty needs beside reading and writing. No serial library; Linux where it says so."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Iterator
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
_TCGETS2 = 0x802C542A  # struct termios2, 44 bytes, the two speeds in front of its end
_PTY_MAJORS = range(136, 144)  # Linux: pseudo terminal slaves


def make_raw(fd: int) -> None:
    """All 256 values pass unchanged and unechoed; closing leaves DTR and RTS as they are.

    Speed, parity and stop bits stay. A read with nothing there says EAGAIN (VMIN 1), so an empty
    read means a hang-up and nothing else. Raises termios.error or OSError.
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
    """Before opening. A path that is not there counts as none."""
    try:
        number = Path(path).stat().st_rdev
    except (OSError, ValueError):
        return False
    if sys.platform == "linux":
        return os.major(number) in _PTY_MAJORS
    return os.path.realpath(path).startswith(("/dev/pts/", "/dev/ttys"))


def lock(fd: int) -> None:
    """From now on the kernel refuses every other open, root's excepted. Lasts until the last
    descriptor of this tty is closed, so it is for real ports and not for ptys."""
    fcntl.ioctl(fd, termios.TIOCEXCL)


def baud_rate(fd: int) -> int | None:
    """The output speed set on this tty (on a pty's master: by its client), odd rates included.

    None where it cannot be told, and for B0.
    """
    try:
        block = fcntl.ioctl(fd, _TCGETS2, bytes(44))
        return int(struct.unpack_from("=I", block, 40)[0]) or None
    except OSError:
        pass
    try:
        constant = termios.tcgetattr(fd)[_OSPEED]
    except termios.error:
        return None
    return _SPEEDS.get(constant)


def discard(fd: int) -> None:
    """Throw away what the kernel holds for this tty, so that closing it has nothing to wait for."""
    try:
        termios.tcflush(fd, termios.TCIOFLUSH)
    except (termios.error, OSError):
        pass  # the device is gone, and its buffers with it


def waiting(fd: int) -> int:
    """Bytes the kernel has not sent yet; 0 where that cannot be told."""
    try:
        return int(struct.unpack("=i", fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0


def unread(fd: int) -> int:
    """Bytes the kernel has for us, of a tty or a socket; 0 where that cannot be told."""
    try:
        return int(struct.unpack("=i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])
    except OSError:
        return 0


def _speeds() -> dict[int, int]:
    names = [name for name in dir(termios) if name[0] == "B" and name[1:].isdigit()]
    return {getattr(termios, name): int(name[1:]) for name in names if name != "B0"}


_SPEEDS = _speeds()


# --- latency ------------------------------------------------------------------------------------

SYSFS_TTY = Path("/sys/class/tty")


def shorten_latency(port: str) -> list[str]:
    """An FTDI chip collects received bytes for some milliseconds: ask for one. What was done, or
    what the user may do, in words; nothing for other ports. Linux."""
    timer = SYSFS_TTY / os.path.basename(os.path.realpath(port)) / "device" / "latency_timer"  # noqa: PTH119
    try:
        before = int(timer.read_text())
        if before <= 1:
            return []
        timer.write_text("1")
    except PermissionError:
        return [
            f"the FTDI latency timer stands at {before} ms and may not be changed; "
            f"as root: echo 1 > {timer}, or install the udev rule"
        ]
    except (OSError, ValueError):
        return []
    return [f"the FTDI latency timer is set from {before} ms to 1 ms"]


# --- who else has it ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the port open."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid})"


def holders(port: str) -> list[Holder]:
    """Processes that have this device open, as far as this user may see them (Linux).

    Who hosts a pty and keeps its far end open, as a mock does, is not one of them.
    """
    return [holder for holder, opened, hosts in _users(port) if opened > hosts]


def host(port: str) -> Holder | None:
    """The process that plays a port on this pty: it has its master, and its far end open too.

    A terminal's program has the master only, the programs in it the far end only.
    """
    return next((holder for holder, opened, hosts in _users(port) if opened and hosts), None)


def _users(port: str) -> Iterator[tuple[Holder, int, bool]]:
    """Who has this device open, how many times, and whether it is the host of that pty."""
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
    """How many descriptors a process has on a device, and whether it hosts that pty.

    Links that lead to no device are not followed: a stat on a dead network mount would hang.
    """
    opened, hosts = 0, False
    try:
        for link in (process / "fd").iterdir():
            try:
                target = str(link.readlink())
                if target.endswith("/ptmx"):
                    hosts = hosts or _index(process, link.name) == os.minor(device)
                elif target.startswith("/dev/") and link.stat().st_rdev == device:
                    opened += 1
            except OSError:
                continue
    except OSError:
        pass  # it ended, or is another user's
    return opened, hosts and os.major(device) in _PTY_MAJORS


def _index(process: Path, fd: str) -> int | None:
    """Which pty a descriptor of /dev/ptmx is the master of."""
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
