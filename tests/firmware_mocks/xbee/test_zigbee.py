"""Zigbee: forming and joining a network, addresses, delivery."""

from __future__ import annotations

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import BROADCAST, Bench

COORDINATOR, ANY = 0, 0xFFFFFFFFFFFFFFFF


@pytest.fixture
def network(bench: Bench) -> tuple[Module, Module]:
    """A coordinator and a router 1 m away."""
    coordinator = bench.add(hardware="zigbee", CE="1")
    router = bench.add(hardware="zigbee", position=(1, 0, 0))
    bench.settle()
    return coordinator, router


def test_forming_and_joining(bench: Bench) -> None:
    router = bench.add(hardware="zigbee")
    bench.run(300)
    assert bench.frames(router) == [b"\x8a\x00"]
    assert bench.get(router, b"AI") == b"\x21"
    assert bench.get(router, b"MY") == b"\xff\xfe"
    assert bench.get(router, b"CH") == b"\x00"
    coordinator = bench.add(hardware="zigbee", CE="1", pan_id=0xABCD, SC="0010")
    bench.run(300)
    assert bench.frames(coordinator) == [b"\x8a\x00", b"\x8a\x06"]
    assert bench.frames(router) == [b"\x8a\x02"]
    for module in (coordinator, router):
        assert bench.get(module, b"AI") == b"\x00"
        assert bench.get(module, b"CH") == b"\x0f"  # bit 4 of SC: channel 15
        assert bench.get(module, b"OP") == (0xABCD).to_bytes(8, "big")
    assert bench.get(coordinator, b"MY") == b"\x00\x00"
    assert bench.get(coordinator, b"OI") == bench.get(router, b"OI")
    assert 0 < int.from_bytes(bench.get(router, b"MY"), "big") < 0xFFF8


def test_short_addresses_differ(bench: Bench) -> None:
    bench.add(hardware="zigbee", CE="1")
    routers = [bench.add(hardware="zigbee") for _ in range(8)]
    bench.settle()
    assert len({router.addressing.source16 for router in routers} - {0, 0xFFFE}) == 8


@pytest.mark.parametrize(
    ("router", "coordinator", "reason"),
    [
        ({"pan_id": 5}, {}, 0x22),
        ({"SC": "0001"}, {"SC": "0002"}, 0x22),
        ({}, {"NJ": "0"}, 0x23),
        ({"position": (2000, 0, 0)}, {}, 0x21),
        ({"EE": "1"}, {}, 0x22),
    ],
)
def test_why_a_router_does_not_join(
    bench: Bench, router: dict[str, object], coordinator: dict[str, object], reason: int
) -> None:
    bench.add(hardware="zigbee", CE="1", **coordinator)
    module = bench.add(hardware="zigbee", **router)
    bench.settle()
    assert bench.get(module, b"AI") == bytes((reason,))
    assert bench.tx(module, BROADCAST, b"x")[3] == 0x22


def test_a_new_network_id_leaves_and_joins_again(
    bench: Bench, network: tuple[Module, Module]
) -> None:
    _, router = network
    bench.at(router, b"ID", b"\x01")
    bench.run(200)
    assert bench.frames(router) == []
    assert bench.get(router, b"AI") == b"\x22"
    bench.at(router, b"ID", b"\x00")
    bench.run(200)
    assert bench.frames(router) == [b"\x8a\x02"]


def test_joining_over_another_router(bench: Bench) -> None:
    far = bench.add(hardware="zigbee", position=(2000, 0, 0))
    bench.add(hardware="zigbee", CE="1")
    bench.add(hardware="zigbee", position=(1000, 0, 0))
    bench.settle()
    assert bench.get(far, b"AI") == b"\x00"


def test_unicast_by_long_address(bench: Bench, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    short = router.addressing.source16.to_bytes(2, "big")
    assert bench.tx(coordinator, router.address, b"x") == short + b"\x00\x00\x03"
    assert bench.tx(coordinator, router.address, b"y") == short + b"\x00\x00\x00"
    source = b"\x90" + coordinator.address.to_bytes(8, "big") + b"\x00\x00\x01"
    assert bench.frames(router) == [source + b"x", source + b"y"]


def test_unicast_by_short_address_and_to_the_coordinator(
    bench: Bench, network: tuple[Module, Module]
) -> None:
    coordinator, router = network
    short = router.addressing.source16
    assert bench.tx(coordinator, ANY, b"x", to16=short)[3] == 0
    assert bench.frames(router)[0][-1:] == b"x"
    assert bench.tx(router, COORDINATOR, b"up", to16=0xFFFE)[:2] == b"\x00\x00"
    assert bench.tx(router, ANY, b"up", to16=0)[3] == 0
    assert len(bench.frames(coordinator)) == 2


@pytest.mark.parametrize("to16", [0xFFFE, 0xFFFC, 0xFFFD, 0xFFFF])
def test_broadcast(bench: Bench, network: tuple[Module, Module], to16: int) -> None:
    coordinator, router = network
    to = BROADCAST if to16 == 0xFFFE else ANY
    assert bench.tx(coordinator, to, b"all", to16=to16)[3] == 0
    source = b"\x90" + coordinator.address.to_bytes(8, "big") + b"\x00\x00\x02"
    assert bench.frames(router) == [source + b"all"]


def test_undeliverable(bench: Bench, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.tx(coordinator, 0x1234, b"x") == b"\xff\xfd\x0b\x24\x01"
    assert bench.tx(coordinator, 0x1234, b"x", to16=0x5678) == b"\xff\xfd\x0b\x21\x00"
    assert bench.tx(coordinator, ANY, b"x", to16=0x5678) == b"\xff\xfd\x0b\x21\x00"
    assert bench.tx(coordinator, coordinator.address, b"x")[3] == 0x23
    router.radio.position = (5000, 0, 0)
    assert bench.tx(coordinator, router.address, b"x")[3] == 0x25
    router.radio.position = (1, 0, 0)
    bench.air.loss = 1.0
    assert bench.tx(coordinator, router.address, b"x")[3] == 0x21


def test_payloads(bench: Bench, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.get(coordinator, b"NP") == b"\x00\xff"
    assert bench.tx(coordinator, router.address, bytes(255))[3] == 0  # in fragments
    assert bench.tx(coordinator, router.address, bytes(256))[3] == 0x74
    assert bench.tx(coordinator, BROADCAST, bytes(92))[3] == 0
    assert bench.tx(coordinator, BROADCAST, bytes(93))[3] == 0x74
    assert len(bench.frames(router)) == 2


def test_aps_encryption_needs_ee(bench: Bench, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.tx(coordinator, router.address, b"x", options=0x20)[3] == 0x2E
    assert bench.tx(coordinator, BROADCAST, b"x", options=0x20)[3] == 0x2D


def test_the_channel_parameter_is_the_scan_mask(bench: Bench) -> None:
    coordinator = bench.add(hardware="zigbee", CE="1", channel=20)
    bench.settle()
    assert bench.get(coordinator, b"CH") == bytes((20,))


def test_transparent_np(bench: Bench) -> None:
    module = bench.add(hardware="zigbee", api_mode=0)
    bench.command_mode(module)
    assert bench.type(module, "ATNP\r") == "54\r"


def test_transparent_mode_talks_to_the_coordinator_by_default(bench: Bench) -> None:
    coordinator = bench.add(hardware="zigbee", CE="1", api_mode=0)
    router = bench.add(hardware="zigbee", api_mode=0)
    bench.settle()
    bench.put(router, b"up")
    bench.run(100)
    assert bench.taken(coordinator) == b"up"
