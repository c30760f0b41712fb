"""Stations of whole gateways with their mocks: `Gateway.command`, and lines that are slow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Direction, LineEvent
from hilgw.testing.sim import Clock, Recorder, elapse, until
from tests.engine.gateways import running

CONFIGS = Path(__file__).parents[3] / "configs"
REMOTE = "0013A2004AB67FB2"
AT_ONCE = 8  # the module's


class Wire(Recorder):
    """Also the bytes that hilgw sends to the module."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""

    def line_bytes(self, event: LineEvent) -> None:
        if event.direction is Direction.SENT:
            self.sent += event.data


@asynccontextmanager
async def up(
    clock: Clock, observer: Wire, config: str, station: str, *changed: str
) -> AsyncIterator[Gateway]:
    """A gateway of a shipped configuration, once this station is up."""
    text = (CONFIGS / f"{config}.yaml").read_text()
    loaded = load_text(text, "f", changed, "loopback").config
    async with running(loaded, observer, timer=clock) as gateway:
        await until(lambda: gateway.stations[station].ready, 60)
        yield gateway


async def test_of_many_commands_at_once_each_gets_the_answer_to_itself(clock: Clock) -> None:
    """Those that are reported OK, and only those, were written."""
    wire, values = Wire(), [b"n%02d" % number for number in range(AT_ONCE + 4)]
    async with up(clock, wire, "xbee", "xbee0") as gateway:
        reads = [gateway.command("xbee0", REMOTE, name, b"") for name in ("NI", "RR", "NI")]
        ni, rr, again = [each.value for each in await asyncio.gather(*reads)]
        assert ni == again != rr
        asked = (gateway.command("xbee0", REMOTE, "NI", value) for value in values)
        problems = [each.problem for each in await asyncio.gather(*asked)]
    assert problems == [""] * AT_ONCE + ["too many commands at once"] * 4
    assert [value for value in values if b"NI" + value in wire.sent] == values[:AT_ONCE]


async def test_commands_that_a_lost_port_ends_are_all_answered(clock: Clock) -> None:
    async with up(clock, Wire(), "xbee", "xbee0") as gateway:
        asked = (gateway.command("xbee0", REMOTE, "NI", b"") for _ in range(3))
        answers = asyncio.gather(*asked)
        await asyncio.sleep(0)
        for host in gateway.hosts:
            for mock in host.mocks:
                if mock.name == "xbee0":
                    host.unplug(mock)
        problems = [each.problem for each in await answers]
    assert len(problems) == 3 and all(problems)


@pytest.mark.parametrize(
    ("config", "station", "baud"),
    [
        ("xbee-transparent", "stream0", 300),
        ("rylr998", "lora0", 1200),
        ("uart", "uart0", 110),
        ("hc12", "hc12", 1200),
    ],
)
async def test_a_slow_line_that_carries_its_packets_is_not_taken_for_one_that_stands_still(
    config: str, station: str, baud: int, clock: Clock
) -> None:
    """Bytes are pending at each look, and leave."""
    wire, rate = Wire(), f"adapters.{station}.baudRate={baud}"
    async with up(clock, wire, config, station, rate) as gateway:
        await elapse(40)
        assert gateway.stations[station].supervisor.passed.sent > 40 * baud / 10 / 20
    assert not [reason for _, _, reason in wire.states if "takes no bytes" in reason]
