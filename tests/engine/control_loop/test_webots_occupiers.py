"""Programs that connect and do not ask: no controller waits longer than the page allows."""

import asyncio
import contextlib
import itertools
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from hilgw.engine.control_loop.servers.webots_handshake import (
    HANDSHAKE_S,
    MOST_OF_ADDRESS,
    MOST_WAITING,
    TURN_S,
    Handshake,
)
from hilgw.security.access import write_token
from hilgw.testing.sim import Clock, FakeTransport, elapse
from hilgw.transports import accepting
from tests.engine.control_loop.running import SimPeer
from tests.engine.control_loop.test_webots_controllers import FIRST, HELLO, QUIT, Running
from tests.engine.control_loop.test_webots_socket import ALONE, instances

assert instances  # a fixture

NAME = HELLO + b"rover"
BYTE_S = 0.040
Connect = Callable[[], socket.socket]
TWO = "\n  other: {controller: {kind: webots, listen: 'tcp://127.0.0.1:0'}}"
PROXY = """
version: 1
backend: mock
real: [rover.controller]
robots:
  rover:
    devices: {tx: {node: Emitter, channel: 12}}
    controller: {kind: webots_proxy, listen: "tcp://127.0.0.1:7001", connect: "tcp://127.0.0.1:7002"}
"""


class Client:
    """A program in the event loop of the gateway."""

    def __init__(self, connect: Connect) -> None:
        self.loop = asyncio.get_running_loop()
        self.connection = connect()

    async def send(self, data: bytes, each_s: float = 0.0) -> None:
        """Byte by byte when each_s is not 0."""
        with contextlib.suppress(OSError):
            if not each_s:
                await self.loop.sock_sendall(self.connection, data)
                return
            for byte in data:
                await self.loop.sock_sendall(self.connection, bytes([byte]))
                await asyncio.sleep(each_s)

    async def read(self, size: int = 4096) -> bytes:
        """b"": the gateway has closed the connection."""
        try:
            return await self.loop.sock_recv(self.connection, size)
        except OSError:
            return b""

    async def ended(self) -> None:
        while await self.read():
            pass


@dataclass(frozen=True)
class Occupier:
    """What a program sends: a line, and after the word a request; with 0 s between its bytes, or
    slowly. Then it stays until it is thrown out, or leaves."""

    line: bytes = b""
    line_s: float = 0.0
    request: bytes = b""
    request_s: float = 0.0
    stays: bool = True

    async def occupy(self, connect: Connect) -> None:
        client = Client(connect)
        await client.send(self.line, self.line_s)
        if self.line == NAME:
            await client.read()
        await client.send(self.request, self.request_s)
        if self.stays:
            await client.ended()
        client.connection.close()


async def for_ever(connect: Connect, occupier: Occupier) -> None:
    while True:
        await occupier.occupy(connect)
        await asyncio.sleep(0.005)  # a round trip of the network; without it no time would pass


async def libcontroller(connect: Connect) -> float:
    """The time until it has its configuration. As libController: FORBIDDEN ends it; after another
    word or a lost connection it tries again a second later. Then it leaves."""
    begin = asyncio.get_running_loop().time()
    while True:
        client = Client(connect)
        await client.send(NAME)
        word = await client.read(10)
        assert word in (b"CONNECTED", b"FAILED", b"PROCESSING", b""), word
        if word == b"CONNECTED":
            break
        client.connection.close()
        await asyncio.sleep(1)
    await client.send(FIRST)
    assert b"rover\0" in await client.read(), "the configuration"
    client.connection.close()
    return client.loop.time() - begin


@contextlib.contextmanager
def occupied(running: Running, number: int, occupier: Occupier) -> Iterator[Connect]:

    def connect() -> socket.socket:
        return running.knock().connection

    tasks = [running.loop.create_task(for_ever(connect, occupier)) for _ in range(number)]
    yield connect
    for task in tasks:
        task.cancel()
    ends = running.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    assert {type(end) for end in ends} == {asyncio.CancelledError}, ends


def served_s(running: Running, connect: Connect) -> float:
    """How long a controller waits for its configuration."""
    task = running.loop.create_task(libcontroller(connect))
    running.until(task.done, "a controller with its robot")
    return task.result()


