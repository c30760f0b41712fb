"""The bridge: who reads, who writes, what is dropped and counted, and what trouble does to it."""

import asyncio
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.bridge.flow import BridgeDropped, Flow, Reframer
from hilgw.engine.observer import State
from hilgw.errors import FrameError
from hilgw.framing import create
from hilgw.framing.length import Length, LengthSettings
from hilgw.testing.sim import Clock, until
from hilgw.transports.tcp.stream import TcpStream
from tests.bridge.rig import LOOPS, Client, Rig, run_bridge, run_bridge_on
from tests.scenarios import scenario_of
from tests.transports.rig import ALL_VALUES, reset

BULK = bytes(range(256)) * 2048


@pytest.fixture(params=sorted(LOOPS))
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@scenario_of(run_bridge_on)
async def test_all_values_pass_both_ways(rig: Rig, /) -> None:
    client = await rig.client()
    client.send(ALL_VALUES)
    assert await rig.device_received(256) == ALL_VALUES
    rig.device.write(ALL_VALUES)
    await until(lambda: client.data == ALL_VALUES)
    both: dict[str, Any] = dict.fromkeys(("received_bytes", "accepted_bytes", "sent_bytes"), 256)
    both |= {"frames": 0, "queued_bytes": 0, "dropped": {}}
    assert rig.report["to_serial"] == rig.report["to_tcp"] == both


@pytest.mark.wall_clock("the buffers of the kernel are filled")
@scenario_of(run_bridge, writer="all")
async def test_a_device_that_takes_nothing_stops_the_writers_and_loses_nothing(rig: Rig, /) -> None:
    """It may do so for as long as it likes: that is what flow control is for."""
    client = await rig.client()
    client.send(BULK * 6)
    await until(lambda: rig.report["clients"]["paused"])
    second = await rig.client()
    second.send(BULK)
    rig.device.write(b"still heard")
    await until(lambda: client.data == second.data == b"still heard")
    assert rig.report["to_serial"]["received_bytes"] <= 256 * 1024
    arrived = await rig.device_received(len(BULK) * 7)
    assert sorted(arrived) == sorted(BULK * 7)
    assert rig.report["to_serial"]["dropped"] == {}


async def who_writes(rig: Rig, clients: dict[str, Client]) -> str:
    """The letters of the clients whose bytes reach the device."""
    before = rig.report["to_serial"]
    for name, client in clients.items():
        client.send(name.encode())
    expected = before["received_bytes"] + len(clients)
    await until(lambda: rig.report["to_serial"]["received_bytes"] == expected)
    after = rig.report["to_serial"]
    received = await rig.device_received(after["sent_bytes"] - before["sent_bytes"])
    return "".join(sorted(received.decode()))


@pytest.mark.parametrize(
    ("rule", "before", "leaves", "after"),
    [("first", "a", "a", "b"), ("last", "c", "c", "b"), ("all", "abc", "a", "bc")],
)
def test_the_writer_is_chosen_by_the_rule_and_anew_when_one_leaves(
    rule: str, before: str, leaves: str, after: str, tmp_path: Path
) -> None:
    async def scenario(rig: Rig) -> None:
        clients = {name: await rig.client() for name in "abc"}
        assert await who_writes(rig, clients) == before
        await clients.pop(leaves).close()
        await until(lambda: rig.log.lines[-1].endswith("finished sending"))
        assert await who_writes(rig, clients) == after
        flow = rig.report["to_serial"]
        dropped = flow["dropped"].get("not_writer_bytes", 0)
        assert flow["received_bytes"] == flow["sent_bytes"] + dropped == 5

    run_bridge(scenario, tmp_path=tmp_path, writer=rule)


@scenario_of(run_bridge)
async def test_a_client_that_has_finished_sending_gets_the_answer(rig: Rig, /) -> None:
    asker, other = await rig.client(), await rig.client()
    asker.send(b"question")
    asker.writer.write_eof()
    assert await rig.device_received(8) == b"question"
    await until(lambda: rig.log.lines[-1].endswith("finished sending"))
    rig.device.write(b"answer")
    await until(lambda: asker.data == b"answer" == other.data)
    assert await who_writes(rig, {"b": other}) == "b"


