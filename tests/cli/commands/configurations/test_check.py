"""`hilgw check`: every file, every error, exit code 3."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

ROOT = Path(__file__).parents[4]
SHIPPED = str(ROOT / "configs" / "xbee.yaml")
SET = "adapters.xbee0.channel=13x"

# Modules that a check of an XBee on mocks does not need; they take a third of its time.
UNNEEDED = {
    "asyncio",
    "firmware_mocks.air",
    "firmware_mocks.xbee.module",
    "hashlib",
    "hilgw.adapters._common.framed_line",
    "hilgw.adapters._common.routes",
    "hilgw.adapters.base",
    "hilgw.adapters.xbee.session",
    "hilgw.config.diagnose",
    "hilgw.control.events",
    "hilgw.control.safety",
    "hilgw.devices.kinds",
    "hilgw.medium.obstacles",
    "hilgw.medium.packet",
    "hilgw.protocols",
    "pydantic",
    "random",
    "serial",
    "textwrap",
}

NEEDED = """
import json, sys
schemas = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "parts_schema":
        schemas.add(frame.f_locals["title"])
from hilgw.__main__ import main
sys.argv = ["hilgw", "check", sys.argv[1]]
sys.setprofile(note)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(json.dumps([sorted(sys.modules), sorted(schemas)]))
"""

WRONG = "version: 1\nadapters:\n  a: {kind: xbee, chanel: 12}\n"


def test_all_files_and_all_errors(hilgw: Command) -> None:
    Path("wrong.yaml").write_text(WRONG)
    warned = "version: 1\nrobots: {r: {devices: {e: {node: Emitter, maxRange: 1}}}}\n"
    Path("warned.yaml").write_text(warned)
    code, out, err = hilgw(
        "check", "wrong.yaml", SHIPPED, "none.yaml", "warned.yaml", "a\nb\x1b[31m"
    )
    assert (code, out) == (3, f"{SHIPPED}: ok\nwarned.yaml: ok\n")
    lines = err.splitlines()
    assert lines[:3] == [
        "wrong.yaml:3:3: adapters.a.port: missing; "
        "write `port: /dev/serial/by-id/usb-Digi_XBee-if00-port0`",
        "wrong.yaml:3:19: adapters.a.chanel: unknown key; did you mean 'channel'?",
        "none.yaml: no such file; `hilgw example` lists the shipped ones",
    ]
    assert "warned.yaml:2:" in err
    assert "warning: robots.r.devices.e: range -1 is beyond maxRange" in err
    assert all(line.isprintable() for line in lines)
    assert hilgw("check", SHIPPED) == (0, f"{SHIPPED}: ok\n", "")
    code, _, err = hilgw("check")
    assert code == 2 and "FILE" in err
    for words in (
        ["check", SHIPPED, "--set", SET, "--backend", "real"],
        ["--set", SET, "check", SHIPPED],
    ):
        code, _, err = hilgw(*words)
        assert code == 3 and f"--set {SET}: adapters.xbee0.channel: " in err


DOUBTFUL = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {node: Emitter, type: radio}
adapters:
  arduino: {kind: uart, port: COM3, baudRate: 9601}
"""
REACHES_NOTHING = "radio, channel 0: reaches no hardware and no other robot; arduino is serial"


@pytest.mark.parametrize("words", ["a.yaml --duration 1ms", "check a.yaml", "explain a.yaml"])
def test_warnings_are_shown(words: str, hilgw: Command) -> None:
    Path("a.yaml").write_text(DOUBTFUL)
    _, out, err = hilgw(*words.split())
    shown = " ".join((err + out).split())
    for warning in (REACHES_NOTHING, "did you mean 9600?", "is the name of a port on Windows"):
        assert warning in shown


def test_json(hilgw: Command) -> None:
    Path("wrong.yaml").write_text(WRONG)
    code, out, err = hilgw("check", "--json", "wrong.yaml", SHIPPED)
    assert (code, err) == (3, "")
    first, second = json.loads(out)["files"]
    assert second == {"file": SHIPPED, "ok": True, "errors": [], "warnings": []}
    assert (first["file"], first["ok"], len(first["errors"])) == ("wrong.yaml", False, 2)
    assert first["errors"][1] == {
        "file": "wrong.yaml",
        "line": 3,
        "column": 19,
        "path": "adapters.a.chanel",
        "message": "unknown key",
        "fix": "did you mean 'channel'?",
        "severity": "error",
    }


@pytest.mark.process
def test_a_check_imports_and_builds_what_the_file_uses() -> None:
    command = [sys.executable, "-c", NEEDED, SHIPPED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    modules, schemas = json.loads(done.stdout.splitlines()[-1])
    assert {"hilgw.adapters.xbee", "firmware_mocks.xbee.settings"} <= set(modules)
    assert not UNNEEDED & set(modules)
    assert {"adapter xbee", "controller beacon", "Emitter", "Receiver"} <= set(schemas)
    assert not {"adapter uart", "controller wc2ec", "DistanceSensor", "LED"} & set(schemas)


@pytest.mark.parametrize("command", ["check", "run"])
def test_settings_that_zenoh_refuses_are_found_where_they_are(hilgw: Command, command: str) -> None:
    text = "version: 1\nfederation:\n  name: bench\n  zenoh: {scouting: {nonsense: 1}}\n"
    Path("f.yaml").write_text(text)
    code, _, err = hilgw(command, "f.yaml")
    assert code == 3 and err == (
        "f.yaml:4:32: federation.zenoh.scouting.nonsense: Zenoh refuses scouting/nonsense: "
        "unknown key; see Zenoh's DEFAULT_CONFIG.json5 for its settings\n"
    )
