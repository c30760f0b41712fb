"""Zigbee and tables of neighbours: joining, delivery, keys, ZDO, FN."""

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import BROADCAST, XBeeAir

COORDINATOR, ANY = 0, 0xFFFFFFFFFFFFFFFF


@pytest.fixture
def network(bench: XBeeAir) -> tuple[Module, Module]:
    """A coordinator and a router 1 m away."""
    coordinator = bench.add(hardware="zigbee", CE="1")
    router = bench.settled(hardware="zigbee", position=(1, 0, 0))
    return coordinator, router


@pytest.mark.parametrize(
    ("router", "coordinator", "reason"),
    [
        ({"pan_id": 5}, {}, 0x22),
        ({"SC": "0001"}, {"SC": "0002"}, 0x22),
        ({}, {"NJ": "0"}, 0x23),
        ({"position": (2000, 0, 0)}, {}, 0x21),
        ({}, {"EE": "1"}, 0x22),
        ({"EE": "1", "KY": "01"}, {"EE": "1", "KY": "02"}, 0x22),
    ],
)
def test_why_a_router_does_not_join(
    bench: XBeeAir, router: dict[str, object], coordinator: dict[str, object], reason: int
) -> None:
    bench.add(hardware="zigbee", CE="1", **coordinator)
    module = bench.settled(hardware="zigbee", **router)
    assert bench.get(module, b"AI") == bytes((reason,))
    assert bench.tx(module, BROADCAST, b"x")[3] == 0x22


