"""The session and the firmware mock, two readings of one data sheet, joined by simulated time."""

from typing import Any

import pytest

from hilgw.adapters import base
from hilgw.adapters.xbee import ADAPTER
from hilgw.errors import MismatchError, PeerError
from tests.adapters.world import World


@pytest.mark.parametrize("api_mode", [1, 2])
@pytest.mark.parametrize("hardware", ["s1", "xbee3"])
def test_packets_both_ways(api_mode: int, hardware: str) -> None:
    world = World(ADAPTER)
    one = world.add({"hardware": hardware}, api_mode=api_mode, pan_id=0x7E11, my_address=0x0001)
    two = world.add(
        {"hardware": hardware}, api_mode=api_mode, pan_id=0x7E11, my_address=2, destination="1"
    )
    world.run(2)
    (ready,) = one.of(base.Ready)[-1:]
    assert "802.15.4" in ready.identity
    assert "PAN 7E11" in ready.identity
    payload = bytes(range(100))
    sent = one.send(payload)
    world.run(1)
    assert one.of(base.Delivered) == [base.Delivered(sent.token)]
    (received,) = two.of(base.Received)
    assert (received.data, received.channel, received.address) == (payload, 12, "0001")
    assert received.rssi_dbm is not None
    answer = two.send(b"pong")
    world.run(1)
    assert two.of(base.Delivered) == [base.Delivered(answer.token)]
    assert [event.data for event in one.of(base.Received)] == [b"pong"]


@pytest.mark.parametrize(
    ("mock", "settings", "error", "words"),
    [
        ({"AP": 0}, {}, MismatchError, ["transparent", "AP = 0", "ATAP1"]),
        ({"AP": 2}, {"api_mode": 1}, MismatchError, ["AP = 2", "api_mode: 2"]),
        ({"AP": 1}, {"api_mode": 2}, MismatchError, ["AP = 1", "api_mode: 1"]),
        ({"AP": 1}, {"api_mode": 0}, MismatchError, ["is in API mode 1 (AP = 1)", "api_mode: 1"]),
        ({"AP": 2}, {"api_mode": 0}, MismatchError, ["is in API mode 2 (AP = 2)", "api_mode: 2"]),
        ({"BD": 7}, {}, PeerError, ["BD is 9600", "hilgw scan"]),
        ({"hardware": "digimesh"}, {}, MismatchError, ["digimesh"]),
        ({"hardware": "zigbee"}, {}, MismatchError, ["zigbee"]),
    ],
)
def test_what_is_wrong_with_a_module_is_named(
    mock: dict[str, Any], settings: dict[str, Any], error: type[Exception], words: list[str]
) -> None:
    world = World(ADAPTER)
    one = world.add(mock, **settings)
    if "BD" in mock:
        one.mock.host_baud = 9600
    world.run(10)
    (failed,) = one.of(base.Failed)
    assert isinstance(failed.error, error)
    shown = f"{failed.error.what} {failed.error.fix}"
    assert all(word.lower() in shown.lower() for word in words), shown
