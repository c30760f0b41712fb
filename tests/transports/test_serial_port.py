"""Serial ports, one test per problem, on the descriptor path and on pyserial-asyncio."""

import asyncio
import errno
import fcntl
import grp
import os
import struct
import subprocess
import sys
import termios
import threading
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import serial

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports import asyncio_stream, stream
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial import descriptor, port as serial_port, tty
from hilgw.transports.serial.port import DataPath, open_serial
from tests.transports.faults import Call, Faults
from tests.transports.rig import LINE, Client, Pty, call_threads, descriptors, turns, until

TIOCGEXCL = 0x80045440  # Linux


@pytest.fixture(params=["posix", "asyncio"])
def path(request: pytest.FixtureRequest) -> DataPath:
    """How the bytes move. Everything here holds for both."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=["pty", "real"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A pty as itself, and a pty that is taken for a real port: locked, closed in a thread."""
    if request.param == "real":
        as_real(monkeypatch)
    return str(request.param)


def as_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tty, "is_pseudo_terminal_path", lambda path: False)


async def open_on(port: str, path: DataPath, line: LineSettings = LINE, **more: Any) -> Transport:
    timer = Timer(asyncio.get_running_loop())
    try:
        return await open_serial(port, line, timer, path=path, **more)
    finally:
        timer.close()


async def refusal(port: str, path: DataPath = "auto", **more: Any) -> PortError:
    with pytest.raises(PortError) as caught:
        await open_on(port, path, **more)
    assert caught.value.where == port
    return caught.value


async def closed(transport: Transport) -> None:
    transport.close()
    await transport.wait_closed()


def change(pty: Pty, number: int, bits: int) -> None:
    """Set these bits of the attributes of a pty, as a program before us may have left them."""
    attributes = termios.tcgetattr(pty.slave)
    attributes[number] |= bits
    termios.tcsetattr(pty.slave, termios.TCSANOW, attributes)