@pytest.mark.wall_clock("the buffers of the kernel are filled")
@scenario_of(run_bridge_on)
async def test_a_client_that_reads_nothing_is_disconnected_and_the_others_get_all(
    rig: Rig, /
) -> None:
    good, stuck = await rig.client(), await rig.client(reading=False, receive_bytes=4096)
    sent = 0

    def cut_off() -> bool:
        nonlocal sent
        sent += rig.device.write(BULK[sent % 256 :][:4096])
        return bool(rig.log.notices)

    await until(cut_off)
    await until(lambda: len(good.data) == sent)
    assert good.data == (BULK * (sent // len(BULK) + 1))[:sent]
    assert "too slow" in rig.log.notices[0]
    assert rig.report["clients"]["too_slow"] == 1
    flow = rig.report["to_tcp"]
    assert flow["dropped"]["client_slow_bytes"] > 0
    assert flow["sent_bytes"] < 2 * sent, "what was dropped was not sent as well"
    assert rig.report["clients"]["connected"] == 1
    stuck.start_reading()
    await until(lambda: stuck.ended)


@scenario_of(run_bridge_on, plugged=False)
async def test_clients_come_before_the_port_and_stay_while_it_is_away(rig: Rig, /) -> None:
    client = await rig.client()
    client.send(b"for nobody")
    await until(lambda: rig.report["to_serial"]["received_bytes"] == 10)
    assert rig.report["to_serial"]["dropped"] == {"port_down_bytes": 10}
    for number in (1, 2):
        rig.device.plug()
        await until(lambda count=number: rig.log.entered.count(State.UP) == count)
        client.send(b"for you")
        assert await rig.device_received(7) == b"for you"
        rig.device.write(b"and back")
        await until(lambda count=number: client.data == b"and back" * count)
        rig.device.unplug()
        await until(lambda count=number: rig.report["port"]["state"] != "up")


@scenario_of(run_bridge)
async def test_what_waits_for_a_port_that_leaves_was_not_sent_and_writers_go_on(
    rig: Rig, /
) -> None:
    client = await rig.client()
    client.send(BULK * 6)
    await until(lambda: rig.report["clients"]["paused"])
    assert rig.report["port"]["waiting_bytes"] > 0
    taken = rig.report["to_serial"]["sent_bytes"]
    rig.device.unplug()
    await until(lambda: rig.report["to_serial"]["received_bytes"] == len(BULK) * 6)
    flow = rig.report["to_serial"]
    assert flow["sent_bytes"] == taken
    assert flow["dropped"] == {"port_down_bytes": len(BULK) * 6 - taken}
    rig.device.plug()
    await until(lambda: rig.log.entered.count(State.UP) == 2)
    client.send(b"fresh")
    assert await rig.device_received(5) == b"fresh"


@scenario_of(run_bridge)
async def test_bytes_of_the_device_without_a_client_are_counted_and_not_kept(rig: Rig, /) -> None:
    rig.device.write(b"stale")
    await until(lambda: rig.report["to_tcp"]["dropped"] == {"no_client_bytes": 5})
    client = await rig.client()
    rig.device.write(b"fresh")
    await until(lambda: client.data == b"fresh")


def framed(*payloads: bytes) -> bytes:
    return b"".join(create("cobs-crc16").encode(payload) for payload in payloads)


@pytest.mark.parametrize("name", ["cobs-crc16", "slip-crc32", "hdlc", "length"])
def test_good_frames_pass_and_bad_ones_are_dropped_and_counted(name: str, tmp_path: Path) -> None:
    framing = create(name)
    good = [framing.encode(payload) for payload in (b"one", b"three")]
    bad = bytearray(framing.encode(b"two"))
    bad[len(bad) // 2] ^= 1
    stream = good[0] + bytes(bad) + good[1]

    async def scenario(rig: Rig) -> None:
        client = await rig.client()
        client.send(stream)
        assert await rig.device_received(len(b"".join(good))) == b"".join(good)
        rig.device.write(stream)
        await until(lambda: client.data == b"".join(good))
        for direction in ("to_serial", "to_tcp"):
            flow = rig.report[direction]
            assert flow["frames"] == 2
            assert flow["received_bytes"] == len(stream)
            assert flow["sent_bytes"] == len(b"".join(good))
            assert sum(flow["dropped"].values()) >= 1

    run_bridge(scenario, tmp_path=tmp_path, frame=name)


def test_the_alarm_of_a_framing_moves_to_an_earlier_deadline() -> None:
    """Length framing leaves work for later when a stream is full of syncs."""
    scheduler = Clock()
    framing = Length(LengthSettings(sync="AA", max_payload=65_535))
    reframer = Reframer(lambda: framing, scheduler, Flow(), lambda data: None)
    reframer.feed(b"\xaa\xff\xf0" + b"\xaa\x00" * 32_700)
    held = framing.held
    reframer.feed(b"\xaa\x00" * 100)
    assert held > framing.held > 1024
    scheduler.run_until(scheduler.now() + 1)
    assert framing.held < 1024


@scenario_of(run_bridge, frame="cobs-crc16", writer="all")
async def test_frames_of_several_writers_are_never_mixed(rig: Rig, /) -> None:
    a, b = framed(b"a" * 100), framed(b"b" * 100)
    first, second = await rig.client(), await rig.client()
    first.send(a[:50])
    await until(lambda: rig.report["to_serial"]["received_bytes"] == 50)
    second.send(b)
    assert await rig.device_received(len(b)) == b
    first.send(a[50:])
    assert await rig.device_received(len(a)) == a
    assert rig.report["to_serial"]["dropped"] == {}


@pytest.mark.parametrize("how", ["end", "reset"])
@scenario_of(run_bridge, frame="cobs-crc16")
async def test_half_a_frame_does_not_survive_its_port_or_its_client(rig: Rig, /, how: str) -> None:
    frame = framed(b"cut")
    leaver, client = await rig.client(), await rig.client()
    leaver.send(frame[:3])
    rig.device.write(frame[:3])
    await until(lambda: rig.report["to_tcp"]["received_bytes"] == 3)
    await until(lambda: rig.report["to_serial"]["received_bytes"] == 3)
    if how == "reset":
        connection = leaver.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await leaver.close()
    rig.device.unplug()
    await until(lambda: State.WAITING in rig.log.entered)
    rig.device.plug()
    await until(lambda: rig.log.entered.count(State.UP) == 2)
    rig.device.write(frame)
    await until(lambda: client.data == frame)
    client.send(frame)
    assert await rig.device_received(len(frame)) == frame
    assert rig.report["to_tcp"]["dropped"] == {"truncated": 1}
    assert rig.report["to_serial"]["dropped"] == {"truncated": 1}


@pytest.mark.parametrize("frame", [None, "cobs-crc16", "length"])
def test_noise_from_everywhere_harms_no_client(frame: str | None, tmp_path: Path) -> None:
    random_ = random.Random(3)

    async def scenario(rig: Rig) -> None:
        for _ in range(30):
            client = await rig.client()
            client.send(random_.randbytes(random_.randrange(2000)))
            rig.device.write(random_.randbytes(500))
            rig.device.read()
            if random_.random() < 0.5:
                client.writer.transport.abort()
        last = await rig.client()
        rig.device.read()
        before = len(last.data)
        # A delimiter ends what the noise has begun; length framing finds the start by itself.
        end = b"" if frame is None else create(frame).encode(b"end")
        rig.device.write(b"\0" + end)
        await until(lambda: last.data[before:].endswith(end or b"\0"))

    run_bridge(scenario, tmp_path=tmp_path, frame=frame, writer="all")


def test_what_a_framing_gave_and_cannot_carry_again_is_counted() -> None:
    """No framing of ours does; one of another distribution may."""

    class OneWay:
        dropped: dict[str, int] = {}

        def feed(self, data: bytes, now: int) -> list[bytes]:
            return [bytes([byte]) for byte in data]

        def encode(self, payload: bytes) -> bytes:
            if payload == b"!":
                raise FrameError("it cannot be carried")
            return payload

        def next_deadline(self) -> None:
            return None

    flow, passed = Flow(), bytearray()
    reframer = Reframer(OneWay, Clock(), flow, passed.extend)  # type: ignore[arg-type]
    reframer.feed(b"a!b!!c")
    reframer.feed(b"!")
    assert passed == b"abc"
    assert flow.frames == 3
    assert flow.dropped == {BridgeDropped.CANNOT_CARRY: 4}


def pause_often(stream: TcpStream) -> None:
    for _ in range(1000):
        stream.pause_reading()
        stream.resume_reading()


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection; the first does not block, and belongs to a stream."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as theirs, server.accept()[0] as ours:
            ours.setblocking(False)
            yield ours, theirs


def test_a_pause_sets_no_timer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[tuple[Any, ...]] = []

    async def scenario(ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at
        stream = TcpStream(ours, "test")
        stream.on_peer_ended = lambda: None
        stream.start(lambda data: None, lambda error: None)

        def counted(*given: Any, **more: Any) -> asyncio.TimerHandle:
            timers.append(given)
            return call_at(*given, **more)

        monkeypatch.setattr(loop, "call_at", counted)
        pause_often(stream)
        stream.close()

    with connected() as (ours, _):
        asyncio.run(scenario(ours))
    assert len(timers) == 1


def test_a_pause_that_lasts_is_watched_after_many_short_ones() -> None:
    lost: list[str] = []

    async def scenario(ours: socket.socket, theirs: socket.socket) -> None:
        stream = TcpStream(ours, "test")
        over = asyncio.Event()

        def on_lost(error: Any) -> None:
            lost.append(error.what)
            over.set()

        stream.start(lambda data: None, on_lost)
        pause_often(stream)
        stream.pause_reading()
        reset(theirs)  # which poll() reports; nothing is read
        async with asyncio.timeout(60):
            await over.wait()

    with connected() as (ours, theirs):
        asyncio.run(scenario(ours, theirs))
    assert lost == ["the peer reset the connection"]
