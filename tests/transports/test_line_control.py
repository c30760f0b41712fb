"""The line of an open port, and PacedLine: never faster than the line."""

import asyncio
import os
import socket
import termios
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import Clock
from hilgw.transports.base import LineSettings, describe_modem_lines
from hilgw.transports.serial import tty
from hilgw.transports.serial.descriptor import SerialStream
from hilgw.transports.serial.port import open_serial, set_rs485
from hilgw.transports.tcp.stream import TcpStream, peer_has_ended
from hilgw.transports.virtual.pipe import CATCH_UP_NS, SLICE_NS, PacedLine, Pipe
from tests.transports.rig import LINE, Client, Pty, refuses, reset, turns, until


@pytest.fixture
def ends(timer: Timer, runner: asyncio.Runner) -> Iterator[tuple[SerialStream, int]]:
    """An open pty as a serial port, and the descriptor of its other end."""
    with Pty() as pty:
        stream = runner.run(open_serial(pty.path, LINE, timer))
        assert isinstance(stream, SerialStream)
        yield stream, pty.master
        stream.close()
        runner.run(stream.wait_closed())


Ends = tuple[SerialStream, int]


@pytest.mark.parametrize("rate", [9600, 250000, 12345])
async def test_the_line_changes_and_bytes_still_pass_raw(ends: Ends, rate: int) -> None:
    stream, master = ends
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


async def test_a_pty_keeps_eight_bits_and_reports_it_and_what_is_refused_changes_nothing(
    ends: Ends,
) -> None:
    stream, _ = ends
    known = len(stream.notices)
    stream.set_line(LineSettings(9600, data_bits=7, parity="E"))
    assert "neither parity nor 7 data bits" in stream.notices[known]
    with pytest.raises(PortError, match="does not accept") as caught:
        stream.set_line(LineSettings(115200, stop_bits=3))
    assert caught.value.reason == PortError.UNSUPPORTED
    settings = termios.tcgetattr(stream.fileno())
    assert settings[4] == termios.B9600
    assert settings[6][termios.VMIN] == 1


async def test_a_pty_has_no_modem_lines_ignores_breaks_and_purges(ends: Ends) -> None:
    stream, master = ends
    with refuses(PortError.UNSUPPORTED):
        stream.modem_state()
    stream.set_break(True)
    stream.set_break(False)
    os.write(master, b"old")
    await turns()
    assert stream.purge(received=True, to_send=True) == 0
    client = Client(stream)
    os.write(master, b"new")
    await until(lambda: client.data == b"new")
    assert stream.out_waiting == 0


async def test_bytes_that_the_kernel_has_not_accepted_are_taken_back(ends: Ends) -> None:
    stream, master = ends
    os.set_blocking(master, True)
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


async def test_a_pipe_gives_back_what_is_not_on_the_wire(timer: Timer) -> None:
    client = await Pipe(timer, LINE).open()
    client.write(b"abc")
    assert client.take_unsent() == b"abc"
    assert client.pending == 0
    assert client.discard_received() == client.in_waiting == client.out_waiting == 0


