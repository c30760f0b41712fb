"""The rules of every adapter on an XBee, and how a session finds its module and sets it."""

import random

import pytest

from hilgw.adapters.base import Failed, Notice, Ready, StationSettings
from hilgw.adapters.xbee import ADAPTER
from hilgw.adapters.xbee.network import hardware_of
from hilgw.adapters.xbee.settings import ByDestination, ByHeader, Mapping
from hilgw.errors import MismatchError, PeerError
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.bench import SECOND, Variant, dropped, of
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession, frame
from tests.cases import part_of

RESET = "8A00"


def asked(module: FakeModule) -> list[str]:
    """What the module received: name, = and the value of a set."""
    return [
        data[2:4].decode() + (f"={data[4:].hex().upper()}" if data[4:] else "")
        for data in module.log
    ]


@pytest.mark.parametrize("api_mode", [1, 2])
def test_sets_what_differs_and_only_for_now(api_mode: int) -> None:
    bench = ModuleSession(
        FakeModule(api_mode), channel=0x11, api_mode=api_mode, pan_id=0x7D13, my_address=0x1234
    )
    (ready,) = [event for event in bench.open() if isinstance(event, Ready)]
    assert ready.identity.endswith("MY 1234 CH 11 PAN 7D13 NP 102")
    assert ready.addresses == (SERIAL, "1234")
    assert asked(bench.module)[8:] == [
        "CH=11", "ID=7D13", "MY=1234", "AC", "CH", "ID", "MY", "NP",
    ]  # fmt: skip
    assert [data[0] for data in bench.module.log].count(8) == 1  # AC alone applies
    (notice,) = bench.of(Notice)
    assert "CH = 11, ID = 7D13, MY = 1234" in notice.text
    assert "WR" not in asked(bench.module)


@pytest.mark.parametrize(
    ("my", "addresses"),
    [("0000", ()), ("FFFE", ()), ("FFFF", ()), ("0001", ("0001",)), ("FFFD", ("FFFD",))],
)
def test_a_16_bit_address_counts_as_own_only_when_it_names_one(
    my: str, addresses: tuple[str, ...]
) -> None:
    (ready,) = ModuleSession(FakeModule(MY=bytes.fromhex(my))).opened().of(Ready)
    assert ready.addresses == (SERIAL, *addresses)


@pytest.mark.parametrize("mapping", [ByDestination(table={3: "1234"}), ByHeader()])
def test_ch_is_left_alone_when_it_is_not_the_channel(mapping: Mapping) -> None:
    bench = ModuleSession(channel=3, mapping=mapping)
    assert isinstance(bench.open()[-1], Ready)
    assert all("=" not in item for item in asked(bench.module))


def test_another_module_is_refused_before_anything_is_set() -> None:
    bench = ModuleSession(channel=20, pan_id=1, my_address=2, module="0013a200deadbeef").opened()
    error = bench.failure()
    assert isinstance(error, MismatchError)
    assert SERIAL in str(error) and "0013A200DEADBEEF" in str(error)
    assert asked(bench.module) == ["AP", "HV", "VR", "SH", "SL"]
    assert ModuleSession(module=SERIAL.lower()).opened().of(Ready)


@pytest.mark.parametrize(
    ("hv", "vr", "protocol"),
    [
        (0x4142, 0x3014, "DigiMesh"), (0x2E48, 0x4060, "Zigbee"), (0x2E48, 0x9002, "DigiMesh"),
        (0x1744, 0x8073, "DigiMesh"), (0x2348, 0x8074, "no known"), (0x9999, 0x2014, "no known"),
    ],
)  # fmt: skip
def test_firmware_that_is_not_802_15_4_is_named(hv: int, vr: int, protocol: str) -> None:
    module = FakeModule(HV=hv.to_bytes(2, "big"), VR=vr.to_bytes(2, "big"))
    error = ModuleSession(module, channel=20).opened().failure()
    assert isinstance(error, MismatchError)
    assert protocol in str(error) and f"HV {hv:04X}, VR {vr:04X}" in str(error)
    assert all("=" not in item for item in asked(module))


@pytest.mark.parametrize(
    ("hv", "vr", "hardware"),
    [
        (0x1744, 0x10EF, ("XBee S1", "802.15.4")), (0x1844, 0x10EF, ("XBee S1 PRO", "802.15.4")),
        (0x2E48, 0x2003, ("XBee S2C", "802.15.4")), (0x4142, 0x2014, ("XBee 3", "802.15.4")),
        (0x2300, 0x8071, ("XBee-PRO 900HP", "DigiMesh")),
        (0x2300, 0x1061, ("XBee-PRO 900HP", "point-to-multipoint")),
        (0x3100, 0x9000, ("XBee SX PRO", "DigiMesh")),
    ],
)  # fmt: skip
def test_hardware_and_protocols(hv: int, vr: int, hardware: tuple[str, str]) -> None:
    assert hardware_of(hv, vr) == hardware


