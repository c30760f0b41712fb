"""Rules in real time: supervised stations, with their mocks on a pipe or a pty."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from functools import partial

from hilgw.adapters.base import line_of
from hilgw.discovery.ports import port_identity
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.lines import Lines, Port
from hilgw.engine.mock_host import MockHost
from hilgw.engine.observer import State
from hilgw.engine.supervisor import Supervisor
from hilgw.medium.packet import Copy, Packet
from hilgw.plugins import new_air
from hilgw.testing.conformance.simulated_rules import PayloadRules
from hilgw.testing.conformance.simulation import StationUnderTest, guarded
from hilgw.testing.conformance.subject import Subject, broken, require, shown
from hilgw.testing.fixtures.faulty_device import FaultyDevice
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

__tracebackhide__ = True  # a failure is shown at the rule, not in here

STOP_S = 2.0
TRIES = 4
TICK_NS, LATE_NS = 2_000_000, 5_000_000  # 5 ms end a block of an IR Toy
PACKETS = 8
NOISE, LOSS, NOISY_S = 0.3, 0.01, 2.0
SEED = 1


class LiveRules(PayloadRules):
    """The same packets, through all layers between a robot and its hardware."""

    def test_round_trip_on_a_pipe(self) -> None:
        """Check that two modules exchange packets in memory, at the rate of the line."""
        self._live("pipe", self._round_trip)

    def test_round_trip_on_a_virtual_port(self) -> None:
        """Exchange packets through a pty, opened as a real port is."""
        self._live("virtual port", self._round_trip)

    def test_round_trip_on_a_virtual_port_with_faults(self) -> None:
        """Check a port with noise, lost bytes and an unplugged device.

        There is no packet that was not sent, and normal operation afterwards.
        """
        self._live("virtual port with faults", self._through_faults)

    def _live(self, ports: str, scenario: Callable[[LiveSetup, str], Awaitable[None]]) -> None:
        rule = f"round trip on a {ports}"

        async def play() -> None:
            setup = LiveSetup(self, ports, pair=not self._echoes(), seed=SEED)
            try:
                await setup.await_ready(rule)
                await scenario(setup, rule)
            finally:
                await setup.close()
            for station in setup.stations:
                short = station.station.statistics.count.violations()
                require(not short, rule, f"ledger: {short}", "each packet counted")

        guarded(lambda: asyncio.run(play()))

    async def _round_trip(self, setup: LiveSetup, rule: str) -> None:
        directions = [(setup.near, setup.far)]
        if setup.near is not setup.far:
            directions.append((setup.far, setup.near))
        packets = list(self._numbered(PACKETS))
        for sender, receiver in directions:
            repeated = 0
            for data in packets:
                tries = await setup.send(data, sender, receiver)
                if not tries:
                    break
                repeated += tries - 1
            await setup.until(sender.is_idle, self.live_s)
            received = [packet.data for packet in receiver.received]
            if repeated:  # what was cut may have come in pieces, and nothing else
                received = [
                    data
                    for data, _ in itertools.groupby(received)
                    if data in packets or not any(data in each for each in packets)
                ]
            got = received[-len(packets) :]
            more = f"refused: {shown(sender.refusals)}"
            require(got == packets, rule, f"received {shown(got)}", shown(packets), more)
            receiver.received.clear()

    async def _through_faults(self, setup: LiveSetup, rule: str) -> None:
        near, far = setup.near, setup.far
        packets = list(self._numbered(3 * PACKETS))
        early, late = packets[: 2 * PACKETS], packets[2 * PACKETS :]
        setup.faults.noise, setup.faults.loss = NOISE, LOSS
        for data in early:
            near.send(data)
            if far is not near:
                far.send(data)
        idle = lambda: near.station.queued == far.station.queued == 0  # noqa: E731
        await setup.until(idle, min(NOISY_S, self.live_s))
        setup.faults.noise = setup.faults.loss = 0.0

        ups = near.supervisor.ups
        setup.host.unplug(near.mock)
        await setup.until(lambda: not near.station.ready, self.live_s)
        setup.host.plug(near.mock)
        await setup.until(lambda: near.supervisor.ups > ups and near.station.ready, self.live_s)
        status = f"{near.supervisor.state}: {near.supervisor.reason}"
        require(near.station.ready, rule, f"the station is {status}", "up again after plugging in")
        await setup.until(near.is_idle, self.live_s)
        for data in late:
            near.send(data)
            got = await setup.until(partial(far.has_received, data), self.live_s / PACKETS)
            if got:
                break
        else:
            require(False, rule, "no packet arrives after the faults", "packets arrive again")
        unknown = [each.data for each in near.received + far.received if each.data not in packets]
        if self.check_bits >= 16:
            require(not unknown, rule, f"received {shown(unknown)}", "only packets that were sent")


class LiveStation(StationUnderTest):
    """A supervised station and its mock. Sets `changed` of the setup at each event."""

    def __init__(self, setup: LiveSetup, *, far: bool) -> None:
        subject, timer = setup.subject, setup.timer
        super().__init__(subject, timer, setup.host, subject.station_settings(), far=far)
        self._changed = setup.changed
        open_port, identity, port = setup.new_port(line_of(self.common)[0])
        device = FaultyDevice(port, seed=setup.seed)
        if not far:
            setup.faults = device
        setup.host.add(self.mock, device)
        self.supervisor = Supervisor(
            self.station, Port(self.name, open_port, identity), Lines(self, timer.now)
        )
        self.task = asyncio.create_task(self.supervisor.run())
        self.task.add_done_callback(lambda task: self._changed.set())

    def is_idle(self) -> bool:
        """Return whether it has nothing more to send."""
        return self.station.queued == 0

    def has_received(self, data: bytes) -> bool:
        return any(packet.data == data for packet in self.received)

    def take(self, packet: Packet) -> None:
        super().take(packet)
        self._changed.set()

    def refused(self, station: str, reason: str, text: str) -> None:
        super().refused(station, reason, text)
        self._changed.set()

    def delivered(self, station: str, copy: Copy) -> None:
        self._changed.set()

    def state(self, station: str, state: State, reason: str) -> None:
        self._changed.set()


class LiveSetup:
    """Setup of stations. near: under test, with `faults` in its port. far: receives from it."""

    faults: FaultyDevice

    def __init__(self, subject: Subject, ports: str, *, pair: bool, seed: int) -> None:
        self.subject = subject
        self.seed = seed
        self.changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, report: self._failed(report.get("exception")))
        self.fault: BaseException | None = None
        self.timer = Timer(loop)
        self.host = MockHost(self.timer, new_air(seed))
        self._ports = ports
        self.near = LiveStation(self, far=False)
        self.far = LiveStation(self, far=True) if pair else self.near
        self.stations = [self.near, self.far] if pair else [self.near]
        self.lateness_ns = 0  # the longest delay of the event loop since a rule set it to 0
        self._tick(self.timer.now())

    def _tick(self, due: int) -> None:
        now = self.timer.now()
        self.lateness_ns = max(self.lateness_ns, now - due)
        self.timer.call_at(now + TICK_NS, lambda: self._tick(now + TICK_NS))

    def new_port(
        self, line: LineSettings
    ) -> tuple[Callable[[], Awaitable[Transport]], Callable[[], object | None], DeviceSide]:
        """Return functions that open the port and return its identity, and the hardware's end."""
        if self._ports == "pipe":
            pipe = Pipe(self.timer, line)
            return (
                lambda: pipe.open(line),
                lambda: id(pipe) if pipe.device.plugged else None,
                pipe.device,
            )
        port = VirtualPort(self.timer, baud_rate=line.baudRate, bits_per_byte=line.byteSize)

        def open_port() -> Awaitable[Transport]:
            return open_serial(port.path, line, self.timer, modem_lines=port.set_modem_line)

        return open_port, lambda: port_identity(port.path), port

    async def until(self, holds: Callable[[], object], seconds: float) -> bool:
        """Wait until the condition is true, within the time; raise broken rules and faults."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not holds():
            self._raise_verdicts()
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), end - loop.time())
            except TimeoutError:
                return bool(holds())
        self._raise_verdicts()
        return True

    async def send(self, data: bytes, sender: LiveStation, receiver: LiveStation) -> int:
        """Send a packet until it arrives; return how often, 0 if it does not.

        It is sent again only where the event loop was late, which may have cost a frame its time,
        or cut it.
        """
        arrived = partial(receiver.has_received, data)
        for count in range(1, TRIES + 1):
            self.lateness_ns = 0
            sender.send(data)
            if await self.until(arrived, self.subject.live_s / TRIES):
                return count
            if self.lateness_ns < LATE_NS:
                break
        return 0

    def _failed(self, error: BaseException | None) -> None:
        self.fault = self.fault or error
        self.changed.set()

    def _raise_verdicts(self) -> None:
        if self.fault is not None:
            raise self.fault
        for station in self.stations:
            if station.session.verdict is not None:
                raise station.session.verdict
            if station.task.done() and not station.task.cancelled():
                error = station.task.exception()
                broken("handshake", f"the {station.name} station ended: {error}", "Ready")

    async def await_ready(self, rule: str) -> None:
        """Wait until all stations are up."""
        limit = self.subject.live_s
        if not await self.until(lambda: all(s.station.ready for s in self.stations), limit):
            states = [
                f"{s.name}: {s.supervisor.state} {s.supervisor.reason}" for s in self.stations
            ]
            broken(rule, f"not Ready within {limit:g} s; {'; '.join(states)}", "Ready")

    async def close(self) -> None:
        tasks = [each.task for each in self.stations]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=STOP_S)
        for station in self.stations:
            station.station.close()
        self.host.close()
        self.timer.close()
