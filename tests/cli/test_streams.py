"""Output that cannot be written: one message and an exit code, never a traceback."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw.cli.output import files
from hilgw.errors import HilgwError

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
COMMANDS = ["--version", "--help", "example", "mock --list", "adapters", "ports --json"]


def sh(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a shell script with the command hilgw."""
    return subprocess.run(
        ["/bin/sh", "-c", f'hilgw() {{ "$python" -m hilgw "$@"; }}\n{script}'],
        cwd=folder,
        env=os.environ | {"python": sys.executable, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command: str, tmp_path: Path) -> None:
    done = sh(f"hilgw {command} >/dev/full", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hilgw: cannot write: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_closed_by_who_starts_us(closed: str, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    done = sh(f"hilgw check one.yaml {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_files_are_looked_at_before_the_start(tmp_path: Path) -> None:
    for path, expected in {
        "": "directory",
        str(tmp_path): "directory",
        "/none/x": "folder",
    }.items():
        with pytest.raises(HilgwError, match=expected):
            files.expect(path)
    files.expect(str(tmp_path / "new"))
    assert list(tmp_path.iterdir()) == []
    done = sh("hilgw --config none.yaml --report /none/x.json", tmp_path)
    assert done.returncode == 3  # the configuration is looked at first
    (tmp_path / "one.yaml").write_text("version: 1\n")
    done = sh("hilgw -q --config one.yaml --ready-file /none/x", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hilgw: /none/x: cannot write: no such folder; make the folder")


def test_only_files_and_dead_links_are_cleared(tmp_path: Path) -> None:
    old, link, fifo = tmp_path / "old", tmp_path / "link", tmp_path / "fifo"
    old.write_text("1")
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(fifo)
    for path in (old, link, fifo):
        files.clear(str(path))
    assert list(tmp_path.iterdir()) == [fifo]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
