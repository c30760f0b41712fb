"""A real XBee, without changes of its settings: `tools/test tests/real --xbee /dev/ttyUSB0`."""

import json
from pathlib import Path
from typing import Any

import pytest
from digi.xbee.devices import XBeeDevice

from tests.e2e.running import report_of, run

CONFIG = """
version: 1
robots:
  rover:
    devices:
      tx: {{node: Emitter, type: radio, channel: {channel}}}
    controller: {{kind: beacon, emitter: tx, period_ms: 200, payload: "ping {{n}}"}}
adapters:
  module: {{kind: xbee, port: {port}, baudRate: {baudRate}, channel: {channel}}}
"""


@pytest.fixture
def found(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What `hilgw scan` reports of it."""
    port = str(Path(request.config.getoption("--xbee")).absolute())
    done = run("scan", port, "--kind", "xbee", "--json", "--no-network", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first: dict[str, Any] = json.loads(done.stdout)[0]
    assert first["problem"] == "", first
    return first


def test_digi_xbee_finds_the_same_module(found: dict[str, Any]) -> None:
    device = XBeeDevice(found["port"], found["baudRate"])
    device.open()
    try:
        assert str(device.get_64bit_addr()) in found["identity"]
    finally:
        device.close()


def test_a_robot_sends_through_it(found: dict[str, Any], tmp_path: Path) -> None:
    channel = int(found["identity"].split(" CH ")[1].split()[0], 16)
    config = tmp_path / "xbee.yaml"
    config.write_text(CONFIG.format(**found, channel=channel))
    report = report_of(tmp_path, "--config", str(config), "--duration", "3s")
    assert report["ports"]["module"]["ups"] == 1
    assert found["identity"] in report["ports"]["module"]["identity"]
    station = report["stations"]["module"]
    assert station["delivered"] + sum(station["refused"].values()) >= 5
