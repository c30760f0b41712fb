"""A recording: its blocks, its events from any time on, and a replay with its departures."""

from __future__ import annotations

import io
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.protocols.pcapng.blocks import (
    INBOUND,
    LONGEST,
    OUTBOUND,
    Block,
    CapturedPacket,
    Interface,
    PcapngSection,
    Reader,
    RecordingError,
    encode,
    resync,
)
from hilgw.protocols.pcapng.events import Writer
from hilgw.record import recording
from hilgw.record.recording import Recording
from hilgw.record.replay import PATIENCE_NS, Replay
from hilgw.record.script import Script, ScriptStep, StepKind, scripts_of
from tests import work
from tests.record import samples
from tests.view.samples import recorded

EPOCH = 1_700_000_000 * 10**9
START = 5 * 10**9
PACKET = samples.PACKET | {"received_by": ["uart0"], "missed": {"far": "out of range"}}
NOTE = {"event": "notice", "source": "uart0", "text": "ä"}
LINE = {"event": "bytes", "part": "uart0", "direction": "sent", "data": "00ff"}
BEGIN = Writer({"configuration": "robots: {}"}, [], EPOCH).begin(0)


def test_the_comment_of_packets_that_differ_in_their_bytes_is_made_once() -> None:
    writer = Writer({}, [], EPOCH)

    def write(channel: int) -> None:
        for data in (b"", b"a", b"bc"):
            values = ("ant.tx", channel, "radio", data, ("rx",), "", (("far", "range"),), None)
            assert writer.packet_of(5, values) == writer.packet(
                5, data, event | {"channel": channel}
            )

    event = {
        "event": "packet", "source": "ant.tx", "channel": 0, "type": "radio",
        "received_by": ["rx"], "not_received": "", "missed": {"far": "range"}, "rssi_dbm": None,
    }  # fmt: skip
    assert work.calls(lambda: write(77))["events._comment"] == 1 + 3
    assert work.calls(lambda: write(77))["events._comment"] == 3
    assert work.calls(lambda: write(78))["events._comment"] == 1 + 3


