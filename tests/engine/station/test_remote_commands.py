"""`Gateway.command`: each of many requests at once gets its own answer."""

import asyncio
from contextlib import closing
from pathlib import Path

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.observer import Direction, LineEvent, Observer
from hilgw.testing.sim import Clock, run, until

XBEE = Path(__file__).parents[3] / "configs" / "xbee.yaml"
REMOTE = "0013A2004AB67FB2"
AT_ONCE = 8  # the module's


class Wire(Observer):
    """The bytes that hilgw sends to the module."""

    def __init__(self) -> None:
        self.sent = b""

    def line_bytes(self, event: LineEvent) -> None:
        if event.direction is Direction.SENT:
            self.sent += event.data


def test_of_many_commands_at_once_each_gets_the_answer_to_itself() -> None:
    """Those that are reported OK, and only those, were written."""
    wire, clock = Wire(), Clock()
    values = [b"n%02d" % number for number in range(AT_ONCE + 4)]

    async def scenario() -> list[str]:
        config = load_text(XBEE.read_text(), "f", (), "loopback").config
        with closing(build(config, asyncio.get_running_loop(), wire, timer=clock)) as gateway:
            stop = asyncio.Event()
            running = asyncio.create_task(gateway.run(stop))
            await until(lambda: gateway.stations["xbee0"].ready)
            reads = [gateway.command("xbee0", REMOTE, name, b"") for name in ("NI", "RR", "NI")]
            ni, rr, again = [each.value for each in await asyncio.gather(*reads)]
            assert ni == again != rr
            asked = (gateway.command("xbee0", REMOTE, "NI", value) for value in values)
            answers = await asyncio.gather(*asked)
            stop.set()
            await running
        return [each.problem for each in answers]

    problems = run(scenario, clock)
    assert problems == [""] * AT_ONCE + ["too many commands at once"] * 4
    assert [value for value in values if b"NI" + value in wire.sent] == values[:AT_ONCE]


def test_commands_that_a_lost_port_ends_are_all_answered() -> None:
    clock = Clock()

    async def scenario() -> list[str]:
        config = load_text(XBEE.read_text(), "f", (), "loopback").config
        with closing(build(config, asyncio.get_running_loop(), timer=clock)) as gateway:
            stop = asyncio.Event()
            running = asyncio.create_task(gateway.run(stop))
            station = gateway.stations["xbee0"]
            await until(lambda: station.ready)
            asked = (gateway.command("xbee0", REMOTE, "NI", b"") for _ in range(3))
            answers = asyncio.gather(*asked)
            await asyncio.sleep(0)
            (host, mock) = next(
                (host, mock)
                for host in gateway.hosts
                for mock in host.mocks
                if mock.name == "xbee0"
            )
            host.unplug(mock)
            problems = [each.problem for each in await answers]
            stop.set()
            await running
        return problems

    problems = run(scenario, clock)
    assert len(problems) == 3 and all(problems)
