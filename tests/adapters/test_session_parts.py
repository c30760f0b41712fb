"""The small parts sessions share: waiting, counting drops and restarts; and the routes."""

from __future__ import annotations

import pytest

from hilgw.adapters._common.routes import (
    ByDestination,
    ByHeader,
    OneChannel,
    OneChannelRoute,
    check_mapping,
    route_for,
)
from hilgw.adapters._common.session_parts import DropCounts, NotBefore, RestartLimit
from hilgw.adapters.base import CannotSend, Dropped
from hilgw.medium.packet import BROADCAST, Packet


def packet(channel: int, data: bytes = b"x") -> Packet:
    return Packet(data, channel, "radio", "r.tx")


def test_a_deadline_is_set_only_while_a_packet_waits() -> None:
    quiet = NotBefore()
    quiet.time_ns = 10
    assert quiet.deadline is None
    assert quiet.blocks(9)
    assert quiet.deadline == 10
    quiet.expire(9)
    assert quiet.deadline == 10
    quiet.expire(10)
    assert quiet.deadline is None
    assert not quiet.blocks(10)


def test_drops_are_reported_once() -> None:
    counts = DropCounts()
    assert counts.new({"a": 2, "b": 0}) == [("a", 2)]
    assert counts.new({"a": 2, "b": 0}) == []
    assert counts.new({"a": 5, "b": 1}) == [("a", 3), ("b", 1)]
    assert counts.reported == {"a": 5, "b": 1}


def test_restarts_are_counted_until_the_module_is_ready() -> None:
    limit = RestartLimit(2)
    assert [limit.exceeded() for _ in range(3)] == [False, False, True]
    limit.clear()
    assert not limit.exceeded()


def test_a_table_names_destinations_and_sources() -> None:
    route = route_for(ByDestination(table={7: "5", 8: "05"}), 3, "0", "all", lambda a: a.zfill(2))
    assert route.channels == {3, 7, 8}
    assert route.outward(packet(7)) == ("05", b"x")
    assert route.outward(packet(3)) == ("0", b"x")
    assert route.outward(packet(BROADCAST)) == ("all", b"x")
    assert isinstance(route.outward(packet(4)), CannotSend)
    assert route.inward(b"y", "05") == (7, b"y"), "the channel named first"
    assert route.inward(b"y", "unknown", "05") == (7, b"y")
    assert route.inward(b"y", "unknown") == route.inward(b"y") == (3, b"y")


def test_a_header_byte_carries_the_channel() -> None:
    route = route_for(ByHeader(), 3, "0", "all")
    assert route.channels is None
    assert route.outward(packet(254)) == ("0", b"\xfex")
    assert route.outward(packet(BROADCAST)) == ("0", b"\xffx")
    assert isinstance(route.outward(packet(255)), CannotSend)
    assert route.inward(b"\x07y") == (7, b"y")
    assert route.inward(b"\xffy") == (BROADCAST, b"y")
    assert isinstance(route.inward(b"\x07"), Dropped)


def test_one_channel_is_the_line() -> None:
    route = OneChannelRoute(3)
    assert route.outward(packet(3)) == route.outward(packet(BROADCAST)) == ("", b"x")
    assert isinstance(route.outward(packet(4)), CannotSend)
    assert isinstance(route.outward(packet(3, b"")), CannotSend)
    assert route.inward(b"y") == (3, b"y")


@pytest.mark.parametrize(
    ("mapping", "channel", "paths"),
    [
        (OneChannel(), 999, []),
        (ByHeader(), 254, []),
        (ByHeader(), 255, ["channel"]),
        (ByDestination(), 0, ["mapping.table"]),
        (ByDestination(table={1: "1", -1: "2"}), 0, ["mapping.table.-1"]),
    ],
)
def test_a_mapping_is_checked(mapping: object, channel: int, paths: list[str]) -> None:
    assert [path for path, _, _ in check_mapping(mapping, channel)] == paths
