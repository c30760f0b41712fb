"""A recording: its events come back as the control socket gave them, from any time on, from a file
that was cut or damaged, and from one of strangers."""

from pathlib import Path

import pytest

from hilgw.record import recording
from hilgw.record.events import Writer
from hilgw.record.pcapng import PcapngSection, RecordingError, encode
from hilgw.record.recording import Recording
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
    found = Recording(recorded(tmp_path / "a.pcapng", *lines))
    for start in (0, 1, 1234, 3999):
        events = found.events(from_s=start, to_s=start + 2)
        seconds = [event["time_ns"] // 10**9 for event in events]
        assert seconds == list(range(start, min(start + 3, 4000)))
    assert list(found.events(from_s=4001)) == []


@pytest.mark.parametrize("from_s", [0.0, 1e-9])
def test_the_begin_of_a_large_file_is_read_from_its_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_s: float
) -> None:
    """Larger than what is read at once."""
    monkeypatch.setattr(recording, "NEAR", 4096)
    lines = (LINE | {"time_ns": each, "data": bytes(50_000).hex()} for each in range(40))
    found = Recording(recorded(tmp_path / "a.pcapng", *lines))
    assert [each["time_ns"] for each in found.events(from_s)] == [*range(int(from_s * 1e9), 40)]
    assert (found.truncated, found.error) == (False, None)


def test_what_is_before_a_damaged_place_is_read(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.pcapng", LINE)
    good = path.read_bytes()
    bad = bytearray(recorded(path, LINE, LINE).read_bytes())
    bad[-1] ^= 1
    path.write_bytes(bad)
    found = Recording(path)
    assert [event["data"] for event in found.events()] == ["00ff"]
    assert found.error is not None
    assert f"damaged at byte {len(good)}" in str(found.error)
    path.write_bytes(bad[:-2])
    found = Recording(path)
    assert [event["data"] for event in found.events()] == ["00ff"]
    assert (found.truncated, found.error) == (True, None)


@pytest.mark.parametrize(
    ("data", "what"),
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
def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=what) as caught:
        Recording(path)
    assert caught.value.where == str(path)
    with pytest.raises(RecordingError, match="No such file"):
        Recording(tmp_path / "absent.pcapng")