def test_wireshark_reads_the_link_types_and_the_header_of_a_line() -> None:
    """DLT_USER0, DLT_USER1, and DLT_RTAC_SERIAL: seconds, microseconds and the event."""
    write = Writer({}, [], EPOCH)
    data = write.begin(0)
    data += write.line(1_002_003, "uart0", b"\xff", sent=True)
    data += write.line(START, "uart0", b"\0", sent=False)
    (_, medium, events, _, line, sent, received) = read(data)
    assert isinstance(medium, Interface) and isinstance(events, Interface)
    assert (medium.link, events.link, line) == (147, 148, Interface(250, "uart0"))
    header = struct.pack(">IIBBH", EPOCH // 10**9, 1002, 1, 0, 0)
    assert sent == CapturedPacket(2, EPOCH + 1_002_003, header + b"\xff", OUTBOUND)
    header = struct.pack(">IIBBH", (EPOCH + START) // 10**9, 0, 2, 0, 0)
    assert received == CapturedPacket(2, EPOCH + START, header + b"\0", INBOUND)


def test_simulated_time_does_not_jump_back_to_the_clock(tmp_path: Path) -> None:
    """Nor are times other ones than in Wireshark."""
    note, clocks = NOTE | {"time_ns": START + 10**12}, []
    write = Writer({}, [], EPOCH)
    for second in (0, 1):
        clock = {"event": "clock", "mono_ns": second * 10**9, "wall_s": 9.5 + second}
        clocks.append(write.event(START + 10**12 + second, clock))
    path = recorded(
        tmp_path / "a.pcapng", note, *clocks, note, begin_ns=START, epoch_ns=EPOCH, speed="max"
    )
    events = list(Recording(path).events())
    assert {each["wall_s"] for each in events} == {(EPOCH + START + 10**12) / 1e9}
    assert {each["mono_ns"] for each in events} == {START + 10**12}


def test_a_clock_sets_the_other_times(tmp_path: Path) -> None:
    """The time of day may be set meanwhile."""
    clock = Writer({}, [], 0).event(10, {"event": "clock", "mono_ns": 77, "wall_s": 9.5})
    (event,) = Recording(recorded(tmp_path / "a.pcapng", clock, NOTE | {"time_ns": 40})).events()
    assert (event["mono_ns"], event["time_ns"]) == (107, 40)
    assert event["wall_s"] == pytest.approx(9.5 + 30e-9)


def test_a_clock_that_stands_at_1970_has_a_negative_epoch(tmp_path: Path) -> None:
    """A board without a battery: its monotonic clock is ahead of its time of day."""
    line, epoch_ns = LINE | {"time_ns": START}, -(START - 10**9)
    path = recorded(tmp_path / "a.pcapng", line, begin_ns=START, epoch_ns=epoch_ns)
    assert [each["wall_s"] for each in Recording(path).events()] == [1.0]


def test_a_long_list_of_listeners_fits(tmp_path: Path) -> None:
    many = {f"module{number}": "out of range" for number in range(9000)}
    packet = PACKET | {"data": "78", "missed": many}
    (event,) = Recording(recorded(tmp_path / "a.pcapng", packet)).events()
    assert (event["missed"], event["missed_count"]) == ({}, 9000)


def test_a_large_file_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "NEAR", 4096)
    lines = (LINE | {"time_ns": n * 10**9, "data": (b"%d" % n * 10).hex()} for n in range(4000))
    file = Recording(recorded(tmp_path / "a.pcapng", *lines))
    for start in (0, 1, 1234, 3999):
        events = file.events(from_s=start, to_s=start + 2)
        seconds = [event["time_ns"] // 10**9 for event in events]
        assert seconds == list(range(start, min(start + 3, 4000)))
    assert list(file.events(from_s=4001)) == []


@pytest.mark.parametrize("from_s", [0.0, 1e-9])
def test_the_begin_of_a_large_file_is_read_from_its_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_s: float
) -> None:
    """Larger than what is read at once."""
    monkeypatch.setattr(recording, "NEAR", 4096)
    lines = (LINE | {"time_ns": each, "data": bytes(50_000).hex()} for each in range(40))
    file = Recording(recorded(tmp_path / "a.pcapng", *lines))
    assert [each["time_ns"] for each in file.events(from_s)] == [*range(int(from_s * 1e9), 40)]
    assert (file.truncated, file.error) == (False, None)


def test_what_is_before_a_damaged_place_is_read(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.pcapng", LINE)
    good = path.read_bytes()
    bad = bytearray(recorded(path, LINE, LINE).read_bytes())
    bad[-1] ^= 1
    path.write_bytes(bad)
    file = Recording(path)
    assert [event["data"] for event in file.events()] == ["00ff"]
    assert file.error is not None
    assert f"damaged at byte {len(good)}" in str(file.error)
    path.write_bytes(bad[:-2])
    file = Recording(path)
    assert [event["data"] for event in file.events()] == ["00ff"]
    assert (file.truncated, file.error) == (True, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"adapters: {}", "is not a pcapng file"),
        (b"", "ends before its first event"),
        (encode(PcapngSection("of a sniffer")), "is a capture file, but not a recording of hilgw"),
        (BEGIN[:-4], "ends before its first event"),
        (BEGIN.replace(b'"version":1', b'"version":2'), "has version 2 of the format"),
        (
            BEGIN.replace(b'"epoch_ns":', b'"epoch_nn":'),
            "an event head that is not valid: epoch_ns is missing",
        ),
        (BEGIN.replace(b'{"event":"head"', b'["event":"head"'), "is not valid JSON"),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=message) as caught:
        Recording(path)
    assert caught.value.where == str(path)
    with pytest.raises(RecordingError, match="No such file"):
        Recording(tmp_path / "absent.pcapng")


TEXTS = st.text(max_size=40).filter(lambda text: "\0" not in text)
TIMES = st.integers(0, 2**63)
PACKETS = st.builds(
    CapturedPacket,
    st.just(0),
    TIMES,
    st.binary(max_size=70),
    st.sampled_from([0, INBOUND, OUTBOUND]),
    st.binary(max_size=30),
)
PCAPNG_START = encode(PcapngSection("a test")) + encode(Interface(147, "medium"))


def read(data: bytes) -> list[Block]:
    return list(Reader(io.BytesIO(data).read, "a.pcapng"))


@pytest.mark.exhaustive
@given(TEXTS, TEXTS, st.lists(PACKETS, max_size=5))
def test_what_is_written_is_read(comment: str, name: str, packets: list[CapturedPacket]) -> None:
    blocks = [
        PcapngSection(comment, "hilgw", "Linux", "arm"),
        Interface(250, name, "uart"),
        *packets,
    ]
    data = b"".join(map(encode, blocks))
    assert len(data) % 4 == 0
    assert read(data) == blocks


def test_other_tools_files_are_read() -> None:
    """Big-endian, microseconds, an offset of the times, an unknown block, and an option twice."""

    def block(kind: int, body: bytes) -> bytes:
        total = struct.pack(">I", 12 + len(body))
        return struct.pack(">I", kind) + total + body + total

    first, second = struct.pack(">HH4s", 1, 4, b"one "), struct.pack(">HH4s", 1, 4, b"two ")
    offset = struct.pack(">HHq", 14, 8, 100)
    data = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack(">HHI", 147, 0, 0) + offset + bytes(4))
    data += block(5, bytes(12))
    data += block(6, struct.pack(">IIIII", 0, 0, 7, 1, 1) + b"x\0\0\0" + first + second)
    section, interface, packet = read(data)
    assert section == PcapngSection()
    assert interface == Interface(147, "", "", 1000, 100 * 10**9)
    assert packet == CapturedPacket(0, 100 * 10**9 + 7000, b"x", 0, b"one ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "is not a pcapng file"),
        (b"adapters: {}\n# a configuration", "is not a pcapng file"),
        (PCAPNG_START[:8] + bytes(4) + PCAPNG_START[12:], "the byte order of a section is unknown"),
        (PCAPNG_START + struct.pack("<III", 6, LONGEST + 4, 0), f"a block of {LONGEST + 4} bytes"),
        (PCAPNG_START + struct.pack("<III", 6, 8, 0), "a block of 8 bytes"),
        (PCAPNG_START + struct.pack("<IIII", 6, 16, 0, 12), "the two lengths of a block differ"),
        (PCAPNG_START + encode(CapturedPacket(1, 0, b"")), "a block of kind 6 is not valid"),
    ],
)
def test_what_is_damaged_is_named(data: bytes, message: str) -> None:
    reader = Reader(io.BytesIO(data).read, "a.pcapng")
    with pytest.raises(RecordingError, match=message):
        list(reader)


