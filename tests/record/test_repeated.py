"""A state that is repeated at the start of a recording is not a new event to any command."""

import csv
from pathlib import Path

import pytest

from hilgw.record.compare import compare
from hilgw.record.convert import to_csv
from hilgw.record.events import Writer
from hilgw.record.pcapng import RecordingError
from hilgw.record.plot import rows_of
from hilgw.record.recording import Recording
from hilgw.record.story import Story
from tests.record.samples import COMMAND, VALUE

BEGIN = 50 * 10**9
OLD = {"time_ns": BEGIN, "since_ns": BEGIN - 10**9}


def made(
    path: Path, *events: dict[str, object], head: dict[str, object] | None = None
) -> Recording:
    writer = Writer(head or {}, [], 0)
    blocks = [writer.encode(each) for each in events]
    path.write_bytes(writer.begin(BEGIN) + b"".join(blocks))
    return Recording(path)


def recorded(path: Path, old: float) -> Recording:
    """With a newest value and command of before its start, and one of each in it; the last is
    repeated by a keyframe."""
    new = {"time_ns": BEGIN + 10**9}
    return made(
        path,
        VALUE | OLD | {"value": old},
        COMMAND | OLD | {"given": {"velocity": old}, "outcome": "refused", "reason": "disarmed"},
        VALUE | new | {"value": 5.0},
        COMMAND | new | {"given": {"velocity": 5.0}},
        VALUE | {"value": 5.0, "time_ns": BEGIN + 60 * 10**9, "since_ns": BEGIN + 10**9},
    )


def test_it_is_given_once_and_with_its_mark(tmp_path: Path) -> None:
    found = recorded(tmp_path / "a.pcapng", 4.0)
    assert [(each["event"], each.get("since_ns")) for each in found.events()] == [
        ("value", BEGIN - 10**9),
        ("command", BEGIN - 10**9),
        ("value", None),
        ("command", None),
    ]
    assert len([*found.events(states=True)]) == 5
    assert len([*found.events(0.5)]) == 2


def test_pictures_tables_differences_and_stories_have_it_not(tmp_path: Path) -> None:
    first, second = (recorded(tmp_path / f"{old}.pcapng", old) for old in (3.0, 4.0))
    rows = rows_of(first.events(), [])
    assert rows["rover.ds"].curves["value"].values == [5.0]
    assert rows["rover.left"].curves["velocity"].values == [5.0]
    assert rows["rover.left"].marks == {}
    to_csv(first, tmp_path / "csv")
    with (tmp_path / "csv" / "rover.ds.csv").open() as file:
        assert [each["value (m)"] for each in csv.DictReader(file)] == ["5.0"]
    assert compare(first, second).differences == []
    story = Story()
    for event in first.events():
        story.add(event)
    assert story.commands == {"rover.left": ["velocity 5.0"]}


@pytest.mark.parametrize("since", ["x", 1 << 70, 0.5, [1]])
def test_a_mark_must_be_a_time(tmp_path: Path, since: object) -> None:
    found = made(tmp_path / "a.pcapng", VALUE | {"time_ns": BEGIN, "since_ns": since})
    assert [*found.events()] == []
    assert isinstance(found.error, RecordingError)


def test_without_a_time_it_is_an_event(tmp_path: Path) -> None:
    found = made(tmp_path / "a.pcapng", VALUE | {"time_ns": BEGIN, "since_ns": None})
    assert len([*found.events()]) == 1
