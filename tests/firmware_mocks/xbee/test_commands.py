"""AT commands in frames and in command mode, discovery, and bits of the transmit options."""

import pytest

from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.module import Module
from firmware_mocks.xbee.network.options import OPTIONS, RESERVED
from tests.firmware_mocks.bench import XBeeAir

OK, BAD_PARAMETER = b"\0", b"\3"


@pytest.mark.parametrize("kind", KINDS)
def test_every_register_reads_and_takes_its_own_value(bench: XBeeAir, kind: str) -> None:
    module = bench.settled(hardware=kind)
    for name, register in KINDS[kind].registers.items():
        answer = bench.at(module, name.encode(), kind=9)
        assert answer[:1] == OK, name
        if register.access == "rw" and register.kind == "number":
            assert len(answer) == 1 + register.size, name
            assert bench.at(module, name.encode(), answer[1:], kind=9) == OK, name
        elif register.access == "r":
            assert bench.at(module, name.encode(), b"\1", kind=9) == BAD_PARAMETER, name


@pytest.mark.parametrize(
    ("kind", "command", "allowed", "refused"),
    [
        ("s1", b"CH", [0x0B, 0x1A], [0x0A, 0x1B]),
        ("s1", b"BD", [0, 7, 0x80, 0x3D090], [8, 0x7F, 0x3D091]),
        ("xbee3", b"CA", [0, 0x28, 0x64], [1, 0x27, 0x65]),
        ("xbee3", b"CT", [2, 0x1770], [1, 0x1771]),
        ("xbee3", b"PL", [4], [5]),
    ],
)
def test_ranges(
    bench: XBeeAir, kind: str, command: bytes, allowed: list[int], refused: list[int]
) -> None:
    module = bench.settled(hardware=kind)
    for value in refused:
        assert bench.at(module, command, value.to_bytes(4, "big"), kind=9) == BAD_PARAMETER
    for value in allowed:
        assert bench.at(module, command, value.to_bytes(4, "big"), kind=9) == OK


@pytest.mark.parametrize("name", [b"twenty-one characters", b" leading", b"bell\x07", b"\xe9"])
def test_a_bad_name_is_refused(bench: XBeeAir, name: bytes) -> None:
    module = bench.settled("good")
    assert bench.at(module, b"NI", name) == BAD_PARAMETER
    assert bench.get(module, b"NI") == b"good"


@pytest.mark.parametrize(
    ("kind", "level", "channel", "power"),
    [("xbee3", 0, 12, -5), ("xbee3", 4, 12, 8), ("xbee3pro", 4, 12, 19), ("xbee3pro", 4, 26, 8)],
)
def test_pp_is_the_actual_power(
    bench: XBeeAir, kind: str, level: int, channel: int, power: int
) -> None:
    module = bench.settled(hardware=kind, power=level, channel=channel)
    assert bench.get(module, b"PP") == power.to_bytes(1, "big", signed=True)


@pytest.mark.parametrize(
    ("raw", "achieved", "line"),
    [(0x12C, 0x12B, 299), (0x1C200, 0x1B207, 111111), (7, 7, 111111), (3, 3, 9615)],
)
def test_s1_divides_its_clock(bench: XBeeAir, raw: int, achieved: int, line: int) -> None:
    module = bench.settled(hardware="s1")
    assert bench.at(module, b"BD", raw.to_bytes(4, "big"), kind=9) == OK
    assert bench.at(module, b"BD", kind=9) == OK + achieved.to_bytes(4, "big")
    bench.at(module, b"AC", kind=9)
    bench.run(100)
    assert module.baud_rate == line


def test_nd_in_command_mode_on_s1(bench: XBeeAir) -> None:
    one = bench.add(hardware="s1", api_mode=0, NT="5")
    two = bench.settled("two", hardware="s1", my=0x22, position=(1, 0, 0))
    bench.command_mode(one)
    fields = f"22\r{two.address >> 32:X}\r{two.address & 0xFFFFFFFF:X}\r28\rtwo\r"
    assert bench.type(one, "ATND\r", 600) == fields + "\r" + "\r"
    assert bench.type(one, "ATNDtwo\r", 600) == fields + "\r" + "\r"
    assert bench.type(one, "ATNDthree\r", 600) == "ERROR\r"
    two.switch_off()
    assert bench.type(one, "ATND,AP\r", 600) == "\r0\r"


