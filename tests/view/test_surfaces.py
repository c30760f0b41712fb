"""Each kind of event on each surface: a kind that one of them does not handle fails here."""

import csv
import io
import json
import re
from pathlib import Path

import mcap.reader
import pytest

from hilgw.cli.output.live_table import CSV_COLUMNS, LiveTable, csv_rows, in_words
from hilgw.cli.output.terminal import Terminal
from hilgw.cli.output.text import Style
from hilgw.client.gateway import Event
from hilgw.engine.recording.event_stream import OBSERVED
from hilgw.events import kinds
from hilgw.protocols.pcapng.events import TIMES
from hilgw.record import convert
from hilgw.record.commands import diff
from hilgw.record.compare import compare
from hilgw.record.plot import rows_of
from hilgw.record.recording import Recording
from hilgw.record.writer import STATUS, Files, Report, Settings
from hilgw.view.gateway import GatewayView
from hilgw.web import sources
from hilgw.web.model import Bench
from hilgw.web.pages import overview, robot
from hilgw.web.pages.drawing import drawing_of
from hilgw.web.pages.packets import Filter
from hilgw.web.pages.robot import stop_log
from hilgw.web.pages.traffic import Traffic
from hilgw.web.sources import Recorded
from tests.view.samples import CLASSES, recorded, sample

NOW = 3 * 10**9
every = pytest.mark.parametrize("kind", CLASSES)


def is_plain(text: str) -> bool:
    """Whether it has nothing of a mapping or a list that was printed as it is."""
    return not re.search(r"[{}\[\]]|'\w+':", text)


def test_the_table_has_all_kinds() -> None:
    assert kinds.KINDS.keys() == CLASSES.keys()
    fields = {name: set(kind.__dataclass_fields__) for name, kind in CLASSES.items()}
    assert all({*kind.about, *kind.columns} <= fields[name] for name, kind in kinds.KINDS.items())


@every
def test_it_has_a_name_and_a_sentence(kind: str) -> None:
    event = sample(kind)
    assert kinds.name_of(event) == ".".join(event[key] for key in kinds.KINDS[kind].about)
    assert kinds.words(event) and is_plain(kinds.words(event))
    assert len({one.name for one in kinds.numbers(event)}) == len(kinds.numbers(event))
    assert in_words(event).endswith(f"  {kinds.name_of(event):<16} {kinds.words(event)}".rstrip())
    assert str(Event(event)) == f"{kinds.name_of(event)}: {kinds.words(event)}"
    assert all(name in kinds.names_of(event) for name in [kinds.name_of(event)] if name)


@every
def test_a_row_of_csv_has_plain_cells(kind: str) -> None:
    event, text = sample(kind), io.StringIO()
    csv.writer(text).writerows(csv_rows(event))
    rows = [
        dict(zip(CSV_COLUMNS, row, strict=True)) for row in csv.reader(text.getvalue().splitlines())
    ]
    assert bool(rows) is bool(kinds.KINDS[kind].columns or kinds.numbers(event))
    assert all(row["name"] == kinds.name_of(event) and is_plain(row["value"]) for row in rows)
    if not kinds.KINDS[kind].columns:
        units = [(one.name, one.unit) for one in kinds.numbers(event)]
        assert [(row["field"], row["unit"]) for row in rows] == units


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
    assert (kind in kinds.ROWS) is bool(
        re.search(rf"^{re.escape(kinds.name_of(sample(kind)))} .*\d", screens[1], re.M)
        and "DEVICE" in screens[1]
    )


@every
def test_convert_has_its_numbers_and_all_of_its_fields(kind: str, tmp_path: Path) -> None:
    event = sample(kind)
    recording = Recording(recorded(tmp_path / "run.pcapng", event))
    (read_event,) = recording.events()
    tables = convert.to_csv(recording, tmp_path / "csv")
    if kind in kinds.DRAWN:
        (table,) = csv.DictReader(tables[0].read_text().splitlines())
        assert table.keys() >= {one.title for one in kinds.numbers(event)}
    assert bool(tables) is (kind in kinds.DRAWN or kind == "packet")
    out = io.BytesIO()
    convert.to_mcap(recording, out)
    reader = mcap.reader.make_reader(io.BytesIO(out.getvalue()))
    (head,) = reader.iter_metadata()
    assert {key: str(each) for key, each in recording.head.items()}.items() <= head.metadata.items()
    lines = io.StringIO()
    convert.to_json_lines(recording, lines)
    assert [*map(json.loads, lines.getvalue().splitlines())] == [recording.head, read_event]
    ((schema, channel, message),) = reader.iter_messages()
    assert schema is not None
    properties, sent = json.loads(schema.data)["properties"], json.loads(message.data)
    types = {"string": str, "number": float, "integer": int, "boolean": bool, "array": list}
    for key, value in sent.items():  # one type each: Foxglove takes no other schema
        expected = properties.get(key, {"type": "any"})["type"]
        assert isinstance(value, types.get(expected, object if expected == "any" else dict))
    lists = {"value", "position", "rotation"}  # of several types, or in lists
    assert sent.keys() - lists <= properties.keys() | {"rssi_dbm"}
    assert message.log_time == pytest.approx(read_event["wall_s"] * 1e9, abs=1e3)
    assert channel.topic == "/log" or kind in channel.topic
    if channel.topic == "/log":
        assert sent["message"] == kinds.words(event)
    else:
        assert {*read_event} - {"event"} == {*sent} - {"numbers"}
        assert [*sent.get("numbers", ())] == [one.name for one in kinds.numbers(event)]


