"""hilgw accepts the examples of docs/semantics.md."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.client.connection import ask
from hilgw.config.load import load_config, load_text
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import Observer
from hilgw.medium.mocap import decode
from hilgw.medium.pose import Pose
from tests.docs.reading import pages
from tests.e2e.running import run

PAGE = pages("semantics", "emitter-receiver", "medium", "poses")


def test_the_configuration_it_shows(tmp_path: Path) -> None:
    _, shown = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    header = re.search(r"lines `(time_s,[\w,]+)`", PAGE)
    assert header
    (tmp_path / "poses.csv").write_text(f"{header[1]}\n# a comment\n0,drone,0,0,1,0,0,0,1\n")
    (tmp_path / "c.yaml").write_text("version: 1\n" + shown)
    loaded = load_config(str(tmp_path / "c.yaml"))
    assert loaded.warnings == []
    assert set(loaded.config.obstacles) == {"wall", "turret"}


@pytest.mark.process
def test_the_page_begins_with_an_example_and_its_output(tmp_path: Path) -> None:
    assert PAGE.index("## An example") < PAGE.index("| case |")
    file = tmp_path / "example.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    command = re.search(r"`hilgw --config FILE (.*?)` prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert command
    done = run("--config", str(file), *command[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("ready\n")[1].split("summary")[0] == command[2]
    lines = [line.split()[:2] for line in command[2].splitlines()]
    assert lines[:2] == [["0.032", "rover.tx"], ["0.064", "truck.rx"]]


def test_the_example_without_steps() -> None:
    """25 ms for the first packet, as in the text."""
    (shown, _) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    config = load_text(shown, "f").config
    field = config.robots["rover"].devices["tx"]
    payload = config.robots["rover"].controller.settings.payload.format(n=1)
    assert len(payload) * field.byteSize * 1000 / field.baudRate == 25


def test_the_datagram_it_shows() -> None:
    (shown,) = re.findall(r'^    (\{"rover".*\})$', PAGE, re.MULTILINE)
    assert decode(shown.encode()) == {"rover": Pose((1.0, 2.0, 0.0)), "wall": None}


def test_the_request_it_shows(tmp_path: Path) -> None:
    (shown,) = re.findall(r'`(\{"do": "place".*?\})`', PAGE, re.DOTALL)
    request = json.loads(shown)
    config = load_text(
        "version: 1\nrobots: {rover: {devices: {tx: {node: Emitter}}}}\n", "f"
    ).config

    async def place() -> Pose | None:
        gateway = build(config, asyncio.get_running_loop(), Observer())
        server = ControlServer(gateway, str(tmp_path / "control"))
        await server.start()
        try:
            answer = await asyncio.to_thread(ask, tmp_path / "control", request)
            assert answer == {"ok": True}
            return gateway.scene.pose_of(request["object"])
        finally:
            await server.close()
            gateway.close()

    assert asyncio.run(place()) is not None
