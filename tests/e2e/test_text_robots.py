"""Robots with lines of text, and a robot with WC2EC on a serial line, through the command."""

import signal
from pathlib import Path

from tests.e2e.running import ROOT, Gateway, patient, wait_until

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