@pytest.mark.parametrize(("configured", "actual"), [(1, 2), (2, 1)])
def test_the_other_api_mode_is_recognised(configured: int, actual: int) -> None:
    bench = ModuleSession(FakeModule(actual), api_mode=configured).opened()
    error = bench.failure()
    assert isinstance(error, MismatchError) and f"is in API mode {actual}" in str(error)
    assert f"api_mode: {actual}" in error.fix and f"AP = {configured}" in error.fix
    assert asked(bench.module) == ["AP"]


@pytest.mark.parametrize(("mode", "word"), [(0, "transparent"), (4, "MicroPython"), (7, "mode 7")])
def test_a_module_outside_api_mode_is_recognised_and_the_fix_named(mode: int, word: str) -> None:
    bench = ModuleSession(FakeModule(mode), api_mode=2).opened()
    bench.pass_time(10)
    error = bench.failure()
    assert isinstance(error, MismatchError) and word in str(error)
    for part in ("9600 baud", "+++", "ATAP2", "ATWR", "ATCN", "XCTU"):
        assert part in error.fix
    assert bench.module.texts[-3:] == [b"+++", b"ATAP\r", b"ATCN\r"]
    times = {wire: at for at, wire in bench.writes}
    last_frame = max(at for at, wire in bench.writes if wire[:1] == b"\x7e")
    assert times[b"+++"] - last_frame > SECOND  # the guard time before
    assert all(b"WR" not in wire for _, wire in bench.writes)


class Mute(FakeModule):
    """Answers no ATAP in command mode, and nothing after ATSL."""

    def command_mode(self, wire: bytes) -> bytes:
        return b"" if wire == b"ATAP\r" else super().command_mode(wire)

    def at_command(self, data: bytes) -> bytes:
        self.silent = data[2:4] == b"SL"
        return super().at_command(data)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Mute(0), "ATAP"),
        (FakeModule(0, AP=b"\x01"), ""),  # API mode by its own word, but no answer in frames
        (Mute(), "stopped answering at ATMY"),
        (FakeModule(HV=b""), "ATHV"),
        (FakeModule().silenced(), "hilgw scan"),
    ],
)
def test_a_module_that_does_not_answer_is_a_peer_error(module: FakeModule, words: str) -> None:
    bench = ModuleSession(module).opened()
    bench.pass_time(20)
    error = bench.failure()
    assert isinstance(error, PeerError) and words in f"{error} {error.fix}"
    assert bench.session.next_deadline() is None


@pytest.mark.parametrize(
    ("data", "remedy", "reasons"),
    [
        (bytes.fromhex("F8E07E00FF80"), "BD is 9600", set[str]()),
        (frame("81 0001 28 00 6869"), "DIN", {"not_ready"}),
    ],
)
def test_mere_bytes_point_at_rate_or_wire(data: bytes, remedy: str, reasons: set[str]) -> None:
    bench = ModuleSession(FakeModule().silenced()).opened()
    for _ in range(20):
        bench.take_in(data)
        bench.pass_time(0.5)
    assert remedy in bench.failure().fix
    assert reasons <= set(dropped(bench.events))


def test_a_set_refused_or_without_effect_is_reported() -> None:
    bench = ModuleSession(channel=11)
    bench.module.refuse["CH"] = 3
    error = bench.opened().failure()
    assert isinstance(error, MismatchError) and "CH = B: bad parameter" in str(error)
    assert "AC" not in asked(bench.module)
    bench = ModuleSession(channel=11)
    bench.module.stuck = True
    assert "keeps CH = C" in str(bench.opened().failure())


def test_a_module_that_keeps_restarting_is_given_up() -> None:
    bench = ModuleSession(FakeModule().silenced()).opened()
    for _ in range(50):
        bench.frames(RESET)
    error = bench.failure()
    assert isinstance(error, PeerError) and "power supply" in error.fix
    assert len(bench.writes) < 10


def test_answers_that_were_not_asked_for_change_nothing() -> None:
    bench = ModuleSession()
    bench.module.deaf_for = 1
    bench.open()
    before = bench.session.next_deadline()
    assert bench.frames("8809 4150 00 02", "8801 4856 00 99", "890100", "8A02", "95", "AB") == [
        Notice("received frame ignored: the frame of type 95 is too short"),
        Notice("received frame ignored: frame type AB is unknown"),
    ]
    assert bench.session.next_deadline() == before


def test_after_a_failure_and_a_close_nothing_moves_until_it_is_opened_again() -> None:
    bench = ModuleSession(module="0013A20000000001").opened()
    for again in (bench.open, bench.session.close):
        bench.events.clear()
        assert bench.frames(RESET, "8801 4150 00 01", "81 0001 28 00 6869") == []
        assert bench.send(b"x") is None
        assert bench.pass_time(60) == []
        assert bool(again()) == (again == bench.open)


