"""FdStream: the POSIX data path, on socket pairs and ptys."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket

import pytest

from hilgw.errors import PortError
from hilgw.transports.stream import FdStream
from tests.transports.faults import Faults
from tests.transports.rig import Client, Pty, descriptors, received_by, turns, until


class Pair:
    """A stream on one end of a socket pair; the test has the other."""

    def __init__(self, **options: int) -> None:
        ours, self.peer = socket.socketpair()
        for end in (ours, self.peer):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.fd = ours.detach()
        self.stream = FdStream(asyncio.get_running_loop(), self.fd, "pair", **options)

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.peer.close()

    def receive(self) -> bytes:
        try:
            return self.peer.recv(65536)
        except BlockingIOError:
            return b""

    async def received(self, count: int) -> bytes:
        return await received_by(self.receive, count)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


async def test_what_arrived_before_start_is_not_lost() -> None:
    with Pair() as pair:
        pair.peer.send(b"early")
        await turns()
        assert await Client(pair.stream).received(5) == b"early"


@pytest.mark.parametrize("longest", [1, 7, 1000])
@pytest.mark.parametrize("error", [None, errno.EAGAIN, errno.EINTR])
async def test_short_writes_and_reads_keep_every_byte_in_order(
    longest: int, error: int | None
) -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        faults = Faults().watch(pair.fd).shorten("write", longest).shorten("read", longest)
        if error is not None:
            faults.fail("write", 1, error, times=3).fail("read", 2, error, times=3)
        out, back = noise(900), noise(700)
        with faults:
            for start in range(0, len(out), 100):
                pair.stream.write(out[start : start + 100])
            pair.peer.send(back)
            assert await pair.received(len(out)) == out
            assert await client.received(len(back)) == back
        assert not client.lost
        assert pair.stream.pending == 0


async def test_a_write_that_does_not_fit_is_refused_whole() -> None:
    with Pair(limit=10_000) as pair:
        Client(pair.stream)
        accepted = bytearray()
        block = noise(3000)
        with pytest.raises(PortError) as caught:
            for _ in range(100):
                pair.stream.write(block)
                accepted += block
        assert caught.value.reason == "full"
        before = pair.stream.pending
        assert before <= 10_000
        with pytest.raises(PortError):
            pair.stream.write(block)
        assert pair.stream.pending == before
        pair.stream.write(b"fits")
        accepted += b"fits"
        assert await pair.received(len(accepted)) == accepted


async def test_a_write_longer_than_the_limit_is_refused_even_when_nothing_waits() -> None:
    with Pair(limit=1000) as pair:
        Client(pair.stream)
        with pytest.raises(PortError) as caught:
            pair.stream.write(bytes(1001))
        assert caught.value.reason == "full"
        await turns()
        assert pair.receive() == b""


async def test_drained_is_reported_once_the_last_byte_has_gone() -> None:
    with Pair() as pair:
        Client(pair.stream)
        notified: list[int] = []
        pair.stream.on_drained = lambda: notified.append(pair.stream.pending)
        pair.stream.write(noise(100_000))
        assert pair.stream.pending > 0
        await turns()
        assert not notified
        await pair.received(100_000)
        await until(lambda: bool(notified))
        assert notified == [0]


async def test_waiting_for_a_stalled_peer_costs_nothing() -> None:
    with Pair() as pair:
        Client(pair.stream)
        pair.stream.write(noise(200_000))
        with Faults().watch(pair.fd) as faults:
            await turns(100)
            assert faults.calls["write"] < 5


async def test_paused_reading_leaves_the_bytes_with_the_peer() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        pair.stream.pause_reading()
        pair.stream.pause_reading()
        sent = 0
        with pytest.raises(BlockingIOError):
            while True:
                sent += pair.peer.send(noise(1000))
        await turns()
        assert not client.data
        pair.stream.resume_reading()
        await client.received(sent)


async def test_paused_before_the_start() -> None:
    with Pair() as pair:
        pair.stream.pause_reading()
        client = Client(pair.stream)
        pair.peer.send(b"later")
        await turns()
        assert not client.data
        pair.stream.resume_reading()
        assert await client.received(5) == b"later"


async def test_a_hang_up_is_seen_while_paused() -> None:
    with Pty() as pty:
        stream = FdStream(asyncio.get_running_loop(), os.dup(pty.slave), "pty")
        client = Client(stream)
        stream.pause_reading()
        await turns()
        pty.hang_up()
        await until(lambda: bool(client.lost))


@pytest.mark.parametrize("call", ["read", "write"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.ENXIO, errno.EPIPE])
async def test_a_failing_call_ends_the_stream_once(call: str, error: int) -> None:
    before = descriptors()
    with Pair() as pair:
        client = Client(pair.stream)
        with Faults().watch(pair.fd).fail(call, 1, error):  # type: ignore[arg-type]
            pair.peer.send(b"x")
            if call == "write":
                with pytest.raises(PortError) as caught:
                    pair.stream.write(b"y")
                assert caught.value.reason == PortError.LOST
                assert not client.lost, "told from inside write()"
            await until(lambda: bool(client.lost))
        await turns()
        assert [each.reason for each in client.lost] == [PortError.LOST]
        assert os.strerror(error) in client.lost[0].what
        with pytest.raises(PortError):
            pair.stream.write(b"after")
        await pair.stream.wait_closed()
    assert descriptors().items() <= before.items()


async def test_a_failing_write_from_the_buffer_ends_the_stream() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        pair.stream.write(noise(100_000))
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            await until(lambda: pair.receive() == b"" and bool(client.lost))
        assert pair.stream.pending == 0


async def test_what_waits_is_not_written_once_another_process_has_stopped_the_peer() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        pair.stream.write(noise(100_000))
        taken = 100_000 - pair.stream.pending
        pair.stream.flag = b"\1"
        received = bytearray()

        def lost() -> bool:
            received.extend(pair.receive())
            return bool(client.lost)

        await until(lost)
        assert "another process has ended it" in str(client.lost[0])
        assert len(received) + len(pair.receive()) == taken


async def test_the_end_of_data_is_the_end_of_the_stream() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        pair.peer.send(b"last words")
        pair.peer.close()
        await until(lambda: bool(client.lost))
        assert client.data == b"last words"
        await turns()
        assert len(client.lost) == 1


async def test_half_closed_by_the_peer_it_can_still_be_written() -> None:
    with Pair() as pair:
        ended: list[bool] = []
        pair.stream.on_half_close = lambda: ended.append(True)
        client = Client(pair.stream)
        pair.peer.send(b"question")
        pair.peer.shutdown(socket.SHUT_WR)
        await until(lambda: bool(ended))
        assert client.data == b"question"
        pair.stream.resume_reading()
        pair.stream.write(b"answer")
        assert await pair.received(6) == b"answer"
        await turns()
        assert ended == [True]
        assert not client.lost


async def test_nothing_is_reported_after_close() -> None:
    before = descriptors()
    with Pair() as pair:
        client = Client(pair.stream)
        pair.peer.send(b"unread")
        pair.peer.close()
        pair.stream.close()
        pair.stream.close()
        await pair.stream.wait_closed()
        await turns()
        assert not client.lost
        assert not client.data
        with pytest.raises(PortError) as caught:
            pair.stream.write(b"x")
        assert caught.value.reason == PortError.LOST
    assert descriptors().items() <= before.items()


async def test_a_loss_that_was_not_reported_yet_is_not_reported_after_close() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            with pytest.raises(PortError):
                pair.stream.write(b"x")
        pair.stream.close()
        await turns()
        assert not client.lost


async def test_a_write_after_an_unreported_loss_raises_it() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            for _ in range(2):
                with pytest.raises(PortError, match="Input/output error"):
                    pair.stream.write(b"x")
        await until(lambda: bool(client.lost))


async def test_a_loss_before_the_start_is_reported_at_the_start() -> None:
    with Pair() as pair:
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            with pytest.raises(PortError):
                pair.stream.write(b"x")
        client = Client(pair.stream)
        await until(lambda: bool(client.lost))


async def test_closed_by_its_own_reader() -> None:
    with Pair() as pair:
        received: list[bytes] = []

        def on_data(data: bytes) -> None:
            received.append(data)
            pair.stream.close()

        pair.stream.start(on_data, lambda error: None)
        pair.peer.send(b"one")
        await until(lambda: bool(received))
        await turns()
        assert received == [b"one"]
