"""Infra-red codes in both directions: durations, frames, key presses, and frames of others."""

from itertools import pairwise, product

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import FrameError
from hilgw.protocols.ir import CODECS, REPEAT, Code, Codec
from hilgw.protocols.ir.base import TOGGLE, WHOLE_FRAME
from hilgw.protocols.ir.nec import REPEAT_FRAME
from hilgw.protocols.ir.payload import ByteDecoder, codes_per_byte, encode_bytes
from hilgw.protocols.ir.receiver import (
    MARK_LIMIT_US,
    UNRECOGNIZED,
    Held,
    KeyDecoder,
    KeyEvent,
    OtherCodes,
    Pressed,
    ReceivedFrame,
    Splitter,
)
from tests.cases import cases

NAMES = sorted(CODECS)
# The shortest unit of time in a code, microseconds.
UNITS = {"rc5": 889, "rc6": 444, "rc6a": 444}


@st.composite
def coded(draw: st.DrawFn) -> tuple[Codec, Code]:
    """A kind of code, and a code of that kind."""
    one = CODECS[draw(st.sampled_from(NAMES))]
    traits = one.traits
    address = draw(st.integers(0, (1 << traits.address_bits) - 1))
    command = draw(st.integers(0, (1 << traits.command_bits) - 1))
    toggle = draw(st.integers(0, 1)) if traits.held == TOGGLE else 0
    return one, Code(address, command, toggle)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_carriers_and_periods(name: str) -> None:
    sizes = {
        "nec": (8, 8), "nec2": (8, 8), "nec_ext": (16, 8), "onkyo": (16, 16), "rc5": (5, 7),
        "rc6": (8, 8), "rc6a": (22, 8), "sirc": (5, 7), "sirc15": (8, 7), "sirc20": (13, 7),
    }  # fmt: skip
    families = {  # carrier, period, how often a key is sent
        "nec": (38_000, 108_000, 1), "onk": (38_000, 108_000, 1), "sir": (40_000, 45_000, 3),
        "rc5": (36_000, 113_800, 1), "rc6": (36_000, 107_000, 1),
    }  # fmt: skip
    traits = CODECS[name].traits
    assert (traits.address_bits, traits.command_bits) == sizes[name]
    assert (traits.carrier_hz, traits.period_us, traits.sends) == families[name[:3]]


def test_the_frame_of_a_held_key() -> None:
    assert REPEAT_FRAME == (9000, 2250, 562)
    for name in NAMES:
        is_nec = name.startswith(("nec", "onkyo"))
        assert CODECS[name].decode(REPEAT_FRAME) is (REPEAT if is_nec else None)


def test_rc5_as_the_makers_of_the_ir_toy_print_it() -> None:
    """The example of their page on the sampling mode: counts of 21.3333 us."""
    counts = "2B 28 2A 27 2B 28 2A 27 2B 27 2A 28 54 51 2B 28 54 51 54 51 2A"
    frame = [round(int(count, 16) * 64 / 3) for count in counts.split()]
    assert CODECS["rc5"].decode(frame) == Code(30, 53, 1)  # 1 1 1 11110 110101


def test_nec_bit_by_bit() -> None:
    """Address 04h and command 08h, each lowest bit first and followed by its inverse."""
    bits = "00100000110111110001000011101111"
    frame = [9000, 4500]
    for bit in bits:
        frame += [562, 562 if bit == "0" else 1687]
    frame.append(562)
    assert CODECS["nec"].encode(Code(4, 8)) == tuple(frame)
    assert CODECS["nec"].decode(frame) == Code(4, 8)
    assert sum(frame) == pytest.approx(68_000, abs=100)  # every frame with inverses is so long
    assert CODECS["nec_ext"].decode(frame) == Code(0xFB04, 8)
    assert CODECS["onkyo"].decode(frame) == Code(0xFB04, 0xF708)


def test_sirc_bit_by_bit() -> None:
    """Command 21 (0010101), address 1 (00001), lowest bit first: power of a television."""
    bits = "101010010000"
    frame = [2400]
    for bit in bits:
        frame += [600, 600 if bit == "0" else 1200]
    assert CODECS["sirc"].encode(Code(1, 21)) == tuple(frame)
    assert CODECS["sirc"].decode(frame) == Code(1, 21)
    assert CODECS["sirc15"].decode(frame) is None
    assert CODECS["sirc20"].decode(frame) is None


