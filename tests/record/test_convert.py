"""Recordings in other forms, as pictures, and of strangers: what is wrong is named."""

import io
import json
import random
import time
from pathlib import Path
from typing import Any

import mcap.reader
import pytest
from hypothesis import settings

from hilgw.cli.main import main
from hilgw.errors import HilgwError, UsageError
from hilgw.events.wire import link
from hilgw.protocols.gateway.messages import keys_of
from hilgw.protocols.pcapng.blocks import encode_packet
from hilgw.protocols.pcapng.events import EVENTS
from hilgw.record import convert, plot as plots
from hilgw.record.compare import Difference, compare
from hilgw.record.plot import MOST_CURVES, MOST_POINTS, Curve, plot, rows_of
from hilgw.record.recording import Recording
from tests.cases import part_of
from tests.cli.output.test_federation import gateway
from tests.e2e.running import run
from tests.record import mutants, samples
from tests.record.mutants import blocks_of, faults, mutant
from tests.record.samples import COMMAND, PACKET, VALUE
from tests.view.samples import MORE, recorded, sample

S = 10**9
EPOCH = 1_700_000_000 * S
GPS = {**VALUE, "device": "gps", "value": [1.5, 2, 3], "fields": [*"xyz"], "units": ["m"] * 3}
TOUCH = {**GPS, "device": "../touch", "value": 1, "fields": ["value"], "units": [""]}
NOTICE = {"event": "notice", "source": "a", "text": "antenna turned"}


def line(time_ns: int, data: bytes) -> dict[str, object]:
    known = {"event": "bytes", "part": "uart0", "direction": "sent"}
    return known | {"time_ns": time_ns, "data": data.hex()}


@pytest.fixture
def convert_run(tmp_path: Path) -> Path:
    return recorded(
        tmp_path / "run.pcapng",
        GPS | {"time_ns": S},
        GPS | {"time_ns": 2 * S, "value": ["nan", 5, 6]},
        TOUCH | {"time_ns": 2 * S},
        COMMAND | {"time_ns": 3 * S},
        PACKET | {"time_ns": 4 * S, "data": b"1e99".hex()},
        line(5 * S, b"ab"),
        NOTICE | {"time_ns": 6 * S},
        epoch_ns=EPOCH,
    )


@pytest.mark.exhaustive
def test_pandas_reads_a_table_for_each_device(tmp_path: Path, convert_run: Path) -> None:
    import pandas  # here: it takes longer to import than all others that the tests need

    folder = tmp_path / "csv"
    recording = Recording(convert_run)
    files = convert.to_csv(recording, folder)
    assert {path.parent for path in files} == {folder}
    gps = pandas.read_csv(folder / "rover.gps.csv")
    assert list(gps.columns) == ["time_s", "wall_s", "x (m)", "y (m)", "z (m)"]
    assert gps["time_s"].tolist() == [1.0, 2.0]  # from the head on, as in show --from
    assert gps["x (m)"].isna().tolist() == [False, True]
    touch = pandas.read_csv(folder / "rover...%2Ftouch.csv")
    assert touch["value"].tolist() == [1]
    left = pandas.read_csv(folder / "rover.left.csv").to_dict("records")
    assert left[0]["velocity (rad/s)"] == 2.0
    assert left[0]["velocity applied (rad/s)"] == 1.0
    packets = pandas.read_csv(folder / "packets.csv").to_dict("records")
    # Digits alone would be a number, and infinite.
    assert (packets[0]["data"], packets[0]["received_by"]) == ("hex:31653939", "a b")


def test_a_recording_of_countless_devices_is_refused(
    tmp_path: Path, convert_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "MOST_FILES", 3)
    recording = Recording(convert_run)
    with pytest.raises(HilgwError, match="has 4 devices"):
        convert.to_csv(recording, tmp_path / "csv")


def test_mcap_has_a_topic_for_each_device_and_a_log_that_foxglove_shows(convert_run: Path) -> None:
    out, recording = io.BytesIO(), Recording(convert_run)
    convert.to_mcap(recording, out)
    messages = [*mcap.reader.make_reader(io.BytesIO(out.getvalue())).iter_messages()]
    assert [(channel.topic, schema and schema.name) for schema, channel, _ in messages] == [
        *[("/rover/gps/value", "hilgw.value")] * 2,
        ("/rover/../touch/value", "hilgw.value"),
        ("/rover/left/command", "hilgw.command"),
        ("/packets", "hilgw.packet"),
        ("/uart0/bytes", "hilgw.bytes"),
        ("/log", "foxglove.Log"),
    ]
    for (schema, channel, message), event in zip(messages, recording.events(), strict=True):
        assert schema is not None
        assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
        assert json.loads(schema.data)["title"] == schema.name
        assert message.publish_time == message.log_time == int(event["wall_s"] * 1e9)
    assert json.loads(messages[1][2].data)["numbers"] == {"x": None, "y": 5.0, "z": 6.0}
    schema, _, message = messages[-1]
    assert schema is not None
    sec, nsec = divmod(message.log_time, 10**9)
    assert json.loads(message.data) == {
        "timestamp": {"sec": sec, "nsec": nsec},
        "level": 2,  # of foxglove.Log: INFO
        "message": "antenna turned",
        "name": "a",
    }
    stamp = json.loads(schema.data)["properties"]["timestamp"]
    assert stamp["properties"] == {key: {"type": "integer"} for key in ("sec", "nsec")}