def test_dn_finds_the_destination(bench: XBeeAir) -> None:
    one = bench.add(NT="5")
    two = bench.settled("two", my=0x22)
    long = two.address.to_bytes(8, "big")
    assert bench.ask(one, b"\x08\x01DNtwo", 600) == [b"\x88\x01DN\x00\x00\x22" + long]
    assert bench.get(one, b"DH") + bench.get(one, b"DL") == long
    assert bench.ask(one, b"\x08\x01DNnobody", 600) == [b"\x88\x01DN\x01"]
    assert bench.ask(one, b"\x08\x01DN", 600) == [b"\x88\x01DN\x01"]


def remote(bench: XBeeAir, one: Module, two: Module, command: bytes, options: int = 2) -> bytes:
    """Send a command to another module; letters, status and value of its answer."""
    head = two.address.to_bytes(8, "big") + b"\xff\xfe"
    (answer,) = bench.ask(one, b"\x17\x05" + head + bytes((options,)) + command, 2000)
    assert answer[:12] == b"\x97\x05" + head
    return answer[12:]


def test_a_remote_value_waits_for_ac_and_its_answer_comes_on_the_old_channel(
    bench: XBeeAir,
) -> None:
    one, two = bench.pair()
    assert remote(bench, one, two, b"CH\x0d", options=0) == b"CH\x00"
    assert remote(bench, one, two, b"CH", options=0) == b"CH\x00\x0d"
    assert remote(bench, one, two, b"AC", options=0) == b"AC\x00"
    assert remote(bench, one, two, b"CH") == b"CH\x04"
    bench.at(one, b"CH", b"\x0d")
    assert remote(bench, one, two, b"CH\x0e") == b"CH\x00"
    assert remote(bench, one, two, b"CH") == b"CH\x04"


def test_a_remote_reset_and_a_remote_change_of_rate_answer_first(bench: XBeeAir) -> None:
    one, two = bench.pair()
    assert remote(bench, one, two, b"BD\x07") == b"BD\x00"
    assert two.baud_rate == 115200
    assert remote(bench, one, two, b"FR") == b"FR\x00"
    assert bench.frames(two) == [b"\x8a\x00"]


@pytest.mark.parametrize(
    ("frame_id", "command", "answered"),
    [(0, b"NIquiet", False), (5, b"ND", True), (5, b"DN", True), (5, b"CN", True)],
)
def test_what_makes_no_sense_from_afar_is_an_error_and_frame_id_0_is_not_answered(
    bench: XBeeAir, frame_id: int, command: bytes, answered: bool
) -> None:
    one, two = bench.pair()
    to = two.address.to_bytes(8, "big") + b"\xff\xfe"
    answers = bench.ask(one, bytes((0x17, frame_id)) + to + b"\x02" + command, 2000)
    assert answers == ([b"\x97\x05" + to + command + b"\x01"] if answered else [])
    assert bench.get(two, b"NI") == (b"m1" if answered else b"quiet")


def test_re_restores_the_factory_values(bench: XBeeAir) -> None:
    module = bench.settled(channel=13)
    assert bench.at(module, b"RE") == OK
    assert module.registers.number("CH") == 12


def test_user_data_relay(bench: XBeeAir) -> None:
    module = bench.settled()
    assert bench.ask(module, b"\x2d\x01\x00hello") == [b"\xad\x00hello"]
    assert bench.ask(module, b"\x2d\x05\x02hello") == [b"\x89\x05\x7d"]
    assert bench.ask(module, b"\x2d\x05\x09hello") == [b"\x89\x05\x7c"]


def commanded(bench: XBeeAir, **parameters: str) -> Module:
    """Return a module in command mode."""
    module: Module = bench.add(api_mode=0, **parameters)
    bench.command_mode(module)
    return module


def test_the_manuals_session(bench: XBeeAir) -> None:
    module = commanded(bench, hardware="s1")
    assert bench.type(module, "AT\r") == "OK\r"
    assert bench.type(module, "ATAP\r") == "0\r"
    assert bench.type(module, "ATDL1A0D\r") == "OK\r"
    assert bench.type(module, "ATDL\r") == "1A0D\r"
    assert bench.type(module, "ATDL 0x2\r") == "OK\r"
    assert bench.type(module, "atdl\r") == "2\r"
    assert bench.type(module, "ATWR\r") == "OK\r"
    assert bench.type(module, "ATCN\r") == "OK\r"
    assert bench.type(module, "ATAP\r") == ""  # data again


@pytest.mark.parametrize(
    "line", ["ATQQ", "ATCHFF", "ATCH0x", "ATCHxyz", "hello", "ATHV1", "ATA", "AT" + "A" * 5000]
)
def test_what_is_wrong_or_too_long_is_an_error(bench: XBeeAir, line: str) -> None:
    module = commanded(bench)
    bench.put(module, line.encode() + b"\r")
    bench.run(100)
    assert bench.taken(module) == b"ERROR\r"
    assert bench.type(module, "ATCH\r") == "C\r"


