"""The emergency stop: bytes that another thread writes while the event loop hangs."""

from __future__ import annotations

import os
import socket
import tty
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.engine.control_loop.safety import EmergencyStop
from hilgw.transports.serial import tty as serial_tty


class Connection(SimpleNamespace):
    """A transport on this descriptor."""

    def fileno(self) -> int:
        return int(self.fd)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_an_emergency_stop_writes_the_prepared_bytes_only_while_a_motor_moves() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stop = EmergencyStop()
        stop.attach(Connection(fd=ours.fileno(), pending=0))
        stop.trigger()
        stop.prepare(b"stop")
        stop.trigger()
        assert theirs.recv(100) == b"stop"
        assert stop.triggered == 1
        stop.detach()
        stop.prepare(b"stop")
        stop.trigger()
        assert stop.triggered == 1


def test_where_half_a_message_waits_the_connection_is_closed_instead() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stop = EmergencyStop()
        stop.attach(Connection(fd=ours.fileno(), pending=3))
        stop.prepare(b"stop")
        stop.trigger()
        assert theirs.recv(100) == b""
        stop.detach()


def test_on_a_line_the_stop_is_written_twice() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = EmergencyStop()
    stop.attach(Connection(fd=slave, pending=0))
    stop.prepare(b"stop\0")
    stop.trigger()
    assert os.read(master, 100) == b"stop\0stop\0"
    stop.detach()
    os.close(slave)
    os.close(master)


def test_on_a_line_the_stop_overtakes_what_waits_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A UART sends what was written before, at its rate; the kernel of a pty does not keep it."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = EmergencyStop()
    stop.attach(Connection(fd=slave, pending=0))
    stop.prepare(b"stop")
    os.write(slave, b"go on")
    flushed: list[bytes] = []
    monkeypatch.setattr(serial_tty, "discard", lambda fd: flushed.append(os.read(master, 100)))
    stop.trigger()
    assert (flushed, os.read(master, 100)) == ([b"go on"], b"stopstop")
    stop.detach()
    os.close(slave)
    os.close(master)


def test_an_emergency_stop_keeps_no_descriptor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        before = descriptors()
        stop = EmergencyStop()
        for _ in range(10):
            stop.attach(Connection(fd=ours.fileno(), pending=0))
        stop.detach()
        stop.detach()
        assert descriptors() == before


def test_a_connection_that_is_gone_or_has_no_descriptor_has_no_emergency_stop() -> None:
    ours, theirs = socket.socketpair()
    stop = EmergencyStop()
    stop.attach(Connection(fd=ours.fileno(), pending=0))
    stop.prepare(b"stop")
    theirs.close()
    ours.close()
    stop.trigger()
    stop.attach(Connection(fd=-1, pending=0))
    stop.prepare(b"stop")
    stop.trigger()
    assert stop.triggered == 1
