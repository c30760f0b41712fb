"""Infra-red codes, both directions: published frames, round trips with jitter, random durations."""

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.protocols.ir import CODECS, REPEAT, Code, Codec, codec
from hilgw.protocols.ir.base import TOGGLE
from tests.cases import cases

NAMES = sorted(CODECS)
# The shortest unit of time in a code, microseconds.
UNITS = {"rc5": 889, "rc6": 444, "rc6a": 444}


@st.composite
def coded(draw: st.DrawFn) -> tuple[Codec, Code]:
    """A kind of code, and a code of that kind."""
    one = codec(draw(st.sampled_from(NAMES)))
    traits = one.traits
    address = draw(st.integers(0, (1 << traits.address_bits) - 1))
    command = draw(st.integers(0, (1 << traits.command_bits) - 1))
    toggle = draw(st.integers(0, 1)) if traits.held == TOGGLE else 0
    return one, Code(address, command, toggle)


def test_rc5_as_the_makers_of_the_ir_toy_print_it() -> None:
    """The example of their page on the sampling mode: counts of 21.3333 us."""
    counts = "2B 28 2A 27 2B 28 2A 27 2B 27 2A 28 54 51 2B 28 54 51 54 51 2A"
    frame = [round(int(count, 16) * 64 / 3) for count in counts.split()]
    assert codec("rc5").decode(frame) == Code(30, 53, 1)  # 1 1 1 11110 110101


def test_nec_bit_by_bit() -> None:
    """Address 04h and command 08h, each lowest bit first and followed by its inverse."""
    bits = "00100000110111110001000011101111"
    frame = [9000, 4500]
    for bit in bits:
        frame += [562, 562 if bit == "0" else 1687]
    frame.append(562)
    assert codec("nec").encode(Code(4, 8)) == tuple(frame)
    assert codec("nec").decode(frame) == Code(4, 8)
    assert sum(frame) == pytest.approx(68_000, abs=100)  # every frame with inverses is so long
    assert codec("nec_ext").decode(frame) == Code(0xFB04, 8)
    assert codec("onkyo").decode(frame) == Code(0xFB04, 0xF708)


def test_sirc_bit_by_bit() -> None:
    """Command 21 (0010101), address 1 (00001), lowest bit first: power of a television."""
    bits = "101010010000"
    frame = [2400]
    for bit in bits:
        frame += [600, 600 if bit == "0" else 1200]
    assert codec("sirc").encode(Code(1, 21)) == tuple(frame)
    assert codec("sirc").decode(frame) == Code(1, 21)
    assert codec("sirc15").decode(frame) is None
    assert codec("sirc20").decode(frame) is None


def test_an_unknown_code_is_reported_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="use one of nec, nec2, nec_ext"):
        codec("nex")


@given(coded(), st.booleans())
def test_values_that_do_not_fit_are_refused(pair: tuple[Codec, Code], in_address: bool) -> None:
    one, code = pair
    traits = one.traits
    if in_address:
        bad = [Code(1 << traits.address_bits, code.command), Code(-1, code.command)]
    else:
        bad = [Code(code.address, 1 << traits.command_bits), Code(code.address, -1)]
    for each in bad:
        with pytest.raises(FrameError, match="does not fit"):
            one.encode(each)


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
    one = codec(name)
    reported = one.decode(frame)
    one.is_whole(frame)
    if isinstance(reported, Code):
        again = one.encode(reported)
        assert len(again) == len(frame)
    else:
        assert reported is None or reported is REPEAT


@pytest.mark.parametrize("name", NAMES)
def test_odd_lengths_of_frames(name: str) -> None:
    one = codec(name)
    frame = one.encode(Code(1, 1))
    for wrong in ((), frame[:1], frame[1:], (*frame, 600, 600), frame[:-2], frame * 3):
        assert one.decode(wrong) is None
        one.is_whole(wrong)


def test_rc6_modes_are_distinguished() -> None:
    assert codec("rc6a").decode(codec("rc6").encode(Code(1, 2))) is None
    assert codec("rc6").decode(codec("rc6a").encode(Code(1, 2))) is None
