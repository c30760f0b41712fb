"""Frames, receivers and the status of a sender; the serial line; nothing crashes a mock."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st

from firmware_mocks import xbee
from firmware_mocks.air import Air, Signal
from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.module import Module
from firmware_mocks.xbee.network.packets import Request
from firmware_mocks.xbee.uart.serial_line import LONGEST, FrameReader, encode
from tests.cases import cases
from tests.firmware_mocks.bench import BROADCAST, XBeeAir, wrap

SUCCESS, NO_ACK, CCA, TOO_LARGE = 0x00, 0x01, 0x02, 0x74


def address(module: Any) -> bytes:
    return bytes(module.address.to_bytes(8, "big"))


@pytest.mark.parametrize("how", ["64", "16", "10", "10 by 16"])
def test_broadcast_reaches_all_and_is_never_acknowledged(bench: XBeeAir, how: str) -> None:
    one, two = bench.pair()
    three = bench.add(position=(0, 1, 0))
    elsewhere = bench.add(channel=13)
    foreign = bench.settled(pan_id=1)
    if how == "64":
        assert bench.tx64(one, BROADCAST, b"all") == SUCCESS
    elif how == "16":
        assert bench.tx16(one, 0xFFFF, b"all") == SUCCESS
    elif how == "10":
        assert bench.tx(one, BROADCAST, b"all") == b"\xff\xfe\x00\x00\x00"
    else:
        status = bench.tx(one, 0xFFFFFFFFFFFFFFFF, b"all", to16=0xFFFF)
        assert status == b"\xff\xff\x00\x00\x00"
    received = [b"\x80" + address(one) + b"\x28\x02all"]
    assert bench.frames(two) == received
    assert bench.frames(three) == received
    assert bench.frames(elsewhere) == bench.frames(foreign) == bench.frames(one) == []


@pytest.mark.parametrize(
    "difference", [{"channel": 13}, {"pan_id": 0x1234}, {"position": (2e3, 0, 0)}]
)
def test_a_unicast_that_is_not_received(bench: XBeeAir, difference: dict[str, Any]) -> None:
    one, two = bench.add(), bench.add(**difference)
    bench.settle()
    assert bench.tx64(one, two.address, b"x") == NO_ACK
    assert bench.frames(two) == []
    assert bench.get(one, b"EA") == b"\x00\x01"


@pytest.mark.parametrize(("mode", "status"), [(0, NO_ACK), (1, SUCCESS), (2, NO_ACK), (3, SUCCESS)])
def test_mac_modes_1_and_3_ask_for_no_acknowledgement(
    bench: XBeeAir, mode: int, status: int
) -> None:
    assert bench.tx64(bench.settled(MM=f"{mode}"), 1, b"x") == status


def test_mac_modes_with_and_without_digis_header_do_not_mix(bench: XBeeAir) -> None:
    one, two = bench.add(MM="2"), bench.settled(MM="0")
    bench.tx64(one, two.address, b"x")
    assert bench.frames(two) == []
    bench.at(two, b"MM", b"\x01")
    bench.tx64(one, two.address, b"y")
    assert [frame[-1:] for frame in bench.frames(two)] == [b"y"]


def test_without_digis_header_a_lost_acknowledgement_makes_a_duplicate() -> None:
    bench = XBeeAir(loss=0.3)
    one, two = bench.pair(MM="2", baudRate=115200)
    for number in range(50):
        bench.tx64(one, two.address, b"%d" % number)
    received = [frame[11:] for frame in bench.frames(two)]
    assert len(received) > len(set(received))


@pytest.mark.parametrize("kind", ["00", "10"])
def test_pan_broadcast_crosses_pans_but_not_channels(bench: XBeeAir, kind: str) -> None:
    one = bench.add()
    two = bench.add(pan_id=0x1234, position=(1, 0, 0))
    elsewhere = bench.settled(channel=13)
    if kind == "00":
        bench.ask(one, b"\x00\x01" + BROADCAST.to_bytes(8, "big") + b"\x04all")
    else:
        assert bench.tx(one, BROADCAST, b"all", options=0x02)[3] == SUCCESS
    assert bench.frames(two) == [b"\x80" + address(one) + b"\x28\x06all"]
    assert bench.frames(elsewhere) == []


@pytest.mark.parametrize(
    ("kind", "parameters", "to16", "most"),
    [
        ("s1", {}, False, 100),
        ("s1", {"EE": "1"}, False, 95),
        ("xbee3", {}, False, 102),
        ("xbee3", {}, True, 108),
        ("xbee3", {"my": 7}, False, 108),
        ("xbee3", {"my": 7}, True, 114),
        ("xbee3", {"EE": "1"}, False, 95),
        ("xbee3", {"EE": "1", "my": 7}, True, 101),
        ("xbee3", {"MM": "1"}, False, 104),
    ],
)
def test_the_largest_payload(
    bench: XBeeAir, kind: str, parameters: dict[str, Any], to16: bool, most: int
) -> None:
    sender = bench.add(hardware=kind, **parameters)
    receiver = bench.settled(hardware=kind, **(parameters | {"my": 2}))
    for size, status in ((most, SUCCESS), (most + 1, TOO_LARGE)):
        if to16:
            assert bench.tx16(sender, 2, bytes(size)) == status
        else:
            assert bench.tx64(sender, receiver.address, bytes(size)) == status
    assert len(bench.frames(receiver)) == 1


def test_encrypted_packets_need_the_same_key_and_show_a_long_source(bench: XBeeAir) -> None:
    secret = {"EE": "1", "KY": "0123456789ABCDEF0123456789ABCDEF", "my": 5}
    one, friend = bench.add(**secret), bench.add(**(secret | {"my": 6, "position": (1, 0, 0)}))
    stranger, plain = bench.add(EE="1", KY="FF" * 16), bench.add()
    bench.settle()
    assert bench.tx64(one, BROADCAST, b"psst") == SUCCESS
    assert bench.frames(friend) == [b"\x80" + address(one) + b"\x28\x02psst"]
    assert bench.frames(stranger) == bench.frames(plain) == []


@pytest.mark.parametrize(
    ("output", "head", "tail"),
    [
        ("0", b"\x90", b"\xff\xfe\x01"),
        ("1", b"\x91", b"\xff\xfe\xe8\xe8\x00\x11\xc1\x05\x01"),
        ("2", b"\x80", b"\x28\x00"),
    ],
)
def test_ao_chooses_the_frame(bench: XBeeAir, output: str, head: bytes, tail: bytes) -> None:
    one, two = bench.add(), bench.add(AO=output, position=(1, 0, 0))
    bench.settle()
    bench.tx64(one, two.address, b"data")
    assert bench.frames(two) == [head + address(one) + tail + b"data"]
    assert bench.get(two, b"DB") == b"\x28"  # the RSSI that 90 and 91 do not carry


def test_explicit_frames_carry_their_endpoints(bench: XBeeAir) -> None:
    one, two = bench.add(), bench.add(AO="1", position=(1, 0, 0))
    bench.settle()
    head = b"\x11\x07" + address(two) + b"\xff\xfe"
    (status,) = bench.ask(one, head + b"\xa0\xa1\x15\x54\xc1\x05\x00\x00hello")
    assert status == b"\x8b\x07\xff\xff\x00\x00\x00"[:2] + b"\xff\xfe\x00\x00\x00"
    (frame,) = bench.frames(two)
    assert frame == b"\x91" + address(one) + b"\xff\xfe\xa0\xa1\x15\x54\xc1\x05\x01hello"


def test_the_firmwares_own_queue_is_bounded(bench: XBeeAir) -> None:
    """A node that answers faster than it can send drops, and does not grow."""
    chatty = bench.add(replies={"": "x" * 40}, RR="6")
    talker = bench.settled(baudRate=115200, position=(1, 0, 0))
    gone = bench.settled("gone", baudRate=921600)
    for number in range(60):
        packet = gone.addressing.packet(Request(b"%d" % number, BROADCAST))
        chatty.radio.signal_received(
            Signal(gone.radio, gone.radio.band, packet, -40.0, 1), -40.0, bench.now
        )
    assert chatty.radio.dropped == 60 - 16
    gone.switch_off()
    bench.run(3000)
    assert not chatty.radio.busy
    head = b"\x00\x01" + chatty.address.to_bytes(8, "big") + b"\x00"
    status, answer = bench.ask(talker, head + b"still there?")
    assert status == b"\x89\x01\x00"
    assert answer.endswith(b"x" * 40 + b"still there?")


@pytest.mark.parametrize(
    ("kind", "parameters", "most"),
    [("digimesh", {}, 73), ("digimesh", {"EE": "1"}, 65), ("900hp", {}, 256)],
)
def test_mesh_payloads(bench: XBeeAir, kind: str, parameters: dict[str, str], most: int) -> None:
    one, two = bench.pair(hardware=kind, **parameters)
    assert bench.get(one, b"NP") == most.to_bytes(2, "big")
    assert bench.tx(one, two.address, bytes(most))[3] == 0
    assert bench.tx(one, two.address, bytes(most + 1))[3] == 0x74


def test_the_duty_cycle_is_used_up_and_comes_back(bench: XBeeAir) -> None:
    """868 MHz: some packets go, more are refused with status 04, and after an hour one goes."""
    one, two = bench.pair(hardware="900hp", duty_cycle=1e-5)  # 36 ms of each hour
    statuses = [bench.tx(one, two.address, bytes(100))[3] for _ in range(10)]
    sent = statuses.index(0x04)
    assert sent >= 2
    assert statuses == [0] * sent + [0x04] * (10 - sent)
    assert len(bench.frames(two)) == sent
    bench.run(3_600_000)
    assert bench.tx(one, two.address, bytes(100))[3] == 0


def test_digimesh_has_no_frames_00_and_01_and_no_my(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="digimesh")
    assert bench.ask(one, b"\x00\x01" + two.address.to_bytes(8, "big") + b"\x00x") == []
    assert bench.at(one, b"MY") == b"\x02"


def test_s1_has_no_frame_10(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="s1")
    assert bench.ask(one, b"\x10\x01" + address(two) + b"\xff\xfe\x00\x00x") == []
    assert bench.frames(two) == []


def test_a_mesh_packet_lost_again_and_again_has_no_network_acknowledgement() -> None:
    bench = XBeeAir(loss=1.0)
    one, two = bench.pair(hardware="digimesh", RR="1", MR="1")
    assert bench.tx(one, two.address, b"x")[:4] == b"\xff\xfe\x03\x21"


@pytest.mark.parametrize(
    ("kind", "difference"),
    [
        ("digimesh", {"channel": 13}),
        ("digimesh", {"pan_id": 1}),
        ("900hp", {"channel": 3}),
        ("900hp", {"BR": "0"}),
        ("900hp", {"pan_id": 1}),
    ],
)
def test_other_networks_are_apart(bench: XBeeAir, kind: str, difference: dict[str, object]) -> None:
    one, two = bench.add(hardware=kind), bench.add(hardware=kind, **difference)
    bench.settle()
    assert bench.tx(one, two.address, b"x")[3] == 0x25
    assert bench.frames(two) == []


def test_noise_over_the_threshold_is_a_cca_failure(bench: XBeeAir) -> None:
    module = bench.settled(noise_dbm=-60)
    assert bench.tx64(module, BROADCAST, b"x") == CCA
    assert bench.get(module, b"EC") == b"\x00\x01"
    bench.at(module, b"CA", b"\x00")  # off
    assert bench.tx64(module, BROADCAST, b"x") == SUCCESS
    bench.at(module, b"EC", b"\x00\x00")
    assert bench.get(module, b"EC") == b"\x00\x00"


def test_xbee3_takes_a_new_threshold_with_the_next_restart(bench: XBeeAir) -> None:
    module = bench.settled(noise_dbm=-60)
    bench.at(module, b"CA", b"\x28")
    assert bench.tx64(module, BROADCAST, b"x") == CCA
    bench.at(module, b"WR")
    module.reset(bench.now)
    bench.settle()
    assert bench.tx64(module, BROADCAST, b"x") == SUCCESS


def test_the_loopback_cluster_comes_back(bench: XBeeAir) -> None:
    one, two = bench.pair()
    head = b"\x11\x07" + address(two) + b"\xff\xfe"
    answers = bench.ask(one, head + b"\xe8\xe8\x00\x12\xc1\x05\x00\x00echo")
    assert answers == [b"\x8b\x07\xff\xfe\x00\x00\x00", b"\x80" + address(two) + b"\x28\x00echo"]
    assert bench.frames(two) == []


def test_a_module_without_power_neither_receives_nor_acknowledges(bench: XBeeAir) -> None:
    one, two = bench.pair()
    two.switch_off()
    assert bench.tx64(one, two.address, b"x") == 1
    bench.put(two, wrap(b"\x08\x01AP"))
    bench.run(100)
    assert bench.frames(two) == []
    two.reset(bench.now)
    bench.run(50)
    assert bench.frames(two) == [b"\x8a\x00"]
    assert bench.tx64(one, two.address, b"x") == 0


def test_a_reset_forgets_what_was_being_sent(bench: XBeeAir) -> None:
    one, two = bench.pair(RR="6")
    bench.put(one, wrap(b"\x00\x01" + bytes(8) + b"\x00lost"))
    assert one.radio.busy
    one.reset(bench.now)
    assert not one.radio.busy
    bench.put(one, wrap(b"\x00\x02" + bytes(8) + b"\x00nobody"))
    bench.put(one, wrap(b"\x00\x03" + two.address.to_bytes(8, "big") + b"\x00kept"))
    bench.run(500)
    assert bench.frames(one) == [b"\x8a\x00", b"\x89\x02\x01", b"\x89\x03\x00"]
    assert bench.get(one, b"EA") == b"\x00\x01"


def test_db_begins_anew_with_a_restart_even_after_wr(bench: XBeeAir) -> None:
    one, two = bench.pair()
    bench.tx64(one, two.address, b"x")
    bench.taken(two)
    assert bench.get(two, b"DB") == b"\x28"
    bench.at(two, b"WR")
    two.reset(bench.now)
    bench.settle()
    assert bench.get(two, b"DB") == b"\x00"


def transparent(bench: XBeeAir, **parameters: object) -> tuple:  # type: ignore[type-arg]
    one = bench.add(api_mode=0, DL="FFFF", **parameters)
    two = bench.settled(position=(1, 0, 0), baudRate=115200)
    return one, two


def packets(bench: XBeeAir, module: object) -> list[bytes]:
    return [frame[11:] for frame in bench.frames(module)]  # type: ignore[arg-type]


MS = 1_000_000


def test_clear_to_send_falls_17_bytes_before_full_and_comes_back_at_34(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="s1")
    one.receive(wrap(b"\x00\x00" + two.address.to_bytes(8, "big") + b"\x00x"), bench.now)
    assert one.radio.busy
    one.receive(bytes(202 - 18), bench.now)
    assert one.input.clear_to_send
    one.receive(b"\x00", bench.now)
    assert not one.input.clear_to_send
    bench.run(100)
    assert one.input.clear_to_send
    assert one.clear_to_send  # without rtscts the client ignores CTS


def test_a_client_that_obeys_cts_never_overruns_the_buffer(bench: XBeeAir) -> None:
    """Retries make the radio slower than the line; the host holds the client meanwhile."""
    one = bench.add(hardware="s1", baudRate=115200, rtscts="true", RR="2")
    without = bench.settled(hardware="s1", baudRate=115200, rtscts="true", RR="2", D7="0")
    frames = b"".join(wrap(bytes((0, n)) + bytes(8) + b"\x00" + bytes(80)) for n in range(1, 30))
    lump = 5 * MS // one.uart.byte_ns
    held = 0
    for start in range(0, len(frames), lump):
        bench.run(5)
        while not one.clear_to_send:
            held += 1
            bench.run(1)
        one.receive(frames[start : start + lump], bench.now)
        without.receive(frames[start : start + lump], bench.now)
    bench.run(2000)
    assert [frame[1] for frame in bench.frames(one)] == list(range(1, 30))
    assert held > 10
    assert one.input.overruns == 0
    assert without.clear_to_send


def test_answers_wait_for_room_and_nothing_grows(bench: XBeeAir) -> None:
    module = bench.settled(baudRate=1200, ni="twenty characters!!!")
    for _ in range(200):
        module.receive(wrap(b"\x08\x01NI"), bench.now)
    assert module.uart.held(bench.now) <= 2 * 202
    bench.run(60_000)
    answered = len(bench.frames(module))
    assert 0 < answered < 200
    assert module.input.overruns > 0
    assert bench.ask(module, b"\x08\x02CH", 1000) == [b"\x88\x02CH\x00\x0c"]


@pytest.mark.parametrize(
    ("code", "rate"),
    [
        *enumerate((1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)),
        (250000, 250000),
    ],
)
def test_rate_codes_and_raw_rates(bench: XBeeAir, code: int, rate: int) -> None:
    assert bench.add(BD=f"{code:X}").baud_rate == rate
    assert bench.add(baudRate=rate).baud_rate == rate


def read(reader: FrameReader, wire: bytes) -> list[bytes]:
    return [frame for byte in wire if (frame := reader.push(byte)) is not None]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=4), st.booleans())
def test_every_frame_comes_back(frames: list[bytes], escaped: bool) -> None:
    wire = b"".join(encode(frame, escaped) for frame in frames)
    assert read(FrameReader(escaped), wire) == frames


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=100))
def test_escaped_a_bare_delimiter_always_begins_a_new_frame(noise: bytes, data: bytes) -> None:
    broken = b"\x7e" + noise.replace(b"\x7d", b"")
    reader = FrameReader(escaped=True)
    assert read(reader, broken + encode(data, True))[-1] == data


def test_unescaped_a_cut_frame_takes_the_next_with_it_and_the_one_after_is_read() -> None:
    cut = encode(b"\x08\x01AP-and-more", False)[:-3]
    good = encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), cut + good + good) == [b"\x08\x02AP"]


def test_a_bad_checksum_drops_that_frame_alone() -> None:
    bad = bytearray(encode(b"\x08\x01AP", False))
    bad[-1] ^= 1
    reader = FrameReader(escaped=False)
    assert read(reader, bytes(bad) + encode(b"\x08\x02AP", False)) == [b"\x08\x02AP"]
    assert reader.errors == 1


@pytest.mark.parametrize("length", [0, LONGEST + 1, 0xFFFF])
def test_an_impossible_length_is_noise(length: int) -> None:
    wire = b"\x7e" + length.to_bytes(2, "big") + encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), wire) == [b"\x08\x02AP"]


def test_ro_0_sends_each_byte_as_it_comes(bench: XBeeAir) -> None:
    one, two = transparent(bench, RO="0")
    for byte in b"abc":
        bench.put(one, bytes((byte,)))
        bench.run(10)
    assert packets(bench, two) == [b"a", b"b", b"c"]


def test_a_frame_half_read_when_the_radio_gets_busy_is_not_given_up(bench: XBeeAir) -> None:
    talker = bench.add(hardware="900hp", BR="0", MT="0")
    node = bench.settled(hardware="900hp", BR="0", replies={"ping": "x" * 200})
    bench.ask(talker, b"\x10\x00" + BROADCAST.to_bytes(8, "big") + b"\xff\xfe\x00\x00ping", 1)
    question = wrap(b"\x08\x01CE")
    node.receive(question[:4], bench.now)
    bench.run(10)
    assert not node.radio.busy  # the ping is still on the air
    bench.run(50)
    assert node.radio.busy
    talker.switch_off()  # so that the answer is repeated for seconds
    bench.taken(node)
    node.receive(question[4:], bench.now)
    bench.run(10_000)
    assert bench.frames(node) == [b"\x88\x01CE\x00\x00"]


QUICK = cases(1, suppress_health_check=[HealthCheck.too_slow])
FRAME_TYPES = (0x00, 0x01, 0x08, 0x09, 0x10, 0x11, 0x17, 0x2D)
REGISTERS = sorted(
    {name for kind in KINDS.values() for name in kind.registers} | {"ND", "FR", "RE"}
)
COMMANDS = st.sampled_from([name.encode() for name in REGISTERS])


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Frames that look right, with anything in them."""
    if draw(st.booleans()):
        command = draw(COMMANDS) + draw(st.binary(max_size=9))
        return wrap(bytes((draw(st.sampled_from((8, 9))), 1)) + command)
    return wrap(bytes((draw(st.sampled_from(FRAME_TYPES)),)) + draw(st.binary(max_size=130)))


