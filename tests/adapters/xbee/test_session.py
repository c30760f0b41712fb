"""Packets through an XBee session: out, in, lost, refused, and what a reset does to them."""

import random
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
from hilgw.adapters.xbee import ADAPTER, describe as words
from hilgw.adapters.xbee.session import UART_ROOM
from hilgw.adapters.xbee.settings import ByDestination, ByHeader, ModuleChannel
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession, frame, unframe
from tests.cases import cases

REMOTE = "0013A20040A1B2C3"
PING = "6869"


def ready(**settings_: Any) -> ModuleSession:
    return ModuleSession(**settings_).ready()


def received(events: list[Any]) -> list[base.Received]:
    return [event for event in events if isinstance(event, base.Received)]


# --- out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        ("broadcast", "0101FFFF00"), ("0013a20040a1b2c3", "00010013A20040A1B2C300"),
        ("1234", "0101123400"), ("7", "0101000700"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("api_mode", [1, 2])
def test_a_packet_goes_to_the_destination(destination: str, expected: str, api_mode: int) -> None:
    bench = ready(destination=destination, api_mode=api_mode)
    sent = bench.send(b"\x7e\x11hi")
    assert isinstance(sent, base.Transmission)
    assert unframe(sent.data, api_mode == 2) == bytes.fromhex(expected) + b"\x7e\x11hi"
    assert sent.data == frame(bytes.fromhex(expected) + b"\x7e\x11hi", api_mode == 2)


@pytest.mark.parametrize("status", [0, *sorted(words.DELIVERY)])
@pytest.mark.parametrize("layout", ["89{id:02X}{status:02X}", "8B{id:02X}FFFE00{status:02X}00"])
def test_every_status_ends_its_frame(status: int, layout: str) -> None:
    bench = ready()
    sent = bench.send(b"hi")
    events = bench.frames(layout.format(id=unframe(sent.data)[1], status=status))
    expected = (
        base.Refused(sent.token, words.DELIVERY[status]) if status else base.Delivered(sent.token)
    )
    assert events == [expected]
    assert bench.session.next_deadline() is None


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (0x01, "no_ack"), (0x02, "cca"), (0x03, "purged"), (0x21, "no_network_ack"),
        (0x25, "no_route"), (0x74, "too_long"), (0x75, "unrequested"), (0x99, "status_99"),
    ],
)  # fmt: skip
def test_reasons_have_their_words(status: int, reason: str) -> None:
    bench = ready()
    sent = bench.send(b"hi")
    assert bench.frames(f"8901{status:02X}") == [base.Refused(sent.token, reason)]


def test_a_status_of_no_request_is_counted_and_ignored() -> None:
    bench = ready()
    sent = bench.send(b"hi")
    (notice,) = bench.frames("892A00")
    assert isinstance(notice, base.Notice)
    assert notice.once
    assert bench.session.unknown_statuses == 1
    assert bench.frames("890100", "890100")[0] == base.Delivered(sent.token)
    assert bench.session.unknown_statuses == 2


def test_a_missing_status_is_a_reason_and_a_late_one_is_ignored() -> None:
    bench = ready(status_timeout_s=1.5)
    first = bench.send(b"one")
    bench.pass_time(1.0)
    second = bench.send(b"two")
    assert bench.pass_time(0.499) == []
    assert bench.pass_time(0.001) == [base.Refused(first.token, "no_status")]
    assert bench.frames("890100", "890200")[-1] == base.Delivered(second.token)
    assert bench.session.unknown_statuses == 1
    assert bench.session.next_deadline() is None


class SlowModule(ModuleSession):
    common_fields: ClassVar[dict[str, Any]] = {"baudRate": 300}


def test_a_status_after_long_frames_on_a_slow_line_is_in_time() -> None:
    """Ours and one that came in between may take 34 s."""
    bench = SlowModule(status_timeout_s=1.5).ready()
    sent = bench.send(b"one")
    assert bench.pass_time(33) == []
    assert bench.frames("890100") == [base.Delivered(sent.token)]


def test_a_long_frame_before_the_first_answer_on_a_slow_line_is_waited_for() -> None:
    module = FakeModule()
    module.silent = True
    bench = SlowModule(module)
    bench.open()
    for byte in frame(b"\x90" + random.Random(1).randbytes(460))[:-1]:
        bench.take_in(bytes((byte,)))
        bench.pass_time(10 / 300)
    assert not [each for each in bench.events if isinstance(each, base.Notice)]


