"""Rules tried for real: supervised stations, their mocks behind a pipe or a pty, real time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from hilgw.testing.conformance.live import LiveWorld
from hilgw.testing.conformance.payload_rules import PayloadRules
from hilgw.testing.conformance.rules import require, shown
from hilgw.testing.conformance.world import guarded

PACKETS = 8
NOISE, LOSS, NOISY_S = 0.3, 0.01, 2.0
SEED = 1


class LiveRules(PayloadRules):
    """The same packets, through everything that stands between a robot and its hardware."""

    def test_round_trip_on_a_pipe(self) -> None:
        """In memory, at the pace of the line."""
        self._live("pipe", self._round_trip)

    def test_round_trip_on_a_virtual_port(self) -> None:
        """Through a pty, opened as a real port is."""
        self._live("virtual port", self._round_trip)

    def test_round_trip_on_a_virtual_port_with_faults(self) -> None:
        """With noise, lost bytes and a pulled cable: no packet that was not sent, and all well
        afterwards."""
        self._live("virtual port with faults", self._through_faults)

    def _live(self, ports: str, scenario: Callable[[LiveWorld, str], Awaitable[None]]) -> None:
        rule = f"round trip on a {ports}"

        async def play() -> None:
            world = LiveWorld(self, ports, pair=not self._echoes(), seed=SEED)
            try:
                await world.await_ready(rule)
                await scenario(world, rule)
            finally:
                await world.close()
            for side in world.sides:
                short = side.count.violations()
                require(not short, rule, f"ledger: {short}", "each packet counted")

        guarded(lambda: asyncio.run(play()))

    async def _round_trip(self, world: LiveWorld, rule: str) -> None:
        ways = [(world.near, world.far)]
        if world.near is not world.far:
            ways.append((world.far, world.near))
        packets = list(self._numbered(PACKETS))
        for sender, hearer in ways:
            for data in packets:
                seen = len(hearer.heard)
                sender.send(data)
                heard = lambda n=seen, h=hearer: len(h.heard) > n  # noqa: E731
                if not await world.until(heard, self.live_s):
                    break
            await world.until(lambda s=sender: s.station.queued == 0, self.live_s)  # type: ignore[misc]
            came = [packet.data for packet in hearer.heard[-len(packets) :]]
            more = f"refused: {shown(sender.refusals)}"
            require(came == packets, rule, f"heard {shown(came)}", shown(packets), more)
            hearer.heard.clear()

    async def _through_faults(self, world: LiveWorld, rule: str) -> None:
        near, far = world.near, world.far
        packets = list(self._numbered(3 * PACKETS))
        early, late = packets[: 2 * PACKETS], packets[2 * PACKETS :]
        world.faults.noise, world.faults.loss = NOISE, LOSS
        for data in early:
            near.send(data)
            if far is not near:
                far.send(data)
        at_rest = lambda: near.station.queued == far.station.queued == 0  # noqa: E731
        await world.until(at_rest, min(NOISY_S, self.live_s))
        world.faults.noise = world.faults.loss = 0.0

        ups = near.supervisor.ups
        world.host.unplug(near.mock)
        await world.until(lambda: not near.station.ready, self.live_s)
        world.host.plug(near.mock)
        await world.until(lambda: near.supervisor.ups > ups and near.station.ready, self.live_s)
        words = f"{near.supervisor.state}: {near.supervisor.reason}"
        require(near.station.ready, rule, f"the station is {words}", "up again after replugging")
        await world.until(lambda: near.station.queued == 0, self.live_s)
        for data in late:
            near.send(data)
            came = await world.until(
                lambda d=data: any(each.data == d for each in far.heard),  # type: ignore[misc]
                self.live_s / PACKETS,
            )
            if came:
                break
        else:
            require(False, rule, "no packet arrives once all is well", "packets pass again")
        strange = [each.data for each in near.heard + far.heard if each.data not in packets]
        if self.check_bits >= 16:
            require(not strange, rule, f"heard {shown(strange)}", "only packets that were sent")
