"""Who is in an XBee's network, and commands for modules that are elsewhere."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters.base import (
    Delivered,
    Node,
    Notice,
    Ready,
    Received,
    RemoteAnswer,
    SearchEnded,
    Write,
)
from hilgw.adapters.xbee import ADAPTER
from hilgw.adapters.xbee.network import AT_ONCE, parse_node
from hilgw.adapters.xbee.settings import ByHeader
from tests.adapters.world import World
from tests.adapters.xbee.bench import ModuleSession, unframe

REMOTE = "0013A20040A1B2C3"


def ask(bench: ModuleSession, events: list[Any]) -> bytes:
    """The frame of the one question among the events."""
    (write,) = events
    assert isinstance(write, Write)
    return unframe(write.data)


def test_a_search_names_every_node_and_ends() -> None:
    bench = ModuleSession().ready()
    data = ask(bench, bench.session.discover(bench.now))
    assert data[0:1] + data[2:] == b"\x08ND"
    head = f"88 {data[1]:02X} 4E44 00"
    assert bench.session.discover(bench.now) == []
    assert bench.frames(
        f"{head} FFFE {REMOTE} 2E 526F76657200", f"{head} 1234 {REMOTE} 30 2000", head
    ) == [Node(REMOTE, "", "Rover", "", -46), Node(REMOTE, "1234", " ", "", -48), SearchEnded()]
    assert bench.frames(head) == []


def test_a_search_that_never_ends_is_ended() -> None:
    bench = ModuleSession().ready()
    bench.session.discover(bench.now)
    assert bench.pass_time(29) == []
    (ended,) = bench.pass_time(2)
    assert isinstance(ended, SearchEnded)
    assert ended.problem
    assert isinstance(bench.session.discover(bench.now)[0], Write)


def test_a_search_refused_or_broken_off_reports_why() -> None:
    bench = ModuleSession().ready()
    data = ask(bench, bench.session.discover(bench.now))
    assert bench.frames(f"88 {data[1]:02X} 4E44 01") == [SearchEnded("error")]
    bench.session.discover(bench.now)
    assert bench.frames("8A00")[0] == SearchEnded("reset")


@pytest.mark.parametrize(
    ("address", "target"), [(REMOTE.lower(), f"{REMOTE} FFFE"), ("1234", "FFFFFFFFFFFFFFFF 1234")]
)
def test_a_remote_command_and_its_answer(address: str, target: str) -> None:
    bench = ModuleSession().ready()
    data = ask(bench, bench.session.command(address, "NI", b"x", 7, bench.now))
    assert data[2:] == bytes.fromhex(target) + b"\x02NIx"
    number = f"{data[1]:02X}"
    assert bench.frames(f"97 {number} {REMOTE} FFFE 4442 00") == []  # another command's
    assert bench.frames(f"97 {number} {REMOTE} FFFE 4E49 00 78") == [
        RemoteAnswer(REMOTE, "NI", b"x", token=7)
    ]
    assert bench.frames(f"97 {number} {REMOTE} FFFE 4E49 00 78") == []


def test_remote_commands_fail_in_words_and_are_bounded() -> None:
    bench = ModuleSession().ready()
    command = bench.session.command
    data = ask(bench, command(REMOTE, "D0", b"\x09", 7, bench.now))
    assert bench.frames(f"97 {data[1]:02X} {REMOTE} FFFE 4430 03") == [
        RemoteAnswer(REMOTE, "D0", b"", "bad parameter", 7)
    ]
    for token in range(AT_ONCE):
        assert isinstance(command(REMOTE, "D0", b"", token, bench.now)[0], Write)
    (refused,) = command(REMOTE, "D0", b"", 99, bench.now)
    assert refused.problem and refused.token == 99
    late = bench.pass_time(11)
    assert late == [
        RemoteAnswer(REMOTE, "D0", problem="no answer", token=token) for token in range(AT_ONCE)
    ]
    assert bench.session.next_deadline() is None


def test_the_frame_id_of_what_is_outstanding_is_not_used_again() -> None:
    """Neither that of a remote command nor that of a search, however many frames pass meanwhile."""
    bench = ModuleSession().ready()
    session: Any = bench.session
    search = ask(bench, session.discover(bench.now))[1]
    first = ask(bench, session.command(REMOTE, "NI", b"", 1, bench.now))[1]
    answers = []
    for token in range(2, 602):
        number = ask(bench, session.command(REMOTE, "D0", b"", token, bench.now))[1]
        assert number not in (0, search, first)
        answers += bench.frames(f"97 {number:02X} {REMOTE} FFFE 4430 00")
    assert [each.token for each in answers] == list(range(2, 602))
    assert bench.frames(f"97 {first:02X} {REMOTE} FFFE 4E49 00 78") == [
        RemoteAnswer(REMOTE, "NI", b"x", token=1)
    ]


def test_nothing_is_asked_before_the_module_is_ready() -> None:
    bench = ModuleSession()
    assert bench.session.discover(0) == []
    assert bench.session.command(REMOTE, "NI", b"", 0, 0) == []


@given(st.binary(max_size=60), st.booleans())
def test_any_record_is_a_node_or_nothing(record: bytes, raw: bool) -> None:
    node = parse_node(record, raw)
    assert node is None or len(node.address) == 16


@pytest.mark.parametrize(
    ("tail", "rssi"),
    [("FFFE 01 00 C105 101E", None), ("FFFE 01 00 C105 101E 00030000", None),
     ("FFFE 01 00 C105 101E 31", -49), ("FFFE 01 00 C105 101E 00030000 31", -49)],
)  # fmt: skip
def test_records_of_mesh_networks(tail: str, rssi: int | None) -> None:
    record = bytes.fromhex(f"FFFE {REMOTE} 4131 00 {tail}")
    assert parse_node(record, raw=False) == Node(REMOTE, "", "A1", "router", rssi)


@pytest.mark.parametrize("api_mode", [1, 2])
@pytest.mark.parametrize("hardware", ["s1", "xbee3"])
def test_packets_both_ways(api_mode: int, hardware: str) -> None:
    world = World(ADAPTER)
    common = {"api_mode": api_mode, "pan_id": 0x7E11}
    one = world.add({"hardware": hardware}, my_address=0x0001, **common)
    two = world.add({"hardware": hardware}, my_address=2, destination="1", **common)
    world.run(2)
    assert "PAN 7E11" in one.of(Ready)[-1].identity
    payload = bytes(range(100))
    sent = one.send(payload)
    world.run(1)
    assert one.of(Delivered) == [Delivered(sent.token)]
    (received,) = two.of(Received)
    assert (received.data, received.channel, received.address) == (payload, 12, "0001")
    assert received.rssi_dbm is not None
    answer = two.send(b"pong")
    world.run(1)
    assert two.of(Delivered) == [Delivered(answer.token)]
    assert [event.data for event in one.of(Received)] == [b"pong"]


@pytest.mark.parametrize(
    ("firmware", "mock", "far_mock"),
    [
        ("802.15.4", {"hardware": "s1"}, {"hardware": "s1"}),
        ("802.15.4", {}, {}),
        ("digimesh", {"hardware": "900hp"}, {"hardware": "900hp"}),
        ("zigbee", {"CE": 1}, {}),
    ],
)
def test_the_mock_answers(firmware: str, mock: dict[str, Any], far_mock: dict[str, Any]) -> None:
    world = World(ADAPTER)
    one = world.add(mock, firmware=firmware, mapping=ByHeader())
    two = world.add({**far_mock, "ni": "far"}, firmware=firmware, mapping=ByHeader())
    world.run(10)
    (other,) = two.of(Ready)
    one.handle(one.session.discover(world.now))
    world.run(31)
    (node,) = one.of(Node)
    assert (node.address, node.name) == (other.addresses[0], "far")
    assert one.of(SearchEnded) == [SearchEnded()]
    one.handle(one.session.command(node.address, "NI", b"", 5, world.now))
    world.run(3)
    assert one.of(RemoteAnswer) == [RemoteAnswer(node.address, "NI", b"far", token=5)]
    assert not [notice for notice in one.of(Notice) if "ignored" in notice.text]
