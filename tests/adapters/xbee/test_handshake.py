"""How a session finds its module: what it asks, what it sets, and what it reports when it
cannot."""

import pytest

from hilgw.adapters.base import Dropped, Failed, Notice, Ready, Write
from hilgw.adapters.xbee.module import hardware_of
from hilgw.adapters.xbee.settings import ByDestination, ByHeader, Mapping
from hilgw.errors import HilgwError, MismatchError, PeerError
from tests.adapters.session_bench import SECOND
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession, frame

RESET = "8A00"


def asked(module: FakeModule) -> list[str]:
    """What the module received: name, = and the value of a set."""
    return [
        data[2:4].decode() + (f"={data[4:].hex().upper()}" if data[4:] else "")
        for data in module.log
    ]


def error_of(bench: ModuleSession) -> HilgwError:
    (failed,) = bench.of(Failed)
    assert bench.session.next_deadline() is None
    assert isinstance(failed, Failed)
    return failed.error


def test_reads_everything_and_sets_nothing_that_fits() -> None:
    bench = ModuleSession(pan_id=0x3332)
    assert bench.open()[-1] == Ready(
        f"XBee 3 802.15.4 {SERIAL} MY FFFF CH 0C PAN 3332 NP 102", (SERIAL,)
    )
    assert asked(bench.module) == ["AP", "HV", "VR", "SH", "SL", "MY", "CH", "ID", "NP"]
    assert bench.of(Notice) == []
    assert bench.session.next_deadline() is None


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


@pytest.mark.parametrize("mapping", [ByDestination(table={3: "1234"}), ByHeader()])
def test_ch_is_left_alone_when_it_is_not_the_channel(mapping: Mapping) -> None:
    bench = ModuleSession(channel=3, mapping=mapping)
    assert isinstance(bench.open()[-1], Ready)
    assert all("=" not in item for item in asked(bench.module))


@pytest.mark.parametrize(
    ("my", "addresses"),
    [("0000", ()), ("FFFE", ()), ("FFFF", ()), ("0001", ("0001",)), ("FFFD", ("FFFD",))],
)
def test_a_16_bit_address_counts_as_own_only_when_it_names_one(
    my: str, addresses: tuple[str, ...]
) -> None:
    bench = ModuleSession(FakeModule(MY=bytes.fromhex(my)))
    ready = bench.open()[-1]
    assert isinstance(ready, Ready)
    assert ready.addresses == (SERIAL, *addresses)


def test_a_module_without_np_is_an_s1() -> None:
    module = FakeModule(HV=b"\x17\x44", VR=b"\x10\xef", EE=b"\x00")
    del module.registers["NP"]
    bench = ModuleSession(module)
    assert "XBee S1 802.15.4" in bench.open()[-1].identity  # type: ignore[union-attr]
    assert "NP 100" in bench.of(Ready)[0].identity
    module.registers["EE"] = b"\x01"
    assert "NP 95" in ModuleSession(module).open()[-1].identity  # type: ignore[union-attr]
    del module.registers["EE"]
    assert "NP 100" in ModuleSession(module).open()[-1].identity  # type: ignore[union-attr]


def test_another_module_is_refused_before_anything_is_set() -> None:
    bench = ModuleSession(channel=20, pan_id=1, my_address=2, module="0013a200deadbeef").opened()
    error = error_of(bench)
    assert isinstance(error, MismatchError)
    assert SERIAL in str(error)
    assert "0013A200DEADBEEF" in str(error)
    assert asked(bench.module) == ["AP", "HV", "VR", "SH", "SL"]


def test_the_module_named_is_accepted_in_any_case() -> None:
    assert isinstance(ModuleSession(module=SERIAL.lower()).open()[-1], Ready)


@pytest.mark.parametrize(
    ("hv", "vr", "protocol"),
    [
        (0x4142, 0x3014, "DigiMesh"), (0x4142, 0x1014, "Zigbee"), (0x2E48, 0x4060, "Zigbee"),
        (0x2E48, 0x9002, "DigiMesh"), (0x1744, 0x8073, "DigiMesh"), (0x2348, 0x8074, "no known"),
        (0x9999, 0x2014, "no known"),
    ],
)  # fmt: skip
def test_firmware_that_is_not_802_15_4_is_named(hv: int, vr: int, protocol: str) -> None:
    bench = ModuleSession(
        FakeModule(HV=hv.to_bytes(2, "big"), VR=vr.to_bytes(2, "big")), channel=20
    )
    bench.open()
    error = error_of(bench)
    assert isinstance(error, MismatchError)
    assert protocol in str(error)
    assert f"HV {hv:04X}, VR {vr:04X}" in str(error)
    assert all("=" not in item for item in asked(bench.module))


