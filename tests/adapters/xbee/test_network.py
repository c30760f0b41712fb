"""Networks of XBees: who is in one, remote commands, DigiMesh and Zigbee with their limits."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
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
from hilgw.adapters.xbee.packets import DATA_ENDPOINTS, MeshFrames
from hilgw.adapters.xbee.settings import ByDestination, ByHeader, EndpointSettings
from hilgw.errors import MismatchError
from tests.adapters.bench import World, dropped, of
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession, unframe

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


PING = "6869"


def digimesh(**registers: bytes) -> FakeModule:
    fresh = {"VR": b"\x30\x14", "ID": b"\x7f\xff", "NP": b"\x00\x49", "AO": b"\x00", "DB": b"\x2b"}
    module = FakeModule(1, **(fresh | registers))
    del module.registers["MY"]
    return module


def zigbee(**registers: bytes) -> FakeModule:
    fresh = {
        "VR": b"\x10\x14", "ID": bytes(8), "NP": b"\x00\xff", "AO": b"\x00", "AI": b"\x00",
        "MY": b"\x12\x34", "CH": b"\x0f", "OP": bytes.fromhex("00000000DEADBEEF"), "EE": b"\x00",
        "DB": b"\x2b",
    }  # fmt: skip
    return FakeModule(1, **(fresh | registers))


def on_digimesh(**settings: Any) -> ModuleSession:
    return ModuleSession(digimesh(), firmware="digimesh", **settings).ready()


def on_zigbee(**settings: Any) -> ModuleSession:
    return ModuleSession(zigbee(), firmware="zigbee", mapping=ByHeader(), **settings).ready()


def test_a_hopping_module_has_no_channel() -> None:
    module = digimesh(HV=b"\x23\x00", VR=b"\x80\x71", NP=b"\x01\x00")
    del module.registers["CH"]
    bench = ModuleSession(module, firmware="digimesh", mapping=ByHeader()).opened()
    (ready,) = bench.of(base.Ready)
    assert ready.identity == f"XBee-PRO 900HP DigiMesh {SERIAL} PAN 7FFF NP 256"
    error = ModuleSession(module, firmware="digimesh").opened().failure()
    assert isinstance(error, MismatchError)
    assert "has no CH" in str(error) and "by: header" in error.fix


@pytest.mark.parametrize(
    ("module", "firmware", "remedy"),
    [
        (digimesh(), "zigbee", "firmware: digimesh"), (zigbee(), "digimesh", "firmware: zigbee"),
        (zigbee(), "802.15.4", "firmware: zigbee"), (FakeModule(), "zigbee", "firmware: 802.15.4"),
    ],
)  # fmt: skip
def test_other_firmware_is_named_with_a_fix(module: FakeModule, firmware: str, remedy: str) -> None:
    error = ModuleSession(module, firmware=firmware).opened().failure()
    assert isinstance(error, MismatchError) and remedy in error.fix
    assert all(len(data) == 4 for data in module.log)  # reads alone


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (0x21, "no network found"),
        (0x23, "does not allow joining"),
        (0xFF, "scanning"),
        (0x77, "77"),
    ],
)
@pytest.mark.parametrize("status", ["8A02", "8A06"])
def test_an_unassociated_module_waits_for_its_network(state: int, word: str, status: str) -> None:
    module = zigbee(AI=bytes((state,)))
    bench = ModuleSession(module, firmware="zigbee", mapping=ByHeader()).opened()
    (notice,) = bench.of(base.Notice)
    assert word in notice.text
    assert f"AI = {state:02X}" in notice.text
    bench.pass_time(60)
    assert len(bench.of(base.Notice)) == 1  # reported once for each state
    assert not bench.of(base.Ready)
    assert not bench.of(base.Failed)
    assert bench.send(b"x") is None
    module.registers["AI"] = b"\x00"
    ready = bench.frames(status)[-1]
    assert ready == base.Ready(
        f"XBee 3 Zigbee {SERIAL} MY 1234 CH 0F PAN 00000000DEADBEEF NP 255", (SERIAL, "1234")
    )


def test_a_join_without_a_modem_status_is_noticed() -> None:
    module = zigbee(AI=b"\xff")
    bench = ModuleSession(module, firmware="zigbee", mapping=ByHeader()).opened()
    module.registers["AI"] = b"\x22"
    bench.pass_time(3)
    assert len(bench.of(base.Notice)) == 2
    module.registers["AI"] = b"\x00"
    assert isinstance(bench.pass_time(3)[-1], base.Ready)


def test_a_module_that_leaves_its_network_is_not_ready() -> None:
    bench = on_zigbee()
    sent = bench.send(b"x")
    bench.module.registers["AI"] = b"\x21"
    events = bench.frames("8A03")
    assert events[:2] == [
        base.Refused(sent.token, "not_joined"),
        base.NotReady("the module left the network"),
    ]
    bench.module.registers["AI"] = b"\x00"
    assert isinstance(bench.frames("8A02")[-1], base.Ready)


def test_with_module_channel_the_networks_channel_is_checked() -> None:
    assert ModuleSession(zigbee(), channel=15, firmware="zigbee").opened().of(base.Ready)
    bench = ModuleSession(zigbee(), channel=12, firmware="zigbee").opened()
    assert "CH 0F, channel 15" in str(bench.failure())
    assert all(data[2:4] != b"CH" or len(data) == 4 for data in bench.module.log)


def test_flow_control_is_switched_on_where_it_is_asked_for() -> None:
    bench = ModuleSession(FakeModule(1, D7=b"\x00", D6=b"\x01"), line={"rtscts": True}).ready()
    assert bench.module.registers["D7"] == b"\x01"
    # CTS holds the bytes back, so only the window limits.
    assert [bench.send(bytes(100)) is None for _ in range(5)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        ("broadcast", "000000000000FFFF FFFE"), (REMOTE, f"{REMOTE} FFFE"),
        ("0000000000000000", "0000000000000000 FFFE"), ("1a2b", "FFFFFFFFFFFFFFFF 1A2B"),
    ],
)  # fmt: skip
def test_frames_10(destination: str, expected: str) -> None:
    bench = on_zigbee(destination=destination)
    sent = bench.send(b"hi", channel=3)
    data = unframe(sent.data)
    assert len(sent.data) == MeshFrames(None).overhead + 3
    assert data == b"\x10" + data[1:2] + bytes.fromhex(f"{expected} 00 00 03 {PING}")
    assert bench.frames(f"8B {data[1]:02X} 0000 00 00 00") == [base.Delivered(sent.token)]


@pytest.mark.parametrize(("ao", "after"), [(b"\x00", b"\x01"), (b"\x03", b"\x03")])
def test_endpoints_asked_for_set_ao_where_it_is_0_and_filter(ao: bytes, after: bytes) -> None:
    ends = EndpointSettings(source=1, destination=2, cluster=6, profile=0x0104)
    module = zigbee(AO=ao)
    bench = ModuleSession(module, firmware="zigbee", mapping=ByHeader(), endpoints=ends).ready()
    assert module.registers["AO"] == after
    data = unframe(bench.send(b"hi", channel=0).data)
    assert data[12:18] == bytes.fromhex("01 02 0006 0104")
    back = f"91 {REMOTE} 1234 02 01 0006 0104 01 00{PING}"
    assert [event.data for event in of(base.Received, bench.frames(back))] == [b"hi"]
    assert dropped(bench.frames(f"91 {REMOTE} 1234 01 02 0006 0104 01 00{PING}")) == ["endpoint"]


def test_ao_of_the_module_asks_for_frames_11() -> None:
    bench = ModuleSession(digimesh(AO=b"\x01"), firmware="digimesh", destination=REMOTE).ready()
    wire = bench.send(b"hi").data
    assert len(wire) == MeshFrames(DATA_ENDPOINTS).overhead + 2
    data = unframe(wire)
    assert data == bytes.fromhex(f"11 {data[1]:02X} {REMOTE} FFFE E8E80011C105 0000 {PING}")
    ours = f"91 {REMOTE} FFFE E8 E8 0011 C105 C1 {PING}"
    assert [event.data for event in of(base.Received, bench.frames(ours))] == [b"hi"]
    assert dropped(bench.frames(f"91 {REMOTE} FFFE 00 00 8031 0000 01 {PING}")) == ["endpoint"]


@pytest.mark.parametrize(
    ("module", "firmware", "channel", "limit"),
    [
        (zigbee(EE=b"\0", NP=b"\0\xff"), "zigbee", 1, 255),
        (zigbee(EE=b"\0", NP=b"\0\xff"), "zigbee", -1, 92),
        (zigbee(EE=b"\1", NP=b"\0\xff"), "zigbee", -1, 74),
        (FakeModule(NP=b"\0\x31"), "802.15.4", 1, 49),
        (FakeModule(HV=b"\x17\x44", VR=b"\x10\xef", NP=b"", EE=b"\0"), "802.15.4", 1, 100),
        (FakeModule(HV=b"\x17\x44", VR=b"\x10\xef", NP=b"", EE=b"\1"), "802.15.4", 1, 95),
        (FakeModule(HV=b"\x17\x44", VR=b"\x10\xef", NP=b""), "802.15.4", 1, 100),
        (digimesh(EE=b"\0", NP=b""), "digimesh", 1, 73),
        (digimesh(EE=b"\1", NP=b""), "digimesh", 1, 65),
    ],
)
def test_limits_of_a_packet(module: FakeModule, firmware: str, channel: int, limit: int) -> None:
    """An S1 and most DigiMesh firmware have no NP; old firmware has no EE."""
    if not module.registers["NP"]:
        del module.registers["NP"]
    table = ByDestination(table={1: REMOTE})
    bench = ModuleSession(module, firmware=firmware, mapping=table).ready()
    assert isinstance(bench.send(bytes(limit), channel), base.Transmission)
    refused = bench.send(bytes(limit + 1), channel)
    assert refused.reason == "too_long" and str(limit) in refused.text


def packet(source: str = REMOTE) -> str:
    return f"90 {source} FFFE C1 {PING}"


def rssi(events: list[Any]) -> list[tuple[float | None, bool]]:
    return [(each.rssi_dbm, each.rssi_uncertain) for each in of(base.Received, events)]


def test_a_packet_waits_for_db_and_is_marked() -> None:
    bench = on_digimesh()
    asked, *rest = bench.frames(packet())
    assert isinstance(asked, base.Write)
    assert unframe(asked.data)[2:] == b"DB"
    assert rest == [base.Received(b"hi", 12, -43, REMOTE, True)]
    assert bench.session.next_deadline() is None


def test_questions_keep_their_distance() -> None:
    bench = on_digimesh()
    bench.frames(packet())
    close = bench.frames(packet(), packet("0013A200400000FF"))
    assert not of(base.Write, close)
    assert rssi(close) == [(-43, True), (None, False)]  # the last one only for the same module
    bench.pass_time(0.02)
    assert isinstance(bench.frames(packet())[0], base.Write)


def test_one_question_serves_all_that_wait_and_order_is_kept() -> None:
    bench = on_digimesh()
    bench.module.silent = True
    (asked,) = bench.frames(*[f"90 {REMOTE} FFFE C1 {index:02X}" for index in range(5)])
    assert isinstance(asked, base.Write)
    answered = bench.frames(f"88 {unframe(asked.data)[1]:02X} 4442 00 30")
    assert [event.data[0] for event in of(base.Received, answered)] == list(range(5))
    assert set(rssi(answered)) == {(-48, True)}


def test_an_answer_on_a_slow_line_is_waited_for() -> None:
    """At 300 baud a question and its answer take 1 s."""
    bench = on_digimesh(line={"baudRate": 300})
    bench.module.silent = True
    (asked,) = bench.frames(packet())
    assert bench.pass_time(1) == []
    assert isinstance(asked, base.Write)
    answered = bench.frames(f"88 {unframe(asked.data)[1]:02X} 4442 00 30")
    assert rssi(answered) == [(-48, True)]


def test_without_an_answer_the_packet_goes_on_and_questions_pause() -> None:
    bench = on_digimesh()
    bench.module.silent = True
    bench.frames(packet())
    assert rssi(bench.pass_time(0.3)) == [(None, False)]
    assert rssi(bench.frames(packet())) == [(None, False)]
    bench.module.silent = False
    bench.pass_time(1.1)
    assert rssi(bench.frames(packet())) == [(-43, True)]


@pytest.mark.parametrize("value", [b"\x00", b"\x00\x00", b"", b"\xff\xff"])
def test_a_db_without_a_value_is_not_a_rssi(value: bytes) -> None:
    bench = on_digimesh()
    bench.module.registers["DB"] = value
    assert rssi(bench.frames(packet())) == [(None, False)]


def test_a_module_without_db_is_asked_once() -> None:
    bench = on_digimesh()
    del bench.module.registers["DB"]
    assert rssi(bench.frames(packet())) == [(None, False)]
    bench.pass_time(5)
    assert [type(event) for event in bench.frames(packet())] == [base.Received]


def test_what_waits_is_bounded_and_survives_a_reset_and_the_end() -> None:
    bench = on_digimesh()
    bench.module.silent = True
    assert len(rssi(bench.frames(*[packet()] * 16))) == 16
    bench.pass_time(2)
    bench.frames(packet())
    assert isinstance(bench.frames("8A00")[0], base.Received)
    bench = on_digimesh()
    bench.module.silent = True
    bench.frames(packet())
    assert rssi(bench.session.close()) == [(None, False)]


def test_it_can_be_switched_off_and_on() -> None:
    off = on_digimesh(rssi_from_db=False)
    assert off.frames(packet()) == [base.Received(b"hi", 12, None, REMOTE)]
    on = ModuleSession(FakeModule(1, DB=b"\x40"), rssi_from_db=True).ready()
    assert rssi(on.frames(packet())) == [(-64, True)]
    assert rssi(on.frames(f"80 {REMOTE} 28 00 {PING}")) == [(-40, False)]


def test_the_zigbee_id_has_64_bits() -> None:
    bench = ModuleSession(
        zigbee(), firmware="zigbee", mapping=ByHeader(), extended_pan_id=0x1122334455667788
    ).opened()
    assert bench.module.registers["ID"] == bytes.fromhex("1122334455667788")


def test_digimesh_is_found_and_set() -> None:
    bench = ModuleSession(digimesh(CH=b"\x0b"), firmware="digimesh", pan_id=0x1234)
    ready = bench.open()[-1]
    assert ready == base.Ready(f"XBee 3 DigiMesh {SERIAL} CH 0C PAN 1234 NP 73", (SERIAL,))
    assert bench.module.registers["ID"] == b"\x12\x34"
    assert bench.module.registers["CH"] == b"\x0c"
