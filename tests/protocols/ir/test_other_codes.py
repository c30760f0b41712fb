"""Frames of a code that the receiver does not take are named, its own never."""

from itertools import product

import pytest

from hilgw.protocols.ir import CODECS, Code
from hilgw.protocols.ir.receiver import OtherCodes


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
