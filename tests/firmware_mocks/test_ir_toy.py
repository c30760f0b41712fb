"""The IR Toy's mock: modes, samples, transmissions, and light between toys, in mock time."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import ir_toy
from firmware_mocks.ir_toy.codes import keys_of
from firmware_mocks.ir_toy.light import Placement
from firmware_mocks.ir_toy.toy import Mode
from hilgw.testing.conformance.simulated_rules import size_of
from tests.cases import cases
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000


def sampling(bench: AirBench, **parameters: Any) -> Any:
    """A toy in mode IRs."""
    toy = bench.add(**parameters)
    assert bench.ask(toy, b"s", 1) == b"S01"
    return toy


def counts(data: bytes) -> list[int]:
    return [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]


def durations(data: bytes) -> list[float]:
    """Return what a toy received, in microseconds."""
    return [count * 64 / 3 for count in counts(data)]


def play(bench: AirBench, toy: Any, values: str, ms: float = 2_000) -> bytes:
    """Transmit durations, as LIRC does."""
    bench.ask(toy, b"\x24\x25\x26\x03")
    answers: bytes = bench.ask(toy, bytes.fromhex(values), ms)
    return answers


def dark(**more: Any) -> AirBench:
    """Toys come later; they answer within 1 ms."""
    return AirBench(ir_toy.create, now=1_000 * MS, answer_ms=1, **more)


@pytest.fixture
def bench() -> AirBench:
    return dark()


@pytest.mark.parametrize(
    ("command", "answer", "mode"),
    [
        (b"v", b"V222", Mode.IRMAN),
        (b"r", b"OK", Mode.IRMAN),
        (b"t", b"V222", Mode.IRMAN),
        (b"s", b"S01", Mode.SAMPLE),
        (b"u", b"U01", Mode.BRIDGE),
        (b"x", b"X01", Mode.OLD_RAW),
        (b"\x02", b"1ALS", Mode.SUMP),
        (b"\x01", b"", Mode.SUMP),
        (b"\x24", b"", Mode.BOOTLOADER),
        (b"\xff?", b"", Mode.IRMAN),
    ],
)
def test_the_default_mode(bench: AirBench, command: bytes, answer: bytes, mode: Mode) -> None:
    toy = bench.add()
    assert bench.ask(toy, command) == answer
    assert toy.mode is mode


@pytest.mark.parametrize(
    "way", [b"s", b"u", b"x", b"\x01", b"\x02", b"\x01\xc0", b"\x01\x80\1", b"\xff\xff\xff"]
)
def test_five_zeros_leave_every_mode(bench: AirBench, way: bytes) -> None:
    toy = bench.add()
    for byte in way:
        bench.ask(toy, bytes((byte,)))
    for _ in range(5):
        bench.ask(toy, b"\0")
    assert toy.mode is Mode.IRMAN
    assert bench.ask(toy, b"v") == b"V222"


def test_commands_with_bytes_behind_them_swallow_those(bench: AirBench) -> None:
    """LIRC blinks LEDs: 30h and 31h with two bytes each, which may be anything."""
    toy = sampling(bench)
    for command in (b"\x30\x00\x00", b"\x31\xff\xdf", b"\x05\x07", b"\x06\x00\x00", b"\x42\x00"):
        assert bench.ask(toy, command) == b""
        assert toy.mode is Mode.SAMPLE
    bench.ask(toy, b"\x31")
    bench.ask(toy, b"\x00")
    bench.ask(toy, b"\x03")
    assert toy.mode is Mode.SAMPLE
    assert not toy.player.active
    for command in (b"\x10", b"\x11", b"\x12", b"\x13", b"\x40", b"\x41", b"\x43", b"\xff"):
        assert bench.ask(toy, command) == b""
    assert bench.ask(toy, b"\x32") == b"\0"
    assert bench.ask(toy, b"\x33") == b"t\0\0"
    assert len(bench.ask(toy, b"\x04")) == 8
    assert toy.mode is Mode.SAMPLE


def test_bytes_beyond_the_usb_buffers_wait_with_the_host(bench: AirBench) -> None:
    toy = sampling(bench)
    bench.ask(toy, b"\x26\x03")
    assert toy.clear_to_send
    block = bytes.fromhex("0100") * 31
    for _ in range(3):
        bench.ask(toy, block, 3)
    assert not toy.clear_to_send
    bench.run(400)
    assert toy.clear_to_send


def test_range_and_cones() -> None:
    near, far = Placement((0, 0, 0)), Placement((20, 0, 0))
    assert not near.reaches(far)
    assert Placement(range_m=20).reaches(far)
    assert not far.reaches(near)
    ahead = Placement(cone=1.0)
    assert ahead.reaches(Placement((2, 1, 0)))  # 27 degrees off its axis, of 29
    assert not ahead.reaches(Placement((2, 1.2, 0)))
    assert not ahead.reaches(Placement((-2, 0, 0)))
    assert ahead.reaches(Placement((2, 0, 0), facing=(-1, 0, 0), cone=0.1))
    assert not ahead.reaches(Placement((2, 0, 0), facing=(1, 0, 0), cone=0.1))
    assert Placement(cone=0.0).reaches(Placement((1, 0, 0)))
    assert Placement(cone=0.5).reaches(Placement((0, 0, 0)))


@given(st.integers(0, 1000))
@cases(0.5)
def test_a_frame_is_lost_whole_or_not_at_all(seed: int) -> None:
    bench = dark(seed=seed, loss=0.5)
    listener = sampling(bench)
    bench.add(play="nec:4:8", every_ms=150)
    bench.run(1_600)
    durations_us = counts(bench.taken(listener))
    frames = " ".join(str(count) for count in durations_us if count < 1000)
    assert len(durations_us) <= 10 * 68
    assert frames.count("422 211") == sum(
        1 for first, second in pairwise(durations_us) if (first, second) == (422, 211)
    )
    marks = [count for count in durations_us if count < 1000]
    assert len(marks) % 67 == 0


def test_an_unending_light_keeps_nothing(bench: AirBench) -> None:
    toy = sampling(bench, replies="nec:4:8=nec:4:9", jammer="0.5:0.5")
    bench.run(1_000)
    size = size_of(toy.remote)
    bench.run(4_000)
    assert size_of(toy.remote) < size + 10_000
    assert toy.remote.answered == 0


def test_toys_that_look_away_receive_nothing(bench: AirBench) -> None:
    sender = sampling(bench, cone=0.5)
    listener = sampling(bench, position=(-1, 0, 0))
    play(bench, sender, "0040 FFFF")
    assert bench.taken(listener) == b""
    sender.set("facing", "-1,0,0")
    play(bench, sender, "0040 FFFF")
    assert bench.taken(listener)


def test_light_that_runs_dry_is_dark(bench: AirBench) -> None:
    toy, other = sampling(bench), sampling(bench)
    play(bench, toy, "0040 0040 0040", 50)
    bench.ask(toy, bytes.fromhex("0040 FFFF"), 2_000)
    durations_us = durations(bench.taken(other))
    assert durations_us[:3] == pytest.approx([1365] * 3, abs=30)
    assert durations_us[3] > 20_000  # dark while it had nothing
    assert durations_us[4] == pytest.approx(1365, abs=30)


def test_commands_wait_for_the_last_mark(bench: AirBench) -> None:
    toy = sampling(bench)
    bench.ask(toy, b"\x25\x26\x03")
    assert bench.ask(toy, bytes.fromhex("0400 FFFF"), 3) == b"\x3e"
    assert bench.ask(toy, b"\x33", 5) == b""
    bench.run(50)
    assert bench.taken(toy) == b"Ct\x00\x04"


def test_rc5_keys_in_the_default_mode(bench: AirBench) -> None:
    toy = bench.add(play="rc5:5:12; rc5:30:117; nec:4:8", every_ms=500)
    bench.run(1_900)
    assert bench.taken(toy) == bytes((5, 12, 0, 0, 0, 0, 30, 117, 0, 0, 0, 0))


def test_play_begins_some_time_after_a_client_has_begun_to_receive(bench: AirBench) -> None:
    """Also for one that begins again; without start_ms with the toy."""
    toy = bench.add(play="nec:4:8", every_ms=300, start_ms=5000)
    bench.run(20_000)
    bench.taken(toy)
    for _ in range(2):
        bench.put(toy, b"\x00")
        assert bench.ask(toy, b"s") == b"S01"
        bench.run(5_200)
        assert bench.taken(toy) == b""
        bench.run(300)
        assert durations(bench.taken(toy))[0] == pytest.approx(9000, abs=50)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nex:1:2", "is unknown; one of"),
        ("nec:1", "is not NAME:ADDRESS:COMMAND"),
        ("nec:1:2:3", "is not NAME:ADDRESS:COMMAND"),
        ("nec:one:2", "is not NAME:ADDRESS:COMMAND"),
        ("nec:2:-1", "more than 8 bits"),
        ("raw:1,x,1", "is not a list of microseconds"),
    ],
)
def test_a_wrong_code_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keys_of([text])


def test_several_codes() -> None:
    texts = [key.text for key in keys_of("nec:4:8; raw:1,2,3 rc5:1:2")]
    assert texts == ["nec:4:8", "raw:1,2,3", "rc5:1:2"]
    assert [key.text for key in keys_of(["sirc:1:2"])] == ["sirc:1:2"]
    with pytest.raises(ValueError, match="5 is not a code"):
        keys_of(5)


@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.binary(max_size=40),
                st.sampled_from((b"s", b"\0" * 5, b"\x24\x25\x26\x03", b"\xff\xff", b"v", b"u")),
            ),
            st.sampled_from((0, 1, 10, 950)),
        ),
        max_size=6,
    )
)
def test_no_bytes_raise_and_nothing_grows(steps: list[tuple[bytes, int]]) -> None:
    bench = dark()
    toy = bench.add(play="nec:4:8", every_ms=900, replies="nec:4:8=rc5:1:2")
    for data, ms in steps:
        if toy.clear_to_send:
            bench.put(toy, data)
        bench.run(ms)
    toy.set("play", "")
    bench.run(100_000)  # as long as it may shine for what is in its buffers
    if toy.mode is not Mode.BOOTLOADER:
        for _ in range(3):
            bench.ask(toy, b"\xff\xff\xff\0\0\0\0\0", 2_000)
        assert toy.mode is Mode.IRMAN


def test_the_descriptor_has_carrier_and_dividers(bench: AirBench) -> None:
    toy = sampling(bench)
    assert bench.ask(toy, b"\x23") == bytes((78, 39, 5, 7)) + (48_000_000).to_bytes(4, "big")
    bench.ask(toy, b"\x06\x52\x00\x05\x03")
    assert bench.ask(toy, b"\x23")[:4] == bytes((82, 41, 5, 3))
    bench.ask(toy, b"\0")
    bench.ask(toy, b"s")
    assert bench.ask(toy, b"\x23")[:4] == bytes((78, 39, 5, 7))


def test_24h_means_what_the_mode_makes_of_it(bench: AirBench) -> None:
    toy = sampling(bench)
    assert bench.ask(toy, b"\x24") == b""
    assert toy.player.counting
    bench.ask(toy, b"\0")
    bench.ask(toy, b"\x24")
    assert (toy.mode, toy.bootloads) == (Mode.BOOTLOADER, 1)
    assert bench.ask(toy, b"\0\0\0\0\0vsv") == b""
    toy.reset(bench.now)
    assert bench.ask(toy, b"v") == b"V222"
