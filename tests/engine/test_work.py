"""What a packet costs on its way through a gateway, counted in calls: no clock is read.

From the bytes of a port over station, receive filter and medium into the Receiver of a robot, read
by its controller.
"""

import asyncio
from typing import cast

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.framing import create
from hilgw.testing.sim import Clock, FakeTransport
from tests import work

MS = 1_000_000
SAMPLING_MS = 32
PACKETS = 16  # to each port in one sampling period
ROBOT = """
  r{n}:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: serial, channel: {n}}}
      rx: {{node: Receiver, type: serial, channel: {n}, bufferSize: -1, sampling_period_ms: 32}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: ping}}
"""
UART = "  a{n}: {{kind: uart, port: /dev/none{n}, channel: {n}, position: [1, 0, 0]}}\n"


class Running:
    """A gateway on a fake clock; the test is the device at each port."""

    def __init__(self, ports: int) -> None:
        robots = "".join(ROBOT.format(n=n) for n in range(ports))
        adapters = "".join(UART.format(n=n) for n in range(ports))
        text = f"version: 1\nrobots:{robots}adapters:\n{adapters}"
        self.clock = Clock()

        async def main() -> Gateway:
            loop, timer = asyncio.get_running_loop(), cast(Timer, self.clock)
            return build(load_text(text, "f").config, loop, Observer(), timer=timer)

        self.gateway = asyncio.run(main())
        for robot in self.gateway.robots.values():
            robot.start()
        self.ports = []
        for station in self.gateway.stations.values():
            port = FakeTransport()
            port.start(station.data_received, lambda error: None)
            station.attach(port)
            self.ports.append(port)

    def exchange(self, frame: bytes) -> None:
        """PACKETS frames, one millisecond apart, to each port; then their sample."""
        for _ in range(PACKETS):
            for port in self.ports:
                port.send(frame)
            self.clock.run(MS)
        self.clock.run(SAMPLING_MS * MS)

    def calls_per_packet(self, frame: bytes) -> float:
        self.exchange(frame)  # what is built once
        before = self.delivered()
        counts = work.calls(lambda: self.exchange(frame))
        packets = self.delivered() - before
        assert packets == PACKETS * len(self.ports)
        assert self.gateway.ledger.violations() == []
        return counts.total() / packets

    def delivered(self) -> int:
        names = (f"{name}.rx" for name in self.gateway.robots)
        return sum(self.gateway.ledger.station(name).delivered for name in names)


@pytest.mark.exhaustive
def test_a_packet_of_64_ports_costs_what_one_of_two_ports_does() -> None:
    frame = create("cobs-crc16").encode(bytes(range(32)))
    few, many = (Running(ports).calls_per_packet(frame) for ports in (2, 64))
    assert many == pytest.approx(few, rel=0.03)
