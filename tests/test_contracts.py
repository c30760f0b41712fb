"""Contracts between the rooms: Protocols, records, and reasons that are declared and documented."""

import ast
import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import pytest

import hilgw.adapters
import hilgw.bridge
import hilgw.control
import hilgw.framing
import hilgw.protocols
from hilgw import records
from hilgw.adapters.base import CannotSend, Dropped, Refused
from hilgw.bridge.flow import Flow
from hilgw.control import events
from hilgw.devices.kinds import Refusal
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.protocols import wc2ec
from hilgw.reasons import DroppedReason, Reason, RefusedReason
from tests.sources import calls, files, nodes, place

ROOMS = ("engine", "bridge", "assemble", "discovery", "testing")
TRANSPORTS = {"FdStream", "SerialStream", "TcpStream", "AsyncioStream", "ThreadedStream"}
DEVICES = {"PipeTransport", "Pipe", "VirtualPort", "TcpDevice"}
ASKING = r"\b(?:isinstance|hasattr|getattr)\("


def asks_what_it_is(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name == "isinstance":
        kinds = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
        return bool(kinds & (TRANSPORTS | DEVICES))
    return name == "hasattr" or (name == "getattr" and len(call.args) != 2)


def test_parts_are_used_by_their_protocols() -> None:
    parts = [path for room in ROOMS for path in files(f"hilgw/{room}")]
    assert {path.relative_to(TESTS.parent).parts[1] for path in parts} == set(ROOMS)
    assert [place(path) for path in parts if "ignore[attr-defined" in path.read_text()] == []
    assert [
        place(path, call) for path in parts for call in calls(path, ASKING) if asks_what_it_is(call)
    ] == []


# --- tests use what users can use -----------------------------------------------------------------

TESTS = Path(__file__).parent
PRIVATE_STILL = {
    "conftest.py",  # xdist has no public way to group tests for one worker
    "firmware_mocks/xbee/test_zigpy.py",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# Text of each file that uses a private name of something else, and of few others.
PRIVATE = re.compile(
    r"(?<!\bself)(?<!\bcls)\._[a-zA-Z]|import[^\n]*\b_[a-zA-Z]|^ +_\w+( as \w+)?,$", re.M
)


def private_uses(path: Path) -> list[str]:
    """Private attributes of other objects, and private names of hilgw, with their lines."""
    if not PRIVATE.search(path.read_text(encoding="utf-8")):
        return []  # quick: it is not parsed
    uses = []
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                continue
            if ast.unparse(node) != "os._exit":
                uses.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            for name in names:
                if name.startswith("hilgw.") and any(map(is_private, name.split("."))):
                    uses.append(f"{node.lineno}: {name}")
    return uses


def test_tests_touch_nothing_private() -> None:
    private = {
        path.relative_to(TESTS).as_posix(): uses
        for path in files("tests")
        if (uses := private_uses(path))
    }
    assert {name: uses for name, uses in private.items() if name not in PRIVATE_STILL} == {}
    assert sorted(PRIVATE_STILL - private.keys()) == [], "take these from the list"


def classes_by(decorator: Callable[..., Any]) -> list[Any]:
    class Bare: ...

    class Single:
        value: float

    class Pair:
        value: float
        text: str = dataclasses.field(default="a", compare=False, repr=False)

    class Own:
        value: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __repr__(self) -> str:
            return "own"

    return [decorator(each) for each in (Bare, Single, Pair, Own)]


RECORDS = classes_by(records.record)
FROZEN = classes_by(records.dataclass(frozen=True, slots=True))
STANDARD = classes_by(dataclasses.dataclass(frozen=True, slots=True))


def facts(kind: Any) -> list[object]:
    """How objects of this class are shown and compared."""
    values = [1.0, 2.0, nan] if dataclasses.fields(kind) else []
    made = [kind(*each) for each in ([[value] for value in values] or [[], []])]
    made += [kind(1.0, text="b")] if len(dataclasses.fields(kind)) == 2 else []
    equal = [each == other for each in made for other in [*made, values, 1.0]]
    return [*map(repr, made), equal, len(set(made)), kind.__match_args__]


@pytest.mark.parametrize("ours", [RECORDS, FROZEN], ids=["record", "dataclass"])
def test_they_compare_and_show_their_fields_as_the_standard_ones(ours: list[Any]) -> None:
    assert [facts(kind) for kind in ours] == [facts(kind) for kind in STANDARD]
    assert ours[0]() != STANDARD[0]() and ours[1](1.0) != ours[2](1.0)


def test_nothing_sets_a_field_of_a_frozen_one() -> None:
    single = FROZEN[1](1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        single.value = 2.0


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
    reasons = [word.value for word in call.keywords if word.arg == "reason"]
    return reasons + (call.args[places[name] :][:1] if name in places else [])


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
