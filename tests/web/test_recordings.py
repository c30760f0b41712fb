"""The files of the page Recordings, and its HTML."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hilgw.view.gateway import GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages import recordings
from hilgw.web.pages.recordings import File, files_in, files_of, opened, pieces, running


def folder_with(path: Path, *names: str) -> Path:
    path.mkdir()
    for number, name in enumerate(names):
        (path / name).write_bytes(b"x" * (number + 1))
        os.utime(path / name, (number, number))
    return path


def test_the_newest_recordings_come_first_and_nothing_else(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng", "b.txt", ".c.pcapng", "d e.pcapng", "f.pcapng")
    (folder / "link.pcapng").symlink_to(folder / "b.txt")
    (folder / "folder.pcapng").mkdir()
    assert files_of(str(folder)) == [File("f.pcapng", 5, 4.0), File("a.pcapng", 1, 0.0)]
    assert files_of(str(tmp_path / "none")) == []


OTHERS = ("link.pcapng", "folder.pcapng", "pipe.pcapng", "../b.pcapng", "b.txt", "", ".pcapng")


@pytest.mark.parametrize("name", [*OTHERS, "no.pcapng"])
def test_no_other_file_is_opened(tmp_path: Path, name: str) -> None:
    folder = folder_with(tmp_path / "r", "b.txt")
    folder_with(tmp_path / "s", "b.pcapng")
    (folder / "link.pcapng").symlink_to(tmp_path / "s" / "b.pcapng")
    (folder / "folder.pcapng").mkdir()
    os.mkfifo(folder / "pipe.pcapng")
    assert opened(str(folder), name) is None


@given(st.text(max_size=20))
def test_a_name_of_a_stranger_leads_nowhere(name: str) -> None:
    assert opened("/", name) is None
    assert opened("/", f"../{name}.pcapng") is None


EVIL = "<img src=x onerror=alert(1)>"


def view_of(folder: Path, config: str = "/lab/arm.yaml", **running: Path) -> GatewayView:
    """A gateway that records to this folder; running: the files, by name."""
    view = Bench(lambda: 0).opened(f"/run/{config}.sock", config, 11)
    known = {"bytes": 5, "lost": 3, "error": ""}
    files = {name: {"file": str(path), **known} for name, path in running.items()}
    view.set_status({"recordings": {"folder": str(folder), "running": files}}, 0)
    return view


def test_what_runs_has_the_present_size_and_a_button_for_those_who_may(tmp_path: Path) -> None:
    file = tmp_path / "own.pcapng"
    file.write_bytes(b"x" * 62_000_000)
    view = view_of(tmp_path / "kept", own=file, gone=tmp_path / "gone", **{EVIL: file})
    html = running(view, may_end=True)
    assert "<td>62.0 MB</td>" in html
    assert 'data-name="own" aria-label="End own"' in html
    assert html.count("<button") == 3
    assert "<img" not in html
    assert "<button" not in running(view, may_end=False)
    file.write_bytes(b"x" * 1500)
    assert "<td>1.5 kB</td>" in running(view, may_end=True)


def test_the_files_of_a_folder_are_listed_with_its_gateways_and_what_runs(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng", "b.pcapng")
    elsewhere = tmp_path / "a.pcapng"
    views = [view_of(folder, a=elsewhere), view_of(folder, "/lab/leg.yaml", b=folder / "b.pcapng")]
    html = files_in(str(folder), views, links=True)
    assert "folder of arm, leg:" in html
    assert html.count("<a ") == 2
    rows = re.findall("<tr>(.*?)</tr>", html)[1:]
    assert ["running" in each for each in rows] == [True, False]  # of the same name elsewhere
    assert "<a " not in files_in(str(folder), views, links=False)


def test_a_recording_that_grows_is_sent_as_it_was(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng")
    path = folder / "a.pcapng"
    path.write_bytes(os.urandom(2 * recordings.PIECE_BYTES + 5))
    before = path.read_bytes()
    found = opened(str(folder), "a.pcapng")
    assert found is not None
    with path.open("ab") as more:
        more.write(b"later")
    assert b"".join(pieces(*found)) == before
    found = opened(str(folder), "a.pcapng")
    assert found is not None
    path.write_bytes(b"short")
    assert b"".join(pieces(*found)) == b"short"
