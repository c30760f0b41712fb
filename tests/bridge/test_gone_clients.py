"""Clients that leave, die or keep silent while the device accepts nothing: seen, counted, freed."""

import pytest

from hilgw.bridge import clients as bridge_clients
from hilgw.bridge.backlog import STALE_NS
from hilgw.bridge.bridge import LIMITS
from hilgw.bridge.clients import HALF_CLOSED_NS, MAX_CLIENTS, MAX_PER_ADDRESS, OPENING_NS
from hilgw.bridge.port import HIGH_WATER_BYTES
from hilgw.testing.sim import FakeTransport
from tests.bridge.rig import BridgeBench

SECOND = 1_000_000_000
FULL = HIGH_WATER_BYTES + 1


def test_after_an_end_the_bytes_are_delivered_as_long_as_the_device_accepts_some() -> None:
    """A slow device: a byte each second, for a minute."""
    bench = BridgeBench(stalled=True)
    client = bench.client()
    client.send(b"x" * FULL)
    client.send(b"the last words")
    client.end()
    for _ in range(60):
        bench.wait(SECOND)
        bench.device.accept(1)
    bench.device.stalled = False
    bench.device.accept(FULL)
    assert bench.device.data() == b"x" * FULL + b"the last words"
    assert bench.to_port.dropped == {}
    assert bench.adds_up


