"""The guardian's process: what it does when the gateway ends, freezes, or closes a port."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import ctypes
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.control_loop.guardian import (
    BEAT_NS,
    FROZEN_NS,
    PROGRAM,
    SECOND_NS,
    START_NS,
    Guardian,
)
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.guardian import NAME, leftover, process
from hilgw.testing.sim import Clock
from hilgw.transports.base import LineSettings
from hilgw.transports.serial import port as serial_port, tty as serial_tty
from hilgw.units import NS_PER_S

pytestmark = [pytest.mark.process, pytest.mark.wall_clock]

LIMIT_S = 20.0
GUARDIAN_MS = 150
LINE = LineSettings(115_200)


class Body:
    """Stands for the safety of a body: what the guardian did to it."""

    def __init__(self, guardian: Guardian) -> None:
        self.happened: list[str] = []
        guardian.guarded.append(self)

    def guardian_acted(self) -> None:
        self.happened.append("acted")

    def guardian_died(self) -> None:
        self.happened.append("died")

    def guard(self) -> None:
        self.happened.append("guard")


class Gives(Body):
    """Gives each guardian its line, with its stop."""

    def __init__(self, guardian: Guardian, line: Wire) -> None:
        super().__init__(guardian)
        guardian.guarded.remove(self)
        self._guardian, self._line = guardian, line

    def guard(self) -> None:
        super().guard()
        self._guardian.take("body", self._line.slave)
        self._guardian.keep("body", b"stop")


class Monotonic(Clock):
    def now(self) -> int:
        return time.monotonic_ns()


@pytest.fixture
def guardian(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guardian]:
    """A test starts it. Its parameter is its guardian_ms."""
    monkeypatch.setattr("hilgw.engine.control_loop.guardian.END_S", LIMIT_S)
    made = Guardian(Monotonic(), getattr(request, "param", GUARDIAN_MS))
    Body(made)
    yield made
    for pid in pids(made):
        os.kill(pid, signal.SIGKILL)  # it may be frozen
    made.close()


class Wire:
    """A line, and its far end."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.slave, False)
        os.set_blocking(self.master, False)
        self.read = b""

    def has(self, data: bytes) -> bool:
        with contextlib.suppress(OSError):
            self.read += os.read(self.master, 4096)
        return data in self.read

    def close(self) -> None:
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def line() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()


@pytest.fixture
def stream() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection on TCP: this end, the robot's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs = server.accept()[0]
    theirs.settimeout(LIMIT_S)
    with ours, theirs:
        yield ours, theirs


async def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.002)


def pids(guardian: Guardian) -> list[int]:
    """The processes that have sent their hello."""
    known = [each.pidfd for each in guardian.processes if each.pidfd >= 0]
    infos = [Path(f"/proc/self/fdinfo/{each}").read_text() for each in known]
    return [int(info.split("Pid:")[1].split()[0]) for info in infos]


async def send(guardian: Guardian, number: int) -> int:
    """A signal to the first process, which is frozen after SIGSTOP; returns its pid."""
    await until(lambda: pids(guardian))
    pid = pids(guardian)[0]
    os.kill(pid, number)
    status = Path(f"/proc/{pid}/status")
    await until(lambda: number != signal.SIGSTOP or "State:\tT" in status.read_text())
    return pid


def is_gone(pid: int) -> bool:
    """Whether this process has ended: none of this process waits for it as a child."""
    return not leftover.started(pid)


def happened(guardian: Guardian) -> list[str]:
    return [word for body in guardian.guarded for word in body.happened]  # type: ignore[attr-defined]


async def dies(guardian: Guardian) -> None:
    """As the kernel does it for a gateway that is killed; returns when the guardian has ended."""
    await until(lambda: pids(guardian))
    (pid,) = pids(guardian)
    guardian.close()
    assert is_gone(pid)


def guards(guardian: Guardian, fd: int) -> None:
    """It starts, and has a port with its stop."""
    guardian.demand()
    guardian.take("body", fd)
    guardian.keep("body", b"stop")


async def beats(guardian: Guardian) -> None:
    while True:
        guardian.beat(time.monotonic_ns())
        await asyncio.sleep(0.02)


# --- it stops the robots --------------------------------------------------------------------------