async def test_a_break_is_not_a_signal_and_flow_control_by_bytes_is_never_on(
    path: DataPath, kind: str
) -> None:
    """BRKINT, which pyserial leaves as it finds it, would throw away what is in the buffers."""
    off = termios.BRKINT | termios.PARMRK | termios.ISTRIP | termios.IXON | termios.IXOFF
    with Pty() as pty:
        change(pty, 0, off)
        transport = await open_on(pty.path, path)
        assert not termios.tcgetattr(pty.slave)[0] & off
        transport.close()


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        (
            LineSettings(9600, data_bits=7, parity="O", stop_bits=2, rtscts=True),
            termios.CS7 | termios.PARENB | termios.PARODD | termios.CSTOPB | termios.CRTSCTS,
        ),
        (LineSettings(9600, data_bits=5, parity="E"), termios.CS5 | termios.PARENB),
        (LineSettings(9600), termios.CS8),
    ],
)
async def test_the_line_is_asked_of_the_kernel_and_a_pty_reports_what_it_cannot_carry(
    path: DataPath, kind: str, line: LineSettings, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a kernel refuses the line of a pty or takes it in silence depends on its version."""
    asked: list[int] = []
    set_attributes = termios.tcsetattr
    parity = termios.PARENB | termios.PARODD

    def strict(fd: int, when: int, attributes: list[Any]) -> None:
        asked.append(attributes[2])
        if kind == "pty" and (
            attributes[2] & termios.PARENB or attributes[2] & termios.CSIZE != termios.CS8
        ):
            raise termios.error(errno.EINVAL, "Invalid argument")
        set_attributes(fd, when, attributes)

    monkeypatch.setattr(termios, "tcsetattr", strict)
    of_a_line = termios.CSIZE | parity | termios.CSTOPB | termios.CRTSCTS
    with Pty() as pty:
        transport = await open_on(pty.path, path, line)
        if kind == "pty":
            flags = flags & ~(termios.CSIZE | parity) | termios.CS8
        assert asked[0] & of_a_line == flags
        reported = any("pseudo terminal" in notice for notice in transport.notices)
        assert reported == (kind == "pty" and line != LineSettings(9600))
        await closed(transport)


async def test_a_wake_up_for_nothing_is_not_a_hang_up(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyserial leaves VMIN at 0, where a read with nothing there looks like the end."""
    with Pty() as pty:
        client = Client(await open_on(pty.path, "posix"))
        read, taken = os.read, list[bytes]()

        def take_first(fd: int, size: int) -> bytes:
            """Another program reads the byte that woke this one."""
            if fd == client.transport.fileno() and not taken:
                taken.append(read(pty.slave, 1))
            return read(fd, size)

        monkeypatch.setattr(os, "read", take_first)
        os.write(pty.master, b"x")
        await until(lambda: bool(taken))
        await turns()
        os.write(pty.master, b"still there")
        assert await client.received(11) == b"still there"
        assert taken == [b"x"]
        await client.close()


async def test_a_kernel_that_takes_nothing_is_not_asked_without_end(path: DataPath) -> None:
    """pyserial's own write() would not come back before it does."""
    with Pty() as pty, Faults(pty.path).fail("write", 1, errno.EAGAIN, times=300_000):
        client = Client(await open_on(pty.path, path))
        client.transport.write(b"x")
        await turns()
        assert client.transport.pending == 1
        await client.close()


async def test_closing_with_a_stalled_peer_is_immediate(
    path: DataPath, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drains: list[int] = []
    monkeypatch.setattr(termios, "tcdrain", drains.append)
    with Pty() as pty:
        client = Client(await open_on(pty.path, path))
        client.transport.write(bytes(200_000))
        await turns()
        await client.close()
        assert not client.lost
        assert not drains


async def test_a_driver_that_is_slow_to_close_does_not_stop_the_loop(
    path: DataPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_real(monkeypatch)
    with Pty() as pty:
        client = Client(await open_on(pty.path, path))
        device = Path(pty.path).stat().st_rdev
        real_close, flushed, may_close = os.close, threading.Event(), threading.Event()
        real_flush = termios.tcflush

        def slow_close(fd: int) -> None:
            if fd != pty.slave and os.fstat(fd).st_rdev == device:
                assert may_close.wait(10), "close() waits for the driver"
            real_close(fd)

        def flush(fd: int, queue: int) -> None:
            assert queue == termios.TCIOFLUSH
            flushed.set()
            real_flush(fd, queue)

        monkeypatch.setattr(os, "close", slow_close)
        monkeypatch.setattr(termios, "tcflush", flush)
        client.transport.close()
        await turns(100)
        may_close.set()
        await client.transport.wait_closed()
        assert flushed.is_set(), "the driver would wait for its last bytes to leave"
        monkeypatch.undo()


async def test_a_driver_that_never_closes_is_not_waited_for(
    path: DataPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_real(monkeypatch)
    monkeypatch.setattr(stream, "CLOSE_DEADLINE_S", 0.02)
    monkeypatch.setattr(asyncio_stream, "CLOSE_DEADLINE_S", 0.02)
    stuck, free = threading.Event(), threading.Event()
    discard = tty.discard

    def never(fd: int) -> None:
        stuck.set()
        free.wait(20)
        discard(fd)

    monkeypatch.setattr(tty, "discard", never)
    with Pty() as pty:
        client = Client(await open_on(pty.path, path))
        client.transport.close()
        async with asyncio.timeout(60):
            await client.transport.wait_closed()
            await until(stuck.is_set)
        free.set()
        await until(lambda: not call_threads())


@pytest.mark.wall_clock("virtual ports are opened very often")
@pytest.mark.parametrize("call", ["open", "read", "write", "ioctl"])
async def test_every_call_may_fail_at_any_time(
    path: DataPath, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nth open, read, write or ioctl fails, n = 1, 2, ... until there is no nth: the port
    works, or is refused, or is lost, with a PortError; and nothing stays open."""

    as_real(monkeypatch)

    async def life(pty: Pty, faults: Faults) -> None:
        """Open, both directions in several pieces, close."""
        with faults:
            try:
                transport = await open_on(pty.path, path)
            except PortError:
                return
            client = Client(transport)
            try:
                for number in range(4):
                    client.transport.write(bytes([number]) * 10)
                    os.write(pty.master, bytes([number]) * 10)
                    await client.received(10 * (number + 1))
                    await until(lambda: bool(client.transport.pending == 0 or client.lost))
            except PortError as error:
                assert error.reason == PortError.LOST
                await until(lambda: bool(client.lost))
            assert len(client.lost) <= 1
            await client.close()

    errors = cycle((errno.EIO, errno.ENOSPC, errno.EINTR, errno.EIO))
    for nth in range(1, 50):
        with Pty() as pty:
            before = descriptors()
            faults = Faults(pty.path).fail(call, nth, next(errors))
            async with asyncio.timeout(60):
                await life(pty, faults)
            await until(lambda: descriptors().items() <= before.items())  # noqa: B023
        if faults.calls[call] < nth:
            break
    else:
        pytest.fail(f"{call} is called without end")


@pytest.mark.parametrize("how", ["deadline", "cancel"])
async def test_an_open_that_is_no_longer_awaited_leaves_nothing_open(
    path: DataPath, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open, hurry = os.open, threading.Event()

    def slow(name: Any, *arguments: Any, **more: Any) -> int:
        if str(name).startswith("/dev/pts/"):
            hurry.wait(10)
        return real_open(name, *arguments, **more)

    if how == "deadline":
        monkeypatch.setattr(serial_port, "OPEN_DEADLINE_S", 0.05)
    with Pty() as pty:
        monkeypatch.setattr(os, "open", slow)
        if how == "deadline":
            assert (await refusal(pty.path, path)).reason == PortError.LOST
        else:
            task = asyncio.create_task(open_on(pty.path, path))
            await until(lambda: bool(call_threads()))  # and this event loop runs on
            task.cancel()
            await asyncio.wait([task])
        assert call_threads()  # it still opens
        hurry.set()
        await until(lambda: not call_threads())


OPENER = """
import sys, serial
port = serial.Serial(sys.argv[1], exclusive={exclusive})
print("open", flush=True)
sys.stdin.read()
"""


@pytest.mark.process
@pytest.mark.parametrize("exclusive", [True, None])
async def test_a_port_of_another_program_is_refused_and_it_is_named(
    exclusive: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a real port also when that program did not lock it: bytes would be stolen."""
    if exclusive is None:
        as_real(monkeypatch)
    with Pty() as pty:
        with subprocess.Popen(
            [sys.executable, "-c", OPENER.format(exclusive=exclusive), pty.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            error = await refusal(pty.path)
            assert error.reason == PortError.BUSY
            assert f"pid {other.pid}" in error.what
            other.communicate(b"")


async def test_a_real_port_is_closed_to_every_other_open(path: DataPath, kind: str) -> None:
    """A pty is not: there the lock would outlive the client."""
    with Pty() as pty:
        transport = await open_on(pty.path, path)
        exclusive = struct.unpack("i", fcntl.ioctl(pty.slave, TIOCGEXCL, bytes(4)))[0]
        assert bool(exclusive) == (kind == "real")
        transport.close()


async def test_modem_lines_are_left_alone(
    path: DataPath, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: list[tuple[int, int]] = []
    real_ioctl = fcntl.ioctl

    def ioctl(fd: int, request: int, *arguments: Any) -> Any:
        if request in (termios.TIOCMBIS, termios.TIOCMBIC, termios.TIOCMSET):
            changes.append((request, struct.unpack("i", arguments[0])[0]))
            return 0
        return real_ioctl(fd, request, *arguments)

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    with Pty() as pty:
        change(pty, 2, termios.HUPCL)
        transport = await open_on(pty.path, path)
        assert not termios.tcgetattr(pty.slave)[2] & termios.HUPCL, "closing drops DTR"
        await closed(transport)
        assert changes == []
        pty.unlock()
        await closed(await open_on(pty.path, path, LineSettings(9600, dtr=False, rts=True)))
        assert changes == [
            (termios.TIOCMBIC, termios.TIOCM_DTR),
            (termios.TIOCMBIS, termios.TIOCM_RTS),
        ]


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOENT, PortError.ABSENT),
        (errno.ENODEV, PortError.ABSENT),
        (errno.ENXIO, PortError.ABSENT),
        (errno.EIO, PortError.ABSENT),
        (errno.EACCES, PortError.DENIED),
        (errno.EPERM, PortError.DENIED),
        (errno.EBUSY, PortError.BUSY),
        (errno.EMFILE, PortError.BUSY),
        (errno.ENOSPC, PortError.LOST),
    ],
)
async def test_what_the_kernel_reports_to_an_open(number: int, reason: str, path: DataPath) -> None:
    with Pty() as pty, Faults(pty.path).fail("open", 1, number):
        assert (await refusal(pty.path, path)).reason == reason


@pytest.mark.parametrize(
    ("group", "mode", "remedy"),
    [
        ("dialout", 0o660, "join the group dialout (sudo usermod -aG dialout $USER) and log in"),
        ("dialout", 0o600, "sudo chgrp dialout {0} && sudo chmod 660 {0}, or a udev rule"),
        ("root", 0o660, "sudo chgrp dialout {0} && sudo chmod 660 {0}, or a udev rule"),
    ],
)
async def test_the_fix_for_a_denied_port_names_its_group(
    group: str, mode: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Pty() as pty, Faults(pty.path).fail("open", 1, errno.EACCES):
        Path(pty.path).chmod(mode)
        owner = Path(pty.path).stat().st_gid
        entry = grp.struct_group((group, "x", owner, []))
        monkeypatch.setattr(grp, "getgrgid", {owner: entry}.__getitem__)
        assert (await refusal(pty.path)).fix.startswith(remedy.format(pty.path))


async def test_things_that_are_no_ports(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    for port, reason in (
        (str(file), PortError.UNSUPPORTED),
        (str(tmp_path), PortError.UNSUPPORTED),
        (str(tmp_path / "none"), PortError.ABSENT),
        (str(file / "below"), PortError.ABSENT),
        ("a\0b", PortError.UNSUPPORTED),
    ):
        assert (await refusal(port)).reason == reason
    assert (await refusal("")).reason in (PortError.ABSENT, PortError.UNSUPPORTED)


@pytest.mark.parametrize("allow_urls", [False, True])
async def test_urls_that_only_pyserial_supports(allow_urls: bool, tmp_path: Path) -> None:
    """And the network, where it is not allowed."""
    target = tmp_path / "written"
    network = ["socket://127.0.0.1:1", "rfc2217://127.0.0.1:1"]
    with Pty() as pty:
        for url in (
            f"spy://{pty.path}?file={target}",
            f"SPY://{pty.path}?file={target}",
            f"alt://{pty.path}?class=PosixPollSerial",
            "hwgrep://.*",
            "spy://localhost:1",
            "cp2110://x",
            "loop://?logging=debug",
            "LOOP://",
            "rfc2217://localhost:1?logging=debug",
            "rfc2217://user@localhost:1",
            "rfc2217://localhost",
            "rfc2217://:1",
            "socket://localhost:99999",
            "socket://localhost:1/path",
            "socket://[::1:1",
            "://",
            *([] if allow_urls else network),
        ):
            assert (await refusal(url, allow_urls=allow_urls)).reason == PortError.UNSUPPORTED
    assert not target.exists()


@pytest.mark.parametrize(
    ("permitted", "words"), [(True, "16 ms"), (False, "without permission to change it")]
)
async def test_the_latency_timer_of_an_ftdi_chip_is_shortened_and_reported(
    path: DataPath, permitted: bool, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    as_real(monkeypatch)
    monkeypatch.setattr(tty, "SYSFS_TTY", tmp_path)
    with Pty() as pty:
        timer = tmp_path / Path(pty.path).name / "device" / "latency_timer"
        timer.parent.mkdir(parents=True)
        timer.write_text("16\n")
        if not permitted:
            monkeypatch.setattr(Path, "write_text", refuse)
        transport: Any = await open_on(pty.path, path)
        assert timer.read_text() == ("1" if permitted else "16\n")
        assert any(words in notice for notice in transport.notices)
        await closed(transport)


async def test_descriptors_that_select_cannot_watch_are_refused(
    path: DataPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert serial_port.DESCRIPTOR_LIMIT == 1024
    monkeypatch.setattr(serial_port, "DESCRIPTOR_LIMIT", 3)
    with Pty() as pty:
        assert (await refusal(pty.path, path)).reason == PortError.UNSUPPORTED


async def test_a_library_that_reports_a_loss_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As pyserial does on other systems: no complaint to the loop, one loss."""

    def write(self: object, data: bytes) -> int:
        raise serial.SerialException("WriteFile failed (PermissionError(13))")

    with Pty() as pty:
        client = Client(await open_on(pty.path, "asyncio"))
        monkeypatch.setattr(descriptor.NonBlocking, "write", write)
        client.transport.write(b"x")
        await until(lambda: bool(client.lost))
        await client.close()
        assert len(client.lost) == 1


async def test_the_low_latency_mode_of_a_driver_is_set_and_reported(
    path: DataPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_real(monkeypatch)
    asked: list[bool] = []
    monkeypatch.setattr(serial.Serial, "set_low_latency_mode", lambda self, on: asked.append(on))
    with Pty() as pty:
        transport: Any = await open_on(pty.path, path)
        assert asked == [True]
        assert any("low-latency" in notice for notice in transport.notices)
        await closed(transport)
