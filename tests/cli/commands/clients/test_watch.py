"""`hilgw watch` into a pipe: which events each combination of its options prints."""

import json
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.control_socket.listener import control_folder
from hilgw.protocols.gateway.messages import VERSION
from tests.cli.conftest import Command
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
def folder(hilgw: Command) -> Path:
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
def test_the_options_choose_events(options: str, names: str, folder: Path, hilgw: Command) -> None:
    with peer(folder / "a.sock", answer):
        code, out, _ = hilgw("watch", "--json", *options.split())
    assert code == 0
    assert list(map(json.loads, out.splitlines())) == [EVENTS[name] for name in names.split()]


FRAME, BYTES, LOST = "uart0,sent,hex:01,", "uart0,sent,hex:02,", "rover.tx,range,hex:706f6e67,"
REFUSED = ["rover.left,velocity refused,9.0,rad/s", "rover.left,velocity applied,4.0,rad/s"]


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("--frames", [FRAME]),
        ("--bytes", [BYTES]),
        ("--frames --lost", [FRAME, LOST]),
        ("--lost", [*REFUSED, LOST]),
    ],
)
def test_csv_has_the_lines_and_losses_that_are_asked_for(
    options: str, rows: list[str], folder: Path, hilgw: Command
) -> None:
    with peer(folder / "a.sock", answer):
        code, out, _ = hilgw("watch", "--csv", *options.split())
    assert code == 0
    assert [line.split(",", 3)[3] for line in out.splitlines()[1:]] == rows


def test_frames_of_what_has_none_are_refused(folder: Path, hilgw: Command) -> None:
    with peer(folder / "a.sock", answer):
        code, _, error = hilgw("watch", "uart0", "rover.body", "--frames")
    assert code == 1 and "rover.body has no frames" in error
    assert "hilgw watch rover.body --bytes" in error