@pytest.mark.parametrize("size", [10, FULL])
@pytest.mark.parametrize("pace", [False, True])
def test_they_are_dropped_once_the_device_has_accepted_nothing_for_two_seconds(
    size: int, pace: bool
) -> None:
    """Waiting in the bridge, or unread in the kernel: the device gets none of them later."""
    bench = BridgeBench(pace=pace, stalled=True)
    client = bench.client()
    client.send(bytes(size))
    bench.wait(SECOND // 10)
    if bench.device.pending == size == FULL or pace:
        client.send(b"unread" * 10_000)
    received = bench.to_port.received_bytes
    client.end()
    bench.wait(STALE_NS - SECOND // 5)
    assert not bench.to_port.dropped
    bench.wait(SECOND // 2)
    assert bench.to_port.dropped["writer_gone_bytes"] >= received
    assert bench.device.pending == 0
    assert bench.to_port.sent_bytes == 0
    assert bench.adds_up
    dropped = bench.to_port.dropped["writer_gone_bytes"]
    assert bench.warned[0].startswith(f"{dropped} B of client 127.0.0.1:1001 dropped: the device ")
    bench.device.stalled = False
    bench.device.accept(0)
    bench.client().send(b"fresh")
    client.close()
    bench.wait(HALF_CLOSED_NS + SECOND)
    assert bench.device.data() == b"fresh"


def test_the_bytes_of_clients_that_stay_are_kept() -> None:
    bench = BridgeBench("all", stalled=True)
    stays, leaves = bench.client(), bench.client()
    for _ in range(3):
        stays.send(b"stay")
        leaves.send(b"go")
    leaves.end()
    bench.wait(3600 * SECOND)  # as long as the device likes; `--idle` is off by default
    assert not stays.closed
    assert bench.to_port.dropped == {"writer_gone_bytes": 6}
    bench.device.accept(100)
    assert bench.device.data() == b"staystaystay"
    assert bench.adds_up


@pytest.mark.parametrize("size", [10, FULL])
def test_after_a_reset_its_bytes_are_dropped_at_once(size: int) -> None:
    bench = BridgeBench("all", stalled=True)
    client, other = bench.client(), bench.client()
    other.send(b"other")
    client.send(bytes(size))
    client.send(b"unread" if client.paused else b"")
    client.lose()
    assert bench.to_port.dropped == {"writer_gone_bytes": size + 6 * (size == FULL)}
    bench.device.accept(FULL)
    assert bench.device.data() == b"other"
    assert bench.adds_up


def test_a_reset_after_an_end_drops_nothing_yet() -> None:
    """The bridge caused it, by sending to a client that had closed its connection."""
    bench = BridgeBench(stalled=True)
    client = bench.client()
    client.send(b"command")
    client.end()
    client.lose()
    bench.device.accept(100)
    assert bench.device.data() == b"command"
    assert bench.to_port.dropped == {}


def test_a_client_alone_may_be_slow_while_it_accepts_something() -> None:
    """The device waits for it meanwhile, as it would for a program on the port itself."""
    bench = BridgeBench()
    client = bench.client()
    client.stalled = True
    bench.clients.broadcast(bytes(FULL))
    assert bench.device.paused
    for _ in range(60):
        bench.wait(SECOND)
        client.accept(1)
    assert not client.closed
    assert bench.device.paused
    bench.wait(bridge_clients.PATIENCE_ALONE_NS + SECOND)
    assert client.closed
    assert not bench.device.paused
    assert bench.clients.slow == 1
    assert bench.from_port.dropped == {"client_slow_bytes": FULL - 60}


@pytest.mark.parametrize("how", ["leaves", "stays until the end", "was lost before"])
def test_what_waits_for_a_client_that_is_gone_was_not_sent(how: str) -> None:
    bench = BridgeBench()
    client = bench.client()
    client.stalled, client.gone = True, how == "was lost before"
    bench.clients.broadcast(bytes(100))
    if how == "leaves":
        client.lose()
    elif how == "stays until the end":
        bench.clients.close()
    assert bench.from_port.dropped == {"client_gone_bytes": 100}
    assert bench.adds_up


def test_among_others_it_is_disconnected_soon() -> None:
    bench = BridgeBench()
    good, stuck = bench.client(), bench.client()
    stuck.stalled = True
    bench.clients.broadcast(bytes(FULL))
    bench.wait(bridge_clients.PATIENCE_NS + SECOND)
    assert stuck.closed
    assert not bench.device.paused
    assert good.data() == bytes(FULL)


def test_one_that_has_finished_and_gets_nothing_is_disconnected() -> None:
    bench = BridgeBench()
    client = bench.client()
    client.end()
    bench.wait(HALF_CLOSED_NS - SECOND)
    assert not client.closed
    bench.wait(2 * SECOND)
    assert client.closed
    assert len(bench.clients) == 0


def test_one_address_has_at_most_half_of_the_places() -> None:
    bench = BridgeBench()
    first = [bench.client() for _ in range(MAX_PER_ADDRESS + 3)]
    assert [each.closed for each in first] == [False] * MAX_PER_ADDRESS + [True] * 3
    others = [bench.client("::1") for _ in range(MAX_CLIENTS - MAX_PER_ADDRESS)]
    assert not any(each.closed for each in others)
    assert bench.client("127.0.0.2").closed
    assert bench.clients.refused == 4
    assert len(bench.warned) == 1  # in one second
    first[7].end()
    assert not bench.client().closed
    assert first[7].closed


def test_clients_that_ended_while_the_device_is_stuck_make_room_after_two_seconds() -> None:
    bench = BridgeBench(stalled=True)
    writer = bench.client("::1")
    writer.send(bytes(FULL))
    visitors = []
    for _ in range(MAX_PER_ADDRESS):
        visitors.append(bench.client())
        visitors[-1].send(b"hello")
        visitors[-1].end()
    assert bench.client().closed
    bench.wait(STALE_NS + SECOND)
    assert bench.to_port.dropped == {"writer_gone_bytes": 5 * MAX_PER_ADDRESS}
    assert sum(text.startswith("5 B of client ") for text in bench.warned) == MAX_PER_ADDRESS
    assert not bench.client().closed
    bench.wait(HALF_CLOSED_NS * 2)
    assert all(each.closed for each in visitors)
    assert bench.to_port.sent_bytes == FULL
    assert bench.adds_up


def test_a_client_without_traffic_is_disconnected_after_that_time() -> None:
    bench = BridgeBench(idle_ns=10 * SECOND)
    sends, silent = bench.client(), bench.client()
    for _ in range(4):
        sends.send(b"x")
        bench.wait(3 * SECOND)
    assert silent.closed
    assert not sends.closed
    assert "it was idle for 10 s" in bench.reported[-1]
    bench.wait(4 * SECOND)
    bench.clients.broadcast(b"from the device")
    bench.wait(9 * SECOND)
    assert not sends.closed
    bench.wait(SECOND)
    assert sends.closed


@pytest.mark.parametrize("cut", [1, 2, 3, 6])
def test_a_negotiation_is_not_passed_on_and_the_user_is_warned_once(cut: int) -> None:
    bench = BridgeBench()
    stream = b"\xff\xfd\x01\xff\xfb\x2c"
    for _ in range(2):
        client = bench.client()
        client.send(stream[:cut])
        if cut < 6:
            client.send(stream[cut:])
        assert client.closed
    assert bench.device.data() == b""
    (warning,) = bench.warned
    assert "it uses telnet; start the bridge with --rfc2217" in warning
    assert set(bench.to_port.dropped) <= {"telnet_bytes", "writer_gone_bytes"}
    assert bench.adds_up


def test_one_negotiation_that_silence_follows_is_telnet_too() -> None:
    bench = BridgeBench()
    client = bench.client()
    client.send(b"\xff\xfd\x01")
    assert not client.closed
    bench.wait(OPENING_NS)
    assert client.closed
    assert bench.device.data() == b"" and bench.to_port.dropped == {"telnet_bytes": 3}
    assert bench.adds_up


@pytest.mark.parametrize(
    ("rule", "silent_s", "host", "takes_place"),
    [
        ("first", 2.0, "10.0.0.1", True),
        ("first", 1.0, "10.0.0.1", False),
        ("first", 2.0, "10.0.0.2", False),
        ("last", 2.0, "10.0.0.1", True),  # though the dead one was not the writer
    ],
)
def test_a_new_connection_takes_the_place_of_the_dead_one_of_its_host(
    rule: str, silent_s: float, host: str, takes_place: bool
) -> None:
    """The writer's place: not that of another client which waits for it."""
    bench = BridgeBench(rule)
    dead, other, anew = FakeTransport(), FakeTransport(), FakeTransport()
    dead.silent_s = silent_s
    bench.clients.add(dead, "10.0.0.1:1")
    bench.clients.add(other, "10.0.0.3:1")
    bench.clients.add(anew, f"{host}:2")
    other.send(b"other")
    anew.send(b"stop")
    assert dead.closed is takes_place
    assert bench.device.data() == (b"stop" if takes_place else b"")
    assert any("its host connects again" in text for text in bench.reported) is takes_place
    assert bench.adds_up


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xfd\x00",
        b"\xff\xfd\x00\x01\x03\x00",  # a Dynamixel header without its first byte
        b"\xff\xfd\xf0data",
        b"\xff\x01",
        b"a\xff\xfd\x01",
        b"\xff\xfa",
    ],
)
def test_binary_data_passes_as_it_is(data: bytes) -> None:
    bench = BridgeBench()
    client = bench.client()
    for byte in data:
        client.send(bytes([byte]))
    assert bench.device.data() == data
    client.send(b"\xff\xfd\x01")  # later in the stream it is data
    assert bench.device.data() == data + b"\xff\xfd\x01"


@pytest.mark.parametrize("how", ["time", "end"])
def test_a_piece_of_a_negotiation_that_does_not_go_on_is_data(how: str) -> None:
    bench = BridgeBench()
    client = bench.client()
    client.send(b"\xff\xfd")
    assert bench.device.data() == b""
    if how == "time":
        bench.wait(OPENING_NS)
    else:
        client.end()
    assert bench.device.data() == b"\xff\xfd"


def test_the_kernel_is_more_patient_with_slow_clients_than_the_bridge() -> None:
    patience_ms = bridge_clients.PATIENCE_ALONE_NS // 1_000_000
    assert patience_ms < LIMITS.silent_ms <= patience_ms + 3000