def test_the_first_difference_of_each_stream_is_found(tmp_path: Path) -> None:
    """The order between streams, the times, the pieces of bytes and the measures of other gateways
    differ without being named."""
    other = COMMAND | {"given": {"velocity": 3.0}}
    first = recorded(
        tmp_path / "a.pcapng",
        line(1 * S, b"abc"),
        line(2 * S, b"def"),
        GPS | {"time_ns": 3 * S},
        COMMAND | {"time_ns": 4 * S},
        NOTICE | {"time_ns": 5 * S},
        {"event": "link", "time_ns": 6 * S, **keys_of(link("gateway@bench", gateway()))},
    )
    second = recorded(
        tmp_path / "b.pcapng",
        GPS | {"time_ns": 8 * S},
        line(9 * S, b"abcd"),
        line(9 * S, b"eX"),
        other | {"time_ns": 10 * S},
        begin_ns=7 * S,
    )
    assert not compare(Recording(first), Recording(first)).differences
    comparison = compare(Recording(first), Recording(second))
    assert comparison.differences == [
        Difference("bytes uart0 sent", 6, 2.0, ord("f"), ord("X")),
        Difference("command rover left", 1, 4.0, COMMAND, other),
        Difference("notice a", 1, 5.0, NOTICE, None),
    ]
    assert comparison.counts["bytes uart0 sent"] == (6, 6)
    assert comparison.counts["notice a"] == (1, 0)


PLOT_COMMAND = samples.COMMAND | {"outcome": "refused", "reason": "disarmed"}
PLOT_PACKET = samples.PACKET | {"source": "$tx", "received_by": [], "not_received": "range"}


def events(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "time_ns": (at + 5) * S} for at, each in enumerate(given)]


def test_rows_have_curves_and_marks() -> None:
    sent = {**PLOT_PACKET, "received_by": ["uart0"], "not_received": ""}
    rows = rows_of(
        events(VALUE, PLOT_COMMAND, PLOT_PACKET, sent, {**VALUE, "value": "nan"}), [], 5 * S
    )
    assert list(rows) == ["rover.ds", "rover.left", "$tx", "uart0"]
    assert rows["rover.ds"].curves["value"].unit == "m"
    assert rows["rover.ds"].curves["value"].times == [0.0, 4.0]
    motor = rows["rover.left"]
    assert motor.curves["velocity refused"].values == [2.0]
    assert {curve.unit for curve in motor.curves.values()} == {"rad/s"}
    assert motor.curves["velocity applied"].values == [1.0]
    assert motor.marks["refused: disarmed"].times == [1.0]
    assert rows["$tx"].marks["lost: range"].times == [2.0]
    assert rows["$tx"].marks["packet"].times == [3.0]
    assert rows["uart0"].marks["from $tx"].times == [3.0]


def test_names_choose_rows_in_their_order() -> None:
    given = events(VALUE, PLOT_COMMAND, PLOT_PACKET)
    assert list(rows_of(given, ["rover.left", "rover.ds"])) == ["rover.left", "rover.ds"]
    assert list(rows_of(given, ["rover"])) == ["rover.ds", "rover.left"]
    both = events({**PLOT_COMMAND, "body": "body"}, {**PLOT_COMMAND, "body": "remote"})
    assert list(rows_of(both, ["rover.left"])) == ["rover.body.left", "rover.remote.left"]


def test_a_sensor_of_very_many_values_has_some_curves() -> None:
    rows = rows_of(events({**VALUE, "value": [1.0] * 100_000}), [])
    expected = ["value", *(f"[{place}]" for place in range(1, MOST_CURVES))]
    assert list(rows["rover.ds"].curves) == expected


def test_a_curve_has_a_bounded_number_of_points() -> None:
    curve = Curve("value")
    for number in range(3 * MOST_POINTS):
        curve.add(number, number)
    assert MOST_POINTS / 3 < len(curve.times) <= MOST_POINTS
    assert curve.times[-1] > 2.9 * MOST_POINTS


@pytest.mark.process
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written(tmp_path: Path, suffix: str) -> None:
    path = recorded(
        tmp_path / "run.pcapng", *events(VALUE, PLOT_COMMAND, PLOT_PACKET | {"data": "78"})
    )
    out = tmp_path / f"run{suffix}"
    assert plot(Recording(path), [], out) == ["rover.ds", "rover.left", "$tx"]
    assert out.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


