"""The line of an open port: changed in one step, on a pty; and what else a bridge needs of it."""

import asyncio
import os
import socket
import struct
import termios
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import serial

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings, describe_modem_lines
from hilgw.transports.serial import tty
from hilgw.transports.serial.port import open_serial, set_rs485
from hilgw.transports.serial.stream import SerialStream
from hilgw.transports.tcp.stream import TcpStream, peer_has_ended
from hilgw.transports.virtual.pipe import Pipe
from tests.scenarios import scenario_of
from tests.transports.rig import LINE, Client, descriptors, run, turns, until


def with_pty(use: Callable[[SerialStream, int], Coroutine[Any, Any, None]]) -> None:
    """An open pty as a serial port, and the descriptor of its other end."""

    async def scenario() -> None:
        timer = Timer(asyncio.get_running_loop())
        master, slave = os.openpty()
        stream = await open_serial(os.ttyname(slave), LINE, timer)
        assert isinstance(stream, SerialStream)
        try:
            await use(stream, master)
        finally:
            stream.close()
            os.close(master)
            os.close(slave)
            timer.close()

    run(scenario)


@pytest.mark.parametrize("rate", [9600, 250000, 12345])
@scenario_of(with_pty)
async def test_the_line_changes_and_bytes_still_pass_raw(
    stream: SerialStream, master: int, /, rate: int
) -> None:
    client = Client(stream)
    stream.set_line(LineSettings(rate, stop_bits=2, rtscts=True))
    settings = termios.tcgetattr(stream.fileno())
    assert settings[2] & termios.CSTOPB
    assert settings[2] & termios.CRTSCTS
    assert settings[6][termios.VMIN] == 1  # an empty read would be a hang-up
    os.write(master, bytes(range(256)))
    await until(lambda: client.data == bytes(range(256)))
    assert not client.lost
    stream.set_line(LINE)
    assert not termios.tcgetattr(stream.fileno())[2] & (termios.CSTOPB | termios.CRTSCTS)


@scenario_of(with_pty)
async def test_a_pty_keeps_eight_bits_and_reports_it(stream: SerialStream, master: int, /) -> None:
    known = len(stream.notices)
    stream.set_line(LineSettings(9600, data_bits=7, parity="E"))
    assert "neither parity nor 7 data bits" in stream.notices[known]
    assert termios.tcgetattr(stream.fileno())[4] == termios.B9600


@scenario_of(with_pty)
async def test_a_line_that_the_driver_refuses_leaves_the_old_one(
    stream: SerialStream, master: int, /
) -> None:
    with pytest.raises(PortError, match="does not accept") as caught:
        stream.set_line(LineSettings(9600, stop_bits=3))
    assert caught.value.reason == PortError.UNSUPPORTED
    settings = termios.tcgetattr(stream.fileno())
    assert settings[4] == termios.B115200
    assert settings[6][termios.VMIN] == 1


@scenario_of(with_pty)
async def test_a_pty_has_no_modem_lines_ignores_breaks_and_purges(
    stream: SerialStream, master: int, /
) -> None:
    with pytest.raises(PortError) as caught:
        stream.modem_state()
    assert caught.value.reason == PortError.UNSUPPORTED
    stream.set_break(True)
    stream.set_break(False)
    os.write(master, b"old")
    await turns()
    assert stream.purge(received=True, to_send=True) == 0
    client = Client(stream)
    os.write(master, b"new")
    await until(lambda: client.data == b"new")
    assert stream.out_waiting == 0


# --- taking back ----------------------------------------------------------------------------------


@scenario_of(with_pty)
async def test_bytes_that_the_kernel_has_not_accepted_are_taken_back(
    stream: SerialStream, master: int, /
) -> None:
    data = bytes(range(256)) * 400
    stream.write(data)
    waiting = stream.pending
    rest = stream.take_unsent()
    assert (len(rest), stream.pending) == (waiting, 0)
    assert rest == data[-waiting:]
    assert stream.take_unsent() == b""
    arrived = bytearray()
    while len(arrived) < len(data) - waiting:
        arrived += os.read(master, 65536)
    stream.write(b"on")
    arrived += os.read(master, 65536)
    assert arrived == data[:-waiting] + b"on"


async def test_a_pipe_gives_back_what_is_not_on_the_wire() -> None:
    timer = Timer(asyncio.get_running_loop())
    client = await Pipe(timer, LINE).open()
    client.write(b"abc")
    assert client.take_unsent() == b"abc"
    assert client.pending == 0
    assert client.discard_received() == client.in_waiting == client.out_waiting == 0
    timer.close()


# --- an end that is not read ----------------------------------------------------------------------


