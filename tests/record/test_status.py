"""The event `status` of a recording: its form is checked where it is read."""

import copy
from pathlib import Path
from typing import Any

import pytest

from hilgw.record.events import Writer
from hilgw.record.pcapng import RecordingError
from hilgw.record.recording import Recording

RATES = {
    f"{way}_{what}_per_s": 0.0 for way in ("received", "sent") for what in ("bytes", "packets")
}
STATUS: dict[str, Any] = {
    "ports": {
        "uart0": {
            "state": "up",
            "port": "/dev/ttyUSB0",
            "since_s": 1.5,
            "last_byte_s": None,
            "last_loss": {"what": "dropped", "reason": "crc", "age_s": 0.5},
            **RATES,
        }
    },
    "robots": {
        "rover": {
            "armed": True,
            "latched": None,
            "mode": None,
            "late_steps": {"count": 0},
            "controller": {"text": ""},
        }
    },
    "losses": {"dropped": {"crc": 1}},
    "queues": {"uart0": 0},
    "mono_ns": 1,
    "clocks_s": {"gateway": 1.0},
    "latency_bounds_s": [0.001, 1.0],
    "latency": {"line": {"uart0": {"count": 1, "buckets": [0, 1]}}},
}


def read(path: Path, status: object) -> Recording:
    write = Writer({}, [], 10**18)
    event = {"event": "status", "status": status, "time_ns": 10**9}
    path.write_bytes(write.begin(0) + write.encode(event))
    return Recording(path)


def test_a_status_is_read(tmp_path: Path) -> None:
    (event,) = read(tmp_path / "a.pcapng", STATUS | {"later": 5}).events()
    assert event["status"] == STATUS | {"later": 5}


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("ports",), 5),
        (("ports", "uart0"), None),
        (("ports", "uart0", "state"), 5),
        (("ports", "uart0", "since_s"), "1"),
        (("ports", "uart0", "sent_bytes_per_s"), None),
        (("ports", "uart0", "last_loss"), "crc"),
        (("ports", "uart0", "last_loss", "age_s"), "1"),
        (("robots", "rover", "armed"), 1),
        (("robots", "rover", "late_steps"), {}),
        (("robots", "rover", "controller"), {"text": 5}),
        (("losses", "dropped", "crc"), "1"),
        (("queues",), []),
        (("mono_ns",), 0.5),
        (("clocks_s", "gateway"), "1"),
        (("latency_bounds_s",), []),
        (("latency", "line", "uart0", "buckets"), ["1"]),
    ],
)
def test_a_status_of_another_form_is_refused(
    tmp_path: Path, keys: tuple[str, ...], value: object
) -> None:
    status = copy.deepcopy(STATUS)
    place = status
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    recording = read(tmp_path / "a.pcapng", status)
    assert [*recording.events()] == []
    assert isinstance(recording.error, RecordingError)
    assert "has an event status that is not valid" in str(recording.error)


@pytest.mark.parametrize("key", ["ports", "robots", "latency", "latency_bounds_s"])
def test_a_status_has_what_pages_need(tmp_path: Path, key: str) -> None:
    recording = read(tmp_path / "a.pcapng", {k: v for k, v in STATUS.items() if k != key})
    assert [*recording.events()] == []
    assert key in str(recording.error)
