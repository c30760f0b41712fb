"""digi-xbee, a real client, on the spare module of the same air as the simulated robot."""

import signal
from pathlib import Path

from digi.xbee import devices

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, report_in, with_a_second_module


def test_a_packet_that_two_modules_receive_reaches_the_robot_once(tmp_path: Path) -> None:
    config = with_a_second_module(tmp_path)
    received: list[bytes] = []

    def received_by_robot() -> int:
        return gateway.text().count('rover.rx     delivered "\\x00\\x03\\x06')

    with Gateway(tmp_path, ["--config", config, "-v", "--report", "out.json"]) as gateway:
        spare = devices.XBeeDevice(str(tmp_path / "xbee-spare"), 9600)
        spare.open()
        try:
            spare.add_data_received_callback(lambda message: received.append(bytes(message.data)))
            wait_until(lambda: any(data.startswith(b"ping ") for data in received), "the robot")
            spare.send_data_broadcast(bytes(range(0, 256, 3)))
            wait_until(lambda: "refused (duplicate)" in gateway.text())
            wait_until(lambda: received_by_robot() > 0, what="the robot's sampling grid")
        finally:
            spare.close()
        assert gateway.stop(signal.SIGINT) == 130
    stations = report_in(tmp_path)["stations"]
    dropped = [stations[name]["dropped"].get("duplicate", 0) for name in ("xbee0", "xbee1")]
    assert sum(dropped) == 1
    assert received_by_robot() == 1
