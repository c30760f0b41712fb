"""The shipped configurations of the radios with text commands, as a newcomer runs them."""

from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway


def config(name: str) -> str:
    return str(ROOT / "configs" / f"{name}.yaml")


def test_the_set_line_is_switched_and_the_module_set(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", config("hc12")]) as gateway:
        assert "module set by AT+C012, AT+P3" in gateway.text()
        assert "up: HC-12_V2.4, channel 012 (437.8 MHz), FU3, 9600 baud" in gateway.text()
        wait_until(lambda: '"pong' in gateway.text(), what="an answer")


def test_without_the_set_line_it_reports_the_unchecked_settings(tmp_path: Path) -> None:
    by_hand = ["--config", config("hc12"), "--set", "adapters.hc12.set_line=manual"]
    with Gateway(tmp_path, by_hand) as gateway:
        assert "settings cannot be verified without command mode" in gateway.text()
        wait_until(lambda: '"pong' in gateway.text(), what="an answer")
