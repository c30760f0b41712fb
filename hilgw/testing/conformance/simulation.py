"""Stations and their mocks, connected by lines, in simulated time: seconds take milliseconds."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from hilgw.adapters.base import StationSettings, line_of
from hilgw.engine.mock_host import MockHost
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.station.line import ReceiveFilter
from hilgw.engine.station.station import Station
from hilgw.engine.supervisor import PortListener
from hilgw.errors import AdapterError, ConfigError, HilgwError, MismatchError, PortError
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount
from hilgw.plugins import new_air
from hilgw.testing.co_simulation import CoSimulation
from hilgw.testing.conformance.subject import (
    BrokenRule,
    Subject,
    broken,
    location_of,
    require,
    shown,
)
from hilgw.testing.conformance.watched_session import DEADLINES, UNFINISHED, WatchedSession
from hilgw.testing.sim.event_loop import Clock, StuckError
from hilgw.transports.base import LineSettings, Scheduler
from hilgw.transports.virtual.pipe import Pipe, PipeTransport

__tracebackhide__ = True  # a failure is shown at the rule, not in here

SECOND_NS = 1_000_000_000
REOPEN_NS = SECOND_NS // 5
SOURCE = "test.emitter"
NEAR, FAR = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)

T = TypeVar("T")


class SimulatedPort(Pipe):
    """A serial line in simulated time, at the rate of its line; `connect` returns the other end.

    cut: maps the bytes from the hardware to the bytes that get through. written: all bytes from
    the client.
    """

    def __init__(self, scheduler: Scheduler, line: LineSettings) -> None:
        super().__init__(
            scheduler,
            line,
            name="simulated",
            limit=sys.maxsize,
            device_limit=sys.maxsize,
            soon=lambda call: call(),
        )
        self.cut: Callable[[bytes], bytes] | None = None
        self.written = bytearray()

    def write(self, data: bytes) -> None:
        super().write(data if self.cut is None else self.cut(data))

    def hang_up(self) -> None:
        """Close the client's end."""
        if self._client is not None:
            self._client.close()

    def clear(self) -> None:
        """Drop the bytes on the line."""
        self._to_client.clear()
        if self._client is not None:
            self._client.to_device.clear()

    def connect(self, line: LineSettings | None = None) -> PipeTransport:
        client = super().connect(line)
        client.observe(self.written.extend, lambda data: None)
        return client

    def stall(self) -> None:
        """Do nothing: the rules of a line without flow control apply."""

    def unstall(self) -> None:
        """Do nothing."""


class StationUnderTest(Observer):
    """A station under test and its mock, which is not connected yet.

    received: packets from the hardware. refusals: (reason, text) of refused packets, and of input
    that is not a valid packet.
    """

    def __init__(
        self,
        subject: Subject,
        scheduler: Scheduler,
        host: MockHost,
        common: StationSettings,
        *,
        far: bool,
    ) -> None:
        self.name = "far" if far else "near"
        self.common = common
        self.received: list[Packet] = []
        self.refusals: list[tuple[str, str]] = []
        self.session = new_session(subject, common, far=far)
        ledger, adapter = Ledger(), subject.adapter
        statistics = StationStatistics(self.name, ledger.station(self.name), self)
        receive_filter = ReceiveFilter(
            adapter.type,
            "test",
            Airs(),
            common,
            statistics,
            Mount(self.name),
            lambda packet, _: self.take(packet),
        )
        window = adapter.limits.window
        self.station = Station(self.session, common, window, receive_filter, statistics, scheduler)
        self.mock = subject.make_mock(
            subject.mock_spec(common, far), self.name, host.air, FAR if far else NEAR
        )
        self._scheduler = scheduler

    def send(self, data: bytes, channel: int | None = None, range: float = -1.0) -> None:
        """Send a packet for the hardware, as delivered by the medium."""
        now = self._scheduler.now()
        channel = self.common.channel if channel is None else channel
        packet = Packet(data, channel, self.station.listener.type, SOURCE, range=range, sent_ns=now)
        self.station.statistics.count.accept()
        self.station.statistics.count.arrive()
        self.station.deliver(Copy(packet, now))

    def take(self, packet: Packet) -> None:
        self.received.append(packet)

    def refused(self, station: str, reason: str, text: str) -> None:
        self.refusals.append((reason, text))