def test_the_window_holds_back_and_opens_one_by_one() -> None:
    bench = ready(window=3)
    sent = [bench.send(b"hi") for _ in range(3)]
    assert all(isinstance(item, base.Transmission) for item in sent)
    assert bench.send(b"hi") is None
    assert bench.frames("890200") == [base.Delivered(sent[1].token)]
    assert isinstance(bench.send(b"hi"), base.Transmission)
    assert bench.send(b"hi") is None
    bench.pass_time(4)
    assert isinstance(bench.send(b"hi"), base.Transmission)


def test_frames_ahead_fit_the_modules_uart_buffer() -> None:
    bench = ready(window=16)
    ahead = 0
    while (sent := bench.send(bytes(20))) is not None:
        ahead += len(sent.data)
    assert UART_ROOM - 40 < ahead <= UART_ROOM
    assert isinstance(
        ready(window=16).send(bytes(100)), base.Transmission
    )  # a single one always goes
    bench.frames("890100")
    assert isinstance(bench.send(bytes(20)), base.Transmission)


@pytest.mark.parametrize("end", ["statuses", "timeouts", "reset", "close"])
def test_room_in_the_uart_buffer_comes_back_whole(end: str) -> None:
    bench = ready(window=16)

    def fill() -> int:
        count = 0
        while bench.send(bytes(20)) is not None:
            count += 1
        return count

    first = fill()
    if end == "statuses":
        bench.frames(*(f"89{index + 1:02X}00" for index in range(first)))
    elif end == "timeouts":
        bench.pass_time(4)
    elif end == "reset":
        bench.frames("8A00")
    else:
        bench.take(bench.session.close())
        bench.open()
    assert fill() == first > 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=1200))
@cases(0.5)
def test_frame_ids_rotate_and_none_outstanding_is_used_again(answers: list[int]) -> None:
    bench = ready(window=4, status_timeout_s=60)
    outstanding: dict[int, int] = {}
    tokens = set()
    for index in answers:
        sent = bench.send(b"x")
        if sent is not None:
            frame_id = unframe(sent.data)[1]
            assert 1 <= frame_id <= 255
            assert frame_id not in outstanding
            assert sent.token not in tokens
            outstanding[frame_id] = sent.token
            tokens.add(sent.token)
        if index < len(outstanding) and (index or len(outstanding) == 4):
            frame_id = list(outstanding)[index]
            token = outstanding.pop(frame_id)
            assert bench.frames(f"89{frame_id:02X}00") == [base.Delivered(token)]
        assert len(outstanding) <= 4


def test_ids_wrap_past_one_that_hangs() -> None:
    bench = ready(status_timeout_s=60)
    bench.send(b"hangs")
    seen = []
    for _ in range(600):
        sent = bench.send(b"x")
        seen.append(unframe(sent.data)[1])
        assert bench.frames(f"89{seen[-1]:02X}00") == [base.Delivered(sent.token)]
    assert seen[:254] == list(range(2, 256))
    assert seen[254:508] == list(range(2, 256))


@pytest.mark.parametrize(("np", "limit"), [(100, 100), (102, 102), (49, 49)])
def test_a_payload_over_the_modules_limit_is_refused(np: int, limit: int) -> None:
    bench = ModuleSession(FakeModule(NP=np.to_bytes(2, "big"))).ready()
    assert isinstance(bench.send(bytes(limit)), base.Transmission)
    refused = bench.send(bytes(limit + 1))
    assert isinstance(refused, base.CannotSend)
    assert refused.reason == "too_long"
    assert str(limit) in refused.text


def test_what_can_never_go_out_is_refused_while_the_window_is_full() -> None:
    bench = ready(window=1)
    bench.send(b"x")
    assert isinstance(bench.send(bytes(1000)), base.CannotSend)
    assert isinstance(bench.send(b""), base.CannotSend)
    assert bench.send(b"", 12).reason == "empty"
    assert bench.send(b"x", 13).reason == "channel"


