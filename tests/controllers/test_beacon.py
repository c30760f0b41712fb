"""The beacon: one packet a period, never a volley after a pause."""

from hypothesis import given, strategies as st

from hilgw.controllers.base import Send
from hilgw.controllers.beacon import CONTROLLER, BeaconSettings

MS = 1_000_000


def test_it_sends_numbered_packets_at_the_period() -> None:
    session = CONTROLLER.session(BeaconSettings(emitter="tx", period_ms=10, payload="p {n}"))
    assert session.start(5, {}) == [Send("tx", b"p 1")]
    assert session.next_deadline() == 5 + 10 * MS
    assert session.expire(5 + 10 * MS - 1) == []
    assert session.expire(5 + 10 * MS + 3 * MS) == [Send("tx", b"p 2")]
    assert session.next_deadline() == 5 + 20 * MS  # late once, but on its grid again


@given(st.lists(st.integers(0, 10**11), min_size=1, max_size=50))
def test_never_more_than_one_packet_a_call_and_always_a_future_deadline(gaps: list[int]) -> None:
    session = CONTROLLER.session(BeaconSettings(emitter="tx", period_ms=10))
    now = 0
    session.start(now, {})
    for gap in gaps:
        now += gap
        assert len(session.expire(now)) <= 1
        deadline = session.next_deadline()
        assert deadline is not None
        assert deadline > now


def test_templates_are_checked() -> None:
    def problems(payload: str) -> list[tuple[str, str, str]]:
        return CONTROLLER.check(BeaconSettings(emitter="tx", payload=payload))

    assert problems("plain") == []
    assert problems("{n:04d}!") == []
    assert problems("{n:>100} {{}}") == []
    for payload in ("{m}", "{n", "{}", "{n.x}", "{n:q}", "", "{n!z}", "{n:c}", "{n:1{m}}"):
        assert [path for path, _, _ in problems(payload)] == ["payload"], payload
    assert all("{{ for {, and }} for }" in problems(each)[0][1] for each in ("{m}", "a } b", "{n"))
