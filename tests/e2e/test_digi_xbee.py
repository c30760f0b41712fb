"""digi-xbee, a real client, on the spare module of the same air as the simulated robot."""

import json
import signal
from pathlib import Path
from typing import Any

from digi.xbee import devices

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, with_a_second_module


def exchange(gateway: Gateway, tmp_path: Path) -> list[bytes]:
    """Both directions; returns the packets that digi-xbee received from the robot."""
    received: list[bytes] = []
    spare = devices.XBeeDevice(str(tmp_path / "xbee-spare"), 9600)
    spare.open()
    try:
        spare.add_data_received_callback(lambda message: received.append(bytes(message.data)))
        wait_until(lambda: any(data.startswith(b"ping ") for data in received), what="the robot")
        payload = bytes(range(0, 256, 3))
        spare.send_data_broadcast(payload)
        wait_until(lambda: '"\\x00\\x03\\x06' in gateway.text(), what="the robot to hear")
    finally:
        spare.close()
    return received


def finish(gateway: Gateway, tmp_path: Path) -> dict[str, Any]:
    assert gateway.stop(signal.SIGINT) == 130
    report: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    assert report["ledger"]["adds_up"], report["ledger"]
    return report


def test_a_packet_that_two_modules_receive_reaches_the_robot_once(tmp_path: Path) -> None:
    config = with_a_second_module(tmp_path)
    gateway = Gateway(tmp_path, ["--config", config, "-v", "--report", "out.json"])

    def received_by_robot() -> int:
        return gateway.text().count('rover.rx     delivered "\\x00\\x03\\x06')

    try:
        exchange(gateway, tmp_path)
        wait_until(lambda: "refused (duplicate)" in gateway.text())
        wait_until(lambda: received_by_robot() > 0, what="the robot's sampling grid")
        report = finish(gateway, tmp_path)
    finally:
        gateway.stop()
    stations = report["stations"]
    dropped = [stations[name]["dropped"].get("duplicate", 0) for name in ("xbee0", "xbee1")]
    assert sum(dropped) == 1
    assert received_by_robot() == 1