@pytest.mark.parametrize(
    ("hv", "vr", "series"),
    [
        (0x1744, 0x10EF, "XBee S1"), (0x1844, 0x10EF, "XBee S1 PRO"), (0x2E48, 0x2003, "XBee S2C"),
        (0x4142, 0x2014, "XBee 3"), (0x4244, 0x200D, "XBee 3"),
    ],
)  # fmt: skip
def test_hardware_with_802_15_4(hv: int, vr: int, series: str) -> None:
    assert hardware_of(hv, vr) == (series, "802.15.4")


@pytest.mark.parametrize(("configured", "actual"), [(1, 2), (2, 1)])
def test_the_other_api_mode_is_recognised(configured: int, actual: int) -> None:
    bench = ModuleSession(FakeModule(actual), api_mode=configured).opened()
    error = error_of(bench)
    assert isinstance(error, MismatchError)
    assert f"is in API mode {actual}" in str(error)
    assert f"api_mode: {actual}" in error.fix
    assert f"AP = {configured}" in error.fix
    assert asked(bench.module) == ["AP"]


@pytest.mark.parametrize(("mode", "word"), [(0, "transparent"), (4, "MicroPython"), (7, "mode 7")])
def test_a_module_outside_api_mode_is_recognised_and_the_fix_named(mode: int, word: str) -> None:
    bench = ModuleSession(FakeModule(mode), api_mode=2).opened()
    bench.pass_time(10)
    error = error_of(bench)
    assert isinstance(error, MismatchError)
    assert word in str(error)
    for part in ("9600 baud", "+++", "ATAP2", "ATWR", "ATCN", "XCTU"):
        assert part in error.fix
    assert bench.module.texts[-3:] == [b"+++", b"ATAP\r", b"ATCN\r"]
    times = {wire: at for at, wire in bench.written}
    last_frame = max(at for at, wire in bench.written if wire[:1] == b"\x7e")
    assert times[b"+++"] - last_frame > SECOND  # the guard time before
    assert all(b"WR" not in wire for _, wire in bench.written)


def test_nothing_is_written_in_the_guard_time_behind_plus_plus_plus() -> None:
    module = FakeModule(0).silenced()
    bench = ModuleSession(module).opened()
    bench.pass_time(30)
    plus = next(at for at, wire in bench.written if wire == b"+++")
    assert [wire for at, wire in bench.written if at >= plus] == [b"+++"]
    assert bench.now - plus > SECOND


def test_ok_may_come_after_the_modules_own_guard_time() -> None:
    module = FakeModule(0).silenced()
    bench = ModuleSession(module).opened()
    while bench.written[-1][1] != b"+++":
        bench.pass_time(0.1)
    bench.pass_time(1.5)
    module.silent = False
    bench.take_in(b"O")
    bench.take_in(b"K\r")
    assert "transparent" in str(error_of(bench))


def test_command_mode_without_an_answer_to_atap_is_a_peer_error() -> None:
    class Mute(FakeModule):
        def command_mode(self, wire: bytes) -> bytes:
            return b"" if wire == b"ATAP\r" else super().command_mode(wire)

    bench = ModuleSession(Mute(0)).opened()
    bench.pass_time(20)
    error = error_of(bench)
    assert isinstance(error, PeerError)
    assert "ATAP" in str(error)


def test_a_module_that_reports_api_in_command_mode_only_is_a_peer_error() -> None:
    bench = ModuleSession(FakeModule(0, AP=b"\x01")).opened()
    bench.pass_time(20)
    assert isinstance(error_of(bench), PeerError)


def test_nothing_connected_names_the_likely_causes() -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module).opened()
    bench.pass_time(10)
    error = error_of(bench)
    assert isinstance(error, PeerError)
    for part in ("power", "TX and RX", "9600 baud (`hilgw scan`"):
        assert part in error.fix


def test_noise_alone_points_at_the_baud_rate() -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module).opened()
    for _ in range(20):
        bench.take_in(bytes.fromhex("F8E07E00FF80"))
        bench.pass_time(0.5)
    assert "BD is 9600" in error_of(bench).fix


def test_packets_without_answers_point_at_the_wire_to_the_module() -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module).opened()
    for _ in range(20):
        bench.frames("81 0001 28 00 6869")
        bench.pass_time(0.5)
    assert "DIN" in error_of(bench).fix
    assert bench.of(Dropped)[0].reason == "not_ready"


