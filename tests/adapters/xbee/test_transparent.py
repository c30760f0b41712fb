"""Transparent mode: set up in command mode, then a stream with a framing."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
from hilgw.adapters.xbee import ADAPTER
from hilgw.adapters.xbee.settings import ByHeader
from hilgw.errors import MismatchError, PeerError
from tests.adapters.session_bench import SECOND
from tests.adapters.world import World
from tests.adapters.xbee.bench import FakeModule, ModuleSession


class Typist(FakeModule):
    """A module with AP = 0. Outside command mode it keeps silent; `typed` is what it received.

    refused: a command that gets ERROR. behind: what it sends after the last OK.
    """

    def __init__(self, refused: str = "", behind: bytes = b"", **registers: bytes) -> None:
        target = {"DH": bytes(4), "DL": b"\x00\x00\xff\xff"}
        super().__init__(0, **(target | registers))
        self.commanded = False
        self.typed: list[str] = []
        self.refused = refused
        self.behind = behind

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
            return b"OK\r" + (b"" if self.commanded else self.behind)
        if name not in self.registers or command == self.refused:
            return b"ERROR\r"
        if value:
            self.held[name] = int(value, 16).to_bytes(8, "big").lstrip(b"\x00") or b"\x00"
            return b"OK\r"
        return b"%X\r" % int.from_bytes(self.registers[name], "big")


def opened(module: Typist | None = None, /, **settings_: Any) -> tuple[ModuleSession, Typist]:
    typist = module or Typist()
    bench = ModuleSession(typist, api_mode=0, **settings_).opened()
    bench.pass_time(4)
    return bench, typist


def test_what_is_asked_for_is_set_applied_and_verified() -> None:
    bench, module = opened(
        channel=17, pan_id=0x7D13, my_address=0x1234, destination="0013A20040A1B2C3"
    )
    assert module.typed[10:-2] == [
        "CH11", "ID7D13", "MY1234", "DH13A200", "DL40A1B2C3", "AC", "CH", "ID", "MY", "DH", "DL",
    ]  # fmt: skip
    assert module.typed[-1] == "CN"
    assert not any(text.startswith("WR") for text in module.typed)
    assert "CH = 11, ID = 7D13, MY = 1234" in bench.of(base.Notice)[0].text


def test_a_module_in_api_mode_is_a_mismatch_and_silence_a_peer_error() -> None:
    bench = ModuleSession(FakeModule(1), api_mode=0).opened()
    bench.pass_time(5)
    error = bench.failure()
    assert isinstance(error, MismatchError) and "is in API mode 1" in str(error)
    assert "api_mode: 1" in error.fix
    silent = ModuleSession(FakeModule(1).silenced(), api_mode=0).opened()
    silent.pass_time(14)
    assert isinstance(silent.failure(), PeerError)
    assert silent.session.next_deadline() is None


def test_another_module_is_left_alone() -> None:
    bench, module = opened(pan_id=1, module="0013A200DEADBEEF")
    assert isinstance(bench.failure(), MismatchError)
    assert module.typed == ["AP", "HV", "VR", "SH", "SL", "CN"]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Typist(refused="CH14"), "rejects CH = 14"),
        (Typist(AP=b"\x04"), "ATAP0"),
        (Typist(AP=b"\x01"), "api_mode: 1"),
        (Typist(AP=b"\x02"), "api_mode: 2"),
    ],
)
def test_what_does_not_fit_is_an_error_and_command_mode_is_left(module: Typist, words: str) -> None:
    error = opened(module, channel=20)[0].failure()
    assert isinstance(error, MismatchError)
    assert words in f"{error} {error.fix}"
    assert module.typed[-1] == "CN"


def test_packets_have_no_token_and_no_rssi() -> None:
    bench, _ = opened(framing="slip")
    sent = bench.send(b"\xc0hi")
    assert sent == base.Transmission(b"\xc0\xdb\xdchi\xc0", token=None)
    assert bench.take_in(sent.data) == [base.Received(b"\xc0hi", 12)]


def test_data_behind_the_last_ok_is_not_lost() -> None:
    bench, _ = opened(Typist(behind=b"first\nsec"), framing="lines")
    bench.take_in(b"ond\n")
    assert [event.data for event in bench.of(base.Received)] == [b"first", b"second"]
    assert bench.session.describe(b"hi\n") == "lines: packet of 2 B: b'hi'"
    assert bench.session.close() == []
    assert (bench.send(b"x"), bench.take_in(b"hi\n")) == (None, [])
    assert bench.session.next_deadline() is None


@pytest.mark.parametrize(
    ("settings", "data", "refused"),
    [({}, b"+++", True), ({}, b"+++ ", False), ({"mapping": ByHeader()}, b"++", True)],
)
def test_plus_plus_plus_is_never_sent(settings: dict[str, Any], data: bytes, refused: bool) -> None:
    answer = opened(framing="gap:50ms", **settings)[0].send(data, channel=43 if settings else 12)
    assert isinstance(answer, base.CannotSend if refused else base.Transmission)


def test_gap_framing_keeps_its_pause_and_its_size() -> None:
    bench, _ = opened(framing="gap:50ms")
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


@pytest.mark.parametrize(
    ("hardware", "firmware"), [("s1", "802.15.4"), ("xbee3", "802.15.4"), ("digimesh", "digimesh")]
)
def test_two_modules_both_ways(hardware: str, firmware: str) -> None:
    world = World(ADAPTER, channel=13)
    one, two = (
        world.add({"hardware": hardware}, api_mode=0, pan_id=0x1111, firmware=firmware)
        for _ in range(2)
    )
    world.run(5)
    halves = [bytes(range(150)), bytes(range(150, 256))]  # the first: two radio packets
    for half in halves:
        one.send(half, 13)
        world.run(1)
    two.send(b"back", 13)
    world.run(1)
    assert two.of(base.Received) == [base.Received(half, 13) for half in halves]
    assert one.of(base.Received) == [base.Received(b"back", 13)]
