"""An answer never belongs to another question, and a stop leaves at once, whatever the robot and
the line do: late answers, lost ones, lost questions."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given, strategies as st

from hilgw.control.exchange import LONGEST_QUIET_NS, Exchange, Question
from hilgw.units import NS_PER_MS

MS = NS_PER_MS
BYTE_NS, ANSWER_NS, QUIET_NS = MS // 100, 20 * MS, 100 * MS


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on the line. number: of its question, which only the test sees."""

    form: str
    number: int


@dataclass(slots=True, eq=False)
class Asked(Question[Answer]):
    """A question with so many answers of this form. got: the numbers in those that it took."""

    number: int
    form: str = "value"
    missing: int = 1
    answer_size: int = 0
    got: list[int] = field(default_factory=list)
    must_be_answered: bool = False

    def take(self, answer: Answer) -> bool:
        if answer.form != self.form:
            return False
        self.got.append(answer.number)
        self.missing -= 1
        return True

    @property
    def answer_bytes(self) -> int:
        return self.answer_size

    @property
    def is_answered(self) -> bool:
        return self.missing == 0


class Fenced(Exchange[Asked, Answer]):
    fences: ClassVar[bool] = True


Kind = type[Exchange[Asked, Answer]]
Plain: Kind = Exchange


def made(kind: Kind = Plain, window: int = 1, window_bytes: int = 0) -> Exchange[Asked, Answer]:
    return kind(Counter(), BYTE_NS, ANSWER_NS, QUIET_NS, window, window_bytes)


