"""A folder in the temporary folder ends with its process, or with the next one."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hilgw.transports.own_folder import PREFIX, OwnFolder

OWNER = """
import signal
from hilgw.transports.own_folder import OwnFolder
own = OwnFolder()
(own.path / "port").symlink_to("/proc/1/fd/1")
print(own.path, flush=True)
signal.pause()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.mark.process
def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_live_one_stays(
    temporary: Path,
) -> None:
    command = [sys.executable, "-c", OWNER]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as live,
    ):
        try:
            assert killed.stdout is not None and live.stdout is not None
            dead, alive = (Path(each.stdout.readline().strip()) for each in (killed, live))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert dead.is_dir()
            own = OwnFolder()
            assert sorted(temporary.iterdir()) == sorted([alive, own.path])
            own.close()
            assert list(temporary.iterdir()) == [alive]
        finally:
            killed.kill()
            live.kill()


def test_no_other_folder_and_no_target_of_a_link_is_removed(temporary: Path) -> None:
    kept = temporary / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (temporary / "hilgw-run-link").symlink_to(kept)
    (temporary / "hilgw-0").mkdir()
    (temporary / "hilgw-0" / "1.sock").touch()
    own = OwnFolder()
    assert (kept / "file").exists()
    assert (temporary / "hilgw-0" / "1.sock").exists()
    own.close()


def test_a_folder_that_its_owner_removes_meanwhile_is_left_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = temporary / f"{PREFIX}going"
    going.mkdir()
    (going / "port").touch()
    scan = os.scandir

    def removed_first(path: Any) -> Any:
        if str(path) == str(going):  # a descriptor while it is removed
            shutil.rmtree(going)
        return scan(path)

    monkeypatch.setattr("os.scandir", removed_first)
    OwnFolder().close()
    assert not going.exists()
    assert list(temporary.iterdir()) == []