@every
def test_the_page_keeps_it(kind: str) -> None:
    event = sample(kind)
    view = Bench(lambda: NOW).opened("/run/1.sock", "/lab/arm.yaml", 11)
    view.take(event, NOW)
    if kind in kinds.NAMED:
        assert [*view.newest[kind]] == [kinds.name_of(event)]
    assert bool(view.log.since(0)) is (kind in kinds.LOGGED)
    assert bool(view.traces.since(0)) is (kind in kinds.TRACES)
    html = stop_log(view, kinds.name_of(event))
    assert bool(html) is (kind in kinds.LOGGED - {"output"})
    assert not html or (kinds.words(event) in html and is_plain(html))


def pages_of(view: GatewayView, name: str) -> list[str]:
    traffic, drawn = Traffic(), drawing_of(view, NOW)
    traffic.update([view], Filter(), paused=False)
    tables = (robot.sensors(view, name, NOW), robot.motors(view, name, NOW))
    logs = (robot.output(view, name), stop_log(view, name), traffic.packets(), traffic.frames())
    return [*overview.parts(view, NOW).values(), *tables, *logs, repr(drawn)]


@every
def test_a_page_shows_it_and_asks_for_it(kind: str) -> None:
    event, shown = sample(kind), list[list[str]]()
    none = {"ports": {}, "robots": {}, "latency_bounds_s": [1.0], "latency": {}}
    for events in ([], [event]):
        view = Bench(lambda: NOW).opened("/run/1.sock", "/lab/arm.yaml", 11)
        view.set_status(none, NOW)
        for shown_event in events:
            view.take(shown_event, NOW - 10**9)  # so that a rate has a second that is over
        view.received(NOW)
        shown.append(pages_of(view, event.get("robot", kinds.name_of(event))))
    is_shown = kind not in ("bytes", "delivered", "recording_lost")  # delivered: of its packet
    assert (shown[0] != shown[1]) is is_shown
    assert not is_shown or kind in sources.KINDS | {"frame"}  # what the page Traffic needs, too


@every
def test_the_page_of_a_recording_has_what_a_live_page_has(kind: str, tmp_path: Path) -> None:
    event, views = sample(kind), list[GatewayView]()
    shown = Recorded(recorded(tmp_path / "run.pcapng", event))
    shown.read()
    shown.seek(shown.end_ns)
    shown.follow()
    views += [*shown.bench.gateways.values(), GatewayView("", "", 0, NOW)]
    views[1].take(event, NOW)
    first, second = (
        [
            {key: each for key, each in found.items() if key not in TIMES}
            for ring in (view.packets, view.traces, view.log)
            for found in [*ring.since(0), *(e for n in view.newest.values() for e in n.values())]
        ]
        for view in views
    )
    assert first == second


@every
def test_the_terminal_and_the_log_show_it(kind: str) -> None:
    event = sample(kind)
    for is_log in (False, True):
        out = io.StringIO()
        terminal = Terminal(out, verbose=True, is_log=is_log, clock=lambda: 0.0)
        is_taken = OBSERVED.get(kind) in terminal.observed
        shown = (kinds.LOGGED | kinds.TRACES | {"packet"}) - {"frame", "mode"}
        assert is_taken is (kind in shown and kind in OBSERVED)  # the engine reports no others
        if is_taken:
            assert kind == "port" or terminal.takers(CLASSES[kind])
            terminal.emit(True, CLASSES[kind](*(event[key] for key in kinds.FIELDS[CLASSES[kind]])))
            assert kinds.words(event) in " ".join(out.getvalue().split("\n"))


@every
def test_a_picture_has_its_numbers_and_losses(kind: str) -> None:
    event = sample(kind)
    rows = rows_of([event], [])
    assert bool(rows) is (kind in kinds.DRAWN or kind == "packet" or kinds.is_lost(event))
    if kind in kinds.DRAWN:
        curves = rows[kinds.name_of(event)].curves
        units = [(one.name, one.unit) for one in kinds.numbers(event)]
        assert [(name, each.unit) for name, each in curves.items()] == units


@every
def test_a_difference_of_it_is_shown(kind: str, tmp_path: Path) -> None:
    with_it = Recording(recorded(tmp_path / "first.pcapng", sample(kind)))
    without = Recording(recorded(tmp_path / "second.pcapng"))
    differences = compare(with_it, without).differences
    assert bool(differences) is (kind not in ("link", "status"))  # these are measured
    for difference in differences:
        assert difference.stream.startswith(kind)
        assert (
            is_plain(diff.shown(difference.first, None)) and diff.shown(None, 1) == "nothing more"
        )


@every
def test_a_recording_has_it_and_the_next_file_its_state(kind: str, tmp_path: Path) -> None:
    event = sample(kind)
    (kept,) = Recording(recorded(tmp_path / "run.pcapng", event)).events()
    assert {key: each for key, each in kept.items() if key not in TIMES} == {
        key: each for key, each in event.items() if key not in TIMES
    }
    if kind in kinds.NAMED:  # a file that follows another one begins with it
        path, reports = tmp_path / "first.pcapng", list[Report]()
        path.touch()
        files = Files(Settings(str(path), {}, [], 0, max_bytes=1), reports.append)
        values = [event[name] for name in kinds.FIELDS[CLASSES[kind]]]
        values = [json.dumps(each) for each in values] if kind == STATUS else values
        files.write([(kind, 10**9, tuple(values))])
        for second in range(2, 99):
            files.write([("notice", second * 10**9, ("rover", "more" * 1000))])
        files.close()
        assert Path(reports[-1].file) != path
        assert kind in [each["event"] for each in Recording(Path(reports[-1].file)).events()]


@every
def test_a_loss_is_bad(kind: str) -> None:
    lost = kind in ("command", "packet", "refused", "stopped", "recording_lost")
    assert (kinds.severity(sample(kind)) == kinds.BAD) is (lost or kind == "port")
    assert kinds.severity(sample("port", state="up")) == "good"
