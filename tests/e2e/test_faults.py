"""Faults as a user meets them: the cable, the module, a silent port; the ledger always adds up."""

import signal
from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, report_in
from tests.e2e.test_exit_codes import config_for


def mock(tmp_path: Path, name: str, *more: str) -> Gateway:
    folder = tmp_path / name
    folder.mkdir()
    return Gateway(folder, ["mock", "xbee", "--link", str(tmp_path / "xb"), *more])


def test_a_module_that_freezes_or_vanishes_is_waited_for_and_used_again(tmp_path: Path) -> None:
    first = mock(tmp_path, "first")
    config = config_for(str(tmp_path / "xb"), tmp_path, "status_timeout_s: 0.3")
    gateway = Gateway(tmp_path, ["--config", config, "--report", "out.json"])
    try:
        first.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: "stalled:" in gateway.text(), what="the stall to be seen")
        first.process.send_signal(signal.SIGCONT)
        wait_until(lambda: gateway.text().count("up: XBee") == 2, what="the module again")
        first.process.kill()
        first.process.wait()
        wait_until(lambda: "waiting:" in gateway.text(), what="the loss to be seen")
        (tmp_path / "xb").unlink(missing_ok=True)
        with mock(tmp_path, "second"):
            wait_until(lambda: gateway.text().count("up: XBee") == 3, what="another module")
            gone = gateway.text().count("rover.tx")
            wait_until(lambda: gateway.text().count("rover.tx") > gone + 1)
            assert gateway.stop(signal.SIGINT) == 130
    finally:
        gateway.stop()
        first.stop(signal.SIGKILL)
    report = report_in(tmp_path)
    assert report["ports"]["xbee0"]["ups"] == 3
    assert report["stations"]["xbee0"]["delivered"] > 0
    assert report["stations"]["xbee0"]["refused"]["no_status"] >= 3
