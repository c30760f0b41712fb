"""Every reason is declared with its meaning and documented; no other word reaches a report."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import hilgw.adapters
import hilgw.bridge
import hilgw.control
import hilgw.framing
import hilgw.protocols
from hilgw.adapters.base import CannotSend, Dropped, Refused
from hilgw.bridge.flow import Flow
from hilgw.control import events
from hilgw.devices.kinds import Refusal
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.protocols import wc2ec
from hilgw.reasons import DroppedReason, Reason, RefusedReason
from tests.sources import calls, files, place

ROOT = Path(hilgw.__file__).parent


def own_reasons() -> list[Reason]:
    """Those of this project; tests declare others."""
    for room in (hilgw.adapters, hilgw.bridge, hilgw.control, hilgw.framing, hilgw.protocols):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    return [each for each in Reason.declared() if type(each).__module__.startswith("hilgw.")]


def test_every_reason_is_documented() -> None:
    page = (ROOT.parent / "docs" / "reasons.md").read_text()
    for reason in own_reasons():
        assert f"| `{reason}` | {reason.doc.replace('<', '&lt;')} |" in page, repr(reason)


def test_every_reason_has_a_word_and_a_meaning() -> None:
    for reason in own_reasons():
        assert reason.replace("_", "").replace("*", "").isalnum(), repr(reason)
        assert reason == reason.lower(), repr(reason)
        assert reason.doc, repr(reason)
        assert not reason.doc.endswith("."), repr(reason)


# The place of the reason among the arguments.
OF_METHODS = {"enter": 1, "expire": 1, "refuse": 0, "drop": 0, "offer": 0, "take_back": 1}
OF_METHODS |= {"stop": 0, "_stop": 0, "_refuse": 1}
OF_CLASSES = {"Refused": 1, "Dropped": 0, "CannotSend": 0, "Refusal": 0, "Rejected": 3, "Stop": 0}
NAMED = rf"\b(?:{'|'.join([*OF_METHODS, *OF_CLASSES])})\(|\breason="


def given(call: ast.Call) -> list[ast.expr]:
    """The reasons among the arguments of a call."""
    if isinstance(call.func, ast.Attribute):
        name, places = call.func.attr, OF_METHODS
    elif isinstance(call.func, ast.Name):
        name, places = call.func.id, OF_CLASSES
    else:
        return []
    found = [word.value for word in call.keywords if word.arg == "reason"]
    return found + (call.args[places[name] :][:1] if name in places else [])


def test_no_reason_is_written_as_text() -> None:
    reasons = [
        (path, value) for path in files("hilgw") for c in calls(path, NAMED) for value in given(c)
    ]
    assert reasons
    assert [
        place(path, value)
        for path, value in reasons
        if isinstance(value, ast.Constant) and value.value
    ] == []


def test_a_word_that_is_not_declared_is_an_error() -> None:
    ledger = Ledger()
    for wrong in (
        lambda: Refused(1, "bad_luck"),
        lambda: Dropped("bad_luck", "?"),
        lambda: CannotSend("bad_luck", "?"),
        lambda: ledger.station("a").refuse("bad_luck"),
        lambda: ledger.station("a").drop("bad_luck"),
        lambda: ledger.station("a").expire(1, "bad_luck"),  # type: ignore[arg-type]
        lambda: ledger.emitter("a").offer("bad_luck"),  # type: ignore[arg-type]
        lambda: ledger.enter("a", [], "bad_luck"),  # type: ignore[arg-type]
        lambda: PortError("?", reason="bad_luck"),  # type: ignore[arg-type]
        lambda: Flow().drop("bad_luck", 1),
        lambda: Refusal("bad_luck", "?"),
        lambda: events.RefusedRequest(0, "bad_luck", "?"),
        lambda: events.Stop("bad_luck"),  # type: ignore[arg-type]
        lambda: wc2ec.Rejected(0, 0, 0, "bad_luck", "?"),
    ):
        with pytest.raises(ValueError, match="'bad_luck' is not declared as a"):
            wrong()


def test_another_adapter_declares_its_own_words() -> None:
    class PagerDropped(DroppedReason):
        NO_SIGNAL = "no_signal", "out of range of its transmitter"
        OTHER = "pager_*", "an error by its number"

    assert Dropped(PagerDropped.NO_SIGNAL, "?").reason == "no_signal"
    assert Dropped("no_signal", "?").reason == "no_signal"
    assert Dropped("pager_7", "?").reason == "pager_7"
    with pytest.raises(ValueError, match="RefusedReason"):
        RefusedReason.check("no_signal")
    assert {PagerDropped.NO_SIGNAL: 1} == {"no_signal": 1}
