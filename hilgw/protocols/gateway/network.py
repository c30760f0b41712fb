"""The sum of the ledgers of all gateways of a federation. Pure.

Gateways do not count at the same instant, so each is asked twice. The sender had sent by the second
answer all that the receiver had received by the first one, and the other way round, so that a link
is judged exactly, also while packets are on their way.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Counts = Mapping[str, Any]
"""The counts of one gateway; the answers of other gateways may be anything."""
Round = Mapping[str, Counts | None]
"""By gateway; None: it did not answer."""

LARGEST = 1 << 62
TO, FROM = ("sent", "delivered", "lost", "unsettled", "unconfirmed"), ("received", "missed")


def added_up(before: Round, after: Round) -> dict[str, Any]:
    """Return the sum of all ledgers.

    Returns:
      links: of each pair, in plain JSON types; `adds_up` is null if only one end is known, and
          `why` has the reason. totals: over all gateways. silent: gateways that did not answer.
          adds_up: every ledger and every link adds up; null if that is not known, as some did not
          answer.
    """
    asked = dict.fromkeys([*before, *after])
    rounds = [{name: _valid(each.get(name)) for name in asked} for each in (before, after)]
    silent = [name for name in asked if None in (rounds[0][name], rounds[1][name])]
    counts = {name: each for name, each in rounds[1].items() if each is not None}
    links = [_link(rounds, a, b) for a, each in counts.items() for b in each["members"]]
    violations = {name: each["violations"] for name, each in counts.items() if each["violations"]}
    is_wrong = bool(violations) or any(each["adds_up"] is False for each in links)
    return {
        "adds_up": False if is_wrong else None if silent else True,
        "silent": silent,
        "links": links,
        "violations": violations,
        "totals": _totals(counts),
        "gateways": counts,
    }


def _link(rounds: list[dict[str, Any]], a: str, b: str) -> dict[str, Any]:
    to = rounds[1][a]["members"][b]
    far = rounds[1].get(b)
    back = {} if far is None else far["members"].get(a, {})
    why, is_wrong = _judged(rounds, a, b)
    counts = {key: to[key] for key in TO} | {key: back.get(key) for key in FROM}
    return {"from": a, "to": b, **counts, "adds_up": not why or (None, False)[is_wrong], "why": why}


def _judged(rounds: list[dict[str, Any]], a: str, b: str) -> tuple[str, bool]:
    """Return why the link does not add up, or is not known, and whether that is a fault."""
    a1, b1 = rounds[0].get(a), rounds[0].get(b)
    a2, b2 = rounds[1][a], rounds[1].get(b)
    to = a2["members"][b]
    if to["sent"] != to["delivered"] + to["lost"] + to["unsettled"]:
        return "sent is not delivered + lost + unsettled", True
    if b1 is None or b2 is None or a1 is None:
        return "the other end did not answer" if b in rounds[0] else "the other end is gone", False
    ways = [(x["members"].get(b), y["members"].get(a)) for x, y in ((a1, b1), (a2, b2))]
    for out, back in ways:
        if out is None or back is None or (out["id"], back["id"]) != (b2["id"], a2["id"]):
            return "an end has just started", False
    (out1, back1), (out2, back2) = ways
    if back2["received"] < out1["delivered"]:
        return "fewer were received than are confirmed", True
    if back1["received"] > out2["delivered"] + out2["unsettled"] + out2["unconfirmed"]:
        return "more were received than are confirmed or under way", True
    if back1["missed"] > out2["lost"] + out2["unsettled"]:
        return "more were missed than are lost or under way", True
    return "", False


def _totals(ledger: Mapping[str, Any]) -> dict[str, Any]:
    members = [each for counts in ledger.values() for each in counts["members"].values()]
    medium = [each["ledger"] for each in ledger.values()]
    losses: dict[str, Counter[str]] = {}
    for counts in ledger.values():
        for kind, reasons in counts["losses"].items():
            losses.setdefault(kind, Counter()).update(reasons)
    return {
        **{key: sum(each[key] for each in medium) for key in ("packets", "copies")},
        **{key: sum(each[key] for each in members) for key in (*TO, *FROM)},
        "losses": {kind: dict(reasons) for kind, reasons in losses.items()},
    }


# --- what others answered -------------------------------------------------------------------------


def _valid(counts: Counts | None) -> dict[str, Any] | None:
    try:
        return None if counts is None else _read(counts)
    except (TypeError, LookupError, ValueError, AttributeError):
        return None


def _read(counts: Counts) -> dict[str, Any]:
    members = counts.get("members", {}).items()
    return {
        "id": counts["id"],
        "ledger": dict(_numbers(counts["ledger"], ("packets", "copies"))),
        "losses": {
            kind: dict(_numbers(each, each)) for kind, each in counts.get("losses", {}).items()
        },
        "violations": [str(each) for each in counts.get("violations", ())],
        "members": {
            name: {"id": each["id"], **dict(_numbers(each, (*TO, *FROM)))} for name, each in members
        },
    }


def _numbers(counts: Counts, keys: Any) -> Iterator[tuple[str, int]]:
    for key in keys:
        if type(counts[key]) is not int or not 0 <= counts[key] < LARGEST:
            raise ValueError(key)
        yield key, counts[key]
