"""docs/record.md: each of its commands, beside the gateway that it names and after it."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from hilgw.cli.parser import parse
from tests.docs.reading import blocks, pages
from tests.e2e.running import COMMAND, Gateway, environment, in_process, run_program, wait_until

PAGE = pages("record", "replay", "twin")


def commands(page: str) -> list[str]:
    """The commands of its consoles."""
    return [
        line[2:]
        for block in blocks("text", pages(page))
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def run(command: str, folder: Path) -> tuple[int, str]:
    program, *words = shlex.split(command)
    if program == "hilgw" and "--record" not in words:
        code, out, err = in_process(*words, cwd=folder)
    else:
        before = {"hilgw": COMMAND, "pytest": [sys.executable, "-m", "pytest"]}
        more = ["--speed", "max"] if program == "hilgw" else []  # the same, in less time
        done = run_program(*before.get(program, [program]), *words, *more, cwd=folder)
        code, out, err = done.returncode, done.stdout, done.stderr
    assert "Traceback" not in err
    return code, out


@pytest.mark.process
@pytest.mark.judge("tshark")
def test_commands_do_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, record, note, end, *reading, live = commands("record")
    reading += commands("twin")
    monkeypatch.setattr(os, "environ", os.environ | environment(tmp_path))
    with Gateway(tmp_path, [*shlex.split(begin)[1:], "--quiet"]) as gateway:
        answers = [run(each, tmp_path) for each in (record, note, end)]
        wait_until(lambda: gateway.report()["stations"]["rover.rx"]["delivered"] > 1, "packets")
    shown = [line for line in PAGE.splitlines() if line.startswith(("recording /", "recorded /"))]
    assert [out for _, out in answers if out] == [
        line.replace("/home/me", str(tmp_path)) + "\n" for line in shown
    ]
    outputs = {each: run(each, tmp_path) for each in reading}
    differs = next(each for each in reading if " diff " in each)
    assert {each: code for each, (code, _) in outputs.items() if code} == {differs: 1}
    everything, lines, lost, *_ = (out for _, out in outputs.values())
    assert "note             antenna turned" in everything
    assert '"ping 1" 6 B  -> uart0' in everything
    assert set(re.findall(r" (uart0) +(->|<-)", lines)) == {("uart0", "->"), ("uart0", "<-")}
    assert lost == ""
    made = {path.name for path in tmp_path.iterdir()}
    assert {"csv", "run.mcap", "run.jsonl", "run.png", "recordings"} <= made
    lines, events, modbus = (outputs[each][1] for each in reading if each.startswith("tshark"))
    assert "RTAC" in lines
    assert len(events.splitlines()) == 1 and "JavaScript Object Notation" in events
    assert "Modbus RTU" in modbus and "RTAC" not in modbus
    assert parse(shlex.split(live.partition(" | ")[0])[1:]).pcapng  # runs in e2e/test_record.py


CAPTURE_PAGE = pages("replay")
PART = CAPTURE_PAGE.partition("## From a fault to a failing test")[2].partition("\n## ")[0]
COMMANDS = [line[2:] for block in blocks("console", PART)
            for line in block.splitlines()]  # fmt: skip


@pytest.mark.process
def test_a_fault_becomes_a_test_that_fails(tmp_path: Path) -> None:
    results = [run(each, tmp_path) for each in COMMANDS]
    codes = [code for code, _ in results]
    assert codes == [0, 0, 0, 0, 0, 1], results
    assert "b'a mended ping'" in results[-1][1] and "b'ping 2'" in results[-1][1]
    written = (tmp_path / "test_fault.py").read_text()
    shown = blocks("python", PART)[0]
    lines = [line for line in shown.splitlines() if "ping" not in line]
    assert [line for line in lines if line.strip() and line not in written] == []
