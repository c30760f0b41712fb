"""Names and times that a recording does not have: refused by `hilgw show` and `hilgw plot`."""

from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.record.events import Writer
from tests.view.samples import sample

S = 10**9


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    head = {"topology": {"robots": {"idle": ["tx"]}, "stations": {"uart0": None}, "mocks": []}}
    write, path = Writer(head, [], 0), tmp_path / "run.pcapng"
    events = [
        sample("value", robot="rover", device="gps", time_ns=S),
        sample("command", robot="rover", device="left", time_ns=2 * S),
        sample("port", name="xbee0", time_ns=3 * S),
    ]
    path.write_bytes(write.begin(0) + b"".join(map(write.encode, events)))
    return path


@pytest.mark.parametrize("command", [["show"], ["show", "--csv"], ["show", "--to", "1s"], ["plot"]])
@pytest.mark.parametrize("names", [["rover.gpx"], ["rover", "rover.gpx"]])
def test_an_unknown_name_is_refused_before_anything_is_printed(
    command: list[str], names: list[str], recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(recorded), *names, *command[1:]]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "nothing here has the name 'rover.gpx'; did you mean 'rover.gps'?" in printed.err
    assert [*recorded.parent.iterdir()] == [recorded]


@pytest.mark.parametrize(
    "name", ["rover", "rover.left", "rover.remote.left", "xbee0", "idle", "idle.tx", "uart0"]
)
def test_a_known_name_may_have_nothing_to_show(name: str, recorded: Path) -> None:
    assert main(["show", str(recorded), name, "--lost"]) == 0


def test_a_begin_after_the_end_is_refused(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(recorded), "--from", "10s", "--to", "1s"]) == 2
    assert "--from 10 s is after --to 1 s" in capsys.readouterr().err
    assert main(["show", str(recorded), "--from", "2s", "--to", "2s"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_a_picture_of_a_robot_has_its_devices(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", str(recorded), "rover"]) == 0
    assert capsys.readouterr().out.endswith("run.png: rover.gps, rover.remote.left\n")


def test_diff_names_the_key_that_no_word_has(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write, other = Writer({}, [], 0), tmp_path / "other.pcapng"
    first, second = (sample("packet", type=kind, time_ns=S) for kind in ("radio", "serial"))
    recorded.write_bytes(write.begin(0) + write.encode(first))
    other.write_bytes(write.begin(0) + write.encode(second))
    assert main(["diff", str(recorded), str(other)]) == 1
    shown = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()[1:]]
    words = 'ch 5   "0101" 4 B  2 dBm  not received: out of range; not xbee0 (range)'
    assert shown == [f"{words}; type radio", f"{words}; type serial"]