class SimulatedStation(StationUnderTest, PortListener):
    """A station on a simulated line. It is its own supervisor: it reopens its port."""

    def __init__(
        self, subject: Subject, clock: Clock, host: MockHost, common: StationSettings, *, far: bool
    ) -> None:
        super().__init__(subject, clock, host, common, far=far)
        self.opened = 0
        self._opening = False
        self.station.supervisor = self
        self.port = SimulatedPort(clock, line_of(common)[0])
        host.add(self.mock, self.port)

    def open(self) -> None:
        """Open the port, after closing it if it is open.

        Retries while it is unplugged.
        """
        self._opening = False
        self.close()
        if not self.port.plugged:
            self.on_failed(PortError("unplugged", reason=PortError.ABSENT))
            return
        self.opened += 1
        transport = self.port.connect()
        transport.start(self.station.data_received, self.on_failed)
        self.station.attach(transport)

    def close(self) -> None:
        self.port.hang_up()
        if self.opened:
            self.station.detach()

    # --- called by the station --------------------------------------------------------------------

    def on_failed(self, error: HilgwError) -> None:
        # The station takes an exception from here as a fault of the adapter and reports it here
        # again: the first verdict counts.
        try:
            if self.session.verdict is not None:
                raise self.session.verdict
            if isinstance(error, AdapterError):
                broken("raises", str(error), "no exception from the adapter")
            if isinstance(error, MismatchError):
                broken("handshake", f"Failed: {error}", "Ready: the mock matches these settings")
        except BrokenRule as rule:
            self.session.verdict = rule
            raise
        if not self._opening:
            self._opening = True
            self._scheduler.call_at(self._scheduler.now() + REOPEN_NS, self.open)


class Simulation(CoSimulation):
    """Simulation of one or two stations of a subject, which are up.

    near: the station under test. far: the other station, or `near` itself where the mock echoes all
    packets. fields: of StationSettings.
    """

    def __init__(self, subject: Subject, *, pair: bool = False, **fields: Any) -> None:
        super().__init__()
        self.subject = subject
        self.host = MockHost(self.clock, new_air(seed=1))
        self.stations: list[SimulatedStation] = []
        common = subject.station_settings(**fields)
        self.near = self._add(common, far=False)
        self.far = self._add(common, far=True) if pair else self.near
        limit = subject.ready_s
        self.run(limit, lambda: all(each.station.ready for each in self.stations))
        for station in self.stations:
            require(
                station.station.ready,
                "handshake",
                f"the {station.name} station is not Ready within {limit:g} s; its last events: "
                f"{shown(station.session.events[-4:])}",
                "Ready, with the mock on the port",
            )

    def _add(self, common: StationSettings, *, far: bool) -> SimulatedStation:
        def add() -> SimulatedStation:
            station = SimulatedStation(self.subject, self.clock, self.host, common, far=far)
            self.stations.append(station)
            station.open()
            return station

        return guarded(add)

    def step(self, end: int) -> bool:
        is_due = guarded(lambda: super(Simulation, self).step(end))
        for station in self.stations:
            if station.session.verdict is not None:
                raise station.session.verdict
        return is_due

    def pass_on(
        self, data: bytes, channel: int | None = None, *, back: bool = False
    ) -> list[Packet]:
        """Send a packet from `near` to `far` (or back); return the packets received there."""
        sender, receiver = (self.far, self.near) if back else (self.near, self.far)
        before, refused = len(receiver.received), len(sender.refusals)
        guarded(lambda: sender.send(data, channel))
        self.run(
            self.subject.arrival_s,
            lambda: (
                len(sender.refusals) > refused
                or (sender.station.queued == 0 and len(receiver.received) > before)
            ),
        )
        self.run(self.subject.arrival_s, lambda: sender.station.queued == 0)
        return receiver.received[before:]


def guarded(call: Callable[[], T]) -> T:
    """Call it; convert the errors of an unfinished part and of an unsuitable mock."""
    try:
        return call()
    except NotImplementedError as error:
        rule, got, expected = UNFINISHED, "this part is not implemented yet", str(error)
        location = location_of(error)
    except StuckError as error:
        rule, got, expected = DEADLINES, str(error), "deadlines in the future"
        location = ""
    except ConfigError as error:
        rule, got = "mock", str(error)
        expected, location = "a mock with the name and the parameters from adapter.mock()", ""
    raise BrokenRule(rule, got, expected, filter(None, [location]))


def new_session(
    subject: Subject, common: StationSettings | None = None, *, far: bool = False
) -> WatchedSession:
    """Return a new session, wrapped in a WatchedSession."""
    common = subject.station_settings() if common is None else common
    adapter = subject.adapter
    session = guarded(lambda: adapter.session(subject.adapter_settings(far), common))
    return WatchedSession(session, adapter.limits.window)
