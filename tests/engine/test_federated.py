"""Other gateways among the parts of a gateway: it needs none of them, and shows each."""

import asyncio
from collections.abc import Iterator
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.cli.commands.clients.status import exit_code, lines
from hilgw.cli.output.text import Style
from hilgw.config.load import load_text
from hilgw.engine.gateway import Gateway
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import State
from hilgw.engine.reporting.parts import whole
from hilgw.engine.reporting.status import status_of
from hilgw.events.kinds import Link
from hilgw.protocols.gateway.metrics import text_of
from hilgw.testing.sim import run
from hilgw.units import NS_PER_MS
from tests.cli.output.test_federation import EVIL, gateway
from tests.scenarios import scenario_of

CONFIG = """
version: 1
robots: {rover: {devices: {tx: {node: Emitter, type: radio}}}}
"""


class Others:
    """A federation with a single other gateway."""

    def status(self) -> dict[str, Any]:
        listeners = {EVIL: {"type": "radio", "channels": [1]}}
        gateways = {"bench": gateway(robots={EVIL: []}, listeners=listeners)}
        about = {"name": "sim", "network": "lab", "unreached": {}}
        about["outside"] = {"entered": 0, "dropped": {}}
        return {**about, "gateways": gateways}

    def packets(self) -> dict[str, tuple[int, int]]:
        return {"gateway@bench": (5, 7)}

    def parts(self) -> Iterator[str]:
        yield from ("rover.tx@bench", "radio@bench")

    async def network(self) -> dict[str, Any]:
        return {}


async def made() -> tuple[Gateway, Neighbour]:
    built = build(load_text(CONFIG, "f").config, asyncio.get_running_loop())
    bench = Neighbour("bench", built.lines, "tcp/x", lambda copy, outlet: None, built.medium)
    built.supervisors[bench.name] = bench
    built.federation = Others()
    return built, bench


@scenario_of(run)
async def test_a_gateway_that_is_gone_or_refused_is_not_a_port_that_is_down() -> None:
    built, bench = await made()
    bench.leave(State.FAILED, "speaks version 2")
    assert bench not in built.required()
    status = whole(status_of(built, "f", 1).items())
    port = status["ports"]["gateway@bench"]
    assert (port["state"], port["down"]) == ("failed", False)
    assert (port["received_packets"], port["sent_packets"]) == (5, 7)
    assert exit_code([status]) == 0
    built.close()


@scenario_of(run)
async def test_another_gateway_has_a_state_a_latency_and_names() -> None:
    built, bench = await made()
    bench.latency.add(3 * NS_PER_MS)
    (link,) = (each for each in built.states() if isinstance(each, Link))
    assert (link.name, link.p50_ms, link.counts["dropped"]) == ("gateway@bench", 0.2123, 1)
    assert list(built.hops()["link"]) == ["bench"]
    assert {"gateway@bench", "rover.tx@bench", "radio@bench"} <= {*built.names("part")}
    status = {**whole(status_of(built, "f", 1).items()), "control": "x"}
    shown = lines(status, Style(on=False))
    assert "  federation: sim in the network lab, 1 other gateway" in shown
    assert all(line.isprintable() and len(line) <= 120 for line in shown)
    assert 'hop="link",part="bench"} 1\n' in text_of([({}, status)])
    built.close()
