"""Inputs for the rules: streams, pieces and noise. Hypothesis draws and simplifies them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings, strategies as st
from hypothesis.errors import Flaky, NoSuchExample
from hypothesis.strategies import DrawFn, SearchStrategy

from hilgw.testing.conformance.subject import BrokenRule

__tracebackhide__ = True  # a failure is shown at the rule, not in here

T = TypeVar("T")


def explore(values: SearchStrategy[T], check: Callable[[T], None], examples: int) -> None:
    """Call `check` with values, the same ones in each run.

    Fails with the simplest value that breaks the rule. Independent of the settings of Hypothesis in
    the user's suite.
    """
    broken: list[BrokenRule] = []

    def breaks(value: T) -> bool:
        try:
            check(value)
        except BrokenRule as rule:
            if not broken or rule.rule == broken[0].rule:
                broken.append(rule)
                return True
        return False

    with suppress(NoSuchExample, Flaky):  # Flaky: the rule breaks, but not with each repetition
        find(
            values,
            breaks,
            settings=settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
    if broken:
        raise broken[-1]  # Hypothesis ends with the simplest value


def cuts(data: bytes, positions: Sequence[int]) -> list[bytes]:
    """Return the bytes in pieces, cut at these positions."""
    edges = [0, *sorted({position % (len(data) + 1) for position in positions}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


@st.composite
def cut_streams(draw: DrawFn, streams: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """Draw one of the streams, whole and in 2 to 13 pieces."""
    stream = draw(st.sampled_from(streams))
    positions = st.lists(st.integers(0, len(stream) - 1), min_size=1, max_size=12)
    return stream, cuts(stream, draw(positions))


@st.composite
def parts(draw: DrawFn, frames: Sequence[bytes]) -> bytes:
    """Return a part of a frame."""
    frame = draw(st.sampled_from(frames))
    first = draw(st.just(0) | st.integers(0, len(frame) - 1))
    return frame[first : draw(st.integers(first, len(frame)))]


@st.composite
def changed(draw: DrawFn, frames: Sequence[bytes]) -> bytes:
    """Return a frame with one byte changed."""
    data = bytearray(draw(st.sampled_from(frames)))
    data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
    return bytes(data)


def noise(frames: Sequence[bytes], check_bits: int, tolerant: bool) -> SearchStrategy[bytes]:
    """Return random bytes and parts of frames, but no frame.

    There are frames with one byte changed, too, if their check finds it and they are not tolerant.
    """
    joined = mixtures(frames, changes=check_bits >= 8 and not tolerant)
    return joined.filter(lambda data: is_noise(data, frames, check_bits))


def mixtures(frames: Sequence[bytes], changes: bool = True) -> SearchStrategy[bytes]:
    """Return random bytes, ends and parts of frames, and frames with one byte changed."""
    kinds = [
        st.binary(max_size=12),
        st.integers(0, 3).map(bytes),
        st.sampled_from([end for frame in frames for end in (frame[:1], frame[-1:])]),
        parts(frames),
    ]
    if changes:
        kinds.append(changed(frames))
    return st.lists(st.one_of(kinds), max_size=5).map(b"".join)


def is_noise(data: bytes, frames: Sequence[bytes], check_bits: int) -> bool:
    """Return whether it has no frame, not even one that a start mark next to it would complete.

    With a weak checksum, it may not even have the start of a frame, which could absorb a valid
    frame.
    """
    if check_bits < 16 and any(frame[:3] in data for frame in frames if len(frame) > 3):
        return False
    return not any((frame[1:-1] or frame) in data for frame in frames)


def anything(frames: Sequence[bytes]) -> SearchStrategy[bytes]:
    """Return random bytes, a mixture, or a frame with one byte changed."""
    return st.one_of(st.binary(max_size=80), mixtures(frames), changed(frames))