async def test_a_dead_gateway_gets_its_lines_stopped_twice(guardian: Guardian, line: Wire) -> None:
    guardian.demand()
    assert guardian.take("body", line.slave)
    assert guardian.keep("body", b"go home")
    assert guardian.keep("body", b"stop\0")
    await dies(guardian)
    await until(lambda: line.has(b"stop\0stop\0"))
    assert line.read == b"stop\0stop\0"


async def test_a_frozen_gateway_does_too_and_learns_of_it(guardian: Guardian, line: Wire) -> None:
    guards(guardian, line.slave)
    flag = guardian.flag
    assert flag[0] == 0
    await until(lambda: line.has(b"stopstop"))
    assert flag[0] == 1
    await until(lambda: "acted" in happened(guardian))
    assert happened(guardian) == ["guard", "acted", "guard"]
    assert guardian.processes
    assert guardian.flag is not flag
    assert guardian.flag[0] == 0


@pytest.mark.parametrize("guardian", [1000], indirect=True)  # longer than a busy machine waits
async def test_while_the_watchdog_beats_it_does_nothing(guardian: Guardian, line: Wire) -> None:
    beating = asyncio.create_task(beats(guardian))
    guards(guardian, line.slave)
    await asyncio.sleep(1.5)
    assert not line.has(b"stop")
    assert happened(guardian) == ["guard"]
    beating.cancel()
    await until(lambda: line.has(b"stopstop"))


class Late:
    """A body that is never late: nothing but the guardian would stop it."""

    late_ns = 3600 * NS_PER_S

    def in_time(self) -> None: ...

    def was_late(self, now: int) -> None: ...

    def emergency(self) -> None: ...


async def test_an_event_loop_that_hangs_is_none_of_its_business(line: Wire) -> None:
    """The watchdog's thread beats on, and stops the robots itself once it is late."""
    watchdog = Watchdog(Monotonic(), guardian_ms=1000)
    guardian = watchdog.guardian
    body = Body(guardian)
    watchdog.watch(Late())
    guardian.demand()
    watchdog.start()
    guardian.take("body", line.slave)
    guardian.keep("body", b"stop")
    flag = guardian.flag
    time.sleep(1.6)
    assert flag[0] == 0
    await guardian.drop("body")
    watchdog.stop()
    await dies(guardian)
    assert body.happened == ["guard"]
    assert not line.has(b"s")


async def test_robots_that_stand_still_need_no_beat(guardian: Guardian, line: Wire) -> None:
    guards(guardian, line.slave)
    guardian.keep("body", b"")
    await asyncio.sleep(2 * GUARDIAN_MS / 1000)
    assert happened(guardian) == ["guard"]
    await dies(guardian)
    assert not line.has(b"stop")


async def test_a_connection_on_tcp_ends_and_gets_no_byte(
    guardian: Guardian, stream: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = stream
    guards(guardian, ours.fileno())
    ours.close()
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)  # the guardian still has it
    theirs.settimeout(LIMIT_S)
    await dies(guardian)
    assert theirs.recv(100) == b""


async def test_a_connection_of_a_frozen_gateway_is_shut_down(
    guardian: Guardian, stream: tuple[socket.socket, socket.socket]
) -> None:
    """This end still has it open."""
    ours, theirs = stream
    guards(guardian, ours.fileno())
    assert await asyncio.to_thread(theirs.recv, 100) == b""
    with pytest.raises(BrokenPipeError):
        ours.send(b"go on")


async def test_one_line_that_takes_nothing_holds_up_no_other(
    guardian: Guardian, line: Wire
) -> None:
    guardian.demand()
    stuck = Wire()
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(stuck.slave, bytes(4096))
    termios.tcflow(stuck.slave, termios.TCOOFF)
    for name, wire in (("stuck", stuck), ("body", line)):
        guardian.take(name, wire.slave)
        guardian.keep(name, b"stop")
    await dies(guardian)
    await until(lambda: line.has(b"stopstop"))
    stuck.close()


async def test_what_a_gateway_wrote_before_it_died_is_discarded(guardian: Guardian) -> None:
    """A slow UART would send it first, behind the stop."""
    guardian.demand()
    seen: list[int] = []

    class Slow(process.GuardedPort):
        def discard(self) -> None:
            seen.append(self.fd)

    line = Wire()
    port = Slow(line.slave)
    port.stop = b"stop"
    port.begin_stop()
    assert seen == [line.slave]
    assert not line.has(b"s")
    assert port.left() == 0
    assert line.has(b"stopstop")
    line.close()


