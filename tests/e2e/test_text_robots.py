"""Robots with lines of text, and a robot with WC2EC on a serial line, through the command."""

import signal
from pathlib import Path

from tests.e2e.running import ROOT, Gateway, patient, run, wait_until

GCODE = str(ROOT / "configs" / "gcode.yaml")


def test_the_machine_draws_its_square_and_is_stopped_by_a_signal(tmp_path: Path) -> None:
    options = ["--config", GCODE, *patient("plotter", "body.silence_s")]
    with Gateway(tmp_path, options) as gateway:
        for corner in (1, 2, 3, 4):
            wait_until(lambda at=corner: f"corner {at}" in gateway.text(), what=f"corner {corner}")  # type: ignore[misc]
        assert gateway.stop(signal.SIGINT) == 130
        text = gateway.text()
    assert "plotter      motors stopped: the gateway ends" in text
    assert "refused" not in text


def test_another_robot_behind_the_port_is_a_mismatch(tmp_path: Path) -> None:
    other = "robots.plotter.body.mock.kind=khepera"
    done = run("--config", GCODE, "--set", other, "--duration", "20s", cwd=tmp_path)
    assert done.returncode == 6
    assert "this is not the G-code machine: it answered '$' to '$I'" in (done.stdout + done.stderr)


def test_a_line_too_slow_for_a_wc2ec_robot_ends_the_gateway(tmp_path: Path) -> None:
    config = str(ROOT / "configs" / "wc2ec-serial.yaml")
    fast = "robots.cart.body.step_ms=2"
    done = run("--config", config, "--set", fast, "--duration", "20s", cwd=tmp_path)
    assert done.returncode == 3
    words = done.stdout + done.stderr
    assert "each period of 2 ms needs 45 bytes, and the line carries 23 at 115200 bit/s" in words
    assert "raise baudRate, or step_ms where the robot is slower" in words
