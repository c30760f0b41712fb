"""VirtualPort and its link, and temporary folders that end with their process."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import Clock
from hilgw.transports.base import LineSettings
from hilgw.transports.own_folder import PREFIX, OwnFolder
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pty import VirtualPort
from tests.transports.rig import (
    ALL_VALUES,
    Client,
    Device,
    received_by,
    refuses,
    turns,
    until,
    waiting,
)


async def opened(port: VirtualPort, timer: Timer, rate: int) -> Client:
    return Client(await open_serial(port.path, LineSettings(rate), timer))


@asynccontextmanager
async def served(
    folder: Path, timer: Timer, rate: int, **more: int
) -> AsyncIterator[tuple[VirtualPort, Device, Client]]:
    """A port with a device and a client."""
    port = VirtualPort(timer, str(folder / "port"), baud_rate=rate, **more)
    client = await opened(port, timer, rate)
    yield port, Device(port), client
    await client.close()
    port.close()


@pytest.mark.parametrize("baud_rate", [9600, 250_000, 921_600, 74_880])
async def test_the_device_gets_the_rate_of_the_client_and_reads_at_its_pace(
    baud_rate: int, tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
    device = Device(port)
    client = await opened(port, timer, baud_rate)
    start = time.monotonic()
    client.transport.write(bytes(96))
    await until(lambda: len(device.data) == 96)
    assert {*device.bauds} == {baud_rate}
    assert device.last_at - start >= 960 / min(baud_rate, 115200)
    await client.close()
    port.close()


async def test_a_line_that_is_set_is_that_of_the_bytes_to_the_client(tmp_path: Path) -> None:
    clock = Clock()
    port = VirtualPort(clock, str(tmp_path / "port"))
    port.set_line(1000, 12)
    port.write(b"x")
    clock.run(11_999_999)
    assert port.pending == 1
    clock.run(1)
    assert port.pending == 0
    port.close()


async def test_all_values_both_ways_to_a_client_that_sets_nothing(
    tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=1_000_000)
    port.start(lambda data, _: port.write(data))
    for _ in range(2):
        fd = os.open(port.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        os.write(fd, ALL_VALUES)
        assert await received_by(lambda: waiting(lambda size: os.read(fd, size)), 256) == ALL_VALUES  # noqa: B023
        os.close(fd)
        port.unplug()  # a hang-up makes a tty cooked again
        port.plug()
    port.close()


async def test_a_port_that_is_not_opened_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    """Neither before a client nor after it."""
    port = VirtualPort(timer, str(tmp_path / "port"))
    device = Device(port)
    fd = os.open(port.path, os.O_RDWR | os.O_NOCTTY)
    os.write(fd, b"x")
    await until(lambda: device.data == b"x")
    os.close(fd)  # without a slave of its own the master would be readable from here on
    await turns()
    sizes: list[int] = []
    monkeypatch.setattr(os, "read", lambda fd, size: sizes.append(size) or b"")
    await turns(100)
    assert sizes == []
    port.close()


async def test_what_the_line_has_not_carried_stays_with_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    """The port reads one slice ahead, 5 bytes at this rate."""
    read, sizes = os.read, list[int]()

    def counted(fd: int, size: int) -> bytes:
        data = read(fd, size)
        sizes.append(len(data))
        return data

    async with served(tmp_path, timer, 9600) as (_, device, client):
        monkeypatch.setattr(os, "read", counted)
        client.transport.write(bytes(100_000))
        await until(lambda: len(device.data) > 5)
        assert client.transport.pending > 75_000  # the rest is in the kernel
        assert sum(sizes) - len(device.data) <= 5


async def test_a_stalled_device_stalls_its_client(tmp_path: Path, timer: Timer) -> None:
    async with served(tmp_path, timer, 4_000_000) as (port, device, client):
        port.stall()
        block = os.urandom(100_000)
        client.transport.write(block)
        await turns()
        assert client.transport.pending > 50_000
        assert not device.data
        port.unstall()
        await until(lambda: len(device.data) == len(block))
        assert device.data == block


async def test_a_client_that_reads_late_but_in_time_loses_nothing(
    tmp_path: Path, timer: Timer
) -> None:
    async with served(tmp_path, timer, 4_000_000) as (port, _, client):
        client.transport.pause_reading()
        block = os.urandom(60_000)
        port.write(block)
        await turns(100)
        client.transport.resume_reading()
        assert await client.received(len(block)) == block
        assert port.overrun == 0


async def test_what_a_client_leaves_lying_is_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    monkeypatch.setattr("hilgw.transports.virtual.pty.STALE_S", 0.05)
    async with served(tmp_path, timer, 4_000_000) as (port, _, client):
        client.transport.pause_reading()
        port.write(bytes(60_000))
        await until(lambda: port.overrun > 0)
        client.transport.resume_reading()
        await until(lambda: len(client.data) + port.overrun == 60_000)
        port.write(b"fresh")
        await until(lambda: client.data.endswith(b"fresh"))


async def test_the_newest_bytes_of_the_device_are_dropped_and_counted(
    tmp_path: Path, timer: Timer
) -> None:
    async with served(tmp_path, timer, 1_000_000, limit=1000) as (port, _, client):
        port.write(b"a" * 600)
        port.write(b"b" * 600)
        assert port.overrun == 200
        await client.received(1000)
        await turns()
        assert client.data == b"a" * 600 + b"b" * 400


async def test_unplugged_the_name_is_gone_and_comes_back_with_another_number(
    tmp_path: Path, timer: Timer
) -> None:
    link = tmp_path / "port"
    port = VirtualPort(timer, str(link), baud_rate=115200)
    device = Device(port)
    for _ in range(2):
        number = link.readlink()
        client = await opened(port, timer, 115200)
        port.unplug()
        assert not link.is_symlink()
        port.write(b"nobody hears this")
        await until(lambda: bool(client.lost))  # noqa: B023
        with refuses(PortError.ABSENT):
            await open_serial(str(link), LineSettings(115200), timer)
        await client.close()
        port.plug()
        assert link.readlink() != number
    client = await opened(port, timer, 115200)
    client.transport.write(b"again")
    await until(lambda: device.data.endswith(b"again"))
    await client.close()
    port.close()
    assert not link.is_symlink()


async def test_without_a_wish_it_finds_a_name_and_cleans_up(timer: Timer) -> None:
    port = VirtualPort(timer)
    path = Path(port.path)
    assert path.is_symlink()
    port.unplug()
    port.plug()
    assert port.path == str(path)
    port.close()
    port.close()
    port.plug()
    assert not port.plugged
    assert not path.parent.exists()


KILLED = """
import asyncio, os, sys
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.transports.virtual.pty import VirtualPort

