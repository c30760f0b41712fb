"""The ledgers of all gateways added up: while packets are on their way, and what others answer."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.protocols.gateway.network import added_up

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
Round = dict[str, Any]


def link(id: str, **counts: int) -> dict[str, Any]:
    keys = ("sent", "delivered", "lost", "unsettled", "unconfirmed", "received", "missed")
    return {"id": id, **dict.fromkeys(keys, 0), **counts}


def gateway(id: str, **members: Any) -> dict[str, Any]:
    return {
        "name": id,
        "id": id,
        "ledger": {"packets": 100, "copies": 90, "not_received": {}},
        "losses": {"refused": {"link": 3}, "not_received": {}},
        "violations": [],
        "members": members,
    }


def quiet() -> Round:
    """a has sent 100 to b, of which 3 were lost; b has sent 5."""
    return {
        "a": gateway("1", b=link("2", sent=100, delivered=97, lost=3, received=5)),
        "b": gateway("2", a=link("1", sent=5, delivered=5, received=97, missed=3)),
    }


def judged(before: Round, after: Round | None = None) -> tuple[bool, list[tuple[Any, str]]]:
    """Whether all adds up, and of each link whether it does, and why not."""
    found = added_up(before, before if after is None else after)
    return found["adds_up"], [(each["adds_up"], each["why"]) for each in found["links"]]


def test_two_gateways_at_rest() -> None:
    found = added_up(quiet(), quiet())
    assert found["adds_up"] is True
    there, back = found["links"]
    assert there == {
        "from": "a",
        "to": "b",
        "adds_up": True,
        "why": "",
        "sent": 100,
        "delivered": 97,
        "lost": 3,
        "unsettled": 0,
        "unconfirmed": 0,
        "received": 97,
        "missed": 3,
    }
    assert (back["from"], back["sent"], back["received"]) == ("b", 5, 5)
    totals = found["totals"]
    assert (totals["packets"], totals["sent"], totals["received"]) == (200, 105, 102)
    assert totals["losses"] == {"refused": {"link": 6}, "not_received": {}}


@pytest.mark.parametrize(
    ("where", "change", "why"),
    [
        (("a", "b"), {"delivered": 96}, "sent is not delivered + lost + unsettled"),
        (("b", "a"), {"received": 96}, "fewer were received than are confirmed"),
        (("b", "a"), {"received": 98}, "more were received than are confirmed or under way"),
        (("b", "a"), {"missed": 4}, "more were missed than are lost or under way"),
    ],
)
def test_at_rest_a_single_packet_too_many_or_too_few_is_found(
    where: tuple[str, str], change: dict[str, int], why: str
) -> None:
    given = quiet()
    given[where[0]]["members"][where[1]] |= change
    assert judged(given) == (False, [(False, why), (True, "")])


def test_packets_that_were_given_up_may_have_been_received() -> None:
    given = quiet()
    given["a"]["members"]["b"] |= {"delivered": 90, "lost": 10, "unconfirmed": 7}
    assert judged(given) == (True, [(True, ""), (True, "")])


def test_a_violation_of_one_ledger_is_one_of_all() -> None:
    given = quiet()
    given["b"]["violations"] = ["station x: accepted 1 != delivered 0"]
    found = added_up(given, given)
    assert found["adds_up"] is False
    assert found["violations"] == {"b": ["station x: accepted 1 != delivered 0"]}


@given(st.integers(0, 50), st.data())
def test_packets_under_way_are_no_fault_whenever_each_end_answers(most: int, data: Any) -> None:
    """A model of a link: the ends are asked twice, in any order among what happens on it."""
    sent = received = delivered = 0
    asked: dict[str, list[Any]] = {"a": [], "b": []}
    choices = st.sampled_from(["send", "receive", "confirm", "a", "b"])
    for step in [*data.draw(st.lists(choices, max_size=most)), "a", "b", "a", "b"]:
        if step == "send":
            sent += 1
        elif step == "receive":
            received += received < sent
        elif step == "confirm":
            delivered = received
        elif len(asked[step]) < 2 and (not asked[step] or all(asked.values())):
            out = link("2", sent=sent, delivered=delivered, unsettled=sent - delivered)
            both = {"a": gateway("1", b=out), "b": gateway("2", a=link("1", received=received))}
            asked[step].append(both[step])
    rounds = [{"a": asked["a"][at], "b": asked["b"][at]} for at in (0, 1)]
    found = added_up(*rounds)
    assert found["adds_up"], (rounds, found)


def test_a_gateway_that_started_anew_or_is_gone_is_not_judged() -> None:
    anew, gone = quiet(), quiet()
    anew["b"]["id"] = "3"
    assert judged(quiet(), anew) == (True, [(None, "an end has just started")] * 2)
    del gone["b"]
    assert judged(gone) == (True, [(None, "the other end is gone")])


@pytest.mark.parametrize("which", [0, 1])
def test_a_gateway_that_does_not_answer_is_named(which: int) -> None:
    rounds = [quiet(), quiet()]
    rounds[which]["b"] = None
    found = added_up(*rounds)
    assert found["silent"] == ["b"]
    assert not found["adds_up"]
    assert [each["why"] for each in found["links"] if each["from"] == "a"] == [
        "the other end did not answer"
    ]


PATHS = (
    ("id",),
    ("ledger",),
    ("losses",),
    ("violations",),
    ("members",),
    ("members", "a"),
    ("members", "a", "received"),
    ("ledger", "packets"),
)


@given(st.sampled_from(PATHS), JSON)
def test_whatever_another_gateway_answers_has_no_effect_on_the_others(
    path: tuple[str, ...], value: Any
) -> None:
    given = copy.deepcopy(quiet())
    at = given["b"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    found = added_up(given, given)
    assert next(each for each in found["links"] if each["from"] == "a")["sent"] == 100
    assert found["totals"]["packets"] >= 100


@given(JSON)
def test_an_answer_without_counts_counts_as_silence(value: Any) -> None:
    found = added_up({"a": gateway("1"), "b": value}, {"a": gateway("1"), "b": value})
    assert found["silent"] == ["b"]
