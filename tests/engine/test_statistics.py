"""Who heard whom, in bounded memory."""

from __future__ import annotations

import pytest

from hilgw.engine import statistics
from hilgw.engine.statistics import ReceivedBy


def test_pairs_are_counted_and_who_was_heard_by_nobody_is_left_out() -> None:
    heard = ReceivedBy()
    heard.count("a.tx", ["b.rx", "c.rx"])
    heard.count("a.tx", ["b.rx"])
    heard.count("d.tx", [])
    assert heard.as_dict() == {"a.tx": {"b.rx": 2, "c.rx": 1}}


def test_too_many_pairs_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_PAIRS", 2)
    heard = ReceivedBy()
    for _ in range(3):
        heard.count("a.tx", ["b.rx", "c.rx", "d.rx"])
    assert heard.as_dict() == {"a.tx": {"b.rx": 3, "c.rx": 3}, "others": {"others": 3}}
