"""Lines: terminators in one and in several chunks, invalid lines, names."""

import pickle
import re

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.framing import create
from hilgw.framing.lines import LineFraming, LineSplitter, LinesSettings


def lines(terminator: str, max_payload: int = 8) -> LineFraming:
    return LineFraming(LinesSettings(terminator=terminator, max_payload=max_payload))


def test_the_longest_line_with_half_its_terminator_is_not_too_long() -> None:
    framing = lines("\r\n")
    assert framing.feed(b"12345678\r") == []
    assert framing.feed(b"\n") == [b"12345678"]
    assert framing.feed(b"12345678\r") == []
    assert framing.feed(b"9") == []
    assert framing.feed(b"\r\nnext\r\n") == [b"next"]
    assert framing.dropped == {"too_long": 1}


@pytest.mark.parametrize(
    ("terminator", "payload"),
    [("\n", b"a\nb"), ("\n", b"\n"), ("\r\n", b"x\r\n"), ("aba", b"xab"), ("aa", b"xa")],
)
def test_a_packet_that_would_end_early_is_refused(terminator: str, payload: bytes) -> None:
    with pytest.raises(FrameError, match=r"terminator.*cobs"):
        lines(terminator).encode(payload)


@pytest.mark.parametrize("terminator", ["", "123456789", "\u2028"])
def test_terminators_that_end_nothing(terminator: str) -> None:
    with pytest.raises(ConfigError, match="one to eight"):
        lines(terminator)


def test_without_a_terminator_both_line_ends_are_taken_and_lf_is_sent() -> None:
    framing = LineFraming(LinesSettings(max_payload=8))
    assert framing.encode(b"a\rb") == b"a\rb\n"
    chunks = (b"one\r", b"\ntwo\n\r\n\nthr", b"ee\r\r\n12345678\r\n123456789\n123456789\r\n")
    found = [line for chunk in chunks for line in framing.feed(chunk)]
    assert found == [b"one", b"two", b"three\r", b"12345678"]
    assert framing.dropped == {"too_long": 2}


def test_a_packet_that_ends_in_cr_is_refused_with_its_reason() -> None:
    with pytest.raises(FrameError, match=r"ends in CR.*terminator"):
        create("lines").encode(b"temp=20\r")
    for name in ("lines-lf", "lines-crlf"):
        framing = create(name)
        assert framing.feed(framing.encode(b"temp=20\r")) == [b"temp=20\r"]


# --- the splitter of answers ----------------------------------------------------------------------

ENDS = [(b"\r\n",), (b"\r",), (b"\r", b"\n"), (b"##",)]


@pytest.mark.parametrize("ends", ENDS)
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"\r", b"\n", b"#", b"12345678", b"a" * 9])),
    st.booleans(),
)
def test_lines_of_answers_are_the_same_in_any_chunks(
    ends: tuple[bytes, ...], chunks: list[bytes], keeps_tail: bool
) -> None:
    splitter = LineSplitter(ends, 8, keeps_tail=keeps_tail)
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    *ended, rest = re.split(b"|".join(ends), b"".join(chunks))
    if keeps_tail:
        assert found == [line[-8:] for line in ended if line]
        assert splitter.dropped == 0
    else:
        assert found == [line for line in ended if 0 < len(line) <= 8]
        long = sum(len(line) for line in ended if len(line) > 8)
        assert long <= splitter.dropped <= long + len(rest)


@pytest.mark.parametrize("keeps_tail", [False, True])
def test_an_endless_line_of_answers_takes_no_memory(keeps_tail: bool) -> None:
    splitter = LineSplitter([b"\r\n"], 8, keeps_tail=keeps_tail)
    for _ in range(100):
        assert splitter.feed(b"x" * 100) == []
    assert len(pickle.dumps(splitter)) < 1000
    assert splitter.feed(b"OK\r\nOK\r\n") == ([b"xxxxxxOK", b"OK"] if keeps_tail else [b"OK"])
    assert splitter.dropped == (0 if keeps_tail else 10_002)