class Paused:
    """A stream that is paused before start(), as by a bridge whose port is full."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, 0), family=family) as server:
            self.peer = socket.create_connection(server.getsockname()[:2])
            self.served = server.accept()[0]
        self.served.setblocking(False)
        self.peer.setblocking(False)
        self.stream = TcpStream(self.served, "peer")
        self.ended: list[bool] = []
        self.stream.on_peer_ended = lambda: self.ended.append(True)
        self.stream.on_half_close = lambda: self.ended.append(False)
        self.stream.pause_reading()
        self.client = Client(self.stream)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("hidden", [False, True])
async def test_an_end_is_noticed_while_reading_is_paused(host: str, hidden: bool) -> None:
    """hidden: it comes after more bytes than the kernel of the reader holds."""
    paused = Paused(host)
    stream, peer, ended = paused.stream, paused.peer, paused.ended
    size = peer.send(b"first")
    while hidden:
        try:
            size += peer.send(bytes(65536))
        except BlockingIOError:
            break
    assert not peer_has_ended(paused.served)
    peer.close()
    assert peer_has_ended(paused.served)
    await until(lambda: ended == [True])
    if hidden:
        assert stream.discard_received() == size
    else:
        stream.resume_reading()
        await until(lambda: ended == [True, False])
        assert paused.client.data == b"first"
    stream.close()
    with socket.socket() as unconnected:
        assert not peer_has_ended(unconnected)


async def test_the_last_bytes_stay_readable_when_the_peer_cannot_be_written_to() -> None:
    paused = Paused()
    stream, client = paused.stream, paused.client
    paused.peer.sendall(b"the last words")
    paused.peer.close()
    await until(lambda: paused.ended == [True])
    stream.write(b"an answer")
    with refuses(PortError.LOST):
        for _ in range(1000):
            stream.write(b"more")
            await turns(1)
    assert not client.lost
    stream.resume_reading()
    await until(lambda: client.lost != [])
    assert client.data == b"the last words"


async def test_what_a_peer_sent_before_its_reset_is_not_delivered_after_a_pause() -> None:
    """Although Linux would still give it to a reader."""
    paused = Paused()
    paused.peer.sendall(b"stale")
    reset(paused.peer)
    paused.stream.resume_reading()
    await until(lambda: paused.client.lost != [])
    assert paused.client.data == b""
    assert paused.stream.unread == 5


@pytest.mark.parametrize(
    ("line", "system", "text"),
    [
        ({}, "linux", "DTR on, RTS on: Linux raises them at opening"),
        (
            {"dtr": False, "rts": False},
            "linux",
            "DTR off after a pulse at opening, RTS off after a pulse",
        ),
        (
            {"dtr": False, "rtscts": True},
            "linux",
            "DTR off after a pulse at opening, RTS by flow control",
        ),
        ({"rs485": "half-duplex"}, "linux", "DTR on, RTS on while the port sends"),
        ({"rs485": "half-duplex-inverted"}, "linux", "DTR on, RTS off while it sends"),
        ({"dtr": True}, "win32", "DTR on, RTS as the driver sets it"),
    ],
)
def test_modem_lines_in_words(line: dict[str, Any], system: str, text: str) -> None:
    assert describe_modem_lines(LineSettings(**line), system).startswith(text)


@pytest.mark.parametrize(("mode", "on"), [("half-duplex", True), ("half-duplex-inverted", False)])
def test_rts_is_on_while_it_sends_or_off(mode: str, on: bool) -> None:
    port = SimpleNamespace(port="/dev/ttyS9", rs485_mode=None)
    set_rs485(port, mode)
    asked = port.rs485_mode
    assert (asked.rts_level_for_tx, asked.rts_level_for_rx, asked.loopback) == (on, not on, False)


@pytest.mark.parametrize("is_pty", [False, True])
async def test_a_driver_without_rs485_is_an_error_and_a_pseudo_terminal_reports_it(
    is_pty: bool, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tty, "is_pseudo_terminal_path", lambda path: is_pty)
    line = LineSettings(rs485="half-duplex")
    with Pty() as pty:
        if is_pty:
            stream = await open_serial(pty.path, line, timer)
            assert "a pseudo terminal has no RTS; rs485 is ignored" in stream.notices
            stream.close()
            await stream.wait_closed()
        else:
            with pytest.raises(PortError) as error:
                await open_serial(pty.path, line, timer)
            assert error.value.reason == PortError.UNSUPPORTED
            assert "RS-485" in error.value.what and error.value.where == pty.path
            assert "remove rs485" in error.value.fix


SECOND = 1_000_000_000


class Rig:
    def __init__(self, baud_rate: int | None, bits: int = 10) -> None:
        self.clock = Clock(SECOND + 7)
        self.arrived: list[tuple[int, bytes]] = []
        self.line = PacedLine(
            self.clock,
            lambda data: self.arrived.append((self.clock.time, data)),
            baud_rate=baud_rate,
            bits_per_byte=bits,
        )

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.arrived)


RATES = st.integers(min_value=50, max_value=4_000_000)


@given(
    baud_rate=RATES,
    bits=st.integers(min_value=8, max_value=12),
    sizes=st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=20),
    late=st.integers(min_value=0, max_value=CATCH_UP_NS),
)
def test_one_busy_period_takes_exactly_its_time(
    baud_rate: int, bits: int, sizes: list[int], late: int
) -> None:
    rig = Rig(baud_rate, bits)
    start = rig.clock.now()
    sent = b"".join(bytes([number % 256]) * size for number, size in enumerate(sizes))
    rig.line.put(sent)
    rig.clock.run_until(start + 3600 * SECOND, late)
    assert rig.data == sent
    count = 0
    for when, data in rig.arrived:
        count += len(data)
        end = start + Fraction(count * bits * SECOND, baud_rate)
        assert when >= end, "faster than the line"
        assert when < end + 1 + late, "slower than the line"
        assert len(data) == 1 or len(data) * bits * SECOND <= SLICE_NS * baud_rate


def test_a_blocked_loop_does_not_let_bytes_pour_out() -> None:
    rig = Rig(9600)
    rig.line.put(bytes(2))
    rig.clock.time += 10 * SECOND
    rig.line.put(bytes(960))
    resumed = rig.clock.time
    rig.clock.run_until(resumed + 10 * SECOND)
    at_once = sum(len(data) for when, data in rig.arrived if when == resumed)
    assert at_once <= 5 + CATCH_UP_NS * 960 // SECOND
    assert rig.arrived[-1][0] >= resumed + SECOND - 2 * CATCH_UP_NS


def test_what_on_empty_puts_follows_without_a_gap() -> None:
    clock = Clock()
    arrived: list[int] = []
    more = [b"b", b"c"]

    def on_empty() -> None:
        if more:
            line.put(more.pop())

    line = PacedLine(
        clock,
        lambda data: arrived.append(clock.time),
        baud_rate=1000,
        bits_per_byte=10,
        on_empty=on_empty,
    )
    start = clock.now()
    line.put(b"a")
    clock.run_until(start + SECOND, late_ns=3_000_000)
    ten = 10_000_000
    assert [when - start - 3_000_000 for when in arrived] == [ten, 2 * ten, 3 * ten]


def test_held_nothing_is_handed_over() -> None:
    rig = Rig(9600)
    rig.line.put(b"abc")
    rig.line.hold()
    rig.line.put(b"def")
    rig.clock.run_until(rig.clock.time + SECOND)
    assert not rig.arrived
    assert len(rig.line) == 6
    rig.line.release()
    rig.clock.run_until(rig.clock.time + SECOND)
    assert rig.data == b"abcdef"


def test_cleared_nothing_more_comes() -> None:
    rig = Rig(9600)
    rig.line.put(b"abc")
    assert rig.line.clear() == 3
    rig.clock.run_until(rig.clock.time + SECOND)
    assert not rig.arrived
    rig.line.put(b"d")
    rig.clock.run_until(rig.clock.time + SECOND)
    assert rig.data == b"d"


def test_a_new_rate_begins_with_the_next_slice() -> None:
    rig = Rig(1000)
    start = rig.clock.time
    rig.line.put(b"ab")
    rig.line.set_line(2000, 11)
    rig.clock.run_until(start + SECOND)
    assert [when - start for when, _ in rig.arrived] == [10_000_000, 15_500_000]


def test_without_a_rate_everything_comes_at_the_next_turn() -> None:
    rig = Rig(None)
    rig.line.put(bytes(70_000))
    rig.line.put(b"x")
    assert not rig.arrived
    now = rig.clock.time
    rig.clock.run_until(now)
    assert rig.data == bytes(70_000) + b"x"
    assert {when for when, _ in rig.arrived} == {now}
