"""Faults as a user meets them: the cable, the module, a silent port; the ledger always adds up."""

import json
import signal
from pathlib import Path
from typing import Any

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway
from tests.e2e.test_exit_codes import config_for


def mock(tmp_path: Path, name: str, *more: str) -> Gateway:
    folder = tmp_path / name
    folder.mkdir()
    return Gateway(folder, ["mock", "xbee", "--link", str(tmp_path / "xb"), *more])


def finish(gateway: Gateway, tmp_path: Path) -> dict[str, Any]:
    assert gateway.stop(signal.SIGINT) == 130
    report: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    assert report["ledger"]["adds_up"], report["ledger"]
    return report


def test_a_module_that_vanishes_is_waited_for_and_used_again(tmp_path: Path) -> None:
    first = mock(tmp_path, "first")
    config = config_for(str(tmp_path / "xb"), tmp_path)
    gateway = Gateway(tmp_path, ["--config", config, "--report", "out.json"])
    try:
        first.process.kill()
        first.process.wait()
        wait_until(lambda: "waiting:" in gateway.text(), what="the loss to be seen")
        (tmp_path / "xb").unlink(missing_ok=True)
        with mock(tmp_path, "second"):
            wait_until(lambda: gateway.text().count("up: XBee") == 2, what="the module again")
            gone = gateway.text().count("rover.tx")
            wait_until(lambda: gateway.text().count("rover.tx") > gone + 1)
            report = finish(gateway, tmp_path)
    finally:
        gateway.stop()
        first.stop()
    assert report["ports"]["xbee0"]["ups"] == 2
    assert report["stations"]["xbee0"]["delivered"] > 0


def test_a_module_that_is_frozen_is_stalled_and_comes_back(tmp_path: Path) -> None:
    with mock(tmp_path, "first") as module:
        config = config_for(str(tmp_path / "xb"), tmp_path, "status_timeout_s: 0.3")
        gateway = Gateway(tmp_path, ["--config", config, "--report", "out.json"])
        try:
            module.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: "stalled:" in gateway.text(), what="the stall to be seen")
            module.process.send_signal(signal.SIGCONT)
            wait_until(lambda: gateway.text().count("up: XBee") == 2, what="the module again")
            report = finish(gateway, tmp_path)
        finally:
            module.process.send_signal(signal.SIGCONT)
            gateway.stop()
    refused = report["stations"]["xbee0"]["refused"]
    assert refused["no_status"] >= 3
