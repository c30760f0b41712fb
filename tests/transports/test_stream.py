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
from tests.transports.rig import Client, received_by, refuses, turns, until, waiting


class Pair:
    """A stream on one end of a socket pair; the test has the other."""

    def __init__(self) -> None:
        ours, self.peer = socket.socketpair()
        for end in (ours, self.peer):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.fd = ours.detach()
        self.stream = FdStream(asyncio.get_running_loop(), self.fd, "pair")

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.peer.close()

    def receive(self) -> bytes:
        return waiting(self.peer.recv)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


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
            assert await received_by(pair.receive, len(out)) == out
            assert await client.received(len(back)) == back
        assert not client.lost
        assert pair.stream.pending == 0


@pytest.mark.parametrize("call", ["read", "write"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.ENXIO, errno.EPIPE])
async def test_a_failing_call_ends_the_stream_once(call: str, error: int) -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        with Faults().watch(pair.fd).fail(call, 1, error):  # type: ignore[arg-type]
            pair.peer.send(b"x")
            if call == "write":
                with refuses(PortError.LOST):
                    pair.stream.write(b"y")
                assert not client.lost, "told from inside write()"
            await until(lambda: bool(client.lost))
        await turns()
        assert [each.reason for each in client.lost] == [PortError.LOST]
        assert os.strerror(error) in client.lost[0].what
        with pytest.raises(PortError):
            pair.stream.write(b"after")
        await pair.stream.wait_closed()


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


async def test_a_loss_that_was_not_reported_yet_is_not_reported_after_close() -> None:
    with Pair() as pair:
        client = Client(pair.stream)
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            for _ in range(2):
                with pytest.raises(PortError, match="Input/output error"):
                    pair.stream.write(b"x")
        pair.stream.close()
        await turns()
        assert not client.lost


async def test_a_loss_before_the_start_is_reported_at_the_start() -> None:
    with Pair() as pair:
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            with pytest.raises(PortError):
                pair.stream.write(b"x")
        client = Client(pair.stream)
        await until(lambda: bool(client.lost))
