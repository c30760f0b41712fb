"""What modules report about those around them: FN, and Zigbee's tables of neighbours and routes
(ZDO 0031 and 0032)."""

import pytest

from tests.firmware_mocks.bench import XBeeAir

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


def zdo(bench: XBeeAir, asking: object, target: bytes, cluster: int, start: int = 0) -> bytes:
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
        answer = zdo(bench, one, own, 0x0031, start)
        assert answer[:6] == bytes((0x23, 0x77, 0, 6, start, count))  # 23: to itself
        listed += [answer[at : at + 22] for at in range(6, len(answer), 22)]
    others = [*modules[1:], end]
    assert {each[8:16] for each in listed} == {m.address.to_bytes(8, "little") for m in others}
    for each, module in zip(listed, others, strict=True):
        assert each[:8] == one.registers.number("OP").to_bytes(8, "little")
        assert each[16:18] == module.addressing.source16.to_bytes(2, "little")
        role = 2 if module is end else 1
        assert each[18] == role | (0 if module is end else 1) << 2 | 1 << 4  # a child
        assert each[20] == 1 and 0 < each[21] <= 255
    assert listed[0][21] > listed[4][21]  # the nearest one has the best link
    target = modules[1].address.to_bytes(8, "big")
    answer = zdo(bench, one, target, 0x0031)
    assert answer[:2] == b"\x00\x77"
    coordinator = next(answer[at : at + 22] for at in range(6, 72, 22) if answer[at + 20] == 0)
    assert coordinator[8:16] == one.address.to_bytes(8, "little") and coordinator[18] == 4  # parent
    short = modules[1].addressing.source16.to_bytes(2, "little")
    assert zdo(bench, one, own, 0x0032) == b"\x23\x77\x00\x01\x00\x01" + short + b"\x00" + short


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
            for each in bench.modules:
                bench.taken(each)
            for client, target in ((a, b), (b, a)):
                answer = zdo(bench, client, target.address.to_bytes(8, "big"), 0x0031)
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