NAMES_IT = Occupier(NAME)
GARBAGE = Occupier(NAME, request=b"\xff" * 20)
OCCUPIERS = [
    Occupier(),
    NAMES_IT,
    Occupier(HELLO + 900 * b"x", BYTE_S),
    Occupier(NAME, request=(4096).to_bytes(4, "little") + bytes(1000), request_s=BYTE_S),
    Occupier(NAME, stays=False),
    GARBAGE,
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("occupier", "given"),
    [
        *((occupier, {"backend": "real"}) for occupier in OCCUPIERS),
        (NAMES_IT, {"text": PROXY}),
        (GARBAGE, {"text": PROXY}),
    ],
)
def test_a_controller_is_served_in_its_turn_behind_occupiers_of_its_own_address(
    tmp_path: Path, occupier: Occupier, given: dict[str, str]
) -> None:
    with Running(tmp_path, **given) as running, occupied(running, 6, occupier) as connect:
        for after_s in (0.0, 0.05, 1.93):
            running.loop.advance(after_s)
            assert served_s(running, connect) <= 6 * TURN_S + 0.01


def test_the_share_of_an_address_bounds_the_time_in_the_line(tmp_path: Path) -> None:
    number = MOST_OF_ADDRESS - 4
    with Running(tmp_path, backend="real") as running:
        with occupied(running, number, NAMES_IT) as connect:
            running.loop.advance(1)
            assert served_s(running, connect) <= number * TURN_S + 0.01


def slowly(running: Running, peer: SimPeer, data: bytes) -> None:
    """One byte after the other, until all have left or the connection has ended."""
    for byte in data:
        if peer.poll() is None or peer.ended:
            return
        with contextlib.suppress(OSError):
            peer.connection.sendall(bytes([byte]))
        running.loop.advance(BYTE_S)


@pytest.mark.parametrize("line", [HELLO + 900 * b"x", b"CTR", b""], ids=["long", "CTR", "none"])
def test_a_line_has_one_deadline_however_its_bytes_come(tmp_path: Path, line: bytes) -> None:
    with Running(tmp_path, backend="real", more=TWO) as running:
        peer, begin = running.knock(), running.loop.time()
        slowly(running, peer, line)
        if line != b"CTR":  # which names no robot, and there are two: answered
            running.until(lambda: peer.poll() is None or peer.ended, "the end")
            assert running.loop.time() - begin == pytest.approx(HANDSHAKE_S, abs=2 * BYTE_S)
            assert peer.received == b""
        (where,) = {each.where for each in running.gateway.listening}
        expected = {"refused": {"no_request": 1}} if len(line) > 3 else None
        assert running.gateway.report().get(where) == expected or line == b"CTR"


