"""Commands on recordings: what they write is whole, and what they cannot read is named."""

import csv
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.main import main
from hilgw.cli.output import files
from hilgw.protocols.pcapng.blocks import Interface, RecordingError, encode, encode_packet
from hilgw.protocols.pcapng.events import EVENTS, FIRST_LINE, Writer
from hilgw.record import convert
from hilgw.record.compare import compare
from hilgw.record.convert import to_csv
from hilgw.record.plot import rows_of
from hilgw.record.recording import Recording
from hilgw.record.story import Story
from tests.cli.conftest import Command
from tests.e2e.running import in_process, run as program, run_program
from tests.record import mutants
from tests.record.samples import COMMAND, PACKET, VALUE
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
    paths = [
        str(recorded(tmp_path / f"{kind}.pcapng", sample("packet", type=kind)))
        for kind in ("radio", "serial")
    ]
    assert main(["diff", *paths]) == 1
    shown = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()[1:]]
    words = 'ch 5   "0101" 4 B  2 dBm  not received: out of range; not xbee0 (range)'
    assert shown == [f"{words}; type radio", f"{words}; type serial"]
    assert main(["diff", paths[0], paths[0]]) == 0
    assert capsys.readouterr().out == "no difference\n"


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
    file = Recording(recorded(tmp_path / "a.pcapng", VALUE | {"since_ns": since}))
    assert len([*file.events()]) == count
    assert isinstance(file.error, RecordingError) is (count == 0)


EPOCH = 1_700_000_000 * 10**9
UART = "version: 1\nadapters: {uart0: {kind: uart, port: /dev/null}}\n"
CAPTURE = "capture2test run.pcapng"
HEAD = {"configuration": UART, "arguments": [], "hilgw": "1"}


def recording(path: Path, *events: dict[str, Any], epoch_ns: int = EPOCH, **head: Any) -> Path:
    writer = Writer({**HEAD, **head}, ["uart0"], epoch_ns)
    blocks = [writer.begin(0)]
    blocks += [writer.event(S * (1 + at), each) for at, each in enumerate(events)]
    blocks.append(writer.packet(50 * S, b"ping", PACKET))
    for number, is_sent in enumerate((True, False)):
        blocks.append(writer.line(S * (60 + number), "uart0", b"\x00\xff", sent=is_sent))
    path.write_bytes(b"".join(blocks))
    return path


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return recording(tmp_path / "run.pcapng", VALUE)


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_convert_without_its_package_leaves_no_file(
    tmp_path: Path, run_file: Path, hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "mcap.writer", None)
        code, out, err = hilgw("convert", "run.pcapng", "run.mcap")
    assert (code, out) == (2, "") and "pip install 'hilgw[mcap]'" in err
    assert names(tmp_path) == {"run.pcapng"}
    assert hilgw("convert", "run.pcapng", "run.mcap") == (0, "", "")
    before = (tmp_path / "run.mcap").read_bytes()
    code, _, err = hilgw("convert", "run.pcapng", "run.mcap")
    assert (code, err) == (1, "hilgw: run.mcap: exists already; name a new file\n")
    assert (tmp_path / "run.mcap").read_bytes() == before


