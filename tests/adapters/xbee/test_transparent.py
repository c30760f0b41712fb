"""Transparent mode: set up in command mode, then a stream with a framing."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
from hilgw.adapters.xbee import ADAPTER
from hilgw.adapters.xbee.settings import ByHeader
from hilgw.errors import MismatchError, PeerError
from tests.adapters.session_bench import SECOND
from tests.adapters.world import Side, World
from tests.adapters.xbee.bench import SERIAL, FakeModule, ModuleSession


class Typist(FakeModule):
    """A module with AP = 0. Outside command mode it keeps silent; `typed` is what it received."""

    def __init__(self, **registers: bytes) -> None:
        target = {"DH": bytes(4), "DL": b"\x00\x00\xff\xff"}
        super().__init__(0, **(target | registers))
        self.commanded = False
        self.typed: list[str] = []

    def command_mode(self, wire: bytes) -> bytes:
        if wire == b"+++":
            self.commanded = True
            return b"OK\r"
        if not self.commanded or wire[:2] != b"AT" or wire[-1:] != b"\r":
            return b""
        command = wire[2:-1].decode()
        self.typed.append(command)
        name, value = command[:2], command[2:]
        if name in ("CN", "AC"):
            self.registers |= self.held
            self.held.clear()
            self.commanded = name != "CN"
            return b"OK\r"
        if name not in self.registers or name in self.refuse:
            return b"ERROR\r"
        if value:
            self.held[name] = int(value, 16).to_bytes(8, "big").lstrip(b"\x00") or b"\x00"
            return b"OK\r"
        return b"%X\r" % int.from_bytes(self.registers[name], "big")


def opened(module: Typist | None = None, **settings_: Any) -> ModuleSession:
    bench = ModuleSession(module or Typist(), api_mode=0, **settings_).opened()
    bench.pass_time(4)
    return bench


def failure(bench: ModuleSession) -> Any:
    (failed,) = bench.of(base.Failed)
    return failed.error


# --- command mode ---------------------------------------------------------------------------------


def test_only_what_does_not_fit_is_set() -> None:
    bench = opened(pan_id=0x3332)
    assert bench.of(base.Ready)[0].identity.startswith(f"XBee 3 802.15.4 {SERIAL} MY FFFF CH 0C")
    module = bench.module
    assert isinstance(module, Typist)
    assert module.typed == [
        "AP", "HV", "VR", "SH", "SL", "MY", "CH", "ID", "DH", "DL", "NP", "CN",
    ]  # fmt: skip
    assert not module.commanded


def test_what_is_asked_for_is_set_applied_and_verified() -> None:
    bench = opened(channel=17, pan_id=0x7D13, my_address=0x1234, destination="0013A20040A1B2C3")
    module = bench.module
    assert isinstance(module, Typist)
    assert module.typed[10:-2] == [
        "CH11", "ID7D13", "MY1234", "DH13A200", "DL40A1B2C3", "AC", "CH", "ID", "MY", "DH", "DL",
    ]  # fmt: skip
    assert module.typed[-1] == "CN"
    assert not any(text.startswith("WR") for text in module.typed)
    assert "CH = 11, ID = 7D13, MY = 1234" in bench.of(base.Notice)[0].text


def test_the_guard_times_are_kept() -> None:
    bench = opened()
    times = [(at, wire) for at, wire in bench.written]
    assert times[0][1] == b"+++"
    assert times[0][0] > SECOND


def test_a_module_in_api_mode_is_a_mismatch() -> None:
    bench = ModuleSession(FakeModule(1), api_mode=0)
    bench.module.answer = _only_frames(bench.module)  # type: ignore[method-assign]
    bench.open()
    bench.pass_time(5)
    error = failure(bench)
    assert isinstance(error, MismatchError)
    assert "is in API mode 1" in str(error)
    assert "api_mode: 1" in error.fix


def _only_frames(module: FakeModule) -> Any:
    answer = module.answer
    return lambda wire: answer(wire) if wire[:1] == b"\x7e" else b""


def test_another_module_is_left_alone() -> None:
    bench = opened(module=None, pan_id=1)  # set
    assert isinstance(bench.module, Typist)
    named = ModuleSession(Typist(), api_mode=0, pan_id=1, module="0013A200DEADBEEF")
    named.open()
    named.pass_time(4)
    assert isinstance(failure(named), MismatchError)
    assert isinstance(named.module, Typist)
    assert named.module.typed == ["AP", "HV", "VR", "SH", "SL", "CN"]


def test_a_value_refused_is_a_mismatch_and_command_mode_is_left() -> None:
    module = Typist()
    bench = ModuleSession(module, api_mode=0, channel=20).opened()
    while "CH" not in module.typed:
        bench.pass_time(0.1)
    assert not bench.of(base.Failed)
    assert module.typed[-1] == "CN"
    refusing = Typist()
    original = refusing.command_mode
    refusing.command_mode = (  # type: ignore[method-assign]
        lambda wire: b"ERROR\r" if wire == b"ATCH14\r" else original(wire)
    )
    bench = opened(refusing, channel=20)
    assert "rejects CH = 14" in str(failure(bench))
    assert refusing.typed[-1] == "CN"


@pytest.mark.parametrize(
    ("mode", "remedy"), [(b"\x04", "ATAP0"), (b"\x01", "api_mode: 1"), (b"\x02", "api_mode: 2")]
)
def test_other_modes_reported_in_command_mode(mode: bytes, remedy: str) -> None:
    bench = opened(Typist(AP=mode))
    error = failure(bench)
    assert isinstance(error, MismatchError)
    assert remedy in error.fix


def test_nothing_connected_is_a_peer_error() -> None:
    module = Typist()
    module.silent = True
    bench = opened(module)
    bench.pass_time(10)
    assert isinstance(failure(bench), PeerError)
    assert bench.session.next_deadline() is None


def test_an_s1_has_no_np() -> None:
    module = Typist(HV=b"\x17\x44", VR=b"\x10\xef", EE=b"\x00")
    del module.registers["NP"]
    assert "NP 100" in opened(module).of(base.Ready)[0].identity


# --- the stream -----------------------------------------------------------------------------------


def test_packets_have_no_token_and_no_rssi() -> None:
    bench = opened(framing="slip")
    sent = bench.send(b"\xc0hi")
    assert sent == base.Transmission(b"\xc0\xdb\xdchi\xc0", token=None)
    assert bench.take_in(sent.data) == [base.Received(b"\xc0hi", 12)]


def test_data_behind_the_last_ok_is_not_lost() -> None:
    module = Typist()
    original = module.command_mode
    module.command_mode = (  # type: ignore[method-assign]
        lambda wire: original(wire) + (b"first\nsec" if wire == b"ATCN\r" else b"")
    )
    bench = opened(module, framing="lines")
    assert bench.take_in(b"ond\n") == [base.Received(b"second", 12)]
    assert [event.data for event in bench.of(base.Received)] == [b"first", b"second"]


def test_bad_frames_are_counted() -> None:
    bench = opened()
    good = bench.send(b"hello").data
    events = bench.take_in(good[:3] + good + good[:2] + b"\x55" + good[3:])
    assert [event.reason for event in events if isinstance(event, base.Dropped)]
    assert base.Received(b"hello", 12) in bench.take_in(good)


def test_plus_plus_plus_alone_is_never_sent() -> None:
    bench = opened(framing="gap:50ms")
    refused = bench.send(b"+++")
    assert isinstance(refused, base.CannotSend)
    assert refused.reason == "unframable"
    assert isinstance(bench.send(b"+++ "), base.Transmission)
    bench = opened(framing="gap:50ms", mapping=ByHeader())
    assert isinstance(bench.send(b"++", channel=43), base.CannotSend)


def test_gap_framing_keeps_its_pause_and_its_size() -> None:
    bench = opened(framing="gap:50ms")
    assert bench.send(bytes(103)).reason == "too_long"
    assert isinstance(bench.send(bytes(102)), base.Transmission)
    assert bench.send(b"next") is None
    due = bench.session.next_deadline()
    assert due is not None
    assert due - bench.now > 0.15 * SECOND  # 102 bytes and the pause
    bench.pass_time(0.16)
    assert isinstance(bench.send(b"next"), base.Transmission)


@given(st.binary(max_size=200))
def test_noise_at_any_time_raises_nothing(noise: bytes) -> None:
    bench = ModuleSession(Typist(), api_mode=0).opened()
    bench.take_in(noise)
    bench.pass_time(5)
    bench.take_in(noise)
    bench.session.describe(noise)


def test_describe_and_a_closed_session() -> None:
    bench = opened(framing="lines")
    assert bench.session.describe(b"hi\n") == "lines: packet of 2 B: b'hi'"
    assert bench.session.close() == []
    assert bench.send(b"x") is None
    assert bench.take_in(b"hi\n") == []
    assert bench.session.next_deadline() is None


# --- with the mock --------------------------------------------------------------------------------


def pair(**more: Any) -> tuple[World, Side, Side]:
    world = World(ADAPTER)
    one = world.add(api_mode=0, pan_id=0x1111, channel=13, **more)
    two = world.add(api_mode=0, pan_id=0x1111, channel=13, **more)
    world.run(5)
    assert one.of(base.Ready)
    assert two.of(base.Ready)
    return world, one, two


@pytest.mark.parametrize("hardware", ["s1", "s2c", "xbee3", "digimesh"])
def test_two_modules_both_ways(hardware: str) -> None:
    firmware = "digimesh" if hardware == "digimesh" else "802.15.4"
    world, one, two = pair(firmware=firmware, mock={"hardware": hardware})
    halves = [bytes(range(150)), bytes(range(150, 256))]  # the first: two radio packets
    for half in halves:
        one.send(half, 13)
        world.run(1)
    two.send(b"back", 13)
    world.run(1)
    assert two.of(base.Received) == [base.Received(half, 13) for half in halves]
    assert one.of(base.Received) == [base.Received(b"back", 13)]


def test_with_an_api_module_on_the_other_side() -> None:
    world = World(ADAPTER)
    stream = world.add(api_mode=0, framing="gap:50ms")
    frames = world.add()
    world.run(5)
    stream.send(b"hello")
    world.run(1)
    frames.send(b"there")
    world.run(1)
    (received,) = frames.of(base.Received)
    assert received.data == b"hello"
    assert stream.of(base.Received) == [base.Received(b"there", 12)]


def test_the_mock_reports_transparent() -> None:
    spec = ADAPTER.mock(ADAPTER.Settings(api_mode=0), base.StationSettings(port="/dev/null"))
    assert spec.parameters["AP"] == 0


def test_text_from_the_air_is_named_and_the_handshake_before_it_is_not_counted() -> None:
    bench = opened(framing="cobs-crc16")
    bench.take_in(b"temp=20\r\n")
    (notice,) = [each for each in bench.pass_time(3) if isinstance(each, base.Notice)]
    assert notice.text == '9 bytes, no frame yet; begins "temp=20\\r\\n": framing lines?'