@given(coded(), st.booleans())
def test_values_that_do_not_fit_are_refused(pair: tuple[Codec, Code], in_address: bool) -> None:
    one, code = pair
    traits = one.traits
    if in_address:
        bad = [Code(1 << traits.address_bits, code.command), Code(-1, code.command)]
    else:
        bad = [Code(code.address, 1 << traits.command_bits), Code(code.address, -1)]
    for value in bad:
        with pytest.raises(FrameError, match="does not fit"):
            one.encode(value)


@given(coded())
def test_what_is_sent_is_received(pair: tuple[Codec, Code]) -> None:
    one, code = pair
    frame = one.encode(code)
    assert len(frame) % 2 == 1
    assert min(frame) >= 400
    assert sum(frame) < one.traits.period_us - one.traits.gap_us
    assert max(frame[1::2]) < one.traits.gap_us
    assert one.decode(frame) == code


@given(coded(), st.data())
@cases(4)
def test_jitter_within_the_tolerance_changes_nothing(
    pair: tuple[Codec, Code], data: st.DataObject
) -> None:
    """Each duration off by up to a quarter, whatever the others do; but three halves in RC6, which
    stand beside the toggle bit where two halves may, by less than half a half."""
    one, code = pair
    frame = one.encode(code)
    jittered = []
    for us in frame:
        most = us // 4 if us != 3 * UNITS["rc6"] else us // 6 - 1
        jittered.append(us + data.draw(st.integers(-most, most)))
    assert one.decode(jittered) == code
    assert one.is_whole(jittered) == one.traits.has_length


@given(coded(), st.integers(0, 100))
def test_a_receiver_s_stretch_changes_nothing(pair: tuple[Codec, Code], us: int) -> None:
    """Marks longer, spaces shorter, as demodulators make them."""
    one, code = pair
    frame = [each - us if place % 2 else each + us for place, each in enumerate(one.encode(code))]
    assert one.decode(frame) == code


@given(coded(), st.integers(1, 200), st.booleans())
def test_a_frame_is_whole_at_its_end_and_not_before(
    pair: tuple[Codec, Code], cut: int, cut_it: bool
) -> None:
    one, code = pair
    frame = one.encode(code)
    has_length = not one.traits.name.startswith("sirc")
    assert one.is_whole(frame) == has_length
    for end in range(1, len(frame) - 1, 2):
        assert not one.is_whole(frame[:end])
    if cut_it and cut < len(frame):
        assert one.decode(frame[:-cut]) is None


@given(coded(), st.integers(0, 200), st.sampled_from((0.5, 1.9)))
def test_one_wrong_duration_is_not_another_code(
    pair: tuple[Codec, Code], place: int, factor: float
) -> None:
    """Between two lengths, or beyond them: then the frame is none, or what it was."""
    one, code = pair
    frame = list(one.encode(code))
    place %= len(frame)
    frame[place] = round(frame[place] * factor)
    reported = one.decode(frame)
    if one.traits.name in ("nec", "nec2"):  # each bit is there twice
        assert reported in (None, code)
    assert reported is None or isinstance(reported, Code)


DURATIONS = st.one_of(
    st.integers(0, 100_000),
    st.sampled_from((444, 562, 600, 889, 1200, 1333, 1687, 1778, 2250, 2400, 2666, 4500, 9000)),
)


@given(st.sampled_from(NAMES), st.lists(DURATIONS, max_size=80))
@cases(4)
def test_no_timings_raise(name: str, frame: list[int]) -> None:
    one = CODECS[name]
    reported = one.decode(frame)
    one.is_whole(frame)
    if isinstance(reported, Code):
        again = one.encode(reported)
        assert len(again) == len(frame)
    else:
        assert reported is None or reported is REPEAT


@pytest.mark.parametrize("name", NAMES)
def test_odd_lengths_of_frames(name: str) -> None:
    one = CODECS[name]
    frame = one.encode(Code(1, 1))
    for wrong in ((), frame[:1], frame[1:], (*frame, 600, 600), frame[:-2], frame * 3):
        assert one.decode(wrong) is None
        one.is_whole(wrong)


def test_rc6_modes_are_distinguished() -> None:
    assert CODECS["rc6a"].decode(CODECS["rc6"].encode(Code(1, 2))) is None
    assert CODECS["rc6"].decode(CODECS["rc6a"].encode(Code(1, 2))) is None


GAP = 8_000
FRAME = (900, 500, 400)


def split(splitter: Splitter, *durations: int) -> list[tuple[int, ...]]:
    frames = [splitter.feed(us) for us in durations]
    return [received.durations for received in frames if received]


