"""VirtualPort and its link: raw mode, pacing, replacing the port, conflicts of names."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual import pty as virtual_port
from hilgw.transports.virtual.pty import VirtualPort
from tests.transports.rig import (
    ALL_VALUES,
    Client,
    descriptors,
    turns,
    until,
)


class Device:
    """Keeps what it receives, and when."""

    def __init__(self, port: VirtualPort, answer: Callable[[bytes], bytes] | None = None) -> None:
        self.data = bytearray()
        self.bauds: list[int | None] = []
        self.first_at = self.last_at = 0.0
        self._port = port
        self._answer = answer
        port.start(self._received)

    def _received(self, data: bytes, baud: int | None) -> None:
        self.last_at = time.monotonic()
        self.first_at = self.first_at or self.last_at
        self.data += data
        self.bauds.append(baud)
        if self._answer is not None:
            self._port.write(self._answer(data))


async def test_all_values_both_ways_to_a_client_that_sets_nothing(
    tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=1_000_000)
    for _ in range(2):
        device = Device(port, answer=lambda data: data)
        fd = os.open(port.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        os.write(fd, ALL_VALUES)
        await until(lambda: len(device.data) == 256)  # noqa: B023
        back = bytearray()

        def came_back() -> bool:
            try:
                back.extend(os.read(fd, 4096))  # noqa: B023
            except BlockingIOError:
                pass
            return len(back) >= 256  # noqa: B023

        await until(came_back)
        os.close(fd)
        assert device.data == back == ALL_VALUES
        port.unplug()  # a hang-up makes a tty cooked again
        port.plug()
    port.close()


@pytest.mark.parametrize("baud_rate", [9600, 115200])
@pytest.mark.parametrize("bits", [10, 12])
async def test_the_pace_of_the_line_both_ways(
    baud_rate: int, bits: int, tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=baud_rate, bits_per_byte=bits)
    device = Device(port)
    client = Client(await open_serial(port.path, LineSettings(baud_rate), timer))
    size = baud_rate // bits // 4  # a quarter of a second
    start = time.monotonic()
    client.transport.write(bytes(size))
    port.write(bytes(size))
    await client.received(size)
    received_at = time.monotonic()
    await until(lambda: len(device.data) == size)
    exact = size * bits / baud_rate
    for took in (received_at - start, device.last_at - start):
        assert exact <= took  # how much later is the machine's; test_pacing has it exactly
    await client.close()
    port.close()


@pytest.mark.parametrize("baud_rate", [300, 9600, 57600, 115200, 250_000, 921_600, 74_880])
async def test_the_device_gets_the_rate_of_the_client(
    baud_rate: int, tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
    device = Device(port)
    client = Client(await open_serial(port.path, LineSettings(baud_rate), timer))
    client.transport.write(b"x")
    await until(lambda: bool(device.data))
    assert device.bauds == [baud_rate]
    await client.close()
    port.close()


async def test_a_slower_client_is_read_at_its_own_pace(tmp_path: Path, timer: Timer) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
    device = Device(port)
    client = Client(await open_serial(port.path, LineSettings(9600), timer))
    start = time.monotonic()
    client.transport.write(bytes(96))
    await until(lambda: len(device.data) == 96)
    assert device.last_at - start >= 0.1
    await client.close()
    port.close()


async def test_a_stalled_device_stalls_its_client(tmp_path: Path, timer: Timer) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=4_000_000)
    device = Device(port)
    client = Client(await open_serial(port.path, LineSettings(4_000_000), timer))
    port.stall()
    block = os.urandom(100_000)
    client.transport.write(block)
    await turns()
    assert client.transport.pending > 50_000
    assert not device.data
    port.unstall()
    await until(lambda: len(device.data) == len(block))
    assert device.data == block
    await client.close()
    port.close()


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what os.read returns from now on."""
    read, sizes = os.read, list[int]()

    def counted(fd: int, size: int) -> bytes:
        sizes.append(0)
        sizes[-1] = len(data := read(fd, size))
        return data

    monkeypatch.setattr(os, "read", counted)
    return sizes


async def test_what_the_line_has_not_carried_stays_with_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    sizes = counted_reads(monkeypatch)

    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=9600)
    device = Device(port)
    client = Client(await open_serial(port.path, LineSettings(9600), timer))
    client.transport.write(bytes(100_000))
    await until(lambda: len(device.data) > 5)
    assert client.transport.pending > 75_000  # the rest is in the kernel
    assert sum(sizes) - len(device.data) <= 5
    await client.close()
    port.close()


async def test_the_newest_bytes_of_the_device_are_dropped_and_counted(
    tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=1_000_000, limit=1000)
    Device(port)
    client = Client(await open_serial(port.path, LineSettings(1_000_000), timer))
    port.write(b"a" * 600)
    port.write(b"b" * 600)
    assert port.overrun == 200
    await client.received(1000)
    await turns()
    assert client.data == b"a" * 600 + b"b" * 400
    await client.close()
    port.close()


async def test_what_a_client_leaves_lying_is_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    monkeypatch.setattr(virtual_port, "STALE_S", 0.05)

    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=4_000_000)
    Device(port)
    client = Client(await open_serial(port.path, LineSettings(4_000_000), timer))
    client.transport.pause_reading()
    port.write(bytes(60_000))
    await until(lambda: port.overrun > 0)
    client.transport.resume_reading()
    await until(lambda: len(client.data) + port.overrun == 60_000)
    port.write(b"fresh")
    await until(lambda: client.data.endswith(b"fresh"))
    await client.close()
    port.close()