@given(st.lists(PACKETS, min_size=5, max_size=8), st.integers(0, 3), st.binary(max_size=50))
def test_a_place_to_begin_is_found(packets: list[CapturedPacket], cut: int, noise: bytes) -> None:
    """From anywhere within the first packet: the next one, or one after it."""
    lines = [encode(packet) for packet in packets]
    data = lines[0][4 * cut + 4 :] + b"".join(lines[1:])
    begin = resync(data, interfaces=1)
    assert begin is not None
    begins = [len(data) - len(b"".join(lines[each:])) for each in range(1, len(lines))]
    assert begin in begins
    assert resync(noise, interfaces=1) is None


def test_a_file_that_was_cut_is_read_up_to_there() -> None:
    packets = [CapturedPacket(0, each, bytes([each])) for each in range(3)]
    data = PCAPNG_START + b"".join(map(encode, packets))
    for length in range(len(PCAPNG_START), len(data)):
        reader = Reader(io.BytesIO(data[:length]).read, "a.pcapng")
        whole = (length - len(PCAPNG_START)) // len(encode(packets[0]))
        assert list(reader)[2:] == packets[:whole]
        assert reader.truncated is bool((length - len(PCAPNG_START)) % len(encode(packets[0])))


@pytest.mark.process
@pytest.mark.judge("tshark")
def test_tshark_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    line = struct.pack(">IIBBH", 1, 2, 1, 0, 0) + b"\xff\0hello"
    blocks = [
        PcapngSection("a test", "hilgw 1", "Linux", "arm"),
        Interface(147, "medium", "all packets"),
        Interface(250, "uart0"),
        CapturedPacket(0, 1_700_000_000_123_456_789, b"ping", 0, b'{"source":"rover.tx"}'),
        CapturedPacket(1, 1_700_000_001_000_000_001, line, OUTBOUND),
    ]
    path.write_bytes(b"".join(map(encode, blocks)))
    fields = ["frame.time_epoch", "frame.interface_name", "frame.comment", "frame.packet_flags"]
    fields += ["rtacser.eventtype", "data.data"]
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|"]
    command += [part for field in fields for part in ("-e", field)]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    first, second = out.splitlines()
    comment = '{"source":"rover.tx"}'
    assert first == f"1700000000.123456789|medium|{comment}|||70696e67"
    assert second == "1700000001.000000001|uart0||0x00000002|0x01|ff0068656c6c6f"