def test_frames_have_the_time_when_they_began() -> None:
    splitter = Splitter(GAP)
    for us in (*FRAME, 10_000):
        splitter.feed(us)
    for us in FRAME:
        splitter.feed(us)
    assert splitter.end(1_400_000) == ReceivedFrame(FRAME, sum(FRAME) + 10_000)
    splitter.feed(300)
    assert splitter.quiet() == ReceivedFrame((300,), 2 * sum(FRAME) + 10_000 + 1_400_000)


def test_a_mark_too_long_for_any_is_a_space() -> None:
    """So a lost duration costs one frame, not all that follow."""
    splitter = Splitter(GAP)
    split(splitter, *FRAME)
    assert split(splitter, 700, 200, 100_000) == [(*FRAME, 700, 200)]
    assert split(splitter, *FRAME[1:], 100_000) == [FRAME[1:2]]  # out of step: 400 is a space
    assert split(splitter, *FRAME, 100_000) == [FRAME]


def test_light_without_a_pause_is_skipped_and_counted() -> None:
    splitter = Splitter(GAP, limit=5)
    assert split(splitter, *[500] * 1000) == []
    assert splitter.overlong == 1
    assert not splitter.pending
    assert split(splitter, 500, 9_000, *FRAME, 9_000) == [FRAME]
    assert split(splitter, *[500] * 7) == []
    assert splitter.overlong == 2
    assert splitter.end(1) is None
    assert split(splitter, *FRAME, 9_000) == [FRAME]


def test_a_receiver_that_was_stopped_begins_with_a_mark() -> None:
    splitter = Splitter(GAP)
    assert not splitter.interrupt()
    split(splitter, 900, 500)
    assert splitter.interrupt()
    assert split(splitter, *FRAME, 9_000) == [FRAME]


@given(
    st.lists(st.lists(st.integers(1, 7_999), min_size=1, max_size=20), min_size=1, max_size=5),
    st.integers(GAP, 1_000_000),
)
def test_frames_come_out_as_they_went_in(frames: list[list[int]], gap: int) -> None:
    odd = [tuple(frame[: len(frame) - 1 + len(frame) % 2]) for frame in frames]
    odd = [frame for frame in odd if frame]
    splitter = Splitter(GAP)
    assert split(splitter, *(us for frame in odd for us in (*frame, gap))) == odd


@given(st.lists(st.integers(0, 2_000_000)), st.lists(st.sampled_from("eqc")))
def test_anything_at_all_is_bounded(durations: list[int], calls: list[str]) -> None:
    splitter = Splitter(GAP, limit=8)
    for place, us in enumerate(durations):
        received = splitter.feed(us)
        for call in calls[place : place + 1]:
            if call == "c":
                splitter.interrupt()
            else:
                received = received or (splitter.end(5) if call == "e" else splitter.quiet())
        if received:
            assert len(received.durations) % 2 == 1
            assert len(received.durations) <= 8
            assert max(received.durations[::2]) < MARK_LIMIT_US


def read(name: str, *frames: tuple[int, tuple[int, ...]]) -> list[KeyEvent]:
    """What frames at these times (milliseconds) contain."""
    keys = KeyDecoder(CODECS[name])
    return [keys.read(ReceivedFrame(frame, start_ms * 1000)) for start_ms, frame in frames]


def test_a_held_nec_key_is_one_press() -> None:
    code = Code(4, 8)
    frame = CODECS["nec"].encode(code)
    reported = read(
        "nec", (0, frame), (108, REPEAT_FRAME), (216, REPEAT_FRAME), (432, REPEAT_FRAME)
    )
    assert reported == [Pressed(code), Held(code), Held(code), Held(code)]
    assert read("nec", (0, frame), (108, frame)) == [Pressed(code)] * 2
    assert read("nec", (0, REPEAT_FRAME), (108, REPEAT_FRAME)) == [Held(None)] * 2
    assert read("nec", (0, frame), (5_000, REPEAT_FRAME)) == [Pressed(code), Held(None)]


def test_nec2_repeats_its_frame() -> None:
    code, other = Code(4, 8), Code(4, 9)
    frame, second = (CODECS["nec2"].encode(each) for each in (code, other))
    reported = read("nec2", (0, frame), (108, frame), (324, frame), (432, second), (1_000, second))
    assert reported == [Pressed(code), Held(code), Held(code), Pressed(other), Pressed(other)]


