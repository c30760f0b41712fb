"""The frames of a recording are those that `hilgw watch --frames` shows of the run."""

from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.frames import decoders_of, with_frames
from hilgw.cli.main import main
from hilgw.config.shipped import found
from hilgw.engine.observer import FrameEvent, Observer
from hilgw.record.recording import Recording
from tests.assemble.test_replays import run
from tests.golden.running import links
from tests.view.samples import recorded as made

Shown = tuple[str, str, str, str]


class Seen(Observer):
    def __init__(self) -> None:
        self.frames: list[Shown] = []

    def frame(self, event: FrameEvent) -> None:
        text = event.describe(event.data)
        self.frames.append((event.station, str(event.direction), event.data.hex(), text))


def recorded(config: str, path: Path) -> tuple[list[Shown], dict[str, Any]]:
    """The frames of a run of this configuration, and the head of its recording."""
    path_of = found(config)
    options = ["--set", "backend=loopback", *(f"--set={each}" for each in links(path_of))]
    head = {"configuration": Path(path_of).read_text(), "arguments": ["run", *options]}
    run(config, record=path, head=head, seen=(seen := Seen()), seconds=2.0)
    return seen.frames, head


@pytest.mark.parametrize("config", ["uart", "xbee-digimesh", "ir_toy", "hc12", "rylr998", "text"])
def test_frames_are_those_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    path = tmp_path / "a.pcapng"
    live, head = recorded(config, path)
    events = with_frames(Recording(path).events(), decoders_of(head, "a"))
    shown = [
        (each["station"], each["direction"], each["data"], each["text"])
        for each in events
        if each["event"] == "frame"
    ]
    assert main(["show", str(path), live[0][0], "--frames"]) == 0
    assert f"| {live[0][3]}" in capsys.readouterr().out
    assert main(["show", str(path), "rover", "--frames"]) == 1
    assert "rover has no frames" in capsys.readouterr().err
    assert {each[1] for each in live} == {"sent", "received"}
    for station in {each[0] for each in live}:
        those = [[each for each in all if each[0] == station] for all in (shown, live)]
        assert those[0] == those[1]


def test_frames_of_a_run_on_another_machine_need_no_file_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pcapng"
    robot = "robots: {a: {body: {kind: wc2ec, connect: 'tcp://127.0.0.1:1', simulated: true}, "
    text = f"version: 1\n{robot}controller: {{kind: python, file: of_that_machine.py}}}}}}\n"
    uart = "adapters: {uart0: {kind: uart, port: /dev/null, framing: cobs}}\n"
    shown = {"event": "bytes", "part": "uart0", "direction": "received", "data": "026100"}
    ports = [{"event": "port", "name": "uart0", "state": "up", "reason": ""}]
    made(path, *ports, shown, configuration=text + uart)
    assert main(["show", str(path), "uart0", "--frames"]) == 0
    assert "<- 02 61 00" in capsys.readouterr().out
