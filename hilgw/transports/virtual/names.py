"""The name of a virtual port: a symlink that follows the pty of the moment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hilgw.errors import PortError
from hilgw.transports.serial import tty


class PortName:
    """Owns one symlink. Never takes the place of anything but a stale one.

    path: what clients open. Without a wish the link lives in a fresh directory, removed by close().
    """

    def __init__(self, wish: str | None) -> None:
        self._directory = None if wish else Path(tempfile.mkdtemp(prefix="hilgw-"))
        self._link = Path(wish) if wish else Path(str(self._directory)) / "port"
        self._target = ""
        self.path = str(self._link)

    def point_to(self, target: str) -> None:
        """Make or move the link, atomically. Raises PortError."""
        link = self._link
        try:
            if link.is_symlink():
                self._check_replaceable(target)
                fresh = link.with_name(f".{link.name}.{os.getpid()}")
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(target)
                fresh.replace(link)
            else:
                link.symlink_to(target)  # fails when anything is there
        except FileExistsError:
            raise self._refusal("a file that is no link is in the way", PortError.BUSY) from None
        except PermissionError:
            raise self._refusal("no permission to make this link", PortError.DENIED) from None
        except OSError as error:
            raise self._refusal(
                f"cannot make this link: {error.strerror}", PortError.ABSENT
            ) from error
        self._target = target

    def remove(self) -> None:
        """Take the link away, if it is still ours."""
        try:
            if self._target and str(self._link.readlink()) == self._target:
                self._link.unlink()
        except OSError:
            pass  # it is gone, or somebody else's by now
        self._target = ""

    def close(self) -> None:
        self.remove()
        if self._directory is not None:
            try:
                self._directory.rmdir()
            except OSError:
                pass  # somebody put a file there

    def _check_replaceable(self, target: str) -> None:
        """A dead link may go, and one to a pty that nobody hosts as a port: its number is used
        again by something else. A link to a device, or to another's port, may not."""
        link = self._link
        if not link.exists() or str(link.readlink()) == target:
            return
        if not tty.is_pseudo_terminal_path(self.path):
            raise self._refusal("this link leads to something else", PortError.BUSY)
        host = tty.host(self.path)
        if host is not None:
            raise self._refusal(f"this name is a port of {host}", PortError.BUSY)

    def _refusal(self, what: str, reason: str) -> PortError:
        return PortError(what, reason=reason, where=self.path, fix="choose another name")
