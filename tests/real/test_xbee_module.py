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
def module(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What `hilgw scan` reports of it."""
    port = str(Path(request.config.getoption("--xbee")).absolute())
    done = run("scan", port, "--kind", "xbee", "--json", "--no-network", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first: dict[str, Any] = json.loads(done.stdout)[0]
    assert first["problem"] == "", first
    return first


def test_digi_xbee_finds_the_same_module(module: dict[str, Any]) -> None:
    device = XBeeDevice(module["port"], module["baudRate"])
    device.open()
    try:
        assert str(device.get_64bit_addr()) in module["identity"]
    finally:
        device.close()


def test_a_robot_sends_through_it(module: dict[str, Any], tmp_path: Path) -> None:
    channel = int(module["identity"].split(" CH ")[1].split()[0], 16)
    config = tmp_path / "xbee.yaml"
    config.write_text(CONFIG.format(**module, channel=channel))
    report = report_of(tmp_path, "--config", str(config), "--duration", "3s")
    assert report["ports"]["module"]["ups"] == 1
    assert module["identity"] in report["ports"]["module"]["identity"]
    station = report["stations"]["module"]
    assert station["delivered"] + sum(station["refused"].values()) >= 5