def test_the_line_and_the_first_request_have_one_deadline(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        peer, begin = running.knock(), running.loop.time()
        slowly(running, peer, NAME)  # 0.8 s
        assert peer.poll() == b"CONNECTED"
        slowly(running, peer, struct.pack("<i", 400) + bytes(396))
        assert peer.ended
        assert running.loop.time() - begin == pytest.approx(HANDSHAKE_S, abs=2 * BYTE_S)
        assert running.report()["refused"] == {"no_request": 1}
        (refusal,) = running.log.refusals
        assert "sent no first request within 2 s" in refusal[2]


def test_the_time_in_the_line_is_not_the_time_of_the_peer(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        number = int(HANDSHAKE_S / TURN_S) + 10
        first = [running.knock() for _ in range(number)]
        for peer in first:
            peer.connection.sendall(NAME)
        running.loop.advance(0.001)
        late = running.knock()
        late.connection.sendall(NAME)
        running.until(lambda: late.poll(), "a word")
        assert late.received == b"CONNECTED"
        running.loop.advance(HANDSHAKE_S - 0.1)
        late.connection.sendall(FIRST)
        running.until(lambda: b"rover\0" in late.poll(), "the configuration")


def test_they_are_offered_the_robot_in_the_order_in_which_they_named_it(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        peers = [running.knock() for _ in range(4)]
        running.loop.advance(0.01)
        words: list[int] = []
        for number in (2, 0, 3, 1):
            peers[number].connection.sendall(NAME)
            running.loop.advance(0.001)
        begin = running.loop.time()

        def all_have() -> bool:
            words.extend(n for n, p in enumerate(peers) if p.poll() and n not in words)
            return len(words) == len(peers)

        running.until(all_have, "four words")
        assert words == [2, 0, 3, 1]
        assert running.loop.time() - begin == pytest.approx(3 * TURN_S, abs=0.01)
        peers[1].connection.sendall(FIRST)
        running.until(lambda: b"rover\0" in peers[1].poll(), "the configuration")
        running.loop.advance(2 * HANDSHAKE_S)
        assert [each.poll() is None or each.ended for each in peers] == [True, False, True, True]


def test_one_that_leaves_the_line_costs_no_time(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        peers = [running.knock() for _ in range(5)]
        for peer in peers:
            peer.connection.sendall(NAME)
            running.loop.advance(0.001)
        for peer in peers[:4]:
            peer.connection.close()
        begin = running.loop.time()
        running.until(lambda: peers[4].poll(), "a word")
        assert running.loop.time() == begin


def test_one_that_asks_after_another_ends_in_order(tmp_path: Path) -> None:
    """It has its word and another one was faster: libController ends with QUIT, behind a
    configuration, and not with the end of the stream alone."""
    with Running(tmp_path, backend="real") as running:
        word, slow = running.ask(NAME)
        assert word == b"CONNECTED"
        running.loop.advance(TURN_S)
        running.connected()
        slow.connection.sendall(FIRST)
        running.until(lambda: slow.poll().endswith(QUIT[-3:]), "QUIT")
        assert b"rover\0\0" in slow.received
        assert running.report()["refused"] == {"second_controller": 1}
        running.until(lambda: slow.poll() is None or slow.ended, "the end")


def test_a_request_that_comes_before_the_word_is_kept(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        running.ask(NAME)
        early = running.knock()
        early.connection.sendall(NAME)
        running.loop.advance(0.01)
        early.connection.sendall(FIRST)
        running.until(lambda: b"rover\0" in early.poll(), "the configuration")
        assert early.received.startswith(b"CONNECTED")


def test_an_address_has_a_share_and_others_are_served_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, accept = ["127.0.0.2"], accepting.accept
    numbers = itertools.count(1024)
    monkeypatch.setattr(
        accepting, "accept", lambda each: (accept(each)[0], (hosts[-1], next(numbers)))
    )
    assert MOST_OF_ADDRESS <= MOST_WAITING // 4
    with Running(tmp_path, backend="real") as running:
        crowd = []
        for _ in range(MOST_OF_ADDRESS + 20):
            crowd.append(running.knock())
            running.loop.advance(0.0001)
        open_ones = [each for each in crowd if each.poll() is not None and not each.ended]
        assert len(open_ones) == MOST_OF_ADDRESS + 1  # one for each robot
        hosts.append("127.0.0.3")
        running.connected()
        running.loop.advance(0.5)
        assert running.report()["refused"] == {"too_many_connections": 19}
        running.loop.advance(HANDSHAKE_S)
        assert all(each.poll() is None or each.ended for each in crowd)


def test_a_local_controller_is_served_beside_silent_ones(tmp_path: Path, instances: Path) -> None:
    with Running(tmp_path, text=ALONE) as running:
        path = instances / "1234" / "ipc" / "rover" / "extern"

        crowd = []
        for _ in range(MOST_OF_ADDRESS + 6):
            crowd.append(running.knock_at(path))
            running.loop.advance(0.0001)
        refused = [each for each in crowd if each.poll() is None or each.ended]
        assert len(refused) == 6
        running.loop.advance(HANDSHAKE_S)
        assert all(each.poll() is None or each.ended for each in crowd)
        crowd = [running.knock_at(path) for _ in range(12)]
        for peer in crowd[1::2]:
            peer.connection.sendall(FIRST[:5])
        begin = running.loop.time()
        real = running.knock_at(path)
        real.connection.sendall(FIRST)
        running.until(lambda: b"rover\0" in real.poll(), "the configuration")
        assert running.loop.time() == begin
        report = running.report()["refused"]
        assert report == {"too_many_connections": 6, "no_request": MOST_OF_ADDRESS}


def test_a_connection_without_tls_handshake_has_the_same_deadline(tmp_path: Path) -> None:
    authority = trustme.CA()
    pem = tmp_path / "gateway.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(pem)
    pem.chmod(0o600)
    write_token(tmp_path / "lab.token")
    access = "\naccess: {tls: {certificate: gateway.pem}, tokens: {lab: {file: lab.token}}}"
    with Running(tmp_path, backend="real", host="0.0.0.0", more=access) as running:
        peer, begin = running.knock(), running.loop.time()
        slowly(running, peer, b"\x16\x03\x01\x02\x00" + 100 * b"\x01")
        running.until(lambda: peer.poll() is None or peer.ended, "the end")
        assert running.loop.time() - begin == pytest.approx(HANDSHAKE_S, abs=2 * BYTE_S)


async def test_the_time_of_tls_is_part_of_the_deadline(clock: Clock) -> None:
    stream, open_ones = FakeTransport(), set[Handshake]()
    stream.handshake_s = HANDSHAKE_S - 0.5
    Handshake(stream, "h:1", open_ones, lambda *_: None).read_line((), lambda _: None)
    await elapse(0.49)
    assert not stream.closed
    await elapse(0.02)
    assert stream.closed and not open_ones
