"""The commands that read a recording: names and times that it does not have, and states that it
repeats."""

import csv
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.record.compare import compare
from hilgw.record.convert import to_csv
from hilgw.record.pcapng import RecordingError
from hilgw.record.plot import rows_of
from hilgw.record.recording import Recording
from hilgw.record.story import Story
from tests.record.samples import COMMAND, VALUE
from tests.view.samples import recorded, sample

S = 10**9
BEGIN = 50 * S


@pytest.fixture
def run(tmp_path: Path) -> Path:
    topology = {"robots": {"idle": ["tx"]}, "stations": {"uart0": None}, "mocks": []}
    events = (
        sample("value", robot="rover", device="gps", time_ns=S),
        sample("command", robot="rover", device="left", time_ns=2 * S),
        sample("port", name="xbee0", time_ns=3 * S),
    )
    return recorded(tmp_path / "run.pcapng", *events, topology=topology)


@pytest.mark.parametrize("command", [["show"], ["show", "--csv"], ["show", "--to", "1s"], ["plot"]])
def test_an_unknown_name_is_refused_before_anything_is_printed(
    command: list[str], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(run), "rover", "rover.gpx", *command[1:]]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "nothing here has the name 'rover.gpx'; did you mean 'rover.gps'?" in printed.err
    assert [*run.parent.iterdir()] == [run]


@pytest.mark.parametrize(
    ("words", "code", "printed"),
    [
        *(
            (f"show {name} --lost", 0, "")
            for name in ("rover", "rover.remote.left", "xbee0", "idle", "idle.tx", "uart0")
        ),
        ("show --from 10s --to 1s", 2, "--from 10 s is after --to 1 s"),
        ("show --from 2s --to 2s", 0, "rover.remote.left"),
        ("plot rover", 0, "run.png: rover.gps, rover.remote.left\n"),
    ],
)
def test_known_names_and_times(
    words: str, code: int, printed: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *more = words.split()
    assert main([command, str(run), *more]) == code
    assert printed in "".join(capsys.readouterr())


def test_diff_names_a_key_without_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = (
        str(recorded(tmp_path / f"{kind}.pcapng", sample("packet", type=kind)))
        for kind in ("radio", "serial")
    )
    assert main(["diff", *paths]) == 1
    shown = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()[1:]]
    words = 'ch 5   "0101" 4 B  2 dBm  not received: out of range; not xbee0 (range)'
    assert shown == [f"{words}; type radio", f"{words}; type serial"]


def repeating(path: Path, old: float) -> Recording:
    """With a newest value and command of before its start, and one of each in it; the last is
    repeated by a keyframe."""
    before, new = {"time_ns": BEGIN, "since_ns": BEGIN - S}, {"time_ns": BEGIN + S}
    events = (
        VALUE | before | {"value": old},
        COMMAND | before | {"given": {"velocity": old}, "outcome": "refused", "reason": "disarmed"},
        VALUE | new | {"value": 5.0},
        COMMAND | new | {"given": {"velocity": 5.0}},
        VALUE | {"value": 5.0, "time_ns": BEGIN + 60 * S, "since_ns": BEGIN + S},
    )
    return Recording(recorded(path, *events, begin_ns=BEGIN))


def test_a_state_that_is_repeated_is_not_a_new_event(tmp_path: Path) -> None:
    first, second = (repeating(tmp_path / f"{old}.pcapng", old) for old in (3.0, 4.0))
    expected = [("value", BEGIN - S), ("command", BEGIN - S), ("value", None), ("command", None)]
    assert [(each["event"], each.get("since_ns")) for each in first.events()] == expected
    assert len([*first.events(states=True)]) == 5
    assert len([*first.events(0.5)]) == 2
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


@pytest.mark.parametrize(("since", "count"), [("x", 0), (1 << 70, 0), (0.5, 0), (None, 1)])
def test_the_mark_of_a_repetition_is_a_time(tmp_path: Path, since: object, count: int) -> None:
    found = Recording(recorded(tmp_path / "a.pcapng", VALUE | {"since_ns": since}))
    assert len([*found.events()]) == count
    assert isinstance(found.error, RecordingError) is (count == 0)