def connected(family: socket.AddressFamily, host: str) -> tuple[socket.socket, socket.socket]:
    with socket.create_server((host, 0), family=family) as server:
        client = socket.create_connection(server.getsockname()[:2])
        return server.accept()[0], client


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("hidden", [False, True])
async def test_an_end_is_noticed_while_reading_is_paused(host: str, hidden: bool) -> None:
    """hidden: it comes after more bytes than the kernel of the reader holds."""

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    served, peer = connected(family, host)
    served.setblocking(False)
    stream = TcpStream(served, "peer")
    ended: list[bool] = []
    stream.on_peer_ended = lambda: ended.append(True)
    stream.on_half_close = lambda: ended.append(False)
    stream.pause_reading()  # before start(), as a bridge does whose port is full
    client = Client(stream)
    peer.setblocking(False)
    size = 5
    peer.send(b"first")
    while hidden:
        try:
            size += peer.send(bytes(65536))
        except BlockingIOError:
            break
    assert not peer_has_ended(served)
    peer.close()
    assert peer_has_ended(served)
    await until(lambda: ended == [True])
    if hidden:
        assert stream.discard_received() == size
    else:
        stream.resume_reading()
        await until(lambda: ended == [True, False])
        assert client.data == b"first"
    stream.close()


async def test_the_last_bytes_stay_readable_when_the_peer_cannot_be_written_to() -> None:
    served, peer = connected(socket.AF_INET, "127.0.0.1")
    served.setblocking(False)
    stream = TcpStream(served, "peer")
    ended: list[bool] = []
    stream.on_peer_ended = lambda: ended.append(True)
    stream.on_half_close = lambda: ended.append(False)
    client = Client(stream)
    stream.pause_reading()
    peer.sendall(b"the last words")
    peer.close()
    await until(lambda: ended == [True])
    stream.write(b"an answer")
    with pytest.raises(PortError) as caught:
        for _ in range(1000):
            stream.write(b"more")
            await turns(1)
    assert caught.value.reason == PortError.LOST
    assert not client.lost
    stream.resume_reading()
    await until(lambda: client.lost != [])
    assert client.data == b"the last words"


async def test_what_a_peer_sent_before_its_reset_is_not_delivered_after_a_pause() -> None:
    """Although Linux would still give it to a reader."""

    served, peer = connected(socket.AF_INET, "127.0.0.1")
    served.setblocking(False)
    stream = TcpStream(served, "peer")
    stream.on_peer_ended = lambda: None
    stream.pause_reading()
    client = Client(stream)
    peer.sendall(b"stale")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    stream.resume_reading()
    await until(lambda: client.lost != [])
    assert client.data == b""
    assert stream.unread == 5


def test_a_state_that_is_not_available_is_not_an_end() -> None:
    with socket.socket() as unconnected:
        assert not peer_has_ended(unconnected)


# --- What DTR and RTS are once a port is open -----------------------------------------------------


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ({}, "DTR on, RTS on: Linux raises them at opening"),
        ({"dtr": False, "rts": False}, "DTR off after a pulse at opening, RTS off after a pulse"),
        ({"dtr": False, "rtscts": True}, "DTR off after a pulse at opening, RTS by flow control"),
        ({"rs485": "half-duplex"}, "DTR on, RTS on while the port sends"),
        ({"rs485": "half-duplex-inverted"}, "DTR on, RTS off while it sends"),
    ],
)
def test_on_linux(line: dict[str, Any], text: str) -> None:
    assert describe_modem_lines(LineSettings(**line), "linux").startswith(text)


def test_elsewhere_the_driver_decides() -> None:
    assert describe_modem_lines(LineSettings(dtr=True), "win32") == (
        "DTR on, RTS as the driver sets it"
    )


# --- RS-485: set in the driver where supported, an error or a notice elsewhere --------------------


@pytest.fixture
def pty() -> Iterator[str]:
    master, slave = os.openpty()
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize(("mode", "on"), [("half-duplex", True), ("half-duplex-inverted", False)])
def test_rts_is_on_while_it_sends_or_off(mode: str, on: bool) -> None:
    port = SimpleNamespace(port="/dev/ttyS9", rs485_mode=None)
    set_rs485(port, mode)
    asked = port.rs485_mode
    assert (asked.rts_level_for_tx, asked.rts_level_for_rx, asked.loopback) == (on, not on, False)


def test_a_driver_that_cannot_is_an_error_with_a_fix(pty: str) -> None:
    with serial.Serial(pty) as port, pytest.raises(PortError) as error:
        set_rs485(port, "half-duplex")
    assert error.value.reason == PortError.UNSUPPORTED
    assert "remove rs485" in error.value.fix


async def test_a_real_port_whose_driver_cannot_is_not_opened(
    pty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tty, "is_pseudo_terminal_path", lambda path: False)

    before = descriptors()
    timer = Timer(asyncio.get_running_loop())
    with pytest.raises(PortError) as error:
        await open_serial(pty, LineSettings(rs485="half-duplex"), timer)
    timer.close()
    assert error.value.reason == PortError.UNSUPPORTED
    assert "RS-485" in error.value.what
    assert error.value.where == pty
    await until(lambda: descriptors().items() <= before.items())


def test_a_pseudo_terminal_does_without_and_reports_it(pty: str) -> None:
    async def notices() -> list[str]:
        timer = Timer(asyncio.get_running_loop())
        transport = await open_serial(pty, LineSettings(rs485="half-duplex"), timer)
        try:
            reported: list[str] = transport.notices
            return reported
        finally:
            transport.close()
            await transport.wait_closed()
            timer.close()

    assert "a pseudo terminal has no RTS; rs485 is ignored" in asyncio.run(notices())
