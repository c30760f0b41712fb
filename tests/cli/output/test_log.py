"""--log: every event and line with the time of day; a log that fails ends with one notice."""

from __future__ import annotations

import io
import re
from datetime import datetime
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.cli.output.terminal import Terminal, log_terminal, open_log
from hilgw.engine.observer import Observers, State
from hilgw.errors import HilgwError


def test_a_run_is_logged_with_the_time_of_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    log = tmp_path / "run.log"
    log.write_text("before\n")
    words = [
        "xbee",
        "--speed",
        "max",
        "--duration",
        "9s",
        "--set",
        "airs.lab.nodes.spare.link=null",
    ]
    assert main(["-c", *words, "-q", "--log", str(log)]) == 0
    first, *lines = log.read_text().splitlines()
    assert first == "before"
    for line in lines:
        datetime.fromisoformat(line.partition("  ")[0])
    text = "\n".join(lines)
    for part in ("ready", "xbee0        up", '"ping 1"', "delivered", "the ledger adds up"):
        assert part in text, part
    assert '"ping 1"' not in capsys.readouterr().out  # quiet on the screen


def test_a_log_that_cannot_be_opened_ends_before_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(tmp_path / "no" / "run.log")
    with pytest.raises(HilgwError, match="cannot write"):
        open_log(log)
    assert main(["-c", "xbee", "--log", log]) == 1
    shown = capsys.readouterr()
    assert log in shown.err and "up" not in shown.out


class Full(io.StringIO):
    """A file on a full disk."""

    name = "run.log"

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_on_a_full_disk_ends_with_one_notice() -> None:
    out = io.StringIO()
    screen = Terminal(out)
    both = Observers(screen, log_terminal(Full(), screen))
    for number in range(10):
        both.state("xb0", State.UP, f"{number}")
        both.notice("xb0", "more")
    assert (
        len(re.findall("run.log: No space left on device; the log ends here", out.getvalue())) == 1
    )
    assert out.getvalue().count("xb0") == 20
