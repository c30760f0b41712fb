"""The files of the page Recordings, and its HTML."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hilgw.web.pages.recordings import PIECE_BYTES, File, files_of, opened, pieces


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


@pytest.mark.parametrize(
    "name",
    [
        "link.pcapng",
        "folder.pcapng",
        "pipe.pcapng",
        "../b.pcapng",
        "b.txt",
        "",
        ".pcapng",
        "no.pcapng",
    ],
)
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


def test_a_recording_that_grows_is_sent_as_it_was(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng")
    path = folder / "a.pcapng"
    path.write_bytes(os.urandom(2 * PIECE_BYTES + 5))
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