async def test_a_client_that_reads_late_but_in_time_loses_nothing(
    tmp_path: Path, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=4_000_000)
    Device(port)
    client = Client(await open_serial(port.path, LineSettings(4_000_000), timer))
    client.transport.pause_reading()
    block = os.urandom(60_000)
    port.write(block)
    await turns(100)
    client.transport.resume_reading()
    assert await client.received(len(block)) == block
    assert port.overrun == 0
    await client.close()
    port.close()


async def test_unplugged_the_name_is_gone_and_comes_back_with_another_number(
    tmp_path: Path, timer: Timer
) -> None:
    link = tmp_path / "port"
    port = VirtualPort(timer, str(link), baud_rate=115200)
    device = Device(port)
    for _ in range(5):
        number = link.readlink()
        client = Client(await open_serial(str(link), LineSettings(115200), timer))
        port.unplug()
        assert not port.plugged
        assert not link.is_symlink()
        port.write(b"nobody hears this")
        await until(lambda: bool(client.lost))  # noqa: B023
        with pytest.raises(PortError) as caught:
            await open_serial(str(link), LineSettings(115200), timer)
        assert caught.value.reason == PortError.ABSENT
        await client.close()
        port.plug()
        assert port.plugged
        assert link.readlink() != number
    client = Client(await open_serial(str(link), LineSettings(115200), timer))
    client.transport.write(b"again")
    await until(lambda: device.data.endswith(b"again"))
    await client.close()
    port.close()
    assert not link.is_symlink()


async def test_a_port_that_is_not_opened_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"))
    Device(port)
    fd = os.open(port.path, os.O_RDWR | os.O_NOCTTY)
    os.close(fd)  # without a slave of its own the master would be readable from here on
    await turns()
    sizes = counted_reads(monkeypatch)
    await turns(100)
    assert sizes == []
    port.close()


async def test_without_a_wish_it_finds_a_name_and_cleans_up(timer: Timer) -> None:
    before = descriptors()
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
    assert descriptors().items() <= before.items()


TERMINAL = """
import os, pty
child, fd = pty.fork()
print(os.read(fd, 99).decode().strip() if child else os.ttyname(0), flush=True)
input()
"""

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


class TestName:
    async def test_a_file_that_is_not_a_link_is_left_alone(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        before = descriptors()
        path = tmp_path / "thesis.txt"
        path.write_text("years of work")
        with pytest.raises(PortError) as caught:
            VirtualPort(timer, str(path))
        assert caught.value.reason == PortError.BUSY
        assert path.read_text() == "years of work"
        assert descriptors().items() <= before.items()

    async def test_a_link_to_something_else_is_left_alone(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        path = tmp_path / "by-id"
        path.symlink_to("/dev/null")
        with pytest.raises(PortError) as caught:
            VirtualPort(timer, str(path))
        assert caught.value.reason == PortError.BUSY
        assert str(path.readlink()) == "/dev/null"

    @pytest.mark.parametrize("target", ["/dev/pts/99999", "nowhere"])
    async def test_a_stale_link_is_replaced(
        self, target: str, tmp_path: Path, timer: Timer
    ) -> None:
        path = tmp_path / "port"
        path.symlink_to(target)
        port = VirtualPort(timer, str(path))
        assert str(path.resolve()).startswith("/dev/pts/")
        assert list(tmp_path.iterdir()) == [path]
        port.close()

    @pytest.mark.process
    async def test_a_stale_link_whose_number_is_a_terminal_now_is_replaced(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        path = tmp_path / "port"
        code = TERMINAL
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as terminal:
            assert terminal.stdout is not None
            path.symlink_to(terminal.stdout.readline().strip())
            assert path.exists()
            port = VirtualPort(timer, str(path))
            port.close()
            terminal.kill()

    @pytest.mark.process
    async def test_a_killed_port_whose_number_is_reused_leads_no_program_elsewhere(
        self, tmp_path: Path, timer: Timer
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
        with pytest.raises(PortError) as caught:
            await open_serial(str(path), LineSettings(115200), timer)
        assert caught.value.reason == PortError.ABSENT
        port = VirtualPort(timer, str(path))
        assert str(path.resolve()) != number
        port.close()
        assert not path.is_symlink()
        for fd in foreign:
            os.close(fd)

    async def test_a_link_of_a_killed_port_whose_pid_is_reused_is_replaced(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        path = tmp_path / "port"
        with (tmp_path / "notes").open("w") as notes:
            path.symlink_to(f"/proc/{os.getpid()}/fd/{notes.fileno()}")
            assert path.exists()
            port = VirtualPort(timer, str(path))
            assert str(path.resolve()).startswith("/dev/pts/")
            port.close()

    async def test_the_name_of_a_port_that_lives_is_left_to_it(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        path = str(tmp_path / "port")
        first = VirtualPort(timer, path)
        with pytest.raises(PortError) as caught:
            VirtualPort(timer, path)
        assert caught.value.reason == PortError.BUSY
        assert f"pid {os.getpid()}" in caught.value.what
        assert caught.value.fix == "choose another name, or stop that process"
        assert os.path.exists(path)  # noqa: PTH110
        first.close()

    async def test_a_folder_that_is_not_there(self, tmp_path: Path, timer: Timer) -> None:
        with pytest.raises(PortError) as caught:
            VirtualPort(timer, str(tmp_path / "no" / "port"))
        assert caught.value.reason == PortError.ABSENT

    async def test_a_folder_one_may_not_write(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(os, "symlink", refuse)
        with pytest.raises(PortError) as caught:
            VirtualPort(timer, str(tmp_path / "port"))
        assert caught.value.reason == PortError.DENIED

    async def test_a_link_that_somebody_moved_is_not_removed(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        path = tmp_path / "port"
        port = VirtualPort(timer, str(path))
        path.unlink()
        path.symlink_to("/dev/null")
        port.close()
        assert str(path.readlink()) == "/dev/null"