REPLAY_BEGIN, MS = 7 * 10**9, 1_000_000
SENT, RECEIVED, OPENED, LOST, CLOSED = StepKind


def script(*steps: tuple[StepKind, int, bytes], end_ms: int = 10_000) -> Script:
    """A line that is open from its begin; times in ms."""
    made = [
        ScriptStep(kind, REPLAY_BEGIN + at * MS, data)
        for kind, at, data in ((OPENED, 0, b""), *steps)
    ]
    return Script(tuple(made), 1, REPLAY_BEGIN, REPLAY_BEGIN + end_ms * MS)


class ReplayedLine:
    """A replay whose host has another clock than the recording, from 0 on; in ms."""

    def __init__(self, of: Script) -> None:
        self.departures: list[Any] = []
        self.replay = Replay("x0", of, self._departed)
        self.replay.advance(0)
        self.replay.connect(0)
        self.came: list[tuple[float, bytes]] = []

    def _departed(self, *departure: Any) -> None:
        self.departures.append(departure)

    def until(self, ms: float) -> ReplayedLine:
        while (due := self.replay.next_deadline()) is not None and due <= ms * MS:
            self.replay.advance(due)
            if data := self.replay.take(due):
                self.came.append((due / MS, data))
        return self

    def send(self, ms: float, data: bytes) -> ReplayedLine:
        self.until(ms).replay.receive(data, round(ms * MS))
        return self.until(ms)


ASKED = (
    (SENT, 10, b"ask 1;"),
    (RECEIVED, 15, b"one"),
    (SENT, 20, b"ask 2;"),
    (RECEIVED, 22, b"two"),
)


@pytest.mark.parametrize("pieces", [(b"ask 1;ask 2;",), (b"as", b"k 1;a", b"sk 2;")])
def test_a_frame_may_come_in_pieces_or_with_another(pieces: tuple[bytes, ...]) -> None:
    bench = ReplayedLine(script(*ASKED))
    for piece in pieces:
        bench.send(10, piece)
    assert (bench.until(99).replay.matched, bench.departures) == (2, [])
    assert bench.came == [(15, b"one"), (17, b"two")]  # as if it was asked for at once
    assert bench.replay.next_deadline() is None


@pytest.mark.parametrize(
    ("sent", "departure", "came"),
    [
        # another frame; one more; one less; none; one behind the last
        ((b"ask 9;", b"ask 2;"), (1, b"ask 1;", b"ask 9;"), b"onetwo"),
        ((b"new;", b"ask 1;", b"ask 2;"), (1, b"ask 1;", b"new;"), b"onetwo"),
        ((b"ask 2;",), (1, b"ask 1;", b"ask 2;"), b"two"),
        ((b"ask 1;",), (2, b"ask 2;", b""), b"onetwo"),
        ((b"ask 1;", b"ask 2;", b"more"), (2, b"", b"more"), b"onetwo"),
    ],
)
def test_a_departure_has_both_frames_and_the_replay_goes_on(
    sent: tuple[bytes, ...], departure: tuple[int, bytes, bytes], came: bytes
) -> None:
    bench = ReplayedLine(script(*ASKED))
    for number, data in enumerate(sent):
        bench.send(10 + 10 * number, data)
    bench.until(30 + PATIENCE_NS / MS)
    assert bench.departures == [departure]
    assert b"".join(data for _, data in bench.came) == came