@pytest.mark.parametrize("name", ["rc5", "rc6", "rc6a"])
def test_the_toggle_bit_distinguishes_presses(name: str) -> None:
    frames = [CODECS[name].encode(Code(1, 2, toggle)) for toggle in (0, 1)]
    first, second = Code(1, 2, 0), Code(1, 2, 1)
    reported = read(name, (0, frames[0]), (110, frames[0]), (220, frames[1]), (330, frames[1]))
    assert reported == [Pressed(first), Held(first), Pressed(second), Held(second)]
    assert read(name, (0, frames[0]), (1_000, frames[0])) == [Pressed(first)] * 2


def test_other_light_is_strange_and_forgets_nothing() -> None:
    code = Code(4, 8)
    frame = CODECS["nec"].encode(code)
    reported = read("nec", (0, frame), (100, (500, 500, 500)), (110, REPEAT_FRAME))
    assert reported == [Pressed(code), UNRECOGNIZED, Held(code)]


@given(
    st.sampled_from(sorted(CODECS)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8),
)
def test_presses_far_enough_apart_are_all_reported(name: str, codes: list[tuple[int, int]]) -> None:
    one = CODECS[name]
    traits = one.traits
    pause = traits.repeat_window_us + 1 if traits.held == WHOLE_FRAME else traits.period_us
    toggles = [place % 2 if traits.held == TOGGLE else 0 for place in range(len(codes))]
    sent = [Code(*pair, toggle) for pair, toggle in zip(codes, toggles, strict=True)]
    keys = KeyDecoder(one)
    reported = [
        keys.read(ReceivedFrame(one.encode(code), place * pause)) for place, code in enumerate(sent)
    ]
    assert reported == [Pressed(code) for code in sent]


@given(st.binary(max_size=40), st.sampled_from((7, 8, 16)))
def test_bytes_in_commands(data: bytes, bits: int) -> None:
    commands = encode_bytes(data, bits)
    assert len(commands) == len(data) * codes_per_byte(bits)
    assert all(0 <= command < 1 << bits for command in commands)
    if bits < 8:
        assert all(one != other for one, other in pairwise(commands))
    octets = ByteDecoder(bits)
    assert b"".join(map(octets.feed, commands)) == data
    assert octets.lost == 0


@given(st.binary(min_size=2, max_size=20), st.integers(0, 39))
def test_a_lost_half_costs_one_byte(data: bytes, place: int) -> None:
    commands = encode_bytes(data, 7)
    del commands[place % len(commands)]
    octets = ByteDecoder(7)
    came = b"".join(map(octets.feed, commands))
    octets.reset()
    lost = place % (2 * len(data)) // 2
    assert came == data[:lost] + data[lost + 1 :]
    assert octets.lost == 1


@given(st.lists(st.integers(0, 0xFFFF)), st.sampled_from((7, 8, 16)))
def test_commands_that_carry_no_byte(commands: list[int], bits: int) -> None:
    octets = ByteDecoder(bits)
    came = b"".join(map(octets.feed, commands))
    assert len(came) + octets.lost <= len(commands)
    if bits >= 8:
        assert len(came) + octets.lost == len(commands)


def received(own: str, sent: str, code: Code, stretch_us: int = 0) -> list[str]:
    """What is reported of one frame and the pause after it; marks are longer by stretch_us."""
    others = OtherCodes(CODECS[own])
    frame = [
        us + (-stretch_us if at % 2 else stretch_us)
        for at, us in enumerate(CODECS[sent].encode(code))
    ]
    return [text for us in (*frame, 40_000) if (text := others.name(others.feed(us)))]


@pytest.mark.parametrize(("own", "sent"), [*product(CODECS, CODECS)])
def test_every_code_is_named_by_an_adapter_that_does_not_take_it(own: str, sent: str) -> None:
    code = Code(0x04, 0x12)
    taken = CODECS[own].decode(CODECS[sent].encode(code)) is not None
    texts = received(own, sent, code, stretch_us=60)
    assert len(texts) == (not taken)
    if texts:
        assert ":0x12; this adapter takes " + own in texts[0]


def test_the_words() -> None:
    assert received("rc5", "nec", Code(0x04, 0x52)) == ["NEC 0x04:0x52; this adapter takes rc5"]


def test_a_frame_ends_with_its_burst_or_with_silence_and_noise_has_no_name() -> None:
    others = OtherCodes(CODECS["rc5"])
    for end in (lambda: others.end(100_000), others.quiet):
        assert not any(others.name(others.feed(us)) for us in CODECS["nec"].encode(Code(1, 2)))
        assert others.pending
        assert others.name(end()) == "NEC 0x01:0x02; this adapter takes rc5"
    for us in (500, 500, 700, 9_000, 300):
        assert others.name(others.feed(us)) == ""
    assert others.name(others.quiet()) == "" and not others.pending
