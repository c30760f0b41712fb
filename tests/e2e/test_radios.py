"""The shipped configurations of the radios with text commands, as a newcomer runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.running import ROOT, Gateway, report_of, wait_until

PAIRS = {
    "hc12": [("rover.tx", "rover.rx", "hc12")],
    "rylr998": [("rover.tx", "rover.rx", "lora0")],
    "text": [("rover.tx1", "rover.rx1", "rn2483"), ("boat.tx2", "boat.rx2", "at_radio")],
}


def config(name: str) -> str:
    return str(ROOT / "configs" / f"{name}.yaml")


@pytest.mark.parametrize("backend", ["mock", "loopback"])
@pytest.mark.parametrize("name", PAIRS)
def test_pings_are_answered_and_the_ledger_adds_up(name: str, backend: str, tmp_path: Path) -> None:
    report = report_of(
        tmp_path, "--config", config(name), "--backend", backend, "--duration", "3.3s"
    )
    for emitter, receiver, station in PAIRS[name]:
        sent = report["emitters"][emitter]["departed"]
        assert sent >= 4
        # HC-12: what was sent in a burst meets the answers to it in the air; they are half duplex.
        assert report["stations"][receiver]["delivered"] >= sent - 3
        assert report["stations"][station]["dropped"] == {}
        assert report["ports"][station]["ups"] == 1


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
