"""A slow line that carries its packets is not taken for one that stands still."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.observer import Observer
from hilgw.testing.sim import Clock, elapse, run, until

CONFIGS = Path(__file__).parents[3] / "configs"


class States(Observer):
    """Why a port changed its state."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def state(self, station: str, state: object, reason: str) -> None:
        self.reasons.append(reason)


@pytest.mark.parametrize(
    ("config", "station", "baud"),
    [
        ("xbee-transparent", "stream0", 300),
        ("rylr998", "lora0", 1200),
        ("uart", "uart0", 110),
        ("hc12", "hc12", 1200),
    ],
)
def test_bytes_are_pending_at_each_look_and_leave(config: str, station: str, baud: int) -> None:
    states, clock = States(), Clock()
    rate = f"adapters.{station}.baudRate={baud}"

    async def scenario() -> int:
        text = (CONFIGS / f"{config}.yaml").read_text()
        loaded = load_text(text, "f", (rate,), "loopback").config
        with closing(build(loaded, asyncio.get_running_loop(), states, timer=clock)) as gateway:
            stop = asyncio.Event()
            running = asyncio.create_task(gateway.run(stop))
            await until(lambda: gateway.stations[station].ready, 60)
            await elapse(40)
            stop.set()
            await running
            return gateway.stations[station].supervisor.passed.sent

    assert run(scenario, clock) > 40 * baud / 10 / 20
    assert not [reason for reason in states.reasons if "takes no bytes" in reason]
