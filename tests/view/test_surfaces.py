"""Each kind of event on each surface: a kind that one of them does not handle fails here."""

import csv
import io
import json
import re
from pathlib import Path

import mcap.reader
import pytest

from hilgw.cli.output.event_lines import CSV_COLUMNS, csv_rows, in_words
from hilgw.cli.output.live_table import LiveTable
from hilgw.cli.output.text import Style
from hilgw.client.gateway import Event
from hilgw.events.kinds import (
    BAD,
    DRAWN,
    FIELDS,
    KINDS,
    LOGGED,
    NAMED,
    ROWS,
    TRACES,
    name_of,
    names_of,
    numbers,
    severity,
    words,
)
from hilgw.record import convert
from hilgw.record.events import TIMES
from hilgw.record.recording import Recording
from hilgw.record.writer import Files, Report, Settings
from hilgw.web.model import Bench
from hilgw.web.pages.robot import stop_log
from tests.view.samples import CLASSES, recorded, sample

NOW = 3 * 10**9
every = pytest.mark.parametrize("kind", CLASSES)


def is_plain(text: str) -> bool:
    """Whether it has nothing of a mapping or a list that was printed as it is."""
    return not re.search(r"[{}\[\]]|'\w+':", text)


def test_the_table_has_all_kinds() -> None:
    assert KINDS.keys() == CLASSES.keys()
    fields = {name: set(kind.__dataclass_fields__) for name, kind in CLASSES.items()}
    assert all({*kind.about, *kind.columns} <= fields[name] for name, kind in KINDS.items())


@every
def test_it_has_a_name_and_a_sentence(kind: str) -> None:
    event = sample(kind)
    assert name_of(event) == ".".join(event[key] for key in KINDS[kind].about)
    assert words(event) and is_plain(words(event))
    assert len({one.name for one in numbers(event)}) == len(numbers(event))
    assert in_words(event).endswith(f"  {name_of(event):<16} {words(event)}".rstrip())
    assert str(Event(event)) == f"{name_of(event)}: {words(event)}"
    assert all(name in names_of(event) for name in [name_of(event)] if name)


@every
def test_a_row_of_csv_has_plain_cells(kind: str) -> None:
    event, text = sample(kind), io.StringIO()
    csv.writer(text).writerows(csv_rows(event))
    rows = [
        dict(zip(CSV_COLUMNS, row, strict=True)) for row in csv.reader(text.getvalue().splitlines())
    ]
    assert bool(rows) is bool(KINDS[kind].columns or numbers(event))
    assert all(row["name"] == name_of(event) and is_plain(row["value"]) for row in rows)


@every
def test_the_live_table_shows_it(kind: str) -> None:
    screens = []
    for events in ([], [sample(kind)]):
        made = LiveTable("hilgw watch", Style(False), ("-", "o"), "EVENTS")
        for event in events:
            made.take(event)
        screens.append(re.sub(r" +\d+ events", "", "\n".join(made.screen(200, 24, NOW))))
    assert screens[0] != screens[1]
    assert is_plain(screens[1])
    assert (kind in ROWS) is bool(
        re.search(rf"^{re.escape(name_of(sample(kind)))} .*\d", screens[1], re.M)
        and "DEVICE" in screens[1]
    )


@every
def test_convert_has_its_numbers_and_all_of_its_fields(kind: str, tmp_path: Path) -> None:
    event = sample(kind)
    recording = Recording(recorded(tmp_path / "run.pcapng", event))
    (found,) = recording.events()
    tables = convert.to_csv(recording, tmp_path / "csv")
    if kind in DRAWN:
        (table,) = csv.DictReader(tables[0].read_text().splitlines())
        assert table.keys() >= {one.title for one in numbers(event)}
    assert bool(tables) is (kind in DRAWN or kind == "packet")
    out = io.BytesIO()
    convert.to_mcap(recording, out)
    ((schema, channel, message),) = mcap.reader.make_reader(
        io.BytesIO(out.getvalue())
    ).iter_messages()
    assert schema is not None
    properties, sent = json.loads(schema.data)["properties"], json.loads(message.data)
    types = {"string": str, "number": float, "integer": int, "boolean": bool, "array": list}
    for key, value in sent.items():  # one type each: Foxglove takes no other schema
        expected = properties.get(key, {"type": "any"})["type"]
        assert isinstance(value, types.get(expected, object if expected == "any" else dict))
    lists = {"value", "position", "rotation"}  # of several types, or in lists
    assert sent.keys() - lists <= properties.keys() | {"rssi_dbm"}
    assert message.log_time == pytest.approx(found["wall_s"] * 1e9, abs=1e3)
    assert channel.topic == "/log" or kind in channel.topic
    if channel.topic == "/log":
        assert sent["message"] == words(event)
    else:
        assert {*found} - {"event"} == {*sent} - {"numbers"}
        assert [*sent.get("numbers", ())] == [one.name for one in numbers(event)]


@every
def test_the_page_keeps_it(kind: str) -> None:
    event = sample(kind)
    view = Bench(lambda: NOW).opened("/run/1.sock", "/lab/arm.yaml", 11)
    view.take(event, NOW)
    if kind in NAMED:
        assert [*view.newest[kind]] == [name_of(event)]
    assert bool(view.log.since(0)) is (kind in LOGGED)
    assert bool(view.traces.since(0)) is (kind in TRACES)
    html = stop_log(view, name_of(event))
    assert bool(html) is (kind in LOGGED - {"output"})
    assert not html or (words(event) in html and is_plain(html))


@every
def test_a_recording_has_it_and_the_next_file_its_state(kind: str, tmp_path: Path) -> None:
    event = sample(kind)
    (found,) = Recording(recorded(tmp_path / "run.pcapng", event)).events()
    assert {key: each for key, each in found.items() if key not in TIMES} == {
        key: each for key, each in event.items() if key not in TIMES
    }
    if kind in NAMED:  # a file that follows another one begins with it
        path, reports = tmp_path / "first.pcapng", list[Report]()
        path.touch()
        files = Files(Settings(str(path), {}, [], 0, max_bytes=1), reports.append)
        files.write([(kind, 10**9, tuple(event[name] for name in FIELDS[CLASSES[kind]]))])
        for at in range(2, 99):
            files.write([("notice", at * 10**9, ("rover", "more" * 1000))])
        files.close()
        assert Path(reports[-1].file) != path
        assert kind in [each["event"] for each in Recording(Path(reports[-1].file)).events()]


@every
def test_a_loss_is_bad(kind: str) -> None:
    lost = kind in ("command", "packet", "refused", "stopped", "recording_lost")
    assert (severity(sample(kind)) == BAD) is (lost or kind == "port")
    assert severity(sample("port", state="up")) == "good"
