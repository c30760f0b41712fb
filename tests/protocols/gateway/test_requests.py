"""Requests of the control socket: decoded by one function, whatever is sent."""

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
    with pytest.raises(UsageError) as found:
        decode_request(line)
    return str(found.value)


KEYS = st.dictionaries(st.sampled_from(["do", "version", "robot", "keys", "hold_s"]), JSON)


@given(JSON, KEYS, st.sampled_from([*REQUESTS]))
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
            with pytest.raises(VersionError, match=f"version {VERSION} .* client {word}") as found:
                decode_request(json.dumps({"do": do, "version": version}).encode())
            assert found.value.client == version


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
