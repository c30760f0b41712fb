"""A virtual serial port: a pty with a fixed name, at the rate of a real line."""

import asyncio
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from hilgw.errors import PortError, PortReason
from hilgw.transports.base import Observable, Scheduler, SwitchModemLine
from hilgw.transports.own_folder import OwnFolder
from hilgw.transports.serial import tty
from hilgw.transports.virtual.pipe import PacedLine

DeviceHandler = Callable[[bytes, int | None], None]
DEVICE_LIMIT_BYTES = 65536
# A client that reads nothing for this time loses the bytes in between, as on hardware: it must not
# read old bytes when it returns.
STALE_S = 0.5


class PortLink:
    """The symlink of a virtual port; it replaces only a stale symlink.

    The kernel reuses the number of a pty at once. So the link does not point to /dev/pts/N but to
    the descriptor of its process, /proc/PID/fd/FD: when the process is killed, the link dangles and
    leads no client to another program's device. Without /proc it points to the pty.

    path: the name that clients open. Without `path` the link is in a new directory, which close()
    removes.
    """

    def __init__(self, path: str | None) -> None:
        self._folder = None if path else OwnFolder()
        self._link = self._folder.path / "port" if self._folder else Path(str(path))
        self._target = ""
        self.path = str(self._link)

    def point_to(self, slave: int) -> None:
        """Create or change the link, atomically.

        Args:
            slave: an open descriptor, which stays open as long as the link exists.

        Raises:
            PortError: the link cannot be created.
        """
        link, target = self._link, _target(slave)
        try:
            if link.is_symlink():
                self._check_replaceable()
                fresh = link.with_name(f".{link.name}.{os.getpid()}")
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(target)
                fresh.replace(link)
            else:
                link.symlink_to(target)  # fails when the name exists
        except FileExistsError:
            raise self._refusal(
                "a file with this name exists",
                PortError.BUSY,
                fix="choose another name, or remove the file",
            ) from None
        except PermissionError:
            raise self._refusal("no permission to create this link", PortError.DENIED) from None
        except OSError as error:
            raise self._refusal(
                f"cannot create this link: {error.strerror}", PortError.ABSENT
            ) from error
        self._target = target

    def remove(self) -> None:
        """Remove the link, if it still has our target."""
        try:
            if self._target and str(self._link.readlink()) == self._target:
                self._link.unlink()
        except OSError:
            pass  # it is gone, or belongs to another program now
        self._target = ""

    def close(self) -> None:
        self.remove()
        if self._folder is not None:
            self._folder.close()

    def _check_replaceable(self) -> None:
        """Raise PortError for a link to a device, or to a port of another program.

        A dangling link is replaceable, and so is one to a pty without a host: its number was
        reused. The link of a killed process is replaceable, whatever its PID and FD are now.
        """
        link = self._link
        target = str(link.readlink())
        if not link.exists():
            return
        owner = _OWN_TARGET.fullmatch(target)
        if not owner and not tty.is_pseudo_terminal_path(self.path):
            raise self._refusal(
                "this link points to something else",
                PortError.BUSY,
                fix="choose another name, or remove the link",
            )
        host = tty.host(self.path)
        if host is not None and (not owner or host.pid == int(owner[1])):
            raise self._refusal(
                f"this port belongs to {host}",
                PortError.BUSY,
                fix="choose another name, or stop that process",
            )

    def _refusal(
        self, problem: str, reason: PortReason, fix: str = "choose another name"
    ) -> PortError:
        return PortError(problem, reason=reason, where=self.path, fix=fix)


_FIXES = {
    errno.EMFILE: "raise ulimit -n",
    errno.ENFILE: "raise the sysctl fs.file-max",
    errno.ENOSPC: "close other terminals, or raise the sysctl kernel.pty.max",
}
_OWN_TARGET = re.compile(r"/proc/(\d+)/fd/\d+")


def _target(slave: int) -> str:
    own = f"/proc/{os.getpid()}/fd/{slave}"
    return own if Path(own).exists() else os.ttyname(slave)


