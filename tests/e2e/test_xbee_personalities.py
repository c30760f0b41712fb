"""digi-xbee on a spare module and the simulated robot: every firmware, either API mode."""

import signal
from pathlib import Path
from typing import Any

import pytest
from digi.xbee import devices
from digi.xbee.models.address import XBee64BitAddress

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, report_in, run

CONFIGS = Path(__file__).parents[2] / "configs"
OURS, SPARE = "0013A20040A1B2C0", "0013A20040A1B2C3"
RATE = 115200
PAYLOAD = b"\x7e\x7d\x11\x13" + bytes(range(0, 256, 5))  # the escaped ones first
CONFIG = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {{node: Emitter, type: radio, channel: 12}}
      rx: {{node: Receiver, type: radio, channel: 12}}
adapters:
  bench:
    kind: xbee
    firmware: {firmware}
    mapping: {{by: header}}
    port: /dev/ttyUSB0
    baudRate: {rate}
    channel: 12
    api_mode: {api_mode}
    destination: "{spare}"
    air: lab
    mock: {{hardware: {hardware}, address: "{ours}"}}
airs:
  lab:
    nodes:
      spare: {{mock: xbee, hardware: {hardware}, address: "{spare}", api_mode: {api_mode},
        baudRate: {rate}, link: ./spare{extra}}}
"""
PERSONALITIES = [
    ("802.15.4", "s1", devices.Raw802Device, "", 1),
    ("802.15.4", "xbee3", devices.Raw802Device, "", 2),
    ("digimesh", "digimesh", devices.DigiMeshDevice, "", 2),
    ("zigbee", "zigbee", devices.ZigBeeDevice, ", CE: 1", 1),
]


def configured(folder: Path, firmware: str, hardware: str, extra: str, api_mode: int) -> str:
    keys = {"firmware": firmware, "hardware": hardware, "extra": extra, "api_mode": api_mode}
    (folder / "bench.yaml").write_text(CONFIG.format(**keys, rate=RATE, ours=OURS, spare=SPARE))
    return "bench.yaml"


def exchange(gateway: Gateway, tmp_path: Path, kind: type[Any]) -> None:
    """Unicast from the robot, unicast and broadcast to it, all byte values among them."""
    received: list[Any] = []
    spare = kind(str(tmp_path / "spare"), RATE)
    spare.open()
    try:
        spare.add_data_received_callback(received.append)
        # Only now: in API mode 2 a packet that meets digi-xbee while it opens stalls it for 4 s.
        done = run("send", "rover.tx", "--hex", PAYLOAD.hex(" "), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: received, what="the robot's packet")
        assert bytes(received[0].data) == b"\x0c" + PAYLOAD  # 12 is the channel
        assert received[0].remote_device.get_64bit_addr() == XBee64BitAddress.from_hex_string(OURS)
        assert not received[0].is_broadcast
        ours = devices.RemoteXBeeDevice(spare, XBee64BitAddress.from_hex_string(OURS))
        spare.send_data(ours, b"\x0cto you \x7e\x7d\x11\x13")
        spare.send_data_broadcast(b"\x0cto all")
        wait_until(lambda: '"to you ~}\\x11\\x13"' in gateway.text(), what="the unicast")
        wait_until(lambda: 'delivered "to all"' in gateway.text(), what="the broadcast")
    finally:
        spare.close()


@pytest.mark.parametrize(("firmware", "hardware", "kind", "extra", "api_mode"), PERSONALITIES)
def test_digi_xbee_and_the_robot_exchange_packets(
    tmp_path: Path, firmware: str, hardware: str, kind: type[Any], extra: str, api_mode: int
) -> None:
    config = configured(tmp_path, firmware, hardware, extra, api_mode)
    options = ["--config", config, "-v", "--report", "out.json"]
    with Gateway(tmp_path, options) as gateway:
        exchange(gateway, tmp_path, kind)
        assert gateway.stop(signal.SIGINT) == 130
    stations = report_in(tmp_path)["stations"]
    assert (stations["bench"]["delivered"], stations["rover.rx"]["delivered"]) == (1, 2)
    line = next(line for line in gateway.text().splitlines() if '  "to all"' in line)
    assert f"from {SPARE}" in line
    has_value = " dBm" in line  # the module reports it, or DB is asked, whose answer may be late
    assert has_value or firmware != "802.15.4"
    assert ("~" in line) == (has_value and firmware != "802.15.4")


def test_a_module_without_a_network_is_not_ready_for_that_reason(tmp_path: Path) -> None:
    config = configured(tmp_path, "zigbee", "zigbee", "", 1)
    with Gateway(tmp_path, ["--config", config], ready=False) as gateway:
        wait_until(lambda: "not in a network yet" in gateway.text(), what="the reason")
        assert "AI = " in gateway.text()
        assert not gateway.ready_file.exists()
        # The spare module becomes the coordinator: ours joins, and packets pass.
        spare = devices.ZigBeeDevice(str(tmp_path / "spare"), RATE)
        spare.open()
        try:
            spare.set_parameter("CE", b"\x01")
            wait_until(gateway.ready_file.exists, what="the network")
        finally:
            spare.close()
    assert " up: XBee 3 Zigbee " in gateway.text()


def test_digi_xbee_receives_from_a_module_in_transparent_mode(tmp_path: Path) -> None:
    config = (CONFIGS / "xbee-transparent.yaml").read_text()
    config = config.replace("framing: lines ", "framing: gap:60ms ")
    config = "".join(line for line in config.splitlines(True) if "kind: beacon" not in line)
    path = tmp_path / "gap.yaml"
    path.write_text(config)
    with Gateway(tmp_path, ["--config", str(path), "-v"]) as gateway:
        assert "gap" in gateway.text()
        received: list[bytes] = []
        spare = devices.Raw802Device(str(tmp_path / "xbee-spare"), 9600)
        spare.open()
        try:
            spare.add_data_received_callback(lambda message: received.append(bytes(message.data)))
            done = run("send", "rover.tx", "--hex", PAYLOAD.hex(" "), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            # A module cuts where its line pauses, and on a busy machine ours may pause in a packet.
            wait_until(lambda: b"".join(received) == PAYLOAD, what="the robot's packet")
            spare.send_data_broadcast(b"to all \x7e")
            wait_until(lambda: 'delivered "to all ~"' in gateway.text(), what="the broadcast")
        finally:
            spare.close()