@pytest.mark.parametrize(("speed", "left"), [(termios.B4800, 0), (termios.B115200, 24)])
def test_a_slow_uart_gets_the_time_for_what_is_in_its_fifo(
    line: Wire, monkeypatch: pytest.MonkeyPatch, speed: int, left: int
) -> None:
    """It takes 16 bytes at once, and shows no progress for 33 ms at 4800 bit/s. A line that is
    held for so long at a higher rate sends nothing at all."""
    attributes = termios.tcgetattr(line.slave)
    attributes[4:6] = speed, speed
    termios.tcsetattr(line.slave, termios.TCSANOW, attributes)
    now = 0.0
    unsent: list[int] = []

    class Uart(process.GuardedPort):
        def left(self) -> int:
            unsent[:] = [max(0, 24 - 16 * int(now / 0.033))]
            return unsent[0]

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(process.time, "monotonic", lambda: now)
    monkeypatch.setattr(process.time, "sleep", pause)
    monkeypatch.setattr(process, "GuardedPort", Uart)
    gateway, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        header, stop = process.HEADER, b"go straight!"
        port = header.pack(process.PORT, 0, 0)
        with gateway:
            socket.send_fds(gateway, [port], [line.slave])
            gateway.send(header.pack(process.STOP, 0, len(stop)) + stop)
        process.Guardian(theirs, bytearray(2), 0.3).run()  # type: ignore[arg-type]
    assert unsent == [left]