def test_undeliverable(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.tx(coordinator, 0x1234, b"x") == b"\xff\xfd\x00\x24\x01"
    assert bench.tx(coordinator, 0x1234, b"x", to16=0x5678) == b"\xff\xfd\x0b\x21\x00"
    assert bench.tx(coordinator, ANY, b"x", to16=0x5678) == b"\xff\xfd\x0b\x21\x00"
    assert bench.tx(coordinator, coordinator.address, b"x")[3] == 0x23
    router.radio.position = (5000, 0, 0)
    assert bench.tx(coordinator, router.address, b"x")[3] == 0x25
    router.radio.position = (1, 0, 0)
    bench.air.loss = 1.0
    assert bench.tx(coordinator, router.address, b"x")[3] == 0x21


def test_unicast_by_short_address_and_to_the_coordinator(
    bench: XBeeAir, network: tuple[Module, Module]
) -> None:
    coordinator, router = network
    short = router.addressing.source16
    assert bench.tx(coordinator, ANY, b"x", to16=short)[3] == 0
    assert bench.frames(router)[0][-1:] == b"x"
    assert bench.tx(router, COORDINATOR, b"up", to16=0xFFFE)[:2] == b"\x00\x00"
    assert bench.tx(router, ANY, b"up", to16=0)[3] == 0
    assert len(bench.frames(coordinator)) == 2


@pytest.mark.parametrize("to", [0xFFFC, 0xFFFD])
def test_broadcast_with_the_same_address_in_64_and_16_bits(
    bench: XBeeAir, network: tuple[Module, Module], to: int
) -> None:
    coordinator, router = network
    short = to.to_bytes(2, "big")
    assert bench.tx(coordinator, to, b"all", to16=to) == short + b"\0\0\0"
    assert bench.tx(coordinator, to, bytes(93), to16=to)[3] == 0x74
    source = b"\x90" + coordinator.address.to_bytes(8, "big") + b"\x00\x00\x02"
    assert bench.frames(router) == [source + b"all"]


def test_aps_encryption_needs_ee(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.tx(coordinator, router.address, b"x", options=0x20)[3] == 0x2E
    assert bench.tx(coordinator, BROADCAST, b"x", options=0x20)[3] == 0x2D


def test_a_new_network_id_leaves_and_joins_again(
    bench: XBeeAir, network: tuple[Module, Module]
) -> None:
    _, router = network
    bench.at(router, b"ID", b"\x01")
    bench.run(200)
    assert bench.frames(router) == []
    assert bench.get(router, b"AI") == b"\x22"
    bench.at(router, b"ID", b"\x00")
    bench.run(200)
    assert bench.frames(router) == [b"\x8a\x02"]


def test_the_network_closes_after_the_time_in_nj(bench: XBeeAir) -> None:
    coordinator = bench.add(hardware="zigbee", CE="1", NJ="0")
    late = bench.settled(hardware="zigbee")
    assert bench.get(late, b"AI") == b"\x23"
    bench.at(coordinator, b"NJ", b"\x3c")
    bench.settle()
    assert bench.get(late, b"AI") == b"\x00"
    bench.run(58_000)
    in_time = bench.settled(hardware="zigbee")
    assert bench.get(in_time, b"AI") == b"\x00"
    bench.at(in_time, b"NJ", b"\x00")
    bench.at(late, b"NJ", b"\x00")
    bench.run(2_000)
    too_late = bench.settled(hardware="zigbee")
    assert bench.get(too_late, b"AI") == b"\x23"


KEY_1, KEY_2 = "11" * 16, "22" * 16


def register(bench: XBeeAir, module: Module, address: int, key: bytes, kind: int = 0) -> int:
    """Frame 24; the status of its A4."""
    head = b"\x24\x05" + address.to_bytes(8, "big") + b"\xff\xfe" + bytes((kind,))
    answer = next(frame for frame in bench.ask(module, head + key) if frame[0] != 0x91)
    assert answer[:2] == b"\xa4\x05"
    return answer[2]


def test_a_registered_key_admits_its_module_until_it_expires(bench: XBeeAir) -> None:
    coordinator = bench.add(hardware="zigbee", CE="1", EE="1", KY=KEY_1, NK=KEY_2, KT="1E")
    router = bench.settled(hardware="zigbee", EE="1", KY=KEY_2)
    assert bench.get(router, b"AI") == b"\x22"
    assert register(bench, coordinator, router.address + 1, bytes.fromhex(KEY_2)) == 0
    assert bench.get(router, b"AI") == b"\x22"
    assert register(bench, coordinator, router.address, bytes.fromhex(KEY_2)) == 0
    bench.settle()
    assert bench.get(router, b"AI") == b"\x00"
    assert bench.tx(router, COORDINATOR, b"secret")[3] == 0
    assert bench.frames(coordinator)[-1].endswith(b"secret")
    bench.run(30_000)
    bench.at(router, b"NR", b"\x00")
    bench.run(200)
    assert bench.get(router, b"AI") == b"\x22"


def zdo(bench: XBeeAir, client: Module, to: Module, cluster: int, payload: bytes) -> list[bytes]:
    """Send a ZDO request with frame 11; the frames 91 that came back, without type and source."""
    addresses = to.address.to_bytes(8, "big") + b"\xff\xfe"
    service = b"\0\0" + cluster.to_bytes(2, "big") + b"\0\0"
    frames = bench.ask(client, b"\x11\x00" + addresses + service + b"\0\0" + payload)
    assert all(frame[0] == 0x91 for frame in frames)
    return [frame[11:] for frame in frames]


def test_zdo_answers(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    bench.at(coordinator, b"AO", b"\x03")
    short = router.addressing.source16.to_bytes(2, "little")
    long = router.address.to_bytes(8, "little")

    def ask(cluster: int, payload: bytes) -> bytes:
        (frame,) = zdo(bench, coordinator, router, cluster, b"\x07" + payload)
        assert frame[:7] == b"\0\0" + (cluster | 0x8000).to_bytes(2, "big") + b"\0\0\x01"
        assert frame[7] == 0x07
        return frame[8:]

    descriptor = bytes.fromhex("01408E1E1052FF00002CFF0000")
    assert ask(0x0002, short) == b"\0" + short + descriptor
    assert ask(0x0002, b"\x34\x12") == b"\x81\x34\x12"
    assert ask(0x0005, short) == b"\0" + short + b"\x02\xe6\xe8"
    assert ask(0x0004, short + b"\xe8") == b"\0" + short + bytes.fromhex("08E805C10100000000")
    assert ask(0x0004, short + b"\x01") == b"\x82" + short + b"\0"
    assert ask(0x0000, long + b"\0\0") == b"\0" + long + short
    assert ask(0x0001, short + b"\0\0") == b"\0" + long + short
    assert bench.frames(router) == []
    assert zdo(bench, coordinator, router, 0x0000, b"\x07" + bytes(8) + b"\0\0") == []
    assert zdo(bench, coordinator, router, 0x0002, b"\x07") == []


def test_the_channel_parameter_is_the_scan_mask(bench: XBeeAir) -> None:
    coordinator = bench.settled(hardware="zigbee", CE="1", channel=20)
    assert bench.get(coordinator, b"CH") == bytes((20,))


@pytest.mark.parametrize(
    ("address", "key", "kind", "status"),
    [
        (0, b"\x01" * 16, 0, 0xB3),
        (0x13A20011223344, b"\x01" * 17, 0, 0x01),
        (0x13A20011223344, bytes(16), 0, 0xB2),
        (0x13A20011223344, b"", 0, 0xB1),
        (0x13A20011223344, b"\x01" * 18, 1, 0xBD),
    ],
)
def test_refused_keys(bench: XBeeAir, address: int, key: bytes, kind: int, status: int) -> None:
    coordinator = bench.settled(hardware="zigbee", CE="1", EE="1", KY=KEY_1)
    assert register(bench, coordinator, address, key, kind) == status


def test_registrations_are_removed_and_limited(bench: XBeeAir) -> None:
    coordinator = bench.settled(hardware="zigbee", CE="1", EE="1", KY=KEY_1)
    statuses = [register(bench, coordinator, 1 + number, b"\x01") for number in range(11)]
    assert statuses == [0] * 10 + [0x18]
    assert register(bench, coordinator, 1, b"") == 0
    assert register(bench, coordinator, 11, b"\x01") == 0


def test_payloads(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.get(coordinator, b"NP") == b"\x00\xff"
    assert bench.tx(coordinator, router.address, bytes(255))[3] == 0  # in fragments
    assert bench.tx(coordinator, router.address, bytes(256))[3] == 0x74
    assert bench.tx(coordinator, BROADCAST, bytes(92))[3] == 0
    assert bench.tx(coordinator, BROADCAST, bytes(93))[3] == 0x74
    assert len(bench.frames(router)) == 2


def test_a_client_may_take_zdo_requests(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    bench.at(coordinator, b"AO", b"\x01")
    bench.at(router, b"AO", b"\x03")
    short = router.addressing.source16.to_bytes(2, "little")
    assert zdo(bench, coordinator, router, 0x0005, b"\x07" + short) == []
    (request,) = bench.frames(router)
    assert request[11:] == b"\0\0\x00\x05\0\0\x01\x07" + short
    assert len(zdo(bench, coordinator, router, 0x0002, b"\x07" + short)) == 1


def test_network_reset_of_one_and_of_all(bench: XBeeAir, network: tuple[Module, Module]) -> None:
    coordinator, router = network
    assert bench.at(router, b"NR", b"\x02") == b"\x03"
    assert bench.at(router, b"NR", b"\x00") == b"\x00"
    bench.run(200)
    assert bench.frames(router) == [b"\x8a\x02"]
    assert bench.frames(coordinator) == []
    assert bench.at(router, b"NR", b"\x01") == b"\x00"
    bench.run(300)
    assert b"\x8a\x06" in bench.frames(coordinator)
    assert b"\x8a\x02" in bench.frames(router)
    plain = bench.settled(hardware="xbee3")
    assert bench.at(plain, b"NR", b"\x00") == b"\x02"


FN, HEAD = b"\x08\x01FN", b"\x88\x01FN\x00"


@pytest.mark.parametrize("kind", ["digimesh", "900hp"])
def test_fn_lists_the_nodes_in_reach_and_ends_without_a_frame(bench: XBeeAir, kind: str) -> None:
    one = bench.add(hardware=kind, NT="20", NO="2")
    two = bench.add("two", hardware=kind, position=(1, 0, 0))
    bench.settled("far", hardware=kind, position=(1e6, 0, 0))
    plain = (
        b"\xff\xfe" + two.address.to_bytes(8, "big") + b"two\x00\xff\xfe\x01\x00\xc1\x05\x10\x1e"
    )
    assert bench.ask(one, FN, 4000) == [HEAD + plain]


def tables_zdo(
    bench: XBeeAir, asking: object, target: bytes, cluster: int, start: int = 0
) -> bytes:
    """Status of the transmission and payload of the answer."""
    head = b"\x11\x05" + target + b"\xff\xfe\x00\x00" + cluster.to_bytes(2, "big") + bytes(4)
    status, *answers = bench.ask(asking, head + bytes((0x77, start)), 600)  # type: ignore[arg-type]
    assert status[:2] == b"\x8b\x05"
    (answer,) = answers
    assert answer[0] == 0x91 and answer[1:9] == target and answer[11:13] == bytes(2)
    assert answer[13:15] == (cluster | 0x8000).to_bytes(2, "big") and answer[15:17] == bytes(2)
    return status[5:6] + answer[18:]


def test_mgmt_lqi_and_mgmt_rtg(bench: XBeeAir) -> None:
    one = bench.add("c", hardware="zigbee", CE="1", AO="1")
    modules = [one, *(bench.add(hardware="zigbee", position=(at, 0, 0)) for at in range(1, 6))]
    bench.settle()
    bench.add(hardware="zigbee", CE="1", ID="99", position=(3, 0, 0))  # another network
    end = bench.settled(hardware="zigbee", SM="4", position=(2, 0, 0))
    own = one.address.to_bytes(8, "big")
    listed = []
    for start, count in ((0, 3), (3, 3), (6, 0)):
        answer = tables_zdo(bench, one, own, 0x0031, start)
        assert answer[:6] == bytes((0x23, 0x77, 0, 6, start, count))  # 23: to itself
        listed += [answer[at : at + 22] for at in range(6, len(answer), 22)]
    others = [*modules[1:], end]
    assert {each[8:16] for each in listed} == {m.address.to_bytes(8, "little") for m in others}
    for entry, module in zip(listed, others, strict=True):
        assert entry[:8] == one.registers.number("OP").to_bytes(8, "little")
        assert entry[16:18] == module.addressing.source16.to_bytes(2, "little")
        role = 2 if module is end else 1
        assert entry[18] == role | (0 if module is end else 1) << 2 | 1 << 4  # a child
        assert entry[20] == 1 and 0 < entry[21] <= 255
    assert listed[0][21] > listed[4][21]  # the nearest one has the best link
    target = modules[1].address.to_bytes(8, "big")
    answer = tables_zdo(bench, one, target, 0x0031)
    assert answer[:2] == b"\x00\x77"
    coordinator = next(answer[at : at + 22] for at in range(6, 72, 22) if answer[at + 20] == 0)
    assert coordinator[8:16] == one.address.to_bytes(8, "little") and coordinator[18] == 4  # parent
    short = modules[1].addressing.source16.to_bytes(2, "little")
    assert (
        tables_zdo(bench, one, own, 0x0032) == b"\x23\x77\x00\x01\x00\x01" + short + b"\x00" + short
    )


def test_an_end_device_lists_its_parent_alone(bench: XBeeAir) -> None:
    one = bench.add("c", hardware="zigbee", CE="1", AO="1")
    bench.settled(hardware="zigbee", position=(1, 0, 0))
    end = bench.settled(hardware="zigbee", SM="4", position=(2, 0, 0))
    answer = tables_zdo(bench, one, end.address.to_bytes(8, "big"), 0x0031)
    assert answer[3:6] == b"\x01\x00\x01"


@pytest.mark.parametrize("alone", [False, True])
def test_a_parent_that_restarts_is_not_a_child_of_its_child(bench: XBeeAir, alone: bool) -> None:
    """A joined the coordinator, B joined A; then A looks for a network again: it joins the
    coordinator, or through B where it has B alone in reach. Every neighbour table can be read."""
    a = bench.add(hardware="zigbee", NJ="FF", AO="3")
    b = bench.add(hardware="zigbee", NJ="FF", position=(1, 0, 0), AO="3")
    coordinator = bench.settled(hardware="zigbee", CE="1", NJ="FF", position=(0, 1, 0), AO="3")
    if alone:
        coordinator.set("position", "1e6,0,0")
    for _ in range(3):
        for module in (a, b):
            bench.ask(module, b"\x08\x01FR", 500)
            bench.run(1000)
            assert module.addressing.joined
            for member in bench.modules:
                bench.taken(member)
            for client, target in ((a, b), (b, a)):
                answer = tables_zdo(bench, client, target.address.to_bytes(8, "big"), 0x0031)
                assert answer[:3] == b"\x00\x77\x00", answer
                relations = {
                    answer[at + 8 : at + 16]: answer[at + 18] >> 4 & 7
                    for at in range(6, len(answer), 22)
                }
                other = relations[client.address.to_bytes(8, "little")]
                if alone:
                    assert other == (1 if client is module else 0)  # child, parent


def test_ed_in_command_mode(bench: XBeeAir) -> None:
    one = bench.settled(hardware="s1", api_mode=0, noise_dbm=-87, SC="3")
    bench.command_mode(one)
    assert bench.type(one, "ATED\r", 100) == "57\r57\r\r"


def test_fn_of_another_module_lists_its_neighbours(bench: XBeeAir) -> None:
    one = bench.add("one", hardware="digimesh")
    two = bench.settled("two", hardware="digimesh", position=(1, 0, 0), NT="20")
    request = b"\x17\x01" + two.address.to_bytes(8, "big") + b"\xff\xfe\x00FN"
    (answer,) = bench.ask(one, request, 4000)
    assert answer[:15] == b"\x97\x01" + two.address.to_bytes(8, "big") + b"\xff\xfeFN\x00"
    assert answer[17:25] == one.address.to_bytes(8, "big") and b"one\0" in answer


def test_ag_becomes_the_destination_of_those_with_this_one(bench: XBeeAir) -> None:
    one = bench.add(hardware="digimesh")
    two = bench.add(hardware="digimesh", DH="13A200", DL="40521234", position=(1, 0, 0))
    three = bench.settled(hardware="digimesh", DH="0", DL="FFFF", position=(2, 0, 0))
    assert bench.at(one, b"AG") == b"\x01"
    assert bench.at(one, b"AG", bytes.fromhex("0013a20040521234")) == b"\x00"
    bench.run(200)
    own = one.address.to_bytes(8, "big")
    assert bench.frames(two) == [b"\x8e\x00" + own + bytes.fromhex("0013a20040521234")]
    assert bench.frames(three) == []
    assert bench.get(two, b"DH") == own[:4] and bench.get(two, b"DL") == own[4:]
    assert bench.at(one, b"AG", b"\xff\xff") == b"\x00"  # a short one
    bench.run(200)
    assert bench.frames(three) == [b"\x8e\x00" + own + (0xFFFF).to_bytes(8, "big")]
    assert bench.get(three, b"DL") == own[4:]