def asked(
    exchange: Exchange[Asked, Answer], number: int, now: int = 0, size: int = 0, **given: object
) -> Asked:
    question = Asked(bytes(size), number, **given)  # type: ignore[arg-type]
    assert exchange.may_ask(question, now)
    exchange.asked(question, now)
    return question


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one question: each of its answers comes so long after the one before it, or
    is lost."""

    delays_ms: tuple[int | None, ...]

    @property
    def is_timely(self) -> bool:
        return all(each is not None and each < 6 for each in self.delays_ms)


DELAYS = st.one_of(st.none(), st.integers(0, 5), st.integers(6, 70))
FATES = st.builds(Fate, st.tuples(DELAYS, DELAYS, DELAYS))


def run(
    exchange: Exchange[Asked, Answer], fates: Iterator[Fate], stops: set[int], answers: int
) -> list[Asked]:
    """Ask whenever that is allowed, for as long as there are fates, and return all questions.
    stops: steps of 1 ms at which a stop is written."""
    coming: list[tuple[int, Answer]] = []
    questions: list[Asked] = []
    free_ns = 0  # the robot answers in order
    now = step = 0
    owed = False
    while True:
        for due, late in [each for each in coming if each[0] <= now]:
            coming.remove((due, late))
            if exchange.take(late, now) is None:
                exchange.late(1, now)
        exchange.end_late(now)
        if exchange.repeat_stop(now):
            assert owed and not exchange.waiting and now >= exchange.silent_ns
            owed = False
        if step in stops:  # it needs no leave to be written
            exchange.stopped(now)
            owed = bool(exchange.waiting) or now < exchange.silent_ns
        fence = exchange.needs_fence
        question = Asked(
            b"",
            len(questions),
            "fence" if fence else "value",
            1 if fence else answers,
            is_fence=fence,
        )
        if exchange.may_ask(question, now):
            fate = next(fates, None)
            if fate is None:
                assert not owed or exchange.repeats_stop
                return questions
            exchange.asked(question, now)
            questions.append(question)
            question.must_be_answered = fate.is_timely and not coming
            for delay_ms in fate.delays_ms[: question.missing]:
                if delay_ms is not None:
                    free_ns = max(free_ns, now) + delay_ms * MS
                    coming.append((free_ns, Answer(question.form, question.number)))
        step, now = step + 1, now + MS
        assert step < 100_000, "nothing may be asked any more"


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("kind", [Plain, Fenced])
@given(fates=st.lists(FATES, max_size=12), stops=st.sets(st.integers(0, 600), max_size=20))
def test_an_answer_never_belongs_to_another_question(
    kind: Kind, answers: int, fates: list[Fate], stops: set[int]
) -> None:
    for question in run(made(kind), iter(fates), stops, answers):
        assert set(question.got) <= {question.number}
        assert question.is_answered or not question.must_be_answered


@pytest.mark.parametrize("kind", [Plain, Fenced])
@given(
    delays=st.lists(st.integers(0, 70), max_size=12),
    stops=st.sets(st.integers(0, 600), max_size=20),
)
def test_nor_in_a_window_of_several_questions(
    kind: Kind, delays: list[int], stops: set[int]
) -> None:
    """No answer is lost: where all have one form, that is not seen before the last is missing."""
    fates = [Fate((delay, delay, delay)) for delay in delays]
    for question in run(made(kind, window=3), iter(fates), stops, 1):
        assert set(question.got) <= {question.number}


def test_several_questions_wait_within_the_window() -> None:
    exchange = made(window=3, window_bytes=10)
    for number in (0, 1):
        asked(exchange, number, size=4)
    assert not exchange.may_ask(Asked(bytes(4), 2), 0)  # too many bytes
    asked(exchange, 2, size=2)
    assert not exchange.may_ask(Asked(b"", 3), 0)  # too many questions
    asked(exchange, 4, realtime=True, size=9)
    assert [each.number for each in exchange.waiting] == [0, 1, 2, 4]


def test_one_question_alone_may_be_longer_than_the_window() -> None:
    asked(made(window_bytes=10), 0, size=11)


def test_the_answer_to_a_later_question_shows_that_those_before_are_lost() -> None:
    exchange = made(window=3)
    first, second, third = (asked(exchange, at, form=form) for at, form in enumerate("abc"))
    assert exchange.take(Answer("b", 1), 0) == (second, [first])
    assert exchange.waiting == [third]


def test_a_real_time_question_is_answered_at_any_time() -> None:
    exchange = made()
    line = asked(exchange, 0)
    status = asked(exchange, 1, form="status", realtime=True)
    assert exchange.take(Answer("status", 1), 0) == (status, [])
    assert exchange.waiting == [line]


def test_answers_are_late_after_the_time_of_all_bytes_and_the_longest_delay() -> None:
    exchange = made(window=2)
    asked(exchange, 0, size=100, answer_size=50)  # 1.5 ms
    assert exchange.next_deadline() == ANSWER_NS + 150 * BYTE_NS
    slow = asked(exchange, 1, size=100, timeout_ns=500 * MS)
    assert slow.until_ns == 500 * MS
    assert exchange.end_late(ANSWER_NS + 150 * BYTE_NS - 1) == []
    assert len(exchange.end_late(ANSWER_NS + 150 * BYTE_NS)) == 2  # both: they look the same


def test_late_answers_are_counted_and_prolong_the_silence_but_not_for_ever() -> None:
    counts: Counter[str] = Counter()
    exchange: Exchange[Asked, Answer] = Exchange(counts, BYTE_NS, ANSWER_NS, QUIET_NS)
    asked(exchange, 0)
    begun = exchange.next_deadline()
    assert begun is not None and exchange.end_late(begun)
    for late_ns in range(0, 2 * LONGEST_QUIET_NS, 50 * MS):
        exchange.late(1, begun + late_ns)
        assert exchange.may_ask(Asked(b"", 1), begun + late_ns) is (late_ns >= LONGEST_QUIET_NS)
    assert counts["late_answers"] == 2 * LONGEST_QUIET_NS // (50 * MS)


def test_a_fence_without_an_answer_is_followed_by_silence() -> None:
    exchange = made(Fenced)
    asked(exchange, 0)
    exchange.end_late(MS * 20)
    assert exchange.needs_fence and not exchange.may_ask(Asked(b"", 1), 20 * MS)
    asked(exchange, 1, 20 * MS, form="fence", is_fence=True)
    exchange.end_late(40 * MS)
    assert not exchange.needs_fence
    assert not exchange.may_ask(Asked(b"", 2), 40 * MS + QUIET_NS - 1)
    asked(exchange, 2, 40 * MS + QUIET_NS)


def test_a_stop_with_nothing_on_its_way_is_not_repeated() -> None:
    exchange = made()
    exchange.stopped(0)
    assert not exchange.repeats_stop and not exchange.repeat_stop(0)