def test_the_timeout_applies_and_leaves_silently(bench: XBeeAir) -> None:
    module = commanded(bench, CT="14")  # 20 x 100 ms
    assert bench.type(module, "ATID1234\r") == "OK\r"
    bench.run(1800)
    assert module.registers.number("ID") == 0x3332
    bench.run(200)
    assert module.registers.number("ID") == 0x1234
    assert bench.taken(module) == b""
    assert bench.type(module, "ATID\r") == ""


def test_only_valid_commands_restart_the_timeout(bench: XBeeAir) -> None:
    module = commanded(bench, CT="0A")
    for _ in range(4):
        assert bench.type(module, "ATID\r", 400) == "3332\r"
    bench.run(400)
    assert bench.type(module, "ATQQ\r", 10) == "ERROR\r"
    bench.run(400)
    assert bench.type(module, "ATID\r", 100) == ""


@pytest.mark.parametrize(
    ("before", "gaps", "after"),
    [(900, 10, 1100), (1100, 1100, 1100), (1100, 10, 900)],
    ids=["no silence before", "too slow", "no silence after"],
)
def test_no_silence_no_command_mode(bench: XBeeAir, before: int, gaps: int, after: int) -> None:
    module = bench.settled(api_mode=0, RO="FF")
    bench.run(2000)
    bench.put(module, b"x")
    bench.run(before)
    for _ in range(3):
        bench.put(module, b"+")
        bench.run(gaps)
    bench.run(after - gaps)
    bench.put(module, b"y")
    bench.run(3000)
    assert b"OK" not in bench.taken(module)


@pytest.mark.parametrize("text", [b"+", b"++", b"++++", b"++x", b"+++x"])
def test_characters_that_do_not_lead_there_are_data(bench: XBeeAir, text: bytes) -> None:
    one = bench.add(api_mode=0, DL="FFFF")
    two = bench.settled(api_mode=0)
    bench.run(1500)
    bench.put(one, text)
    bench.run(2000)
    assert bench.taken(one) == b""
    assert bench.taken(two) == text


def test_the_key_cannot_be_read(bench: XBeeAir) -> None:
    module = commanded(bench)
    assert bench.type(module, "ATKY00112233445566778899AABBCCDDEEFF\r") == "OK\r"
    assert bench.type(module, "ATKY\r") == "\r"


def test_what_comes_by_radio_waits_until_command_mode_ends(bench: XBeeAir) -> None:
    one = bench.add()
    two = bench.settled(api_mode=0)
    bench.command_mode(two)
    assert bench.tx64(one, two.address, b"from afar") == 0
    assert bench.taken(two) == b""
    assert bench.type(two, "ATCN\r") == "OK\rfrom afar"


ND, HEAD = b"\x08\x01ND", b"\x88\x01ND\x00"


def long(module: Module) -> bytes:
    return module.address.to_bytes(8, "big")


def test_without_digis_header_there_is_no_discovery_and_no_remote_command(bench: XBeeAir) -> None:
    one, two = bench.pair(MM="2")
    assert bench.ask(one, ND, 100) == [b"\x88\x01ND\x01"]
    (answer,) = bench.ask(one, b"\x17\x05" + long(two) + b"\xff\xfe\x02NI", 2000)
    assert answer[-1] == 4


def test_a_long_search_outlives_the_command_mode_timeout(bench: XBeeAir) -> None:
    one = bench.add(api_mode=0, NT="1E", CT="A")
    bench.command_mode(one)
    assert bench.type(one, "ATND\r", 3500) == "\r"
    assert bench.type(one, "ATAP\r") == "0\r"


@pytest.mark.parametrize(("kind", "option"), [("s1", b"\x01"), ("xbee3", b"\x02")])
def test_the_asking_node_can_list_itself(bench: XBeeAir, kind: str, option: bytes) -> None:
    one = bench.settled("one", hardware=kind, NT="5", my=1)
    assert bench.ask(one, ND, 600) == [HEAD]
    bench.at(one, b"NO", option)
    assert bench.ask(one, ND, 600) == [HEAD + b"\x00\x01" + long(one) + b"\x00one\x00", HEAD]


