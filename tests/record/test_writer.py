"""The process that writes a recording: rotation, a full disk, and a gateway that is killed."""

import json
import marshal
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.events.kinds import FIELDS, Delivered, Packet
from hilgw.record.recording import Recording
from hilgw.record.writer import AGAIN_S, KEYFRAME_NS, Event, Files, Report, Settings


def encoded(value: Any) -> bytes:
    data = marshal.dumps(value)
    return len(data).to_bytes(4, "little") + data


TMPFS = 'mount -t tmpfs -o size=64k none "$1" && "$2" -m hilgw.record.writer && cp "$1"/* "$3"'
NO_STATUS = {"ports": {}, "robots": {}, "latency_bounds_s": [1.0], "latency": {}}


def line(number: int, size: int = 10) -> Event:
    return ("bytes", number, "uart0", bytes([number % 256]) * size, True)


class Recorded:
    """Files with a clock that stands still until a test moves it."""

    def __init__(self, tmp_path: Path, **settings: Any) -> None:
        self.folder = tmp_path
        self.now_s = 0.0
        self.reports: list[Report] = []
        made = Settings(str(tmp_path / "run.pcapng"), {}, ["uart0"], 0, **settings)
        self.files = Files(made, self.reports.append, lambda: self.now_s)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*"))

    def events(self, name: str) -> list[dict[str, Any]]:
        recording = Recording(self.folder / name)
        events = list(recording.events())
        assert (recording.truncated, recording.error) == (False, None)
        return events


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b%s", 'ü"\\', "%", ""]),
            st.sampled_from(["x0", '"}', "%%s"]),
            st.binary(max_size=6),
            st.sampled_from([None, -70.5]),
            st.dictionaries(st.sampled_from(["y", "z"]), st.sampled_from(["range", "cone"])),
        ),
        min_size=1,
    )
)
def test_packets_that_resemble_one_another_are_kept_apart(given_: list[tuple[Any, ...]]) -> None:
    """What is equal to the packet before is not made again, but for its bytes."""
    with TemporaryDirectory() as folder:
        recorded = Recorded(Path(folder))
        for source, to, data, rssi_dbm, missed in given_:
            packet = (source, 1, "radio", data, (to,), "", tuple(missed.items()), rssi_dbm)
            recorded.files.write([("packet", 1, packet), ("delivered", 1, (to, source, data))])
        recorded.files.close()
        events = recorded.events("run.pcapng")
    wanted = []
    for source, to, data, rssi_dbm, missed in given_:
        packet = Packet(source, 1, "radio", data.hex(), [to], "", missed, rssi_dbm)
        wanted += [("packet", packet), ("delivered", Delivered(to, source, data.hex()))]
    assert [
        (each["event"], {key: each[key] for key in FIELDS[type(event)]})
        for each, (_, event) in zip(events, wanted, strict=True)
    ] == [
        (name, {key: getattr(event, key) for key in FIELDS[type(event)]}) for name, event in wanted
    ]


