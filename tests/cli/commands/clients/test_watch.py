"""`hilgw watch` into a pipe: which events each combination of its options prints."""

import json
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.main import main
from hilgw.engine.control_socket.listener import control_folder
from hilgw.protocols.gateway.messages import VERSION
from tests.cli.output.test_live_table import command, event, packet, value
from tests.client.several import peer

EVENTS = {
    "value": value(1.0),
    "sent": command(6.0, 4.0),
    "refused": command(9.0, 4.0, "refused"),
    "frame": event("frame", station="uart0", direction="sent", data="01", text="one"),
    "bytes": event("bytes", part="uart0", direction="sent", data="02"),
    "received": packet(b"ping"),
    "lost": packet(b"pong", received_by=[], not_received="range"),
    "port": event("port", name="uart0", state="up", reason=""),
}
LOSSES = ("refused", "lost")


def answer(request: dict[str, Any]) -> bytes:
    """A gateway with the station uart0 and the robot rover, and one event of each kind."""
    found = [] if request["do"] == "watch" else request["names"]
    if request.get("kind") == "hardware station":
        found = [name for name in found if name == "uart0"]
    kinds, is_lost = request.get("kinds"), request.get("lost")
    taken = [
        each
        for name, each in EVENTS.items()
        if request["do"] == "watch" and each["event"] in kinds and (not is_lost or name in LOSSES)
    ]
    lines = [{"ok": True, "version": VERSION, "found": found, "fix": ""}, *taken]
    return "".join(f"{json.dumps(each)}\n" for each in lines).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return control_folder()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("uart0 --frames", "frame port"),
        ("uart0 --frames --lost", "frame lost port"),
        ("--bytes --lost", "bytes lost port"),
        ("--lost", "refused lost"),
        ("", "sent refused received lost port"),
        ("rover", "value sent refused bytes received lost port"),
    ],
)
def test_the_options_choose_events(
    options: str, names: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with peer(folder / "a.sock", answer):
        assert main(["watch", "--json", *options.split()]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert shown == [EVENTS[name] for name in names.split()]


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("--frames", ["uart0,sent,hex:01,"]),
        ("--bytes", ["uart0,sent,hex:02,"]),
        ("--frames --lost", ["uart0,sent,hex:01,", "rover.tx,range,hex:706f6e67,"]),
        (
            "--lost",
            [
                "rover.left,velocity refused,9.0,rad/s",
                "rover.left,velocity applied,4.0,rad/s",
                "rover.tx,range,hex:706f6e67,",
            ],
        ),
    ],
)
def test_csv_has_the_lines_and_losses_that_are_asked_for(
    options: str, rows: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with peer(folder / "a.sock", answer):
        assert main(["watch", "--csv", *options.split()]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(",", 3)[3] for line in printed[1:]] == rows


def test_frames_of_what_has_none_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with peer(folder / "a.sock", answer):
        assert main(["watch", "uart0", "rover.body", "--frames"]) == 1
    error = capsys.readouterr().err
    assert "rover.body has no frames" in error and "hilgw watch rover.body --bytes" in error