def test_other_firmwares_records(bench: XBeeAir) -> None:
    one = bench.add(hardware="digimesh", NT="20")
    two = bench.settled("two", hardware="digimesh", position=(1, 0, 0))
    plain = b"\xff\xfe" + long(two) + b"two\x00\xff\xfe\x01\x00\xc1\x05\x10\x1e"
    assert bench.ask(one, ND, 3300) == [HEAD + plain, HEAD]
    bench.at(one, b"NO", b"\x05")
    assert bench.ask(one, ND, 3300) == [HEAD + plain + b"\x00\x12\x00\x00\x28", HEAD]


def test_zigbee_records_have_the_role(bench: XBeeAir) -> None:
    one = bench.add(hardware="zigbee", CE="1", NT="20")
    two = bench.add("two", hardware="zigbee", position=(1, 0, 0), NT="20")
    end = bench.settled("end", hardware="zigbee", position=(2, 0, 0), SM="4")
    roles = {record[7:15]: record[-6] for record in bench.ask(one, ND, 3300)[:-1]}
    assert roles == {long(two): 1, long(end): 2}
    (own,) = (record for record in bench.ask(two, ND, 3300) if record[7:15] == long(one))
    assert own[5:7] == b"\x00\x00" and own[-8:] == b"\xff\xfe\x00\x00\xc1\x05\x10\x1e"


def test_by_name_only_that_node_answers_and_at_once(bench: XBeeAir) -> None:
    one = bench.add()
    bench.add("two")
    three = bench.settled("three", position=(1, 0, 0))
    assert bench.ask(one, ND + b"three", 50) == [HEAD + b"\xff\xfe" + long(three) + b"\x28three\0"]
    bench.run(200)
    assert bench.frames(one) == [HEAD]


def test_in_command_mode_on_digimesh_and_zigbee(bench: XBeeAir) -> None:
    one = bench.add(hardware="digimesh", api_mode=0, NT="20")
    two = bench.settled("two", hardware="digimesh", position=(1, 0, 0))
    bench.command_mode(one)
    address = f"{two.address >> 32:X}\r{two.address & 0xFFFFFFFF:X}\r"
    assert bench.type(one, "ATND\r", 3300) == f"{address}28\rtwo\r1\r0\rC105\r101E\r\r\r"
    coordinator = bench.add(hardware="zigbee", api_mode=0, CE="1", NT="20")
    router = bench.settled("router", hardware="zigbee")
    bench.command_mode(coordinator)
    address = f"{router.address >> 32:X}\r{router.address & 0xFFFFFFFF:X}\r"
    expected = f"{router.addressing.source16:X}\r{address}router\rFFFE\r1\r0\rC105\r101E\r\r\r"
    assert bench.type(coordinator, "ATND\r", 3300) == expected


BITS = [1 << bit for bit in range(8)]
MODERN = {"802.15.4": "xbee3", "DigiMesh": "digimesh", "Zigbee": "zigbee"}
SUCCESS, INVALID_BINDING, NO_SECURE_SESSION, APS_UNENCRYPTED = 0x00, 0x2B, 0x34, 0x2E


def test_the_table_has_every_bit_of_every_family() -> None:
    assert {kind.family for kind in KINDS.values()} == OPTIONS.keys() == MODERN.keys()
    for family, table in OPTIONS.items():
        assert list(table) == BITS, family
        for option in table.values():
            assert option.meaning and not (option.done and option.refused)
            assert option is not RESERVED or not option.done


@pytest.mark.parametrize("family", MODERN)
@pytest.mark.parametrize("bit", BITS)
def test_a_bit_does_what_the_table_has(bench: XBeeAir, family: str, bit: int) -> None:
    more = {"CE": "1"} if family == "Zigbee" else {}
    one = bench.add(hardware=MODERN[family], **more)
    two = bench.settled(hardware=MODERN[family], position=(1, 0, 0))
    plain = bench.tx(one, two.address, b"data")
    (received,) = bench.frames(two)
    again = bench.tx(one, two.address, b"data")  # its route is known now
    assert (plain[3], again[3]) == (SUCCESS, SUCCESS) and bench.frames(two) == [received]
    option = OPTIONS[family][bit]
    status = bench.tx(one, two.address, b"data", options=bit)
    got = bench.frames(two)
    if option.refused:
        assert (status[3], got) == (option.refused, [])
        assert option.refused in (INVALID_BINDING, NO_SECURE_SESSION)
    elif not option.done:
        assert (status, got) == (again, [received])
    elif (family, bit) == ("Zigbee", 0x20):
        assert (status[3], got) == (APS_UNENCRYPTED, [])  # it needs EE=1
    elif (family, bit) == ("Zigbee", 0x08):
        assert (status[3], got) == (SUCCESS, [])
    else:
        assert status[3] == SUCCESS
        assert [frame[-4:] for frame in got] == [b"data"]