class VirtualPort(Observable):
    """The hardware's end of a pty, a `hilgw.transports.base.DeviceSide`.

    link: the name that clients open, a symlink to the current pty; without it a name in a new
    directory. The bytes of the client reach `on_data` after their time on the wire, at the slower
    rate of the two ends, together with the rate set by the client. While the line is busy the
    bytes of the client stay in its buffer, so a stalled device stalls the client. The bytes of the
    device wait in a queue of `limit` bytes; the newest bytes of a write that does not fit are
    dropped and counted in `overrun`, and so are bytes that the client does not read.

    Raises PortError when the link cannot be created.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        link: str | None = None,
        *,
        baud_rate: int = 9600,
        bits_per_byte: int = 10,
        limit: int = DEVICE_LIMIT_BYTES,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._baud_rate = baud_rate
        self._bits_per_byte = bits_per_byte
        self.on_modem_line: SwitchModemLine | None = None
        self._from_client = PacedLine(
            scheduler,
            self._arrived,
            baud_rate=baud_rate,
            bits_per_byte=bits_per_byte,
            on_empty=self._take,
        )
        self._to_client = PacedLine(
            scheduler, self._give, baud_rate=baud_rate, bits_per_byte=bits_per_byte
        )
        self.overrun = 0
        self.plugged = False
        self._closed = False
        self._stalled = False
        self._reading = False
        self._host_baud: int | None = None
        self._blocked = bytearray()  # off the line, but the client's buffer in the kernel is full
        self._stale: asyncio.TimerHandle | None = None
        self._master = self._slave = -1
        self._link = PortLink(link)
        self.path = self._link.path
        try:
            self.plug()
        except BaseException:
            self._link.close()
            raise

    def start(self, on_data: DeviceHandler) -> None:
        self._on_data = on_data
        self._watch()

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self._baud_rate = baud_rate
        self._bits_per_byte = bits_per_byte
        self._to_client.set_line(baud_rate, bits_per_byte)
        self._set_client_rate()

    @property
    def pending(self) -> int:
        """Bytes of the device that are not written to the client yet."""
        return len(self._to_client) + len(self._blocked)

    def write(self, data: bytes) -> None:
        room = max(0, self._limit - self.pending) if self.plugged else 0
        self.overrun += max(0, len(data) - room)
        self._to_client.put(data[:room])

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switch the client's "dtr" or "rts", which a pty does not have; the client calls this."""
        if self.on_modem_line is not None and self.plugged:
            self.on_modem_line(name, on)

    def stall(self) -> None:
        self._stalled = True
        self._from_client.hold()
        self._unwatch()

    def unstall(self) -> None:
        self._stalled = False
        self._from_client.release()
        self._watch()

    def unplug(self) -> None:
        if not self.plugged:
            return
        self.plugged = False
        self._link.remove()
        self._unwatch()
        self._unblock()
        self._from_client.clear()
        self._to_client.clear()
        master, self._master = self._master, -1
        # This hangs up the client. The slave stays open for now, so that its number is not reused
        # at once: the port that returns is another one, as with hardware.
        os.close(master)

    def plug(self) -> None:
        if self.plugged or self._closed:
            return
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise PortError(
                f"cannot make a pseudo-terminal: {error.strerror}",
                reason=PortError.BUSY,
                where=self.path,
                fix=_FIXES.get(error.errno or 0, "mount devpts on /dev/pts"),
            ) from error
        try:
            os.set_blocking(master, False)
            tty.make_raw(slave)
            self._link.point_to(slave)
        except BaseException:
            os.close(master)
            os.close(slave)
            raise
        self._close_slave()
        self._master, self._slave = master, slave
        self.plugged = True
        self._watch()

    def close(self) -> None:
        if not self._closed:
            self.unplug()
            self._closed = True
            self._close_slave()
            self._link.close()

    def _close_slave(self) -> None:
        slave, self._slave = self._slave, -1
        if slave >= 0:
            os.close(slave)

    # --- from the client --------------------------------------------------------------------------

    def _watch(self) -> None:
        free = self._on_data is not None and not self._stalled and not len(self._from_client)
        if free and self.plugged and not self._reading:
            self._reading = True
            self._loop.add_reader(self._master, self._readable)

    def _unwatch(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._master)

    def _readable(self) -> None:
        self._unwatch()
        self._take()

    def _take(self) -> None:
        """Read one slice from the client; reading more would hide that the line is busy."""
        if not self.plugged or self._stalled:
            return
        try:
            data = os.read(self._master, self._from_client.slice_bytes)
        except OSError:  # no data, or no client yet
            data = b""
        if data:
            self._host_baud = tty.baud_rate(self._master)
            self._set_client_rate()
            self._from_client.put(data)
        else:
            self._watch()

    def _set_client_rate(self) -> None:
        slower = min(self._baud_rate, self._host_baud or self._baud_rate)
        self._from_client.set_line(slower, self._bits_per_byte)

    def _arrived(self, data: bytes) -> None:
        if self._on_data is not None:
            self._on_data(data, self._host_baud)

    # --- to the client ----------------------------------------------------------------------------

    def _give(self, data: bytes) -> None:
        sent = self._send(data)
        if sent < len(data):
            self._blocked += data[sent:]
            self._to_client.hold()
            self._loop.add_writer(self._master, self._writable)
            self._stale = self._loop.call_later(STALE_S, self._give_up)

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._master, data)
        except OSError:  # full, or no client; only we hang up
            return 0

    def _writable(self) -> None:
        del self._blocked[: self._send(self._blocked)]
        if not self._blocked:
            self._unblock()
            self._to_client.release()

    def _give_up(self) -> None:
        self._stale = None
        self.overrun += len(self._blocked) + self._to_client.clear()
        self._unblock()
        self._to_client.release()

    def _unblock(self) -> None:
        if self._stale is not None:
            self._stale.cancel()
            self._stale = None
        self._blocked.clear()
        if self._master >= 0:
            self._loop.remove_writer(self._master)
