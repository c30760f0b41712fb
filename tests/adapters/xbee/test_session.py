"""Packets through an XBee session, by API frames and in transparent mode."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
from hilgw.adapters.xbee import ADAPTER, describe as words
from hilgw.adapters.xbee.session import UART_ROOM
from hilgw.adapters.xbee.settings import ByDestination, ByHeader, EndpointSettings, ModuleChannel
from hilgw.errors import MismatchError, PeerError
from tests.adapters.bench import SECOND, World, dropped, of
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession, frame, unframe

REMOTE = "0013A20040A1B2C3"
PING = "6869"


def ready(**settings_: Any) -> ModuleSession:
    return ModuleSession(**settings_).ready()


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


@pytest.mark.parametrize("end", ["statuses", "timeouts", "reset", "close"])
def test_frames_ahead_fit_the_modules_uart_buffer_and_its_room_comes_back(end: str) -> None:
    bench = ready(window=16)

    def fill() -> list[bytes]:
        sent = iter(lambda: bench.send(bytes(20)), None)
        return [each.data for each in sent]

    first = fill()
    assert UART_ROOM - 40 < len(b"".join(first)) <= UART_ROOM
    if end == "statuses":
        bench.frames(*(f"89{index + 1:02X}00" for index in range(len(first))))
    elif end == "timeouts":
        bench.pass_time(4)
    elif end == "reset":
        bench.frames("8A00")
    else:
        bench.handle(bench.session.close())
        bench.open()
    assert len(fill()) == len(first) > 1
    alone = ready(window=16).send(bytes(100))
    assert isinstance(alone, base.Transmission)  # a single one always goes


def test_a_status_after_long_frames_on_a_slow_line_is_in_time() -> None:
    """Ours and one that came in between may take 34 s."""
    bench = ready(status_timeout_s=1.5, line={"baudRate": 300})
    sent = bench.send(b"one")
    assert bench.pass_time(33) == []
    assert bench.frames("890100") == [base.Delivered(sent.token)]


def test_ids_wrap_past_one_that_hangs() -> None:
    bench = ready(status_timeout_s=60)
    tokens = [bench.send(b"hangs").token]
    seen = []
    for _ in range(508):
        sent = bench.send(b"x")
        tokens.append(sent.token)
        seen.append(unframe(sent.data)[1])
        assert bench.frames(f"89{seen[-1]:02X}00") == [base.Delivered(sent.token)]
    assert seen == [*range(2, 256)] * 2
    assert len({*tokens}) == len(tokens)


def test_what_can_never_go_out_is_refused_while_the_window_is_full() -> None:
    bench = ready(window=1)
    bench.send(b"x")
    assert bench.send(bytes(1000)).reason == "too_long"
    assert bench.send(b"", 12).reason == "empty"
    assert bench.send(b"x", 13).reason == "channel"


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (f"80 {REMOTE} 28 00 {PING}", base.Received(b"hi", 12, -40, REMOTE)),
        (f"81 1234 5C 02 {PING}", base.Received(b"hi", 12, -92, "1234")),
        (f"81 0000 28 00 {PING}", base.Received(b"hi", 12, -40, None)),  # MY of any fresh module
        (f"90 {REMOTE} FFFE 01 {PING}", base.Received(b"hi", 12, None, REMOTE)),
        (f"90 FFFFFFFFFFFFFFFF 1234 01 {PING}", base.Received(b"hi", 12, None, "1234")),
        (f"91 FFFFFFFFFFFFFFFF 0007 E8E80011C10501 {PING}", base.Received(b"hi", 12, None, "0007")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("api_mode", [1, 2])
def test_a_packet_comes_in(data: str, event: base.Received, api_mode: int) -> None:
    assert ready(api_mode=api_mode).frames(data) == [event]


@pytest.mark.parametrize("head", ["81 1234 28 00", f"80 {REMOTE} 28 00", f"90 {REMOTE} FFFE 01"])
def test_a_frame_without_data_is_dropped_with_a_reason(head: str) -> None:
    assert dropped(ready().frames(head)) == ["empty"]
    assert dropped(ready().frames(head[:-2])) == ["bad_frame"]


@pytest.mark.parametrize(
    ("line", "pause_s", "arrives"),
    [
        ({}, 0.25, True),  # modules and USB pause for less
        ({}, 0.9, False),
        ({"port": "socket://10.0.0.1:4001"}, 4, True),
        ({"baudRate": 300}, 0.9, True),
        ({"baudRate": 300}, 4, False),
    ],
)
def test_a_pause_within_a_frame_ends_it_on_a_line_and_not_on_tcp(
    line: dict[str, Any], pause_s: float, arrives: bool
) -> None:
    """At 300 baud a UART holds back bytes for longer than 0.3 s."""
    bench = ready(line=line)
    wire = frame(f"81 1234 28 00 {PING}")
    assert bench.take_in(wire[:6]) == []
    events = [*bench.pass_time(pause_s), *bench.take_in(wire[6:])]
    assert [type(event) for event in events] == [base.Received if arrives else base.Dropped]


TABLE = {3: "1234", 12: REMOTE.lower(), 5: "broadcast"}


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
        (f"81 1234 28 00 {PING}", 8), (f"80 {REMOTE} 28 00 {PING}", 12),
        (f"81 0007 28 00 {PING}", 9), (f"90 {REMOTE} FFFE 00 {PING}", 12),
        (f"90 0013A20000000001 1234 00 {PING}", 8), (f"90 FFFFFFFFFFFFFFFF 1234 00 {PING}", 8),
    ],
)  # fmt: skip
def test_destination_maps_sources_to_channels(data: str, channel: int) -> None:
    """The first channel of an address counts."""
    bench = ready(mapping=ByDestination(table={8: "1234", **TABLE}), channel=9)
    assert [event.channel for event in of(base.Received, bench.frames(data))] == [channel]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (frame("8A00"), "modem status: hardware reset or power-up"),
        (
            frame("8A00") + frame("890100"),
            "modem status: hardware reset or power-up; transmit status: delivered [id 1]",
        ),
        (b"\x89\x01\x00", "transmit status: delivered [id 1]"),
        (b"+++", "text '+++'"),
        (b"\x7e\x00", "no complete XBee frame: 2 B"),
        # The start of the next frame may come with the bytes before it.
        (frame("890100") + b"\x7e", "transmit status: delivered [id 1]"),
        (frame("8A00")[1:], "modem status: hardware reset or power-up"),
        (frame("8A00")[2:], "modem status: hardware reset or power-up"),
        (b"", "the frame is empty: "),
    ],
)
def test_describe_takes_wire_bytes_frame_data_and_text(data: bytes, text: str) -> None:
    assert ready().session.describe(data) == text
    escaped = frame(f"81 1234 11 00 {PING}", escaped=True)
    assert "-17 dBm" in ready(api_mode=2).session.describe(escaped)


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
    assert dropped(bench.frames(f"81 1234 28 00 {PING}")) == ["not_ready"]
    bench.module.silent = False
    assert isinstance(bench.pass_time(1)[-1], base.Ready)


def test_other_modem_statuses_and_nodes_are_reported_and_change_nothing() -> None:
    bench = ready()
    sent = bench.send(b"x")
    assert bench.frames(
        "8A02", "95 0013A20040522BAA 7D84 02 7D84 0013A20040522BAA 4E31 00", "890100"
    ) == [
        base.Notice("module: joined the network"),
        base.Notice("node 'N1' is at 0013A20040522BAA, network address 7D84"),
        base.Delivered(sent.token),
    ]


def test_closing_loses_what_is_outstanding() -> None:
    bench = ready()
    sent = [bench.send(b"x") for _ in range(3)]
    assert bench.session.close() == [base.Refused(item.token, "down") for item in sent]
    assert bench.session.close() == []
    bench.ready()
    assert bench.frames("890100") == [
        base.Notice("transmit status without an outstanding frame ignored")
    ]


@pytest.mark.parametrize(
    ("settings", "line", "path"),
    [
        ({}, {"channel": 11, "sources": {REMOTE: "rover"}}, ""),
        ({}, {"channel": 10}, "channel"),
        ({"mapping": ModuleChannel()}, {"channel": 27}, "channel"),
        ({}, {"sources": {"0": "rover"}}, "sources.0"),  # that of every fresh module
        ({}, {"sources": {"00:13:A2": "rover"}}, "sources.00:13:A2"),
        ({}, {"sources": {"broadcast": "rover"}}, "sources.broadcast"),
        ({"mapping": ByDestination(table={})}, {}, "mapping.table"),
        ({"mapping": ByDestination(table={-1: "1234"})}, {}, "mapping.table.-1"),
        ({"mapping": ByDestination(table={3: "0013A200"})}, {}, "mapping.table.3"),
        ({"firmware": "zigbee", "pan_id": 1}, {}, "pan_id"),
        ({"firmware": "zigbee", "extended_pan_id": 2**64 - 1, "destination": "12"}, {}, ""),
        ({"extended_pan_id": 1}, {}, "extended_pan_id"),
        ({"firmware": "digimesh", "pan_id": 0x7FFF, "destination": "FFFF"}, {}, ""),
        ({"firmware": "digimesh", "pan_id": 0x8000}, {}, "pan_id"),
        ({"endpoints": EndpointSettings()}, {}, "endpoints"),
        ({"firmware": "digimesh", "my_address": 1}, {}, "my_address"),
        ({"firmware": "digimesh", "destination": "1234"}, {}, "destination"),
        (
            {"firmware": "digimesh", "mapping": ByDestination(table={3: "12"})},
            {},
            "mapping.table.3",
        ),
        ({"api_mode": 0, "mapping": ByDestination(table={3: "12"})}, {}, "mapping.by"),
        ({"api_mode": 0, "framing": "cobs-crc99"}, {}, "framing"),
        ({"api_mode": 0, "mapping": ByHeader(), "framing": "gap:50ms"}, {}, ""),
        ({"api_mode": 0}, {"sources": {"0": "rover"}}, "sources.0"),
        ({"framing": "cobs-crc16"}, {}, "framing"),
        ({"api_mode": 0, "firmware": "zigbee", "endpoints": EndpointSettings()}, {}, "endpoints"),
    ],
)
def test_wrong_settings_are_named_in_place(
    settings: dict[str, Any], line: dict[str, Any], path: str
) -> None:
    common = base.StationSettings(**{"port": "/dev/null", "channel": 12, **line})
    problems = ADAPTER.check(ADAPTER.Settings(**settings), common)
    assert [problem[0] for problem in problems] == [path] * bool(path)
    assert all(all(problem) for problem in problems)


@pytest.mark.parametrize(
    ("settings", "line", "parameters"),
    [
        ({"api_mode": 2}, {"baudRate": 115200}, {"AP": 2, "BD": 7}),
        ({"module": SERIAL}, {}, {"AP": 1, "BD": 3, "SH": 0x0013A200, "SL": 0x41424344}),
        ({"api_mode": 0}, {"baudRate": 31250}, {"AP": 0, "BD": 31250}),
        (
            {"firmware": "zigbee", "mock": {"CE": 1}},
            {"rtscts": True},
            {"AP": 1, "BD": 3, "hardware": "zigbee", "channel": 12, "rtscts": True, "CE": 1},
        ),
        (
            {"firmware": "digimesh", "mock": {"hardware": "900hp"}},
            {"parity": "even", "stop_bits": 2},
            {"AP": 1, "BD": 3, "NB": 1, "SB": 1, "hardware": "900hp"},
        ),
    ],
)
def test_the_mock_is_what_the_settings_describe_and_then_the_user(
    settings: dict[str, Any], line: dict[str, Any], parameters: dict[str, Any]
) -> None:
    common = base.StationSettings(**{"port": "/dev/null", "channel": 12, **line})
    spec = ADAPTER.mock(ADAPTER.Settings(**settings), common)
    assert spec == base.MockSpec("xbee", parameters)


def test_the_window_holds_back_and_opens_one_by_one() -> None:
    bench = ready(window=3)
    sent = [bench.send(b"hi") for _ in range(3)]
    assert bench.send(b"hi") is None
    assert bench.frames("890200") == [base.Delivered(sent[1].token)]
    assert isinstance(bench.send(b"hi"), base.Transmission)
    assert bench.send(b"hi") is None
    bench.pass_time(4)
    assert isinstance(bench.send(b"hi"), base.Transmission)


class Typist(FakeModule):
    """A module with AP = 0. Outside command mode it keeps silent; `typed` is what it received.

    refused: a command that gets ERROR. behind: what it sends after the last OK.
    """

    def __init__(self, refused: str = "", behind: bytes = b"", **registers: bytes) -> None:
        target = {"DH": bytes(4), "DL": b"\x00\x00\xff\xff"}
        super().__init__(0, **(target | registers))
        self.commanded = False
        self.typed: list[str] = []
        self.refused = refused
        self.behind = behind

    def command_mode(self, wire: bytes) -> bytes:
        if wire == b"+++":
            self.commanded = True
            return b"OK\r"
        if not self.commanded or wire[:2] != b"AT" or wire[-1:] != b"\r":
            return b""
        command = wire[2:-1].decode()
        self.typed.append(command)
        name, value = command[:2], command[2:]
        if name in ("CN", "AC"):
            self.registers |= self.held
            self.held.clear()
            self.commanded = name != "CN"
            return b"OK\r" + (b"" if self.commanded else self.behind)
        if name not in self.registers or command == self.refused:
            return b"ERROR\r"
        if value:
            self.held[name] = int(value, 16).to_bytes(8, "big").lstrip(b"\x00") or b"\x00"
            return b"OK\r"
        return b"%X\r" % int.from_bytes(self.registers[name], "big")


def opened(module: Typist | None = None, /, **settings_: Any) -> tuple[ModuleSession, Typist]:
    typist = module or Typist()
    bench = ModuleSession(typist, api_mode=0, **settings_).opened()
    bench.pass_time(4)
    return bench, typist


def test_what_is_asked_for_is_set_applied_and_verified() -> None:
    bench, module = opened(
        channel=17, pan_id=0x7D13, my_address=0x1234, destination="0013A20040A1B2C3"
    )
    assert module.typed[10:-2] == [
        "CH11", "ID7D13", "MY1234", "DH13A200", "DL40A1B2C3", "AC", "CH", "ID", "MY", "DH", "DL",
    ]  # fmt: skip
    assert module.typed[-1] == "CN"
    assert not any(text.startswith("WR") for text in module.typed)
    assert "CH = 11, ID = 7D13, MY = 1234" in bench.of(base.Notice)[0].text


def test_a_module_in_api_mode_is_a_mismatch_and_silence_a_peer_error() -> None:
    bench = ModuleSession(FakeModule(1), api_mode=0).opened()
    bench.pass_time(5)
    error = bench.failure()
    assert isinstance(error, MismatchError) and "is in API mode 1" in str(error)
    assert "api_mode: 1" in error.fix
    silent = ModuleSession(FakeModule(1).silenced(), api_mode=0).opened()
    silent.pass_time(14)
    assert isinstance(silent.failure(), PeerError)
    assert silent.session.next_deadline() is None


def test_another_module_is_left_alone() -> None:
    bench, module = opened(pan_id=1, module="0013A200DEADBEEF")
    assert isinstance(bench.failure(), MismatchError)
    assert module.typed == ["AP", "HV", "VR", "SH", "SL", "CN"]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Typist(refused="CH14"), "rejects CH = 14"),
        (Typist(AP=b"\x04"), "ATAP0"),
        (Typist(AP=b"\x01"), "api_mode: 1"),
        (Typist(AP=b"\x02"), "api_mode: 2"),
    ],
)
def test_what_does_not_fit_is_an_error_and_command_mode_is_left(module: Typist, words: str) -> None:
    error = opened(module, channel=20)[0].failure()
    assert isinstance(error, MismatchError)
    assert words in f"{error} {error.fix}"
    assert module.typed[-1] == "CN"


def test_packets_have_no_token_and_no_rssi() -> None:
    bench, _ = opened(framing="slip")
    sent = bench.send(b"\xc0hi")
    assert sent == base.Transmission(b"\xc0\xdb\xdchi\xc0", token=None)
    assert bench.take_in(sent.data) == [base.Received(b"\xc0hi", 12)]


def test_data_behind_the_last_ok_is_not_lost() -> None:
    bench, _ = opened(Typist(behind=b"first\nsec"), framing="lines")
    bench.take_in(b"ond\n")
    assert [event.data for event in bench.of(base.Received)] == [b"first", b"second"]
    assert bench.session.describe(b"hi\n") == "lines: packet of 2 B: b'hi'"
    assert bench.session.close() == []
    assert (bench.send(b"x"), bench.take_in(b"hi\n")) == (None, [])
    assert bench.session.next_deadline() is None


@pytest.mark.parametrize(
    ("settings", "data", "refused"),
    [({}, b"+++", True), ({}, b"+++ ", False), ({"mapping": ByHeader()}, b"++", True)],
)
def test_plus_plus_plus_is_never_sent(settings: dict[str, Any], data: bytes, refused: bool) -> None:
    answer = opened(framing="gap:50ms", **settings)[0].send(data, channel=43 if settings else 12)
    assert isinstance(answer, base.CannotSend if refused else base.Transmission)


def test_gap_framing_keeps_its_pause_and_its_size() -> None:
    bench, _ = opened(framing="gap:50ms")
    assert bench.send(bytes(103)).reason == "too_long"
    assert isinstance(bench.send(bytes(102)), base.Transmission)
    assert bench.send(b"next") is None
    due = bench.session.next_deadline()
    assert due is not None
    assert due - bench.now > 0.15 * SECOND  # 102 bytes and the pause
    bench.pass_time(0.16)
    assert isinstance(bench.send(b"next"), base.Transmission)


@given(st.binary(max_size=200))
def test_noise_at_any_time_raises_nothing(noise: bytes) -> None:
    bench = ModuleSession(Typist(), api_mode=0).opened()
    bench.take_in(noise)
    bench.pass_time(5)
    bench.take_in(noise)
    bench.session.describe(noise)


@pytest.mark.parametrize(
    ("hardware", "firmware"), [("s1", "802.15.4"), ("xbee3", "802.15.4"), ("digimesh", "digimesh")]
)
def test_two_modules_both_ways(hardware: str, firmware: str) -> None:
    world = World(ADAPTER, channel=13)
    one, two = (
        world.add({"hardware": hardware}, api_mode=0, pan_id=0x1111, firmware=firmware)
        for _ in range(2)
    )
    world.run(5)
    halves = [bytes(range(150)), bytes(range(150, 256))]  # the first: two radio packets
    for half in halves:
        one.send(half, 13)
        world.run(1)
    two.send(b"back", 13)
    world.run(1)
    assert two.of(base.Received) == [base.Received(half, 13) for half in halves]
    assert one.of(base.Received) == [base.Received(b"back", 13)]
