"""Questions and answers: retries and deadlines; patterns that take long on no line."""

import re
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError, HilgwError, PeerError
from hilgw.protocols.dialogue import AskLine, Dialogue, DialogueStep, LineScript, Pause, match_line
from hilgw.protocols.text.patterns import (
    LONGEST_LINE,
    Pattern,
    compiled,
    compiled_head,
    split_at_data,
)
from tests.cases import cases

SECOND = 1_000_000_000
OK = re.compile(rb"OK\Z")
ERROR = re.compile(rb"ERROR ([0-9])\Z")


@dataclass(frozen=True)
class Sent:
    text: bytes
    attempt: int


@dataclass(frozen=True)
class Failure:
    error: HilgwError


Out = Sent | Failure | str


def ask(step: DialogueStep, attempt: int) -> Out | None:
    return Sent(step.text, attempt) if isinstance(step, AskLine) and step.text else None


def run(script: LineScript[Out, str]) -> Dialogue[Out, re.Match[bytes], str]:
    return Dialogue(script, ask, Failure)


def greet() -> LineScript[Out, str]:
    yield "begin"
    match = yield AskLine(b"hello", OK, ERROR, timeout_s=0.5, tries=2)
    if match is None:
        raise PeerError("no answer")
    if match.re is ERROR:
        return f"error {match[1].decode()}"
    yield "between"
    yield Pause(2)
    return "done"


def answer(dialogue: Dialogue[Out, re.Match[bytes], str], line: bytes, now: int) -> list[Out]:
    match = match_line(dialogue.step, line)
    assert match is not None
    return dialogue.answer(match, now)