LINES = st.builds(
    lambda parts: ("AT" + ",".join(parts) + "\r").encode(),
    st.lists(st.builds(lambda n, v: n.decode() + v, COMMANDS, st.text("0123ABCDEFx ", max_size=9))),
)
CHUNKS = st.one_of(st.binary(max_size=300), frames(), LINES, st.just(b"+++"))


def is_sane(bench: XBeeAir, module: Module) -> None:
    assert module.input.held <= module.settings.hardware.uart_buffer
    assert module.uart.held(bench.now) < 4 * module.settings.hardware.uart_buffer + 600
    assert module.radio.waiting <= 16
    assert module.baud_rate > 0
    assert 10 <= module.bits_per_byte <= 12


@QUICK
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from((0, 1, 2)),
    st.lists(st.tuples(CHUNKS, st.integers(0, 1500)), max_size=12),
)
def test_no_bytes_upset_a_module(kind: str, mode: int, chunks: list[tuple[bytes, int]]) -> None:
    bench = XBeeAir(loss=0.1)
    module = bench.add(hardware=kind, api_mode=mode, CE="1" if kind == "zigbee" else "0", GT="A")
    other = bench.add(hardware=kind, replies={"": "x"})
    for chunk, pause in chunks:
        module.receive(chunk, bench.now)
        bench.run(pause)
        is_sane(bench, module)
        is_sane(bench, other)
    bench.run(60_000)
    assert not module.radio.busy
    # Whatever was set on the way: a fresh start works.
    for name, value in (("AP", 1), ("BD", 3)):
        module.registers.install(name, value)
    module.reset(bench.now)
    bench.settle()
    assert bench.get(module, b"AP") == b"\x01"