# --- in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (f"80 {REMOTE} 28 00 {PING}", base.Received(b"hi", 12, -40, REMOTE)),
        (f"81 1234 5C 02 {PING}", base.Received(b"hi", 12, -92, "1234")),
        (f"81 0000 28 00 {PING}", base.Received(b"hi", 12, -40, None)),
        (f"90 {REMOTE} FFFE 01 {PING}", base.Received(b"hi", 12, None, REMOTE)),
        (f"90 FFFFFFFFFFFFFFFF 1234 01 {PING}", base.Received(b"hi", 12, None, "1234")),
        (f"91 {REMOTE} FFFE E8 E8 0011 C105 01 {PING}", base.Received(b"hi", 12, None, REMOTE)),
        (f"91 FFFFFFFFFFFFFFFF 0007 E8E80011C10501 {PING}", base.Received(b"hi", 12, None, "0007")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("api_mode", [1, 2])
def test_a_packet_comes_in(data: str, event: base.Received, api_mode: int) -> None:
    assert ready(api_mode=api_mode).frames(data) == [event]


@pytest.mark.parametrize("head", ["81 1234 28 00", f"80 {REMOTE} 28 00", f"90 {REMOTE} FFFE 01"])
def test_a_frame_without_data_is_dropped_with_a_reason(head: str) -> None:
    (dropped,) = ready().frames(head)
    assert isinstance(dropped, base.Dropped)
    assert dropped.reason == "empty"
    short = bytes.fromhex(head)[:-1].hex()
    (dropped,) = ready().frames(short)
    assert isinstance(dropped, base.Dropped)
    assert dropped.reason == "bad_frame"


class OnNetwork(ModuleSession):
    common_fields: ClassVar[dict[str, Any]] = {"port": "socket://10.0.0.1:4001"}


class OnSlowLine(ModuleSession):
    common_fields: ClassVar[dict[str, Any]] = {"baudRate": 300}


@pytest.mark.parametrize(
    ("bench", "pause_s", "arrives"),
    [
        (ModuleSession, 0.25, True),  # modules and USB pause for less
        (ModuleSession, 0.9, False),
        (OnNetwork, 4, True),
        (OnSlowLine, 0.9, True),
        (OnSlowLine, 4, False),
    ],
)
def test_a_pause_within_a_frame_ends_it_on_a_line_and_not_on_tcp(
    bench: type[ModuleSession], pause_s: float, arrives: bool
) -> None:
    """At 300 baud a UART holds back bytes for longer than 0.3 s."""
    module = bench().ready()
    wire = frame(f"81 1234 28 00 {PING}")
    assert module.take_in(wire[:6]) == []
    events = [*module.pass_time(pause_s), *module.take_in(wire[6:])]
    assert [type(event) for event in events] == [base.Received if arrives else base.Dropped]


def test_corrupt_frames_are_counted_one_by_one() -> None:
    bench = ready()
    good = frame(f"81 1234 28 00 {PING}")
    bad = bytearray(good)
    bad[8] ^= 1
    events = bench.take_in(bytes(bad) + good + bytes(bad) + good)
    assert len(received(events)) == 2
    assert [event.reason for event in events if isinstance(event, base.Dropped)] == [
        "bad_frame"
    ] * 2


def test_a_frame_cut_short_is_given_up_when_the_line_is_silent() -> None:
    bench = ready()
    good = frame(f"81 1234 28 00 {PING}")
    assert bench.take_in(b"\x7e\x01\x00\x81" + good) == []
    bench.pass_time(0.25)  # modules and USB pause for less
    assert bench.events == []
    events = bench.pass_time(0.1)
    assert received(events) == [base.Received(b"hi", 12, -40, "1234")]
    assert bench.session.next_deadline() is None


# --- mappings -------------------------------------------------------------------------------------

TABLE = {3: "1234", 12: REMOTE.lower(), 5: "broadcast"}


def test_module_channel_listens_to_its_channel() -> None:
    assert ready(channel=26).session.channels == frozenset((26,))


@pytest.mark.parametrize(
    ("channel", "head"),
    [(3, "0101123400"), (12, f"0001{REMOTE}00"), (5, "0101FFFF00"), (-1, "0101FFFF00"),
     (9, "0101000700")],
)  # fmt: skip
def test_destination_maps_channels_to_addresses(channel: int, head: str) -> None:
    bench = ready(mapping=ByDestination(table=TABLE), channel=9, destination="7")
    assert bench.session.channels == frozenset((3, 5, 9, 12))
    assert unframe(bench.send(b"hi", channel).data) == bytes.fromhex(head) + b"hi"
    assert bench.send(b"hi", 4).reason == "channel"


@pytest.mark.parametrize(
    ("data", "channel"),
    [
        (f"81 1234 28 00 {PING}", 3), (f"80 {REMOTE} 28 00 {PING}", 12),
        (f"81 0007 28 00 {PING}", 9), (f"90 {REMOTE} FFFE 00 {PING}", 12),
        (f"90 0013A20000000001 1234 00 {PING}", 3), (f"90 FFFFFFFFFFFFFFFF 1234 00 {PING}", 3),
    ],
)  # fmt: skip
def test_destination_maps_sources_to_channels(data: str, channel: int) -> None:
    bench = ready(mapping=ByDestination(table=TABLE), channel=9)
    assert [event.channel for event in received(bench.frames(data))] == [channel]


def test_the_first_channel_of_an_address_is_the_one_received() -> None:
    bench = ready(mapping=ByDestination(table={8: "1234", 2: "1234"}), channel=9)
    assert received(bench.frames(f"81 1234 28 00 {PING}"))[0].channel == 8


@pytest.mark.parametrize(("channel", "header"), [(0, 0), (12, 12), (254, 254), (-1, 255)])
def test_header_carries_the_channel(channel: int, header: int) -> None:
    bench = ready(mapping=ByHeader(), destination="1234", channel=0)
    assert bench.session.channels is None
    sent = bench.send(b"hi", channel)
    assert unframe(sent.data) == bytes.fromhex("0101123400") + bytes((header,)) + b"hi"
    assert bench.frames(f"81 1234 28 00 {header:02X} {PING}") == [
        base.Received(b"hi", channel, -40, "1234")
    ]


def test_header_limits() -> None:
    bench = ready(mapping=ByHeader(), channel=0)
    assert bench.send(b"hi", 255).reason == "channel"
    assert bench.send(b"", 1).reason == "empty"
    assert isinstance(bench.send(bytes(101), 1), base.Transmission)
    assert bench.send(bytes(102), 1).reason == "too_long"
    (dropped,) = bench.frames("81 1234 28 00 07")
    assert isinstance(dropped, base.Dropped)
    assert dropped.reason == "no_header"


# --- resets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["00", "01"])
def test_a_reset_under_traffic(status: str) -> None:
    bench = ready(pan_id=0x1111)
    sent = [bench.send(b"hi") for _ in range(2)]
    bench.module.registers |= {"ID": b"\x33\x32"}  # AC without WR: lost
    events = bench.frames(f"81 1234 28 00 {PING}", f"8A{status}")
    kinds = [type(event) for event in events]
    assert kinds[:4] == [base.Received, base.Refused, base.Refused, base.NotReady]
    assert events[1:3] == [base.Refused(item.token, "reset") for item in sent]
    assert "restarted" in events[3].reason  # type: ignore[union-attr]
    assert isinstance(events[-1], base.Ready)
    assert "PAN 1111" in events[-1].identity
    assert isinstance(bench.send(b"again"), base.Transmission)


def test_no_packet_passes_between_a_reset_and_the_next_handshake() -> None:
    bench = ready()
    bench.module.silent = True
    bench.frames("8A00")
    assert bench.send(b"x") is None
    (dropped,) = bench.frames(f"81 1234 28 00 {PING}")
    assert isinstance(dropped, base.Dropped)
    assert dropped.reason == "not_ready"
    bench.module.silent = False
    assert isinstance(bench.pass_time(1)[-1], base.Ready)


def test_other_modem_statuses_are_reported_and_change_nothing() -> None:
    bench = ready()
    sent = bench.send(b"x")
    assert bench.frames("8A02") == [base.Notice("module: joined the network")]
    assert bench.frames("890100") == [base.Delivered(sent.token)]


def test_a_node_that_identifies_itself_is_reported() -> None:
    (notice,) = ready().frames("95 0013A20040522BAA 7D84 02 7D84 0013A20040522BAA 4E31 00")
    assert notice == base.Notice("node 'N1' is at 0013A20040522BAA, network address 7D84")


def test_closing_loses_what_is_outstanding() -> None:
    bench = ready()
    sent = [bench.send(b"x") for _ in range(3)]
    assert bench.session.close() == [base.Refused(item.token, "down") for item in sent]
    assert bench.session.close() == []
    bench.ready()
    assert bench.frames("890100") == [
        base.Notice("transmit status without an outstanding frame ignored")
    ]


# --- words, settings, mock ------------------------------------------------------------------------


def test_describe_takes_wire_bytes_frame_data_and_text() -> None:
    session = ready().session
    assert session.describe(frame("8A00")) == "modem status: hardware reset or power-up"
    both = session.describe(frame("8A00") + frame("890100"))
    assert both.endswith("; transmit status: delivered [id 1]")
    assert session.describe(b"\x89\x01\x00") == "transmit status: delivered [id 1]"
    assert session.describe(b"+++") == "text '+++'"
    assert session.describe(b"\x7e\x00") == "no complete XBee frame: 2 B"
    # The begin of the next frame may come with the bytes before it.
    assert session.describe(frame("890100") + b"\x7e") == "transmit status: delivered [id 1]"
    for size in (1, 2):
        assert session.describe(frame("8A00")[size:]) == "modem status: hardware reset or power-up"
    assert session.describe(b"") == "the frame is empty: "
    escaped = ready(api_mode=2).session
    assert "-17 dBm" in escaped.describe(frame(f"81 1234 11 00 {PING}", escaped=True))


@pytest.mark.parametrize("channel", [11, 12, 26])
def test_good_settings_have_no_problems(channel: int) -> None:
    common = base.StationSettings(port="/dev/null", channel=channel, sources={REMOTE: "rover"})
    assert ADAPTER.check(ADAPTER.Settings(), common) == []
    table = ADAPTER.Settings(mapping=ByDestination(table=TABLE))
    assert ADAPTER.check(table, common) == []


@pytest.mark.parametrize("channel", [0, 10, 27])
def test_channels_no_module_has_are_problems_of_module_channel_only(channel: int) -> None:
    common = base.StationSettings(port="/dev/null", channel=channel)
    ((path, message, fix),) = ADAPTER.check(ADAPTER.Settings(mapping=ModuleChannel()), common)
    assert path == "channel"
    assert str(channel) in message
    assert "11 to 26" in fix
    assert ADAPTER.check(ADAPTER.Settings(mapping=ByHeader()), common) == []


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({}, "mapping.table"), ({-1: "1234"}, "mapping.table.-1"), ({3: "xyz"}, "mapping.table.3"),
        ({3: "0013A200"}, "mapping.table.3"), ({3: ""}, "mapping.table.3"),
    ],
)  # fmt: skip
def test_tables_that_cannot_work(table: dict[int, str], path: str) -> None:
    common = base.StationSettings(port="/dev/null", channel=12)
    problems = ADAPTER.check(ADAPTER.Settings(mapping=ByDestination(table=table)), common)
    assert [problem[0] for problem in problems] == [path]
    assert all(all(problem) for problem in problems)


