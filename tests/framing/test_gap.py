"""Gap: only time ends a packet. Times in nanoseconds, the gap is 20 ms."""

import pytest

from hilgw.errors import ConfigError
from hilgw.framing import create
from hilgw.framing.gap import Gap, GapSettings

MS = 1_000_000


def test_a_pause_ends_a_packet() -> None:
    gap = create("gap:20ms")
    assert gap.next_deadline() is None
    assert gap.feed(b"ab", 100 * MS) == []
    assert gap.feed(b"cd", 119 * MS) == []
    assert gap.next_deadline() == 139 * MS
    assert gap.expire(139 * MS - 1) == []
    assert gap.expire(139 * MS) == [b"abcd"]
    assert gap.next_deadline() is None
    assert gap.expire(500 * MS) == []


def test_too_long_is_dropped_whole_until_the_pause() -> None:
    gap = Gap(GapSettings(max_payload=4))
    for at, data in enumerate((b"123", b"45", b"6")):
        assert gap.feed(data, at * MS) == []
    assert gap.held == 0
    assert gap.feed(b"1234", 22 * MS) == []
    assert gap.dropped == {"too_long": 1}
    assert gap.expire(42 * MS) == [b"1234"]


@pytest.mark.parametrize(
    ("name", "pause_ns"),
    [("gap", 20 * MS), ("gap:500us", MS // 2), ("gap:0.1s", 100 * MS), ("gap: 3 ms", 3 * MS)],
)
def test_the_sender_gets_the_length_of_the_pause(name: str, pause_ns: int) -> None:
    assert create(name).pause_ns == pause_ns


@pytest.mark.parametrize("name", ["gap:20", "gap:-1ms", "gap:0ms", "gap:61s", "gap:x", "gap-20ms"])
def test_unreadable_gaps(name: str) -> None:
    with pytest.raises(ConfigError, match=r"use more than 0 and up to 60s|gap:20ms"):
        create(name)
