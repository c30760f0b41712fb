"""`hilgw check`: every file, every error, exit code 3."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw.cli.main import main

ROOT = Path(__file__).parents[4]
SHIPPED = str(ROOT / "configs" / "xbee.yaml")

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


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    file = tmp_path / "wrong.yaml"
    file.write_text("version: 1\nadapters:\n  a: {kind: xbee, chanel: 12}\n")
    return str(file)


def test_a_good_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SHIPPED]) == 0
    assert capsys.readouterr() == (f"{SHIPPED}: ok\n", "")


def test_all_files_and_all_errors(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    missing = wrong + ".none"
    assert main(["check", wrong, SHIPPED, missing]) == 3
    out, err = capsys.readouterr()
    assert out == f"{SHIPPED}: ok\n"
    assert err.splitlines() == [
        f"{wrong}:3:3: adapters.a.port: missing; "
        "write `port: /dev/serial/by-id/usb-Digi_XBee-if00-port0`",
        f"{wrong}:3:19: adapters.a.chanel: unknown key; did you mean 'channel'?",
        f"{missing}: no such file; `hilgw example` lists the shipped ones",
    ]


def test_warnings_change_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("version: 1\nrobots: {r: {devices: {e: {node: Emitter, maxRange: 1}}}}\n")
    assert main(["check", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{file}: ok\n"
    assert err.startswith(f"{file}:2:")
    assert "warning: robots.r.devices.e: range -1 is beyond maxRange" in err


def test_json(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    assert main(["check", "--json", wrong, SHIPPED]) == 3
    out, err = capsys.readouterr()
    assert err == ""
    first, second = json.loads(out)["files"]
    assert second == {"file": SHIPPED, "ok": True, "errors": [], "warnings": []}
    assert (first["file"], first["ok"], len(first["errors"])) == (wrong, False, 2)
    assert first["errors"][1] == {
        "file": wrong,
        "line": 3,
        "column": 19,
        "path": "adapters.a.chanel",
        "message": "unknown key",
        "fix": "did you mean 'channel'?",
        "severity": "error",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", SHIPPED, "--set", "adapters.xbee0.channel=13x", "--backend", "real"],
        ["--set", "adapters.xbee0.channel=13x", "check", SHIPPED],
    ],
)
def test_options_of_a_run(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 3
    assert "--set adapters.xbee0.channel=13x: adapters.xbee0.channel: " in capsys.readouterr().err


def test_odd_names_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "a\nb\x1b[31m"]) == 3
    assert "\x1b" not in capsys.readouterr().err


def test_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check"])
    assert caught.value.code == 2
    assert "FILE" in capsys.readouterr().err


@pytest.mark.process
def test_a_check_imports_and_builds_what_the_file_uses() -> None:
    command = [sys.executable, "-c", NEEDED, SHIPPED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    modules, schemas = json.loads(done.stdout.splitlines()[-1])
    assert {"hilgw.adapters.xbee", "firmware_mocks.xbee.settings"} <= set(modules)
    assert not UNNEEDED & set(modules)
    assert {"adapter xbee", "controller beacon", "Emitter", "Receiver"} <= set(schemas)
    assert not {"adapter uart", "controller wc2ec", "DistanceSensor", "LED"} & set(schemas)


def test_settings_that_zenoh_refuses_are_found_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("version: 1\nfederation:\n  name: bench\n  zenoh: {scouting: {nonsense: 1}}\n")
    for command in ("check", "run"):
        assert main([command, str(file)]) == 3
        assert capsys.readouterr().err == (
            f"{file}:4:32: federation.zenoh.scouting.nonsense: Zenoh refuses scouting/nonsense: "
            "unknown key; see Zenoh's DEFAULT_CONFIG.json5 for its settings\n"
        )