@pytest.mark.process
def test_what_cannot_be_drawn_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path / "run.pcapng")
    with pytest.raises(HilgwError, match="no values, commands or packets"):
        plot(Recording(path), [], tmp_path / "run.png")
    recorded(path, VALUE)
    with pytest.raises(UsageError, match=r"\.txt"):
        plot(Recording(path), [], tmp_path / "run.txt")
    monkeypatch.setattr(plots, "MOST_ROWS", 0)
    with pytest.raises(UsageError, match=r"too large; choose some: rover\.ds"):
        plot(Recording(path), [], tmp_path / "run.png")


@pytest.mark.process
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_name_without_glyphs_is_drawn_without_a_word(tmp_path: Path, suffix: str) -> None:
    named = {**VALUE, "robot": "\u8f2a\U0001f916\u0939", "fields": ["\u89d2"], "units": ["\u5ea6"]}
    path = recorded(tmp_path / "run.pcapng", *events(named))
    assert plot(Recording(path), [], tmp_path / f"run{suffix}") == [f"{named['robot']}.ds"]


UART = "version: 1\nadapters: {uart0: {kind: uart, port: /dev/null}}\n"


def block(text: str, time_ns: int = 10**18) -> bytes:
    return encode_packet(EVENTS, time_ns, text.encode())


def strange_file(folder: Path, *blocks: bytes, epoch_ns: int = 10**18) -> Path:
    run = {"configuration": UART, "arguments": ["--set", "medium.seed=3"]}
    return recorded(folder / "a.pcapng", *blocks, epoch_ns=epoch_ns, **run)


STATUS = MORE["status"]["status"]
LATE = STATUS["robots"]["robot"]
BAD: list[dict[str, Any]] = [
    STATUS | {"robots": {"rover": LATE | {"armed": 1}}},
    STATUS | {"losses": {"dropped": {"crc": "1"}}},
    STATUS | {"latency_bounds_s": []},
    STATUS | {"latency": {"line": {"uart0": {"count": 1, "buckets": ["1"]}}}},
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"event": "mode", "robot": "a"}', "mode is missing: it must be a text"),
        ('{"event": "mode", "robot": 1, "mode": "a"}', "robot must be a text"),
        (
            json.dumps({**sample("value"), "value": {}}),
            'value must be a number, or "nan", "inf" or "-inf", or a list, each a number, or "nan"',
        ),
        (json.dumps({**sample("packet"), "data": "0"}), "data must be pairs of hexadecimal digits"),
        (
            json.dumps({**sample("packet"), "received_by": [5]}),
            "received_by must be a list of names",
        ),
        ('{"event": "novel"}', "an event of an unknown kind, 'novel'"),
        *((json.dumps(sample("status", status=each)), "event status that is not") for each in BAD),
        ('{"event": "notice", "source": "\\ud800", "text": ""}', "is not valid JSON"),
        (json.dumps({**sample("value"), "value": float("inf")}), "is not valid JSON"),
        (json.dumps(sample("value", value=0.5)).replace("0.5", "1e999"), "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('["event"]', "an event without a kind"),
        ('{"event": ["value"]}', "an event without a kind"),
    ],
)
def test_the_fault_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    good = block('{"event": "notice", "source": "a", "text": "before"}')
    path = strange_file(tmp_path, good, block(text), good)
    assert main(["show", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("before") == 1
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("time_ns", "epoch_ns"),
    [(10**18 + 2**63, 10**18), (2**64 - 1, 10**18), (100, 10 - 2**63)],
)
def test_a_time_that_no_clock_shows_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time_ns: int, epoch_ns: int
) -> None:
    note = block('{"event": "notice", "source": "a", "text": ""}', time_ns=time_ns)
    path = strange_file(tmp_path, note, epoch_ns=epoch_ns)
    assert main(["show", str(path)]) == 1
    assert "has a time before 1970 or after 2262" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_value_with_millions_of_numbers_is_refused_and_not_read_for_long(tmp_path: Path) -> None:
    many = 3_000_000
    event = {**sample("value"), "value": [0] * many}
    path = strange_file(tmp_path, block(json.dumps(event)))
    begin_s = time.process_time()
    recording = Recording(path)
    assert [each["event"] for each in recording.events()] == []
    assert "a list has more than 10000 items" in str(recording.error)
    assert time.process_time() - begin_s < 20  # where each is read, it takes a minute


EXPLORES = settings.get_profile("explore").max_examples == settings.default.max_examples
COUNT = part_of(250) if EXPLORES else part_of(25)
FIRST = random.SystemRandom().randrange(1 << 32) if EXPLORES else 0


@pytest.mark.process
def test_every_reader_ends_in_order(tmp_path: Path) -> None:
    both = mutants.real(tmp_path, run)
    for data in both:
        assert list(faults(data, tmp_path, slow=True)) == []
    recordings = [blocks_of(data) for data in both]
    made = {seed: mutant(recordings, random.Random(seed)) for seed in range(FIRST, FIRST + COUNT)}
    assert len({*made.values()} - {*both}) > COUNT / 2
    for seed, data in made.items():
        assert list(faults(data, tmp_path, slow=seed % 25 == 0)) == [], f"seed {seed}"