@pytest.mark.parametrize(
    ("is_runnable", "share", "acts_s"),
    [(True, 0.2, process.BUSY_S), (True, 1.0, 0.3), (False, 0.0, 0.3)],
    ids=["waits for the processor", "hangs in a loop", "frozen"],
)
def test_a_gateway_that_waits_for_the_processor_has_more_time(
    line: Wire, monkeypatch: pytest.MonkeyPatch, is_runnable: bool, share: float, acts_s: float
) -> None:
    """share: of the time, for which it runs."""
    now, acted = 0.0, list[float]()

    class Poll:
        def register(self, *_: Any) -> None: ...

        def poll(self, wait_ms: float | None) -> bool:
            nonlocal now
            now += (wait_ms or 0) / 1000
            return wait_ms is None  # what has come is read first

    class Shared(bytearray):
        def __setitem__(self, index: Any, value: Any) -> None:
            acted.append(now)

    def used_s(pid: int) -> float:
        assert pid == os.getpid()  # which has made the socket
        return now * share

    monkeypatch.setattr(process.time, "monotonic", lambda: now)
    monkeypatch.setattr(process.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(process.select, "poll", Poll)
    monkeypatch.setattr(process, "used_s", used_s)
    monkeypatch.setattr(process, "is_runnable", lambda pid: is_runnable)
    gateway, theirs = socket.socketpair()
    with gateway, theirs:
        theirs.setblocking(False)
        socket.send_fds(gateway, [process.HEADER.pack(process.PORT, 0, 0)], [line.slave])
        gateway.send(process.HEADER.pack(process.STOP, 0, 4) + b"stop")
        process.Guardian(theirs, Shared(2), 0.3).run()  # type: ignore[arg-type]
    assert acted == [pytest.approx(acts_s, abs=process.STALL_S)]
    assert line.has(b"stopstop")


async def test_a_process_is_runnable_while_it_computes(tmp_path: Path) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(busy) as child:
        try:
            await until(lambda: process.is_runnable(child.pid))
            before = process.used_s(child.pid)
            await until(lambda: process.used_s(child.pid) > before + 0.05)
            child.send_signal(signal.SIGSTOP)
            await until(lambda: not process.is_runnable(child.pid))
        finally:
            child.kill()
    assert not process.is_runnable(child.pid)  # there is none of this number


# --- ports that are closed and opened again -------------------------------------------------------


async def test_a_dropped_port_is_not_held_and_gets_nothing(
    guardian: Guardian, stream: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = stream
    guards(guardian, ours.fileno())
    await guardian.drop("body")
    ours.close()
    assert theirs.recv(1) == b""
    assert guardian.keep("body", b"stop")
    await asyncio.sleep(2 * GUARDIAN_MS / 1000)
    assert happened(guardian) == ["guard"]


async def test_a_port_that_it_does_not_have_is_dropped_at_once(guardian: Guardian) -> None:
    guardian.demand()
    await guardian.drop("body")
    assert guardian.processes


async def test_a_guardian_that_confirms_nothing_is_killed(
    guardian: Guardian, line: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian.demand()
    monkeypatch.setattr("hilgw.engine.control_loop.guardian.CONFIRM_S", 0.05)
    guardian.take("body", line.slave)
    await send(guardian, signal.SIGSTOP)
    await guardian.drop("body")
    await until(lambda: happened(guardian) == ["guard", "died", "guard"])


async def test_a_locked_port_opens_again_once_it_was_dropped(
    guardian: Guardian, line: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real port: ptys and root skip the lock (TIOCEXCL) and the search for other programs. So
    the kernel's refusal is imitated here: EBUSY while anybody has the locked port open."""
    guardian.demand()
    path = os.ttyname(line.slave)
    locked = []
    monkeypatch.setattr(serial_tty, "is_pseudo_terminal_path", lambda port: False)
    monkeypatch.setattr(serial_tty, "lock", locked.append)
    monkeypatch.setattr(serial_port, "GUARDIAN_S", 0.05)
    hosting = {os.getpid()}  # has the master, and the slave of `line`
    monkeypatch.setattr(
        serial_tty,
        "holders",
        lambda port, real=serial_tty.holders: [h for h in real(port) if h.pid not in hosting],
    )
    transport = await serial_port.open_serial(path, LINE, Timer(asyncio.get_running_loop()))
    assert locked == [transport.fileno()]
    guardian.take("body", transport.fileno())
    await until(lambda: pids(guardian))
    (pid,) = pids(guardian)
    await until(lambda: [each.pid for each in serial_tty.holders(path)] == [pid])
    transport.close()
    await transport.wait_closed()
    with pytest.raises(PortError, match=f"in use by robot-guard \\(pid {pid}\\)"):
        await serial_port.open_serial(path, LINE, Timer(asyncio.get_running_loop()))
    await guardian.drop("body")
    again = await serial_port.open_serial(path, LINE, Timer(asyncio.get_running_loop()))
    again.close()
    await again.wait_closed()


HOLDER = """
import fcntl, os, sys
open("/proc/self/comm", "w").write(sys.argv[2])
fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(line: Wire, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process of this name has the port."""
    command = (sys.executable, "-c", HOLDER, os.ttyname(line.slave), name)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a process: /proc")
async def test_a_restarted_gateway_waits_for_the_guardian_of_the_last_one(
    line: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial_port, "GUARDIAN_S", LIMIT_S)
    timer = Timer(asyncio.get_running_loop())
    with held(line, NAME) as process:
        opening = asyncio.create_task(serial_port.open_serial(os.ttyname(line.slave), LINE, timer))
        await asyncio.sleep(0.1)
        assert not opening.done()
        process.stdin.close()  # type: ignore[union-attr]
        transport = await opening
        transport.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a process: /proc")
@pytest.mark.parametrize("name", ["screen", NAME])
async def test_another_program_is_not_waited_for_and_a_guardian_not_for_ever(
    line: Wire, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = serial_tty.holders

    def holders(port: str) -> list[serial_tty.Holder]:
        looks.append(port)
        return [each for each in look(port) if each.pid != os.getpid()]

    monkeypatch.setattr(serial_tty, "holders", holders)
    monkeypatch.setattr(serial_port, "GUARDIAN_S", 0.5)
    timer = Timer(asyncio.get_running_loop())
    with held(line, name), pytest.raises(PortError, match=f"in use by {name}"):
        await serial_port.open_serial(os.ttyname(line.slave), LINE, timer)
    assert (len(looks) > 2) is (name == NAME)


# --- the process itself ---------------------------------------------------------------------------


async def test_signals_to_the_gateway_do_not_end_it(guardian: Guardian, line: Wire) -> None:
    """Sent at once: before it runs, they are blocked."""
    guards(guardian, line.slave)
    for number in process.IGNORED:
        await send(guardian, number)
    await until(lambda: line.has(b"stopstop"))


async def test_it_uses_the_standard_library_only(guardian: Guardian) -> None:
    imports = [
        each.module if isinstance(each, ast.ImportFrom) else each.names[0].name
        for each in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8")))
        if isinstance(each, ast.Import | ast.ImportFrom)
    ]
    assert {str(name).partition(".")[0] for name in imports} <= sys.stdlib_module_names


async def test_its_python_reads_no_variable_no_site_and_no_folder(guardian: Guardian) -> None:
    """Nor a .pth file: it has the place of its library only, and writes nothing that it compiles
    (Python's -s, -S, -P and -B)."""
    guardian.demand()
    await until(lambda: pids(guardian))
    folder = Path(f"/proc/{pids(guardian)[0]}")
    environment = (folder / "environ").read_bytes().rstrip(b"\0")
    assert environment == f"PYTHONHOME={sys.base_prefix}".encode()
    name, flags, *_ = (folder / "cmdline").read_text().split("\0")
    assert (name, {*flags}) == (NAME, {*"-sSPB"})


@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
async def test_where_the_gateway_is_pid_1_it_reaps(guardian: Guardian) -> None:
    """As a subreaper, this process becomes the parent of the guardian, as PID 1 does."""
    prctl = ctypes.CDLL(None).prctl
    prctl(36, 1, 0, 0, 0)
    try:
        guardian.demand()
        pid = await send(guardian, signal.SIGKILL)
        await until(lambda: "died" in happened(guardian))
        assert not Path(f"/proc/{pid}").exists()
    finally:
        prctl(36, 0, 0, 0, 0)


MOVED = """
import asyncio, os, sys
from pathlib import Path
from hilgw.engine.control_loop.guardian import Guardian

class Now:
    def now(self): return 1

async def main():
    guardian = Guardian(Now())
    guardian.guarded.append(type("Body", (), {"guard": lambda self: None})())
    guardian.demand()
    while not guardian.confirmed():
        await asyncio.sleep(0.01)
    info = Path(f"/proc/self/fdinfo/{guardian.processes[0].pidfd}").read_text()
    pid = info.split("Pid:")[1].split()[0]
    print(Path(f"/proc/{pid}/maps").read_text())
    guardian.close()

asyncio.run(asyncio.wait_for(main(), 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_python_that_was_moved_finds_its_library(tmp_path: Path) -> None:
    """Not by its name, which the guardian has not."""
    prefix, version = Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    large = shutil.ignore_patterns("__pycache__", "test", "site-packages", "dist-packages", "*.a")
    (tmp_path / "bin").mkdir()
    shutil.copy(prefix / "bin" / version, tmp_path / "bin")
    shutil.copytree(prefix / "lib" / version, tmp_path / "lib" / version, ignore=large)
    root = PROGRAM.parent.parent.parent
    done = subprocess.run(
        (tmp_path / "bin" / version, "-B", "-c", MOVED),
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=2 * LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/lib/{version}/lib-dynload/" in done.stdout
    assert f"{prefix}/lib/{version}/lib-dynload/" not in done.stdout


@pytest.mark.parametrize("frozen", [False, True])
async def test_behind_a_serial_server_the_stop_comes_before_the_end(
    guardian: Guardian, stream: tuple[socket.socket, socket.socket], frozen: bool
) -> None:
    """Also where unread sensor values wait: they would make a reset of the end."""
    ours, theirs = stream
    ours.setblocking(False)
    guardian.demand()
    guardian.take("body", ours.fileno(), is_line=True)
    guardian.keep("body", b"stop")
    theirs.sendall(bytes(1000))
    ours.send(b"half a mes")
    if not frozen:
        ours.close()
        await until(lambda: pids(guardian))
        guardian.close()
    read = b""
    while data := await asyncio.to_thread(theirs.recv, 100):
        read += data
    assert read == b"half a messtopstop"
    if frozen:
        with pytest.raises(BrokenPipeError):
            ours.send(b"go on")


async def test_a_guardian_is_ended_where_the_start_time_of_its_gateway_is_another(
    guardian: Guardian, line: Wire
) -> None:
    """Its pid belongs to a later process now. A frozen guardian is woken, and stops its robot."""
    guards(guardian, line.slave)
    pid = await send(guardian, signal.SIGSTOP)
    leftover.LOCK.pack_into(guardian.flag, leftover.LOCK_AT, os.getuid() + 1, os.getpid(), 1)  # type: ignore[arg-type]
    assert leftover.end(pid) == ""  # of another user
    leftover.LOCK.pack_into(guardian.flag, leftover.LOCK_AT, os.getuid(), os.getpid(), 1)  # type: ignore[arg-type]
    text = leftover.end(pid)
    assert text == f"{NAME} (pid {pid}) of a gateway that was killed had the port: " + (
        "it has stopped the robot, and ended"
    )
    assert is_gone(pid)
    await until(lambda: line.has(b"stopstop"))


async def test_no_other_child_inherits_its_socket(guardian: Guardian) -> None:
    """It would keep the socket open, and hide the end of the gateway."""
    guardian.demand()
    listed = ("ls", "-l", "/proc/self/fd")
    child = subprocess.run(listed, close_fds=False, capture_output=True, text=True, check=True)
    assert "/dev/null" in child.stdout or "pipe:" in child.stdout
    assert "socket:" not in child.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="memfd_create")
async def test_a_full_disk_ends_neither_of_both(
    guardian: Guardian, line: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An access to the memory that both share would, were it a file there: SIGBUS."""
    monkeypatch.setattr("tempfile.tempdir", "/dev/full")
    guards(guardian, line.slave)
    await until(lambda: line.has(b"stopstop"))


async def test_one_that_is_killed_is_replaced_once_the_robots_are_stopped(
    guardian: Guardian, line: Wire
) -> None:
    guardian.demand()
    guardian.take("body", line.slave)
    first = await send(guardian, signal.SIGKILL)
    await until(lambda: happened(guardian) == ["guard", "died", "guard"])
    await until(lambda: pids(guardian))
    assert pids(guardian) != [first]
    assert guardian.take("body", line.slave)
    guardian.keep("body", b"stop")
    await dies(guardian)
    await until(lambda: line.has(b"stopstop"))


async def test_one_that_ends_again_and_again_is_started_when_a_robot_is_armed(
    guardian: Guardian,
) -> None:
    guardian.demand()
    await send(guardian, signal.SIGKILL)
    await until(lambda: happened(guardian) == ["guard", "died", "guard"])
    await send(guardian, signal.SIGKILL)
    await until(lambda: happened(guardian) == ["guard", "died", "guard", "died"])
    assert not guardian.processes
    assert not guardian.keep("body", b"stop")
    guardian.demand()
    assert guardian.processes


async def test_it_has_confirmed_once_the_process_has_echoed_a_beat(guardian: Guardian) -> None:
    assert not guardian.confirmed()
    guardian.demand()
    assert not guardian.confirmed()  # its interpreter starts
    await until(guardian.confirmed)
    for _ in range(300):  # more than there are numbers of beats
        guardian.beat(time.monotonic_ns())
        assert guardian.confirmed()
    await send(guardian, signal.SIGKILL)
    await until(lambda: happened(guardian) == ["guard", "died", "guard"])
    assert not guardian.confirmed()  # the next one
    await until(guardian.confirmed)


def test_where_nothing_is_guarded_nothing_has_to_confirm() -> None:
    assert Guardian(Monotonic()).confirmed()


async def seen(guardian: Guardian) -> None:
    """Returns when a process has echoed the last beat."""
    guardian.beat(time.monotonic_ns())
    await until(guardian.confirmed)


def silence(guardian: Guardian, begin: int, end: int) -> None:
    """Beats for so long, without a pause: the time is that of the scheduler, here made up."""
    for at_ns in range(begin, end, BEAT_NS):
        guardian.beat(at_ns)


async def one_is_left(guardian: Guardian, now: int) -> None:
    """Beats, the next one after an echo of all that run, until there is one."""

    def has_echoed() -> bool:
        guardian.beat(now)
        return len(guardian.processes) == 1

    await until(has_echoed)


@pytest.mark.parametrize("guardian", [5000], indirect=True)  # longer than a busy machine waits
async def test_one_that_is_frozen_is_replaced_and_no_robot_stops(
    guardian: Guardian, line: Wire
) -> None:
    """The second one has all that the first had."""
    guardian.guarded[0] = Gives(guardian, line)
    guardian.demand()
    guardian.keep("body", b"stop")
    await seen(guardian)
    first = await send(guardian, signal.SIGSTOP)
    now = time.monotonic_ns() + BEAT_NS
    silence(guardian, now, now + SECOND_NS)
    await asyncio.sleep(0)
    assert len(guardian.processes) == 1
    now += SECOND_NS + BEAT_NS
    guardian.beat(now)
    await until(lambda: len(guardian.processes) == 2)
    await one_is_left(guardian, now)
    assert is_gone(first)
    assert pids(guardian) not in ([], [first])
    assert guardian.flag[0] == 0
    assert not line.has(b"s")
    await dies(guardian)
    await until(lambda: line.has(b"stopstop"))


@pytest.mark.parametrize("guardian", [5000], indirect=True)  # longer than a busy machine waits
async def test_the_first_one_may_come_back_and_stays(guardian: Guardian, line: Wire) -> None:
    guardian.guarded[0] = Gives(guardian, line)
    guardian.demand()
    guardian.keep("body", b"stop")
    await seen(guardian)
    first = await send(guardian, signal.SIGSTOP)
    now = time.monotonic_ns() + BEAT_NS
    silence(guardian, now, now + SECOND_NS + 2 * BEAT_NS)
    now += SECOND_NS + 2 * BEAT_NS
    await until(lambda: len(guardian.processes) == 2)
    os.kill(first, signal.SIGCONT)
    # Both have echoed the last beat: on a busy machine the second one may be sooner.
    await until(lambda: len(pids(guardian)) == 2)
    await until(lambda: len({guardian.flag[each.seen_at] for each in guardian.processes}) == 1)
    await one_is_left(guardian, now)
    assert pids(guardian) == [first]
    assert not line.has(b"s")
    await dies(guardian)
    await until(lambda: line.has(b"stopstop"))


async def test_where_none_echoes_within_a_second_the_robots_stop(
    guardian: Guardian, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian.demand()
    await seen(guardian)
    first = await send(guardian, signal.SIGSTOP)
    hangs = tmp_path / "hangs.py"
    hangs.write_text("import signal; signal.pause()")
    monkeypatch.setattr("hilgw.engine.control_loop.guardian.PROGRAM", hangs)
    monkeypatch.setattr("hilgw.engine.control_loop.guardian.END_S", 0.1)
    now = time.monotonic_ns() + BEAT_NS
    silence(guardian, now, now + SECOND_NS + 2 * BEAT_NS)
    await until(lambda: len(guardian.processes) == 2)
    now += 10 * FROZEN_NS  # the machine stood still
    silence(guardian, now, now + FROZEN_NS - SECOND_NS - 4 * BEAT_NS)
    await asyncio.sleep(0)
    assert len(guardian.processes) == 2
    now += FROZEN_NS
    silence(guardian, now, now + 6 * BEAT_NS)
    monkeypatch.setattr("hilgw.engine.control_loop.guardian.PROGRAM", PROGRAM)
    await until(lambda: "died" in happened(guardian))
    assert happened(guardian) == ["guard", "guard", "died", "guard"]
    assert is_gone(first)


async def test_one_that_starts_slowly_is_not_taken_for_frozen(guardian: Guardian) -> None:
    guardian.demand()
    now = time.monotonic_ns()
    silence(guardian, now, now + START_NS)  # no echo is read meanwhile
    await until(guardian.confirmed)
    assert happened(guardian) == ["guard"]


async def test_a_full_socket_refuses_and_ends_the_guardian(guardian: Guardian, line: Wire) -> None:
    guardian.demand()
    await send(guardian, signal.SIGSTOP)
    guardian.take("body", line.slave)
    taken = 0
    while guardian.keep("body", bytes(60_000)):
        taken += 1
        assert taken < 1000
    await until(lambda: happened(guardian) == ["guard", "died", "guard"])


async def test_the_end_of_the_gateway_in_order_is_the_end_of_the_guardian(
    guardian: Guardian, line: Wire
) -> None:
    guardian.demand()
    guardian.take("body", line.slave)
    await guardian.drop("body")
    await dies(guardian)
    assert not line.has(b"s")
    assert happened(guardian) == ["guard"]


@pytest.mark.parametrize("is_line", [True, False])
def test_a_port_that_is_closed_leaves_no_descriptor(is_line: bool) -> None:
    ours, theirs = os.openpty() if is_line else map(socket.socket.detach, socket.socketpair())
    before = len([*Path("/proc/self/fd").iterdir()])
    process.GuardedPort(theirs).close()
    assert len([*Path("/proc/self/fd").iterdir()]) < before  # others may be closed meanwhile
    os.close(ours)