@pytest.mark.parametrize("to", ["csv/", "empty/", "run.mcap", "run.jsonl"])
def test_a_disk_that_is_full_leaves_nothing(
    tmp_path: Path, run_file: Path, hilgw: Command, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    (tmp_path / "empty").mkdir()
    before, read = names(tmp_path), Recording.events

    def full(file: Recording, *times: Any) -> Iterator[Any]:
        yield next(events := read(file, *times))
        if sum(len(files) for _, _, files in os.walk(tmp_path)) > 1:  # it has begun to write
            raise OSError(28, "No space left on device")
        yield from events

    monkeypatch.setattr(Recording, "events", full)
    monkeypatch.setattr(convert, "HELD_BYTES", 0)
    code, out, err = hilgw("convert", "run.pcapng", to)
    assert (code, out) == (1, "")
    assert err == f"hilgw: {to.rstrip('/')}: cannot write: No space left on device\n"
    assert names(tmp_path) == before and not names(tmp_path / "empty")


def test_a_folder_is_written_whole_and_one_of_others_is_left_alone(
    tmp_path: Path, run_file: Path, hilgw: Command
) -> None:
    (tmp_path / "empty").mkdir(mode=0o750)
    for to in ("new/deep/", "csv", "empty/"):
        code, out, err = hilgw("convert", "run.pcapng", to)
        assert (code, out, err) == (0, f"{Path(to)}: 2 tables\n", "")
        assert names(tmp_path / to) == {"packets.csv", "rover.ds.csv"}
    assert (tmp_path / "empty").stat().st_mode & 0o777 == 0o750
    code, _, err = hilgw("convert", "run.pcapng", "csv")
    assert code == 1 and "csv: is not empty" in err


@pytest.mark.process
def test_every_file_of_a_command_is_written_beside_and_renamed(
    tmp_path: Path, hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the one helper, so that no test of each command needs a full disk."""
    mutants.real(tmp_path, program)
    shadow = (VALUE | {"robot": f"rover.{body}"} for body in ("body", "remote"))
    recording(tmp_path / "shadow.pcapng", *shadow)
    (tmp_path / "a.wbt").write_text('#VRML_SIM R2025a utf8\nRobot { name "rover" }\n')
    output, written = files.output, set[Path]()

    @contextmanager
    def watched(path: Path) -> Iterator[Path]:
        with output(path) as fresh:
            yield fresh
            assert fresh.exists() and not path.exists()
        written.add(path)

    monkeypatch.setattr(files, "output", watched)
    for words in (
        *(f"convert real.pcapng {to}" for to in ("csv", "a.mcap", "a.jsonl")),
        "plot real.pcapng xbee0 --output a.png",
        "twin shadow.pcapng --output a.svg",
        "capture2test real.pcapng",
        "import-world a.wbt --output world.yaml",
        "example uart --write",
        "schema --write",
        "new-body trolley",
    ):
        written.clear()
        before = {*tmp_path.rglob("*")}
        code, _, err = hilgw(*words.split())
        new = {each for each in {*tmp_path.rglob("*")} - before if each.parent.name != "csv"}
        assert (code, err) == (0, "") and new, words
        assert {each for each in new if each.is_file() or each.name == "csv"} == {
            tmp_path / each for each in written
        }, words


def test_a_name_of_any_length_has_a_file_of_its_own(tmp_path: Path, hilgw: Command) -> None:
    long = ["界" * 30 + each for each in ("", "面", "!" * 100)]
    events = [{**VALUE, "robot": each, "value": at} for at, each in enumerate(long)]
    recording(tmp_path / "run.pcapng", *events)
    code, out, err = hilgw("convert", "run.pcapng", "csv")
    assert (code, err) == (0, "") and "4 tables" in out
    files = [tmp_path / "csv" / f"{convert.file_name(f'{each}.ds')}.csv" for each in long]
    values = [each.read_text().splitlines()[1].rpartition(",")[2] for each in files]
    assert values == ["0.0", "1.0", "2.0"]


@pytest.mark.process
def test_a_picture_is_whole_or_not_there(tmp_path: Path, run_file: Path, hilgw: Command) -> None:
    (tmp_path / "run.png").write_text("of before")
    code, _, err = hilgw("plot", "run.pcapng", "nothing")
    assert code == 1 and "nothing here has the name 'nothing'" in err
    code, _, err = hilgw("plot", "run.pcapng", "-o", "a.xyz")
    assert code == 2 and ".xyz" in err
    assert names(tmp_path) == {"run.pcapng", "run.png"}
    assert (tmp_path / "run.png").read_text() == "of before"
    assert hilgw("plot", "run.pcapng")[0] == 0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert names(tmp_path) == {"run.pcapng", "run.png"}


@pytest.mark.parametrize(
    ("command", "head", "error"),
    [
        ("twin", {"arguments": 5}, "arguments must be a list of names"),
        ("capture2test", {"arguments": 5}, "arguments must be a list of names"),
        ("show", {"scene": {"objects": 5}}, "objects must be an object"),
        ("show", {"scene": {"listeners": {"a": {"on": "a"}}}}, "position is missing"),
        ("show", {"speed": []}, "speed must be a number, or a text"),
        ("show", {"configuration": 5}, "configuration must be a text"),
    ],
)
def test_a_head_is_checked_where_it_is_read(
    tmp_path: Path, hilgw: Command, command: str, head: dict[str, Any], error: str
) -> None:
    recording(tmp_path / "run.pcapng", **head)
    code, out, err = hilgw(command, "run.pcapng")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert f"run.pcapng: has an event head that is not valid: {error}" in err


@pytest.mark.parametrize("command", ["show run.pcapng --frames", "twin run.pcapng", CAPTURE])
def test_a_configuration_with_control_characters_is_one_error(
    tmp_path: Path, hilgw: Command, command: str
) -> None:
    port = {"event": "port", "name": "uart0", "state": "closed", "reason": ""}
    recording(tmp_path / "run.pcapng", port, configuration=UART + "# \x1b[2J\n", config="a.yaml")
    code, out, err = hilgw(*command.split())
    assert (code, out) == (3, "") and err.count("\n") == 1
    assert "character U+001B is not allowed" in err and "\x1b" not in err


PORT = {"event": "port", "name": "uart0", "state": "up", "reason": ""}
PLACED = {"event": "placed", "name": "a", "position": [0, 0, 0], "rotation": None}


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({**VALUE, "units": []}, "fields and units must be as many"),
        ({**VALUE, "value": "a lot"}, 'value must be a number, or "nan", "inf" or "-inf"'),
        ({**VALUE, "value": 10**30}, "is not valid JSON"),
        ({**PLACED, "position": [0]}, "position must be"),
        (PLACED, "or neither"),
        ({"event": "clock", "mono_ns": 1, "wall_s": 1e300}, "wall_s must be seconds"),
        ({**VALUE, "value": [0.0] * 10_001}, "a list has more than 10000 items"),
        ({**PORT, "received_by": 5, "part": [5], "missed": "a"}, ""),  # keys of a later version
    ],
)
def test_an_event_is_checked_where_it_is_read(
    tmp_path: Path, hilgw: Command, event: dict[str, Any], error: str
) -> None:
    recording(tmp_path / "run.pcapng", event)
    for options in ([], ["--csv"], ["--json"]):
        code, _, err = hilgw("show", "run.pcapng", *options)
        assert code == bool(error) and error in err and err.count("\n") == bool(error)


@pytest.mark.parametrize("command", ["show", "twin", "capture2test", "plot", "web"])
def test_a_pipe_is_refused(tmp_path: Path, hilgw: Command, command: str) -> None:
    os.mkfifo(tmp_path / "run.pcapng")
    code, out, err = hilgw(command, "run.pcapng")
    assert (code, out) == (1, "") and "run.pcapng: is not a regular file" in err


def events_of(path: Path) -> list[dict[str, Any]]:
    file = Recording(path)
    events = list(file.events())
    assert (file.error, file.truncated) == (None, False)
    return events


def fault_of(path: Path) -> str:
    code, _, err = in_process("show", str(path), cwd=path.parent)
    assert code == 1 and err.count("\n") == 1
    return err


@pytest.mark.process
@pytest.mark.judge("tshark", "editcap", "mergecap")
def test_filtered_cut_and_merged_files_are_read_or_refused(tmp_path: Path, run_file: Path) -> None:
    def made(program: str, *words: str) -> Path:
        done = run_program(program, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return tmp_path / "made.pcapng"

    events = events_of(run_file)
    assert events_of(made("editcap", "run.pcapng", "made.pcapng")) == events
    assert events_of(made("editcap", "-r", "run.pcapng", "made.pcapng", "1-2")) == events[:1]
    line = 'frame.interface_name == "uart0"'
    with_head = ("-Y", f"frame.number == 1 or ({line})", "-w", "made.pcapng")
    assert events_of(made("tshark", "-r", "run.pcapng", *with_head)) == events[-2:]
    filtered = made("tshark", "-r", "run.pcapng", "-Y", line, "-w", "made.pcapng")
    assert "has no head before its first event" in (fault := fault_of(filtered))
    assert "tshark -Y 'frame.number == 1 or (FILTER)'" in fault
    cut = made("editcap", "-s", "100", "run.pcapng", "made.pcapng")
    assert "has 100 of the " in (fault := fault_of(cut)) and "as after editcap -s" in fault
    # Files of one run, as rotation makes them.
    notice = {"event": "notice", "source": "a", "text": "later"}
    recording(tmp_path / "next.pcapng", notice)
    merged = made("mergecap", "-w", "made.pcapng", "run.pcapng", "next.pcapng")
    assert len(events_of(merged)) == 2 * len(events)
    assert {each["event"] for each in events_of(merged)} == {"value", "notice", "packet", "bytes"}
    recording(tmp_path / "other.pcapng", notice, epoch_ns=EPOCH + 5 * S)
    merged = made("mergecap", "-w", "made.pcapng", "run.pcapng", "other.pcapng")
    assert "continues with another run" in fault_of(merged)


def test_a_line_keeps_its_direction_without_flags(run_file: Path) -> None:
    """Some programs lose the flags of packets."""
    data = run_file.read_bytes()
    begin = data.index(encode(Interface(250, "uart0")))
    flags = bytes.fromhex("02000400")  # the option epb_flags, and its four bytes
    run_file.write_bytes(data[:begin] + data[begin:].replace(flags + b"\1", flags + b"\0").replace(
        flags + b"\2", flags + b"\0"))  # fmt: skip
    assert [each["direction"] for each in events_of(run_file)[-2:]] == ["sent", "received"]


ETHERNET = encode(Interface(1, "eth0")) + encode_packet(FIRST_LINE + 1, EPOCH + 99 * S, b"x")
SHORT = encode_packet(FIRST_LINE, EPOCH + 99 * S, b"x")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (ETHERNET, "has packets of another capture, of link type 1"),
        (SHORT, "has bytes of a line without their header"),
    ],
)
def test_packets_of_another_capture_are_named(run_file: Path, more: bytes, fault: str) -> None:
    run_file.write_bytes(run_file.read_bytes() + more)
    assert fault in fault_of(run_file)


@pytest.mark.parametrize(
    "words", ["convert run.pcapng -", "plot run.pcapng", "diff run.pcapng whole.pcapng"]
)
def test_who_reads_up_to_a_fault_names_it_at_the_end(
    words: str, run_file: Path, hilgw: Command
) -> None:
    run_file.with_name("whole.pcapng").write_bytes(run_file.read_bytes())
    run_file.write_bytes(run_file.read_bytes() + SHORT)
    code, out, err = hilgw(*words.split())
    assert (code, err.count("\n")) == (1, 1) and out
    assert "has bytes of a line without their header" in err


def test_a_file_with_other_times_is_read_from_any_time_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Microseconds, as other programs write them: a place is not searched by nanoseconds."""
    monkeypatch.setattr("hilgw.record.recording.NEAR", 4096)
    writer, note = Writer({}, [], EPOCH), {"event": "notice", "source": "a", "text": ""}
    begin = writer.begin(0)
    coarse = [encode(Interface(147 + at, name)) for at, name in enumerate(("medium", "events"))]
    begin = begin[: int.from_bytes(begin[4:8], "little")]  # of the section alone
    text = json.dumps({"event": "head", "version": 1, "epoch_ns": EPOCH}).encode()
    head = encode_packet(EVENTS, EPOCH // 1000, text)
    micro = [each.replace(b"\x09\0\1\0\x09", b"\x09\0\1\0\x06") for each in coarse]
    notes = [
        encode_packet(EVENTS, (EPOCH + at * S) // 1000, json.dumps(note).encode())
        for at in range(1000)
    ]
    path = tmp_path / "run.pcapng"
    path.write_bytes(b"".join([begin, *micro, head, *notes]))
    seconds = [each["time_ns"] // S for each in Recording(path).events(900.0, 903.0)]
    assert seconds == [900, 901, 902, 903]