@pytest.mark.parametrize("lost", [1, 2])
def test_lost_answers_are_asked_for_again(lost: int) -> None:
    bench = ModuleSession()
    bench.module.deaf_for = lost
    bench.open()
    bench.pass_time(5)
    assert isinstance(bench.events[-1], Ready)
    assert asked(bench.module)[: lost + 1] == ["AP"] * (lost + 1)


def test_a_module_that_stops_in_the_middle_is_a_peer_error() -> None:
    class Dying(FakeModule):
        def at_command(self, data: bytes) -> bytes:
            self.silent = data[2:4] == b"SL"
            return super().at_command(data)

    bench = ModuleSession(Dying()).opened()
    bench.pass_time(10)
    error = error_of(bench)
    assert isinstance(error, PeerError)
    assert "stopped answering at ATMY" in str(error)


def test_a_set_is_refused_in_words() -> None:
    bench = ModuleSession(channel=11)
    bench.module.refuse["CH"] = 3
    bench.open()
    error = error_of(bench)
    assert isinstance(error, MismatchError)
    assert "CH = B: bad parameter" in str(error)
    assert "AC" not in asked(bench.module)


def test_a_set_without_effect_is_found() -> None:
    bench = ModuleSession(channel=11)
    bench.module.stuck = True
    bench.open()
    assert "keeps CH = C" in str(error_of(bench))


def test_a_read_refused_or_empty_is_a_peer_error() -> None:
    module = FakeModule()
    del module.registers["HV"]
    bench = ModuleSession(module).opened()
    assert "ATHV with: bad command" in str(error_of(bench))
    bench = ModuleSession(FakeModule(VR=b"")).opened()
    assert "ATVR" in str(error_of(bench))


def test_a_restart_in_the_handshake_begins_anew() -> None:
    bench = ModuleSession()
    bench.module.deaf_for = 1
    bench.open()
    bench.frames(RESET)
    assert asked(bench.module)[:3] == ["AP", "AP", "HV"]
    assert isinstance(bench.events[-1], Ready)
    assert len(bench.of(Ready)) == 1


def test_a_module_that_keeps_restarting_is_given_up() -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module).opened()
    for _ in range(50):
        bench.frames(RESET)
    error = error_of(bench)
    assert isinstance(error, PeerError)
    assert "power supply" in error.fix
    assert len(bench.written) < 10


def test_a_slow_module_is_found_while_command_mode_is_probed() -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module).opened()
    bench.pass_time(2)
    module.silent = False
    bench.frames("8801 4150 00 01")
    assert isinstance(bench.events[-1], Ready)


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


def test_after_a_failure_nothing_moves_until_it_is_opened_again() -> None:
    bench = ModuleSession(module="0013A20000000001").opened()
    bench.events.clear()
    assert bench.frames(RESET, "8801 4150 00 01", "81 0001 28 00 6869") == []
    assert bench.send(b"x") is None
    assert bench.pass_time(60) == []
    assert isinstance(bench.open()[-1], Failed)


def test_opening_again_begins_from_nothing() -> None:
    bench = ModuleSession()
    bench.module.deaf_for = 1
    bench.open()
    bench.take_in(frame("81 1234 28 00" + "55" * 100)[:9])
    assert isinstance(bench.open()[-1], Ready)
    assert bench.session.next_deadline() is None


def test_a_closed_session_is_silent() -> None:
    bench = ModuleSession()
    assert bench.frames(RESET) == []
    assert bench.send(b"x") is None
    bench.ready()
    assert bench.session.close() == []
    assert bench.send(b"x") is None
    assert bench.pass_time(60) == []
    assert [event for event in bench.events if isinstance(event, Write)] == []


def _no_frame(bench: ModuleSession) -> list[str]:
    return [each.text for each in bench.of(Notice) if "no frame yet" in each.text]


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"temp=20\r\n", 'it sends "temp=20": text in place of its answers'),
        (b"\x00\xf8\x80\x00", "a lower baud rate than 9600, such as 2400?"),
    ],
)
def test_what_is_not_an_xbee_is_named_once_per_connection(data: bytes, looks: str) -> None:
    module = FakeModule().silenced()
    bench = ModuleSession(module)
    for connection in (1, 2):
        bench.open()
        for _ in range(30):
            bench.take_in(data)
            bench.pass_time(0.1)
        assert len(_no_frame(bench)) == connection
        bench.session.close()
    assert looks in _no_frame(bench)[0]


def test_a_module_that_answers_has_no_such_notice() -> None:
    bench = ModuleSession()
    bench.take_in(b"boot")
    bench.open()
    bench.take_in(b"noise" * 9)
    bench.pass_time(5)
    assert _no_frame(bench) == []
