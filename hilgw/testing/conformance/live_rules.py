"""Rules tried for real: supervised stations, their mocks behind a pipe or a pty, real time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from hilgw.adapters.base import line_of
from hilgw.discovery.ports import port_identity
from hilgw.engine.mock_host import MockHost
from hilgw.engine.observer import Observer, State
from hilgw.engine.scheduler import Timer
from hilgw.engine.supervisor import Supervisor
from hilgw.medium.packet import Copy, Packet
from hilgw.plugins import new_air
from hilgw.testing.conformance.broken_rule import broken, require, shown
from hilgw.testing.conformance.payload_rules import PayloadRules
from hilgw.testing.conformance.simulation import (
    FAR,
    NEAR,
    SOURCE,
    guarded,
    new_session,
    new_station,
)
from hilgw.testing.conformance.subject import Subject
from hilgw.testing.fixtures.faulty_device import FaultyDevice
from hilgw.transports.base import DeviceSide, LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.stream import SerialStream
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

__tracebackhide__ = True  # a failure is shown at the rule, not in here

STOP_S = 2.0
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

    def _live(self, ports: str, scenario: Callable[[LiveSetup, str], Awaitable[None]]) -> None:
        rule = f"round trip on a {ports}"

        async def play() -> None:
            world = LiveSetup(self, ports, pair=not self._echoes(), seed=SEED)
            try:
                await world.await_ready(rule)
                await scenario(world, rule)
            finally:
                await world.close()
            for side in world.sides:
                short = side.count.violations()
                require(not short, rule, f"ledger: {short}", "each packet counted")

        guarded(lambda: asyncio.run(play()))

    async def _round_trip(self, world: LiveSetup, rule: str) -> None:
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

    async def _through_faults(self, world: LiveSetup, rule: str) -> None:
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


class LiveStation(Observer):
    """One supervised station and its mock. `changed` is set whenever something happened."""

    def __init__(self, world: LiveSetup, *, far: bool) -> None:
        subject, timer = world.subject, world.timer
        self.name = "far" if far else "near"
        self.heard: list[Packet] = []
        self.refusals: list[tuple[str, str]] = []
        self._changed = world.changed
        self._timer = timer
        self.common = common = subject._common()
        line = line_of(common)[0]
        self.session = new_session(subject, common, far=far)
        self.station, self.count = new_station(
            subject, self.name, self.session, common, timer, self, self._hear
        )
        self.mock = subject.make_mock(
            subject._mock_spec(common, far), self.name, world.host.air, FAR if far else NEAR
        )
        open_port, identity, port = world.new_port(line)
        device = FaultyDevice(port, seed=world.seed)
        if not far:
            world.faults = device
        world.host.add(self.mock, device)
        self.supervisor = Supervisor(
            self.station,
            open_port,
            identity,
            self,
            where=self.name,
            jitter=random.Random(self.name),
        )
        self.task = asyncio.create_task(self.supervisor.run())
        self.task.add_done_callback(lambda task: self._changed.set())

    def send(self, data: bytes) -> None:
        """A packet for the hardware, as the medium hands it over."""
        now = self._timer.now()
        packet = Packet(data, self.common.channel, self.station.type, SOURCE, sent_ns=now)
        self.count.accept()
        self.count.arrive()
        self.station.deliver(Copy(packet, now))

    def _hear(self, packet: Packet) -> None:
        self.heard.append(packet)
        self._changed.set()

    def refused(self, station: str, reason: str, text: str) -> None:
        self.refusals.append((reason, text))
        self._changed.set()

    def delivered(self, station: str, copy: Copy) -> None:
        self._changed.set()

    def state(self, station: str, state: State, reason: str) -> None:
        self._changed.set()


class LiveSetup:
    """One or two of them. `near` is under test, with `faults` in its port; `far` hears it."""

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
        self.sides = [self.near, self.far] if pair else [self.near]

    def new_port(
        self, line: LineSettings
    ) -> tuple[Callable[[], Awaitable[Transport]], Callable[[], object | None], DeviceSide]:
        """How to open it, what stands behind it, and the hardware's end."""
        if self._ports == "pipe":
            pipe = Pipe(self.timer, line)
            return (
                lambda: pipe.open(line),
                lambda: id(pipe) if pipe.device.plugged else None,
                pipe.device,
            )
        port = VirtualPort(self.timer, baud_rate=line.baudRate, bits_per_byte=line.byteSize)

        async def open_port() -> Transport:
            transport = await open_serial(port.path, line, self.timer)
            if isinstance(transport, SerialStream):
                transport.modem_lines = port.set_modem_line
            return transport

        return open_port, lambda: port_identity(port.path), port

    async def until(self, holds: Callable[[], object], seconds: float) -> bool:
        """Waits until the condition holds, no longer than that; raises what the rules say."""
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

    def _failed(self, error: BaseException | None) -> None:
        """A callback raised: most often the mock's."""
        self.fault = self.fault or error
        self.changed.set()

    def _raise_verdicts(self) -> None:
        if self.fault is not None:
            raise self.fault
        for side in self.sides:
            if side.session.verdict is not None:
                raise side.session.verdict
            if side.task.done() and not side.task.cancelled():
                error = side.task.exception()
                broken("handshake", f"the {side.name} station gave up: {error}", "Ready")

    async def await_ready(self, rule: str) -> None:
        limit = self.subject.live_s
        if not await self.until(lambda: all(s.station.ready for s in self.sides), limit):
            states = [f"{s.name}: {s.supervisor.state} {s.supervisor.reason}" for s in self.sides]
            broken(rule, f"not Ready within {limit:g} s; {'; '.join(states)}", "Ready")

    async def close(self) -> None:
        tasks = [side.task for side in self.sides]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=STOP_S)
        for side in self.sides:
            side.station.close()
        self.host.close()
        self.timer.close()