@QUICK
@given(
    st.sampled_from([*xbee.PARAMETERS, *REGISTERS, "nonsense"]),
    st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.none(), st.lists(st.integers())),
    st.sampled_from(sorted(KINDS)),
)
def test_a_parameter_fits_or_is_a_value_error(name: str, value: Any, kind: str) -> None:
    air = Air()
    parameters = {"hardware": kind, name: value}
    try:
        module = xbee.create("m", air, parameters)
    except ValueError as error:
        assert name in str(error)
        with pytest.raises(ValueError) as checked:
            xbee.check(parameters)
        assert str(checked.value) == str(error)
        return
    xbee.check(parameters)
    module.advance(0)
    assert module.describe()


def test_parameters_in_human_terms_and_at_names(bench: XBeeAir) -> None:
    human = bench.add(
        "named",
        channel="13",
        pan_id="0x1234",
        my=7,
        ni="rover",
        power=1,
        baudRate=19200,
        address="0013A20040A1B2C3",
    )
    by_name = bench.add(CH="D", ID="1234", MY="7", NI="rover", PL="1", BD="4", SL="40A1B2C3")
    for name in ("CH", "ID", "MY", "NI", "PL", "BD", "SH", "SL", "AP"):
        assert human.registers.held(name) == by_name.registers.held(name), name
    assert "channel 13" in human.describe()
    assert human.address == 0x0013A20040A1B2C3


def test_addresses_are_of_the_name_and_differ() -> None:
    names = [f"xbee{index}" for index in range(50)]
    addresses = [xbee.create(name, Air(), {}).address for name in names]
    assert addresses == [xbee.create(name, Air(seed=9), {}).address for name in names]
    assert len(set(addresses)) == 50
    assert {address >> 32 for address in addresses} == {0x0013A200}