# Bytes of a line at the wrong rate, of a line with another parity, and of a talkative device.
NOISES = [bytes(range(256)), bytes(range(128)), bytes(range(32, 127)) + b"\r"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("noise", NOISES, ids=["8 bits", "7 bits", "text"])
def test_a_scan_finds_no_module_in_noise(noise: bytes) -> None:
    """Noise comes in twice during each wait, up to the 12 s of a probe."""
    for seed in range(part_of(700)):
        chance = random.Random(seed)
        probe = ADAPTER.probes[seed % len(ADAPTER.probes)]
        session = ADAPTER.session(probe.settings, StationSettings(port="p"))
        now: int | None = 0
        events = session.open(0)
        while now is not None and now <= 12 * SECOND:
            for _ in range(2):
                data = chance.randbytes(1500).translate((noise * 3)[:256])
                events += session.receive(data, now)
            now = session.next_deadline()
            if now is not None:
                events += session.expire(now)
        assert not of(Ready, events), seed
        assert not [each for each in of(Failed, events) if isinstance(each.error, MismatchError)]


def test_a_long_frame_before_the_first_answer_on_a_slow_line_is_waited_for() -> None:
    bench = ModuleSession(FakeModule().silenced(), line={"baudRate": 300}).opened()
    for byte in frame(b"\x90" + random.Random(1).randbytes(460))[:-1]:
        bench.take_in(bytes((byte,)))
        bench.pass_time(10 / 300)
    assert not bench.of(Notice)


def test_nothing_is_written_in_the_guard_time_behind_plus_plus_plus() -> None:
    module = FakeModule(0).silenced()
    bench = ModuleSession(module).opened()
    bench.pass_time(30)
    plus = next(at for at, wire in bench.writes if wire == b"+++")
    assert [wire for at, wire in bench.writes if at >= plus] == [b"+++"]
    assert bench.now - plus > SECOND


def test_a_restart_in_the_handshake_begins_anew() -> None:
    bench = ModuleSession()
    bench.module.deaf_for = 1
    bench.open()
    bench.frames(RESET)
    assert asked(bench.module)[:3] == ["AP", "AP", "HV"]
    assert isinstance(bench.events[-1], Ready)
    assert len(bench.of(Ready)) == 1


@pytest.mark.parametrize("lost", [1, 2])
def test_lost_answers_are_asked_for_again(lost: int) -> None:
    bench = ModuleSession()
    bench.module.deaf_for = lost
    bench.open()
    bench.pass_time(5)
    assert isinstance(bench.events[-1], Ready)
    assert asked(bench.module)[: lost + 1] == ["AP"] * (lost + 1)


SENT = bytes.fromhex("7E 00 0A 01 01 50 01 00 48 65 6C 6C 6F B8")
RECEIVED = bytes.fromhex("7E 00 0A 81 50 01 28 00 48 65 6C 6C 6F 11")


class OnXBee(AdapterConformance):
    adapter = ADAPTER
    common = {"baudRate": 115200, "channel": 12}
    settings = {"destination": "5001", "status_timeout_s": 0.5}
    far = {"my_address": 0x5001, "status_timeout_s": 0.5}
    largest = 102  # NP of an XBee 3, with short addresses
    check_bits = 8
    burst = 6  # what the module's buffers hold
    examples = 12
    vectors: tuple[Vector, ...] = (
        Vector(data=b"Hello", sends=SENT, receives=RECEIVED, rssi_dbm=-40, address="5001"),
        Vector(
            data=b"Hi",
            receives=bytes.fromhex("7E 00 0D 80 00 13 A2 00 40 0A 01 27 3A 00 48 69 6D"),
            rssi_dbm=-58,
            address="0013A200400A0127",
        ),
    )


class TestApi1(OnXBee):
    """API mode 1."""


class TestApi2(Variant, OnXBee):
    """API mode 2: 11, 13, 7D and 7E are escaped."""

    settings = {**OnXBee.settings, "api_mode": 2}
    far = {**OnXBee.far, "api_mode": 2}
    vectors = (
        Vector(
            data=b"Hello",
            sends=SENT,
            receives=RECEIVED[:-1] + b"\x7d\x31",  # the checksum 11
            address="5001",
        ),
        Vector(
            data=b"Hi",
            receives=bytes.fromhex("7E 00 0D 80 00 7D 33 A2 00 40 0A 01 27 3A 00 48 69 6D"),
            address="0013A200400A0127",
        ),
    )


class TestChannelHeader(Variant, OnXBee):
    """The channel is the first byte of the RF data."""

    settings = {**OnXBee.settings, "mapping": ByHeader()}
    far = {**OnXBee.far, "mapping": ByHeader()}
    largest = 101
    channels = (0, 254)
    vectors = (
        Vector(data=b"ello", channel=ord("H"), sends=SENT, receives=RECEIVED, address="5001"),
    )
