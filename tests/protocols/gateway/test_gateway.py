"""Ledgers of all gateways added up, and requests of the control socket, whatever is sent."""

import copy
import json
from contextlib import suppress
from dataclasses import fields
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, strategies as st

from hilgw.cli.commands.clients import mode
from hilgw.control.modes import RobotMode
from hilgw.errors import UsageError
from hilgw.forms import hints_of
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import VERSION, VersionError, keys_of
from hilgw.protocols.gateway.network import added_up
from hilgw.protocols.gateway.requests import (
    MODES,
    REQUESTS,
    Disarm,
    answer_of,
    decode_request,
    encode_request,
)

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
    sums = added_up(before, before if after is None else after)
    return sums["adds_up"], [(each["adds_up"], each["why"]) for each in sums["links"]]


def test_two_gateways_at_rest() -> None:
    sums = added_up(quiet(), quiet())
    assert sums["adds_up"] is True
    there, back = sums["links"]
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
    totals = sums["totals"]
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
    sums = added_up(given, given)
    assert sums["adds_up"] is False
    assert sums["violations"] == {"b": ["station x: accepted 1 != delivered 0"]}


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
    sums = added_up(*rounds)
    assert sums["adds_up"], (rounds, sums)


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
    sums = added_up(*rounds)
    assert sums["silent"] == ["b"]
    assert not sums["adds_up"]
    assert [each["why"] for each in sums["links"] if each["from"] == "a"] == [
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
    node = given["b"]
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    sums = added_up(given, given)
    assert next(each for each in sums["links"] if each["from"] == "a")["sent"] == 100
    assert sums["totals"]["packets"] >= 100


@given(JSON)
def test_an_answer_without_counts_counts_as_silence(value: Any) -> None:
    sums = added_up({"a": gateway("1"), "b": value}, {"a": gateway("1"), "b": value})
    assert sums["silent"] == ["b"]


REQUESTS_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NUMBERS = st.floats(-1e6, 1e6)
SPECIAL: dict[Any, st.SearchStrategy[Any]] = {
    requests.Channel: st.integers(-1, 2**31 - 1),
    requests.HoldS: st.floats(0, 60),
    requests.LeaseS: st.floats(0.001, 86_400),
    requests.PerSecond: st.integers(1, requests.RATE),
    requests.Address: st.sampled_from(["0013A2004AB67FB2", "fffe"]),
    requests.AtCommand: st.sampled_from(["NI", "%V", "D4"]),
    requests.AtValue: st.binary(max_size=64),
    requests.Codes: st.lists(st.integers(65, 90), min_size=1),
    requests.ModeWord: st.sampled_from(MODES),
    requests.Kind: st.sampled_from(requests.NAMED),
    requests.RecordingName: st.from_regex(r"[a-z_-][a-z0-9._-]{0,63}", fullmatch=True),
    requests.EventKind: st.sampled_from(requests.LIVE),
    str: st.text(),
    bytes: st.binary(),
    bool: st.booleans(),
    int: st.integers(),
    float: NUMBERS,
}


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a field."""
    if hint in SPECIAL:
        return SPECIAL[hint]
    parts = get_args(hint)
    if type(None) in parts:
        return st.none() | strategy(parts[0])
    if get_origin(hint) is list:
        return st.lists(strategy(parts[0]))
    assert get_origin(hint) is tuple, hint
    return st.tuples(*map(strategy, parts))


def any_request(kind: type[Any]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: strategy(hint) for name, hint in hints_of(kind).items()})


@given(st.one_of(*(any_request(kind) for kind in REQUESTS.values() if kind is not Disarm)))
def test_every_request_comes_back(request_: Any) -> None:
    assert decode_request(encode_request(request_)) == request_


def refused(message: Any) -> str:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    with pytest.raises(UsageError) as error:
        decode_request(line)
    return str(error.value)


KEYS = st.dictionaries(st.sampled_from(["do", "version", "robot", "keys", "hold_s"]), REQUESTS_JSON)


@given(REQUESTS_JSON, KEYS, st.sampled_from([*REQUESTS]))
def test_no_value_is_a_fault(value: Any, keys: dict[str, Any], do: str) -> None:
    for message in (value, keys, {"do": do, "version": VERSION, **keys}):
        with suppress(UsageError, VersionError):
            decode_request(json.dumps(message).encode())


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"do": "fly"}, "unknown request"),
        ({"do": "shend"}, "did you mean 'send'?"),
        ({"do": ["send"]}, "unknown request"),
        ({"do": "say", "robot": "a"}, "text is missing: it must be a text"),
        ({"do": "say", "robot": "a", "text": 1}, "text must be a text"),
        ({"do": "say", "robot": "a", "text": "b", "txt": 1}, "'txt' is not a key of say; did you"),
        ({"do": "charge", "robot": "a", "energy_j": True}, "energy_j must be a number"),
        ({"do": "watch", "per_second": 0}, "per_second must be 1 to 2000"),
        ({"do": "watch", "per_second": 2001}, "per_second must be 1 to 2000"),
        ({"do": "charge", "robot": "a", "energy_j": 10**400}, "energy_j must be a number"),
        (
            {"do": "send", "station": "a", "data": "", "channel": 2**31},
            "channel must be null, or a whole number from -1 to 2147483647",
        ),
        ({"do": "send", "station": "a", "data": "0"}, "data must be pairs of hexadecimal digits"),
        ({"do": "set", "device": "a", "channel": True}, "channel must be null, or a whole number"),
        ({"do": "place", "object": "a", "position": [1, 2]}, "position must be null, or 3 numbers"),
        ({"do": "hold", "robots": ["a"], "limit_s": float("nan")}, "limit_s must be null, or up"),
        ({"do": "arm", "robots": "a"}, "robots must be a list of names"),
        ({"do": "key", "robot": "a", "keys": []}, "keys must be codes of Webots' keyboard"),
        ({"do": "mode", "robot": "a", "mode": "fly"}, "mode must be null, or one of simulation"),
    ],
)
def test_an_error_names_the_key_and_what_it_must_be(keys: dict[str, Any], words: str) -> None:
    assert words in refused({"version": VERSION, **keys})


def test_another_version_is_refused_with_both() -> None:
    for version, word in ((None, "no version"), (1, "version 1"), (99, "version 99")):
        for do in ("send", "renew", "fly"):
            with pytest.raises(VersionError, match=f"version {VERSION} .* client {word}") as error:
                decode_request(json.dumps({"do": do, "version": version}).encode())
            assert error.value.client == version


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({"all": True}, Disarm(all=True)),
        ({"robot": "a"}, Disarm(["a"])),
        ({"robots": ["a", "b"], "all": 5}, Disarm(["a", "b"])),
        ({"all": True, "robots": 7, "why": [1], "version": "x"}, Disarm(all=True)),
        ({"all": True, "robot": "a", "robots": ["b"]}, Disarm(all=True)),
    ],
)
def test_every_version_disarms_whatever_else_it_sends(keys: Any, wanted: Disarm) -> None:
    for more in ({}, {"version": 1}, {"version": 99, "new": {}}):
        assert decode_request(json.dumps({"do": "disarm", **more, **keys}).encode()) == wanted


def test_all_are_described_and_have_an_answer() -> None:
    for kind in REQUESTS.values():
        assert kind.__doc__ and answer_of(kind).__doc__
    assert tuple(RobotMode) == MODES == mode.MODES
    assert keys_of(requests.Renew()) == {} and not fields(requests.Done)