def test_the_next_file_is_beside_those_of_an_earlier_recording(tmp_path: Path) -> None:
    """By age. Another one follows a file that is removed meanwhile: a report of bytes that are
    nowhere would be untrue."""
    (tmp_path / "run-0002.pcapng").write_text("mine")
    recorded = Recorded(tmp_path, max_s=60.0)
    for recorded.now_s in (0.0, 59.0, 60.0, 61.0, 120.0):
        recorded.files.write([line(1)])
    assert (tmp_path / "run-0002.pcapng").read_text() == "mine"
    names = ("run.pcapng", "run-0003.pcapng", "run-0004.pcapng")
    assert [len(recorded.events(name)) for name in names] == [2, 2, 1]
    assert (recorded.reports[-1].lost, recorded.reports[-1].error) == (0, "")
    (tmp_path / names[-1]).unlink()
    recorded.files.write([line(2)])
    recorded.files.close()
    assert [each["data"] for each in recorded.events("run-0005.pcapng")] == ["02" * 10]
    assert recorded.reports[-1].file.endswith("run-0005.pcapng")
    for name in ("run.pcapng", "run-0005.pcapng"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_what_a_full_disk_loses_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(tmp_path)
    recorded.files.write([line(1)])
    write: Callable[[int, Any], int] = os.write
    left = [100]  # bytes that the disk takes

    def full(fd: int, data: Any) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        count = write(fd, data[: left[0]])
        left[0] -= count
        return count

    monkeypatch.setattr(os, "write", full)
    recorded.files.write([line(2, 200), line(3)])
    # Not tried: AGAIN_S is not over; but its state is known.
    recorded.files.write([line(4), ("armed", 4, ("rover", False, ""))])
    assert recorded.reports[-1].error == "No space left on device"
    assert [each["data"] for each in recorded.events("run.pcapng")] == ["01" * 10]
    left[0] = 10_000
    recorded.now_s += AGAIN_S
    recorded.files.write([line(5)])
    recorded.files.write([line(6)])
    recorded.files.close()
    assert (recorded.reports[-1].lost, recorded.reports[-1].error) == (4, "")
    states = [*Recording(tmp_path / "run.pcapng").events(states=True)]
    assert [each["armed"] for each in states if each["event"] == "armed"] == [False]
    events = [each for each in recorded.events("run.pcapng") if each["event"] != "armed"]
    values = [each.get("data", each.get("events")) for each in events]
    assert values == ["01" * 10, 4, "05" * 10, "06" * 10]


def test_some_of_the_disk_stays_free(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, free_bytes=1 << 62)
    recorded.files.write([line(1)])
    recorded.files.close()
    assert recorded.reports[-1].lost == 1
    assert "bytes are free" in recorded.reports[-1].error
    assert recorded.names() == []


def command(time_ns: int, velocity: float, *since: int) -> Event:
    given = {"velocity": velocity}
    values = ("rover", "", "wheel", given, "sent", "", given, {"velocity": "rad/s"}, {})
    return ("command", time_ns, values, *since)


def value(time_ns: int, device: str, number: float) -> Event:
    return ("value", time_ns, ("rover", device, number, ["value"], ["m"]))


def test_a_file_that_follows_begins_with_the_newest_states(tmp_path: Path) -> None:
    """As it may be the only one that is kept. A state that is repeated is not a new event."""
    recorded = Recorded(tmp_path, max_s=60.0)
    up, armed = ("uart0", "up", ""), ("rover", True, "")
    recorded.files.write([("port", 1, ("uart0", "opening", "")), ("armed", 2, armed)])
    recorded.files.write([("port", 3, up), command(4, 3.0), value(5, "ds", 0.5)])
    recorded.files.write(
        [value(6, "ds", 0.25), ("status", 7, (json.dumps(NO_STATUS),)), command(8, 4.0, 2)]
    )
    recorded.now_s = 60.0
    recorded.files.write([("armed", 9, ("rover", False, "")), line(10)])
    recorded.files.close()
    last = Path(recorded.reports[-1].file).name
    assert last != "run.pcapng"
    shown = [
        (each["event"], each["time_ns"], each.get("since_ns"), [*each.values()][1:4])
        for each in recorded.events(last)
    ]
    assert shown == [
        ("port", 9, 3, ["uart0", "up", ""]),
        ("armed", 9, 2, ["rover", True, ""]),
        ("command", 9, 2, ["rover", "", "wheel"]),
        ("value", 9, 6, ["rover", "ds", 0.25]),
        ("status", 9, 7, [NO_STATUS, 7, shown[4][3][2]]),
        ("armed", 9, None, ["rover", False, ""]),
        ("bytes", 10, None, shown[6][3]),
    ]


@pytest.mark.parametrize("max_bytes", [1, 2000, 20_000])
def test_a_size_below_four_beginnings_is_raised_once(tmp_path: Path, max_bytes: int) -> None:
    """A file would consist of its beginning, and the next would delete what it holds."""
    recorded = Recorded(tmp_path, max_bytes=max_bytes, files=3)
    recorded.files.write([value(number, f"ds{number}", 1.0) for number in range(200)])
    for number in range(9000):
        recorded.files.write([line(200 + number)])
    recorded.files.close()
    kept = [recorded.events(name) for name in recorded.names()]
    assert len(kept) == 3
    lines = [each["time_ns"] for events in kept for each in events if each["event"] == "bytes"]
    assert lines == list(range(9200 - len(lines), 9200))
    for events in kept[:-1]:  # the last is not full
        size = sum(len(json.dumps(each)) for each in events if "since_ns" in each)
        assert len([each for each in events if each["event"] == "bytes"]) * 100 > 3 * size
    notices = [each.notice for each in recorded.reports]
    assert {*filter(None, notices)} == {next(filter(None, notices))}
    assert f"max_mb {max_bytes / 1e6:g} counts as 0." in notices[-1]


@pytest.mark.process
def test_a_disk_that_is_full_keeps_what_it_took(tmp_path: Path) -> None:
    """A real one: a tmpfs of 64 KiB, in a space of mounts of its own."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    space = ["unshare", "-m", *([] if os.geteuid() == 0 else ["-r"])]
    mount = [*space, "mount", "-t", "tmpfs", "none", disk]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    data = encoded(asdict(Settings(str(disk / "run.pcapng"), {}, ["uart0"], 0)))
    data += b"".join(encoded([line(number, 10_000)]) for number in range(20))
    command = [*space, "sh", "-c", TMPFS, "sh", disk, sys.executable, kept]
    done = subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)
    last = Report(**json.loads(done.stdout.splitlines()[-1]))
    recording = Recording(kept / "run.pcapng")
    times = [each["time_ns"] for each in recording.events()]
    assert (recording.truncated, recording.error) == (False, None)
    assert (last.lost, last.error) == (20 - len(times), "No space left on device")
    assert times == list(range(len(times))) and 1 < len(times) < 7
    assert last.written == recording.path.stat().st_size


def test_what_is_repeated_counts_for_no_size(tmp_path: Path) -> None:
    """Half of this file consists of repetitions."""
    recorded = Recorded(tmp_path, max_bytes=100_000)
    for minute in range(11):
        begin = minute * KEYFRAME_NS
        recorded.files.write([value(begin + number, f"ds{number}", 1.0) for number in range(50)])
    recorded.files.close()
    assert recorded.names() == ["run.pcapng"]
    events = list(Recording(tmp_path / "run.pcapng").events(states=True))
    assert (len(events), sum("since_ns" in each for each in events)) == (1050, 500)
    assert (tmp_path / "run.pcapng").stat().st_size > 120_000


def test_each_minute_the_states_that_changed_are_repeated(tmp_path: Path) -> None:
    """Of the gateway's clock; they are not events."""
    recorded = Recorded(tmp_path, max_bytes=100_000)
    minute = KEYFRAME_NS
    recorded.files.write([value(0, "a", 1.0), value(1, "b", 2.0)])
    for number in range(2, 60):
        recorded.files.write([value(number * minute // 60, "a", number)])
    recorded.files.write([value(minute, "a", 60.0)])
    for at_ns in (minute + 1, 2 * minute, 3 * minute):
        recorded.files.write([line(at_ns)])
    recorded.files.close()
    events = [*Recording(tmp_path / "run.pcapng").events(states=True)]
    repeated = [
        (each["time_ns"], each["device"], each["value"], each["since_ns"])
        for each in events
        if "since_ns" in each
    ]
    assert repeated == [
        (minute, "a", 59.0, 59 * minute // 60),
        (minute, "b", 2.0, 1),
        (2 * minute, "a", 60.0, minute),
    ]
    assert len(recorded.events("run.pcapng")) == len(events) - len(repeated)
