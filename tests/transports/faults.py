"""Fault injection: system calls fail as with a faulty device.

    with Faults(path).fail("read", 3, errno.EIO):
        ...

Affects only calls on descriptors of the named paths and of watch(), in all threads of the process.
"""

from __future__ import annotations

import fcntl
import os
import termios
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest

Call = Literal["open", "read", "write", "ioctl"]


class Faults:
    """A layer around os.open, os.read, os.write and the ioctls of ttys.

    calls: number of calls on watched descriptors, including those that fail. "ioctl" covers
    fcntl.ioctl and flock, termios.tcgetattr and tcsetattr.
    """

    def __init__(self, *paths: str) -> None:
        self.calls: Counter[str] = Counter()
        self._paths = paths
        self._fds: set[int] = set()
        self._failures: dict[str, tuple[range, int]] = {}
        self._longest: dict[str, int] = {}
        self._lock = threading.Lock()
        self._patch = pytest.MonkeyPatch()

    # --- the faults -------------------------------------------------------------------------------

    def watch(self, fd: int) -> Faults:
        """Adds a descriptor that is open already."""
        self._fds.add(fd)
        return self

    def fail(self, call: Call, nth: int, error: int, *, times: int = 1) -> Faults:
        """The nth call (from 1) and the `times` - 1 after it fail with this errno."""
        self._failures[call] = (range(nth, nth + times), error)
        return self

    def shorten(self, call: Literal["read", "write"], longest: int = 1) -> Faults:
        """Limits each call to this number of bytes."""
        self._longest[call] = longest
        return self

    # --- the layer --------------------------------------------------------------------------------

    def __enter__(self) -> Faults:
        self._real_open, self._real_close = os.open, os.close
        self._real_read, self._real_write = os.read, os.write
        for module, name, function in (
            (os, "open", self._open),
            (os, "close", self._close),
            (os, "read", self._read),
            (os, "write", self._write),
            (fcntl, "ioctl", self._around(fcntl.ioctl, OSError)),
            (fcntl, "flock", self._around(fcntl.flock, OSError)),
            (termios, "tcgetattr", self._around(termios.tcgetattr, termios.error)),
            (termios, "tcsetattr", self._around(termios.tcsetattr, termios.error)),
        ):
            self._patch.setattr(module, name, function)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def _check(self, call: str, kind: type[Exception]) -> None:
        with self._lock:
            self.calls[call] += 1
            failing, number = self._failures.get(call, (range(0), 0))
            hit = self.calls[call] in failing
        if hit:
            raise kind(number, os.strerror(number))

    def _open(self, path: Any, *arguments: Any, **more: Any) -> int:
        watched = os.path.realpath(path) in {os.path.realpath(each) for each in self._paths}
        if watched:
            self._check("open", OSError)
        fd = self._real_open(path, *arguments, **more)
        if watched:
            self._fds.add(fd)
        return fd

    def _close(self, fd: int) -> None:
        self._fds.discard(fd)
        self._real_close(fd)

    def _read(self, fd: int, size: int) -> bytes:
        if fd not in self._fds:
            return self._real_read(fd, size)
        self._check("read", OSError)
        return self._real_read(fd, min(size, self._longest.get("read", size)))

    def _write(self, fd: int, data: Any) -> int:
        if fd not in self._fds:
            return self._real_write(fd, data)
        self._check("write", OSError)
        longest = self._longest.get("write", len(data))
        return self._real_write(fd, data[:longest])

    def _around(self, function: Callable[..., Any], kind: type[Exception]) -> Callable[..., Any]:
        def call(fd: Any, *arguments: Any) -> Any:
            if fd in self._fds:
                self._check("ioctl", kind)
            return function(fd, *arguments)

        return call
