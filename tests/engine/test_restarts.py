"""Whether and when a program starts again: the policy, without programs and without time."""

import pytest

from hilgw.engine.processes.processes import (
    BACKOFF_S,
    FAILURES,
    STEADY_NS,
    Restart,
    Restarts,
    Verdict,
)


def end(policy: Restarts, code: int = 0, *, dismissed: bool = False, run_ns: int = 1) -> Verdict:
    """One run of so long."""
    policy.begin(0)
    if dismissed:
        policy.dismiss()
    return policy.end(code, run_ns)


@pytest.mark.parametrize(
    ("restart", "dismissed", "code", "again"),
    [
        ("never", False, 1, False),
        ("never", True, 0, False),
        ("never", True, -15, False),
        ("with-body", False, 0, False),
        ("with-body", False, 1, False),
        ("with-body", True, 0, True),
        ("with-body", True, 1, True),
        ("with-body", True, -15, True),
        ("on-failure", False, 0, False),
        ("on-failure", False, 1, True),
        ("on-failure", False, -9, True),
        ("on-failure", True, 0, True),
        ("on-failure", True, -15, True),
    ],
)
def test_what_starts_again(restart: Restart, dismissed: bool, code: int, again: bool) -> None:
    verdict = end(Restarts(restart), code, dismissed=dismissed)
    assert (verdict.pause_s is not None) is again
    assert bool(verdict.fix) is not again


@pytest.mark.parametrize("code", [0, 1, -15])
@pytest.mark.parametrize("restart", ["never", "on-failure", "with-body"])
def test_no_program_follows_a_lost_body_that_stays_armed(restart: Restart, code: int) -> None:
    policy = Restarts(restart, latches=False)
    assert end(policy, code, dismissed=True).pause_s is None
    assert (end(policy, 1).pause_s is not None) is (restart == "on-failure")


def test_each_run_is_dismissed_for_itself() -> None:
    policy = Restarts("with-body")
    assert end(policy, dismissed=True).pause_s is not None
    assert end(policy).pause_s is None


@pytest.mark.parametrize(("restart", "dismissed"), [("with-body", True), ("on-failure", False)])
def test_the_pauses_grow_and_a_row_of_failures_ends_it(restart: Restart, dismissed: bool) -> None:
    policy = Restarts(restart)
    verdicts = [end(policy, 1, dismissed=dismissed) for _ in range(FAILURES)]
    more = (BACKOFF_S[-1],) * (FAILURES - 1 - len(BACKOFF_S))
    assert tuple(each.pause_s for each in verdicts) == (*BACKOFF_S, *more, None)
    assert verdicts[-1].why == "stays down after 10 failures in a row"


def test_bodies_that_come_and_go_and_failures_are_one_row() -> None:
    policy = Restarts("on-failure")
    verdicts = [end(policy, 1, dismissed=bool(run % 2)) for run in range(FAILURES)]
    assert [each.pause_s is None for each in verdicts] == [False] * (FAILURES - 1) + [True]


def test_a_steady_run_ends_a_row() -> None:
    policy = Restarts("with-body")
    for _ in range(FAILURES - 1):
        end(policy, dismissed=True)
    assert end(policy, dismissed=True, run_ns=STEADY_NS).pause_s == BACKOFF_S[0]
    for _ in range(FAILURES - 2):
        assert end(policy, dismissed=True, run_ns=STEADY_NS - 1).pause_s is not None
    assert end(policy, dismissed=True).pause_s is None