def test_the_address_of_every_fresh_module_is_not_a_source() -> None:
    common = base.StationSettings(port="/dev/null", channel=12, sources={"0": "rover"})
    ((path, _, _),) = ADAPTER.check(ADAPTER.Settings(), common)
    assert path == "sources.0"


@pytest.mark.parametrize("address", ["GGGG", "0x0013A20040A1B2C3", "00:13:A2", "broadcast", ""])
def test_what_is_not_an_address_is_not_a_source(address: str) -> None:
    common = base.StationSettings(port="/dev/null", channel=12, sources={address: "rover"})
    ((path, what, fix),) = ADAPTER.check(ADAPTER.Settings(), common)
    assert path == f"sources.{address}"
    assert "is not a valid XBee address" in what
    assert "16 hex digits" in fix


def test_the_mock_is_what_the_settings_describe() -> None:
    common = base.StationSettings(port="/dev/null", channel=12, baudRate=115200)
    plain = ADAPTER.mock(ADAPTER.Settings(api_mode=2), common)
    assert plain == base.MockSpec("xbee", {"AP": 2, "BD": 7})
    named = ADAPTER.mock(ADAPTER.Settings(module=SERIAL), common)
    assert (named.parameters["SH"], named.parameters["SL"]) == (0x0013A200, 0x41424344)
    odd = ADAPTER.mock(ADAPTER.Settings(), base.StationSettings(port="/dev/null", baudRate=31250))
    assert odd.parameters["BD"] == 31250


def test_limits_are_stated() -> None:
    assert ADAPTER.limits.payload == 100
    assert ADAPTER.limits.window == 16
    assert 9600 in ADAPTER.limits.rates
    assert {item.maps for item in ADAPTER.limits.mapping} == {"exact", "approximate", "cannot"}
