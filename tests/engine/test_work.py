"""What a packet costs on its way through a gateway, counted in calls: no clock is read.

From the bytes of a port over station, receive filter and medium into the Receiver of a robot, read
by its controller.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.mock_host import create_mock
from hilgw.engine.observer import Observer
from hilgw.framing import create
from hilgw.plugins import new_air
from hilgw.testing.sim import Clock, FakeTransport
from tests import work

MS = 1_000_000
SAMPLING_MS = 32
PACKETS = 16  # to each port in one sampling period
ROBOT = """
  r{n}:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: {type}, channel: {n}}}
      rx: {{node: Receiver, type: {type}, channel: {n}, bufferSize: -1, sampling_period_ms: 32}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: ping}}
"""
UART = "  a{n}: {{kind: uart, port: /dev/none{n}, channel: {n}, position: [1, 0, 0]}}\n"
XBEE = (
    "  a{n}: {{kind: xbee, port: /dev/none{n}, channel: {n}, pan_id: 0x3332, api_mode: 1, "
    "position: [1, 0, 0]}}\n"
)
SOURCE = bytes.fromhex("0013A20041424344")


class Running:
    """A gateway on a fake clock; the test is the device at each port."""

    def __init__(self, type: str, adapter: str, channels: range) -> None:
        robots = "".join(ROBOT.format(n=n, type=type) for n in channels)
        adapters = "".join(adapter.format(n=n) for n in channels)
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

    def answer(self, mock: Any) -> None:
        """The module at the first port answers until the station is ready."""
        station = next(iter(self.gateway.stations.values()))
        for _ in range(5000):
            if station.ready:
                return
            mock.receive(self.ports[0].take(), self.clock.now())
            mock.advance(self.clock.now())
            self.ports[0].send(mock.take(self.clock.now()))
            self.clock.run(MS)
        raise AssertionError("the handshake did not end")

    def exchange(self, frame: bytes) -> None:
        """PACKETS frames, one millisecond apart, to each port; then their sample."""
        for _ in range(PACKETS):
            for port in self.ports:
                port.send(frame)
            self.clock.run(MS)
        self.clock.run(SAMPLING_MS * MS)

    def calls_per_packet(self, frame: bytes) -> Counter[str]:
        self.exchange(frame)  # what is built once
        before = self.delivered()
        counts = work.calls(lambda: self.exchange(frame))
        packets = self.delivered() - before
        assert packets == PACKETS * len(self.ports)
        assert self.gateway.ledger.violations() == []
        return Counter({name: count / packets for name, count in counts.items()})  # type: ignore[misc]

    def delivered(self) -> int:
        names = (f"{name}.rx" for name in self.gateway.robots)
        return sum(self.gateway.ledger.station(name).delivered for name in names)


def uarts(ports: int) -> Counter[str]:
    frame = create("cobs-crc16").encode(bytes(range(32)))
    return Running("serial", UART, range(1, ports + 1)).calls_per_packet(frame)


def xbee() -> Counter[str]:
    running = Running("radio", XBEE, range(12, 13))
    parameters = {"channel": 12, "pan_id": 0x3332, "api_mode": 1}
    running.answer(create_mock("xbee", "test", new_air(), parameters))
    data = b"\x90" + SOURCE + b"\xff\xfe\x01" + bytes(range(32, 64))
    frame = b"\x7e" + len(data).to_bytes(2, "big") + data + bytes([0xFF - sum(data) % 256])
    return running.calls_per_packet(frame)


def test_a_packet_of_64_ports_costs_what_one_of_two_ports_does() -> None:
    few, many = uarts(2), uarts(64)
    assert many.total() == pytest.approx(few.total(), rel=0.03)


def test_a_packet_of_an_xbee_takes_no_call_for_subscribers() -> None:
    counts = xbee()
    watched = ("subscriptions.", "events.", "lines.", "tapped_session.", "port_history.")
    assert [name for name in counts if name.startswith(watched)] == []