def line(ms: int, data: bytes, direction: str = "received", part: str = "x0") -> dict[str, Any]:
    event = {"event": "bytes", "part": part, "direction": direction, "data": data.hex()}
    return event | {"time_ns": REPLAY_BEGIN + ms * MS}


def test_the_stop_that_ended_the_run_is_not_asked_for(tmp_path: Path) -> None:
    """Nor is another one, as a longer replay sends it; its bytes come with a time before it."""
    stopped = {"event": "stopped", "robot": "x", "reason": "gateway_ended", "text": ""}
    path = recorded(
        tmp_path / "a.pcapng",
        line(0, b"go", "sent"),
        stopped | {"time_ns": REPLAY_BEGIN + 40 * MS},
        line(39, b"stop", "sent"),
        {"event": "notice", "source": "x0", "text": "", "time_ns": REPLAY_BEGIN + 90 * MS},
        begin_ns=REPLAY_BEGIN,
    )
    x0_script = scripts_of(path)["x0"].at(0.0)
    shorter, longer = ReplayedLine(x0_script).send(0, b"go"), ReplayedLine(x0_script).send(0, b"go")
    shorter.replay.end()
    assert (shorter.send(5, b"halt").departures, shorter.replay.after_end) == ([], 0)
    assert (longer.send(50, b"halt").departures, longer.replay.after_end) == ([], 4)
    assert ReplayedLine(x0_script).send(0, b"go").until(9_000).departures == []
    assert ReplayedLine(x0_script).send(0, b"go").send(5, b"halt").departures == [(2, b"", b"halt")]


def test_several_frames_that_are_never_sent_are_waited_for_once() -> None:
    steps = [(SENT, at, b"%d" % at) for at in range(10, 15)]
    bench = ReplayedLine(script(*steps, (RECEIVED, 20, b"x"))).until(5_000)
    assert bench.departures == [(1, b"10", b"")]
    assert bench.came == [(20 + PATIENCE_NS / MS, b"x")]


def test_a_connection_ends_as_recorded_and_the_next_goes_on() -> None:
    bench = ReplayedLine(
        script((RECEIVED, 5, b"a"), (LOST, 8, b""), (OPENED, 50, b""), (RECEIVED, 60, b"b"))
    )
    bench.until(100)
    assert bench.replay.closing and bench.came == [(5, b"a")]
    bench.replay.disconnect(100 * MS)
    bench.until(200).replay.connect(200 * MS)
    assert bench.until(300).came[1:] == [(210, b"b")]


def test_a_replay_from_a_time_on_begins_with_the_setup() -> None:
    setup = ((SENT, 1, b"hello"), (RECEIVED, 3, b"ready"))
    of = script(*setup, (RECEIVED, 500, b"old"), (RECEIVED, 5_010, b"new"))
    of = Script(of.steps, 3, of.begin_ns, of.end_ns)
    bench = ReplayedLine(of.at(5.0)).send(1, b"hello").until(9_000)
    assert [data for _, data in bench.came] == [b"ready", b"new"]
    assert bench.came[-1][0] < 100


steps = st.lists(
    st.tuples(st.sampled_from(StepKind), st.integers(-5, 4_000), st.binary(min_size=1, max_size=3)),
    max_size=12,
)
acts = st.lists(st.one_of(st.binary(max_size=4), st.booleans(), st.integers(0, 3_000)), max_size=12)


@given(of=steps, acts=acts)
def test_any_recording_is_played_to_its_end(
    of: list[tuple[StepKind, int, bytes]], acts: list[bytes | bool | int]
) -> None:
    """Steps in any order and at any times, and a hilgw that sends and connects as it wants."""
    bench, now = ReplayedLine(script(*of)), 0
    for act in acts:
        if isinstance(act, bytes):
            bench.send(now, act)
        elif isinstance(act, bool):
            (bench.replay.connect if act else bench.replay.disconnect)(now * MS)
        else:
            now += act
            bench.until(now)
    assert bench.replay.matched <= bench.replay.frames