async def main():
    port = VirtualPort(Timer(asyncio.get_running_loop()), sys.argv[1])
    print(os.path.realpath(sys.argv[1]), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("name", ["thesis.txt", "by-id", "live"])
async def test_a_name_that_belongs_to_something_else_is_left_alone(
    name: str, tmp_path: Path, timer: Timer
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "by-id").symlink_to("/dev/null")
    live = VirtualPort(timer, str(tmp_path / "live"))
    with refuses(PortError.BUSY) as caught:
        VirtualPort(timer, str(tmp_path / name))
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert str((tmp_path / "by-id").readlink()) == "/dev/null"
    assert (tmp_path / "live").exists()
    if name == "live":
        assert f"pid {os.getpid()}" in caught.value.what
        assert caught.value.fix == "choose another name, or stop that process"
    live.close()


@pytest.mark.parametrize("target", ["/dev/pts/99999", "nowhere", "pid reused"])
async def test_a_stale_link_is_replaced(target: str, tmp_path: Path, timer: Timer) -> None:
    path = tmp_path / "port"
    with (tmp_path / "notes").open("w") as notes:
        reused = f"/proc/{os.getpid()}/fd/{notes.fileno()}"
        path.symlink_to(reused if target == "pid reused" else target)
        port = VirtualPort(timer, str(path))
        assert str(path.resolve()).startswith("/dev/pts/")
        assert {*tmp_path.iterdir()} == {path, tmp_path / "notes"}
        port.close()


@pytest.mark.process
async def test_a_killed_port_whose_number_is_reused_leads_no_program_elsewhere(
    tmp_path: Path, timer: Timer
) -> None:
    """Another program hosts a device on the number of a port that was killed."""

    path = tmp_path / "port"
    foreign: list[int] = []
    number = ""
    while not foreign or os.ttyname(foreign[-1]) != number:
        # The lowest free number, unless another program of this machine was faster: again.
        if len(foreign) % 20 == 0:
            assert len(foreign) < 200
            path.unlink(missing_ok=True)
            with subprocess.Popen(
                [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
            ) as killed:
                assert killed.stdout is not None
                number = killed.stdout.readline().strip()
                assert str(path.resolve()) == number
                killed.kill()
        foreign += os.openpty()
    with refuses(PortError.ABSENT):
        await open_serial(str(path), LineSettings(115200), timer)
    port = VirtualPort(timer, str(path))
    assert str(path.resolve()) != number
    port.close()
    assert not path.is_symlink()
    for fd in foreign:
        os.close(fd)


async def test_a_folder_that_is_not_there_or_one_may_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with refuses(PortError.ABSENT):
        VirtualPort(timer, str(tmp_path / "no" / "port"))
    monkeypatch.setattr(os, "symlink", refuse)
    with refuses(PortError.DENIED):
        VirtualPort(timer, str(tmp_path / "port"))


async def test_a_link_that_somebody_moved_is_not_removed(tmp_path: Path, timer: Timer) -> None:
    path = tmp_path / "port"
    port = VirtualPort(timer, str(path))
    path.unlink()
    path.symlink_to("/dev/null")
    port.close()
    assert str(path.readlink()) == "/dev/null"


OWNER = """
import signal
from hilgw.transports.own_folder import OwnFolder
own = OwnFolder()
(own.path / "port").symlink_to("/proc/1/fd/1")
print(own.path, flush=True)
signal.pause()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.mark.process
def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_live_one_stays(
    temporary: Path,
) -> None:
    command = [sys.executable, "-c", OWNER]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as live,
    ):
        try:
            assert killed.stdout is not None and live.stdout is not None
            dead, alive = (Path(each.stdout.readline().strip()) for each in (killed, live))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert dead.is_dir()
            own = OwnFolder()
            assert sorted(temporary.iterdir()) == sorted([alive, own.path])
            own.close()
            assert list(temporary.iterdir()) == [alive]
        finally:
            killed.kill()
            live.kill()


def test_no_other_folder_and_no_target_of_a_link_is_removed(temporary: Path) -> None:
    kept = temporary / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (temporary / "hilgw-run-link").symlink_to(kept)
    (temporary / "hilgw-0").mkdir()
    (temporary / "hilgw-0" / "1.sock").touch()
    own = OwnFolder()
    assert (kept / "file").exists()
    assert (temporary / "hilgw-0" / "1.sock").exists()
    own.close()


def test_a_folder_that_its_owner_removes_meanwhile_is_left_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = temporary / f"{PREFIX}going"
    going.mkdir()
    (going / "port").touch()
    scan = os.scandir

    def removed_first(path: Any) -> Any:
        if str(path) == str(going):  # a descriptor while it is removed
            shutil.rmtree(going)
        return scan(path)

    monkeypatch.setattr("os.scandir", removed_first)
    OwnFolder().close()
    assert not going.exists()
    assert list(temporary.iterdir()) == []