def test_on_a_slow_line_an_answer_has_the_time_of_its_bytes() -> None:
    """At 300 baud, after what the device was sending before."""
    for byte_ns, limit_ns in ((0, SECOND // 2), (SECOND // 30, (5 + 256) * (SECOND // 30))):
        dialogue = Dialogue(greet(), ask, Failure, byte_ns)
        dialogue.start(0)
        assert dialogue.deadline == limit_ns
        assert dialogue.expire(limit_ns - 1) == []
        assert dialogue.expire(limit_ns) == [Sent(b"hello", 2)]


def test_a_question_is_asked_again_and_given_up() -> None:
    dialogue = run(greet())
    dialogue.start(0)
    assert dialogue.expire(1) == [], "a call before the deadline is harmless"
    assert dialogue.expire(SECOND // 2) == [Sent(b"hello", 2)]
    assert dialogue.deadline == SECOND
    (failure,) = dialogue.expire(SECOND)
    assert isinstance(failure, Failure)
    assert str(failure.error) == "no answer"
    assert dialogue.over
    assert dialogue.result is None
    assert dialogue.expire(2 * SECOND) == []


SECOND_AT_MOST = 0.2  # of a busy machine; 0.04 on a quiet one
SIZES = (24, 48, 96, 256, LONGEST_LINE // 2, LONGEST_LINE)
NESTED = ["(a+)+", "(?:a*b*)*x", r"(\d+,)*", "((a|b+)c)+", "(?i:(x+x+)+)y", "(a{2,}b)*", "(.*?,)+?"]
AMBIGUOUS = [
    "(a|aa)*b", "(?:a?b?)*c", "(a?){30}a{30}", "a?" * 30 + "a" * 30, "(a|b|ab)*c", "(.|x)*y",
    r"\d+\d+\d+x", "(a+)?(a+)?(a+)?b", "(?i)a+A+a+x", "(?:x|a+b?a+c?a+)", ".*,.*,.*,.*x",
    "(?P<a>(.?){400})(?P<b>.*)", "((.?){9999}){9999}", r"(\w|\d\d){1,99}!", "(?:.{0,99}){0,99}x",
    "(a{0,9}b?)*c", r"(\b|a)*b",
]  # fmt: skip
USEFUL = [
    r"\w+: (?P<data>.*)", "(ok|busy|radio_(err|tx_ok))( .*)?", "a{3}x?", r"radio_rx +([0-9A-F]+)",
    r"^RX (?P<data>.*) (?P<rssi>-?\d+)", r"\+RCV=\d+,\d+,", "RN2483 .*", r"RX ([^ ]*) (-?\d+)",
]  # fmt: skip
OF_WHOLE_LINES = [
    "s(?P<a>[^,]*),(?P<b>.*),(?P<c>.*),(?P<d>.*)", "(?:ab)*?1+?x", r"S(,-?\d{1,9})*", ".*VER:(.*)",
    r"(\w+)\s*=\s*(-?\d+(\.\d+)?)\s*", r"(?P<a>\d+)(,(\d+|x)){0,40}", "(a|b|ab)" * 12,
]  # fmt: skip


def took(pattern: Pattern, line: bytes) -> float:
    """Seconds of this thread."""
    begin = time.thread_time()
    pattern.search(line)
    return time.thread_time() - begin


def assert_bounded(pattern: Pattern, piece: bytes, tail: bytes) -> None:
    """The shorter lines come first: an exponential pattern fails there, and ends."""
    times: dict[int, float] = {}
    for size in SIZES:
        line = (piece * size)[: size - len(tail)] + tail
        times[size] = min(took(pattern, line) for _ in range(3))
        assert times[size] < SECOND_AT_MOST, (pattern.pattern, line)
    half, whole = (times[size] for size in SIZES[-2:])
    assert whole < 16 * max(half, 0.002), (pattern.pattern, piece, tail)


SETS = st.sampled_from(["a", "b", ",", "1", "[ab]", "[^,]", "[^a]", ".", r"\d", "ab", r"\b", "$"])
COUNTS = ["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,9}", "{3,40}", "{2,}"]


def _more(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    branches = st.lists(parts, min_size=1, max_size=3).map("|".join)
    repeated = st.builds("({}){}".format, branches, st.sampled_from(COUNTS))
    return st.one_of(repeated, st.lists(parts, min_size=2, max_size=4).map("".join))


PATTERNS = st.recursive(
    st.one_of(SETS, st.builds("(?:{}){}".format, SETS, st.sampled_from(COUNTS))), _more
)
LINES = st.tuples(
    st.text("ab1,", min_size=1, max_size=4).map(str.encode),
    st.sampled_from([b"", b"!", b"a", b"!!"]),
)


@pytest.mark.wall_clock("measures matches")
@cases(4, deadline=None)
@given(PATTERNS, LINES, st.sampled_from(["whole", "end", "head"]))
def test_no_accepted_pattern_takes_long(text: str, line: tuple[bytes, bytes], how: str) -> None:
    try:
        pattern = compiled_head(text) if how == "head" else compiled(text, whole=how == "whole")
    except ConfigError:
        return
    assert_bounded(pattern, *line)


@pytest.mark.parametrize("text", [*USEFUL, *OF_WHOLE_LINES])
def test_useful_patterns_are_accepted(text: str) -> None:
    pattern = compiled(text, whole=text in OF_WHOLE_LINES)
    for piece in (b"a", b"1", b"1,", b"x", b"RX 1 ", b"+RCV=1,1,", b"s,"):
        assert_bounded(pattern, piece, b"!")
        assert_bounded(pattern, piece, b"")


@pytest.mark.parametrize("text", [*NESTED, *AMBIGUOUS])
@pytest.mark.parametrize("whole", [False, True])
def test_patterns_that_can_take_long_are_refused(text: str, whole: bool) -> None:
    expected = "unbounded repetition inside" if text in NESTED else "in too many ways"
    with pytest.raises(ConfigError, match=expected) as caught:
        compiled(text, whole=whole)
    assert repr(text) in caught.value.what


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("[", "unterminated character set", "Python's syntax"),
        ("[[:alpha:]]+", "Possible nested set", "Python's syntax"),
        ("(?x) ok # it is", "global flags not at the start", "Python's syntax"),
        ("(" * 2000 + ")" * 2000, "recursion", "Python's syntax"),
        (r"(?P<a>x)(?P=a)", "is not text, a set", "leave out lookaround, backreferences"),
        ("(?=x).*", "is not text, a set", "leave out lookaround, backreferences"),
        ("(?<!x)y", "is not text, a set", "leave out lookaround, backreferences"),
        ("a++b", "is not text, a set", "leave out lookaround, backreferences"),
        ("(?-s:.)", "is not text, a set", "leave out lookaround, backreferences"),
        ("RX (.*) (-?[0-9]+)", "too many ways", r"begin with \^"),
    ],
)
def test_the_message_has_a_fix(text: str, problem: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compiled(text)
    assert re.search(problem, caught.value.what) and re.search(fix, caught.value.fix)


@pytest.mark.parametrize("whole", [False, True])
def test_flags_apply_to_the_whole_pattern(whole: bool) -> None:
    assert compiled("(?i)ok|done", whole=whole).search(b"DONE")
    assert bool(compiled("(?i)ok|done", whole=whole).search(b"it is DONE")) is not whole


@pytest.mark.parametrize(
    ("text", "line", "group"),
    [
        ("(?P<g>a|ab)(c|bcd)", b"abcd", b"a"),  # the first alternative
        ("(?P<g>.*?),", b"a,b,", b"a,b"),  # anchored at the end
        (r"x(?P<g>[\x80-\xff].)", b"x\xff\n", b"\xff\n"),  # bytes, line ends included
        ("(?P<g>é)", "é".encode(), "é".encode()),
        (r"(?P<g>\d+)?x", b"x", None),
        ("(?P<g>a{,3})", b"aa", b"aa"),
    ],
)
def test_patterns_match_bytes_up_to_the_end(text: str, line: bytes, group: bytes | None) -> None:
    match = compiled(text).search(line)
    assert match is not None and match.groupdict() == {"g": group}
    assert compiled(text, whole=True).search(line + b"~") is None


def test_a_pattern_is_split_at_its_data() -> None:
    assert split_at_data(r"A(?P<length>\d+)[(](?P<data>[)]\)(.)*),(?P<rssi>\d)") == (
        r"A(?P<length>\d+)[(]",
        r",(?P<rssi>\d)",
    )
    assert split_at_data("(?P<data>.*)") is None
    with pytest.raises(ConfigError, match="not closed"):
        split_at_data(r"(?P<length>\d)(?P<data>.*")
