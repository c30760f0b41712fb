"""Rules in simulated time: packets through the mock and back, resets, lost ports, floods."""

import gc
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from hilgw.adapters.base import CannotSend, Delivered, Event, Refused, Transmission
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.codec_rules import CodecRules
from hilgw.testing.conformance.simulation import SimulatedStation, Simulation, guarded
from hilgw.testing.conformance.subject import (
    ALL_VALUES,
    PIECE,
    Subject,
    Vector,
    broken,
    bytes_line,
    require,
    shown,
)

SLOW, SILENCE_S = 300, 30.0
BYTE_S = 100 / SLOW  # of a packet, with what surrounds it and the answers to it
NO_FRAME = "no frame yet"


class PayloadRules(Subject):
    """A packet that fits arrives unchanged; any other is refused before it reaches the wire."""

    def test_payload_sizes(self) -> None:
        """Check packets of 0, 1, the longest and one more byte."""
        simulation = self._pair(bufferSize=-1)
        largest = self._largest()
        sizes = {0, 1, largest, largest + 1, *(self.sizes or ())}
        for size in sorted(sizes):
            self._passes_or_is_refused(simulation, self._payload(size), "payload sizes")

    def test_all_byte_values(self) -> None:
        """Check each of the 256 byte values, in packets of many values and of one value."""
        simulation = self._pair(bufferSize=-1)
        lengths = [size for size in (self.sizes or (PIECE,)) if size <= self._largest()]
        size = min(max(lengths, default=1), self._largest())
        for start in range(0, 256, size):
            mixed = (ALL_VALUES + ALL_VALUES)[start : start + size]
            if self.fits(mixed):
                self._arrives(simulation, mixed, "all byte values")
                continue
            for value in mixed:
                data = bytes((value,)) * min(self.sizes or (1,))
                self._passes_or_is_refused(simulation, data, "all byte values")

    def test_packets_keep_their_order(self) -> None:
        """Check that `burst` packets at once, in both directions, each arrive once, in order."""
        packets = list(self._numbered(self.burst))
        self._keep_order("packets keep their order", self._pair(bufferSize=-1), packets)

    def test_slow_line(self) -> None:
        """Check a line at 300 baud, or the next rate that the hardware has.

        The longest packet and others arrive, none is booked as refused, and no frame that comes in
        is called none.
        """
        lines = [self.station_settings(baudRate=each) for each in self.adapter.limits.rates]
        lines = [each for each in lines if each.baudRate >= SLOW]
        settings = self.adapter_settings()
        fits = (each for each in lines if not list(self.adapter.check(settings, each)))
        rate = next(fits, self.station_settings()).baudRate
        rule, simulation = f"slow line: {rate} baud", self._pair(bufferSize=-1, baudRate=rate)
        self._keep_order(rule, simulation, [self._payload(self._largest(), 1), *self._numbered(3)])
        simulation.run(SILENCE_S)
        for station in simulation.stations:
            got = [str(event) for event in station.session.events if NO_FRAME in str(event)]
            got += map(str, station.station.statistics.count.refused)
            require(not got, rule, shown(got), "what left, and may arrive, counts as delivered")

    def _keep_order(self, rule: str, simulation: Simulation, packets: list[bytes]) -> None:
        directions = [(simulation.near, simulation.far)]
        if simulation.near is not simulation.far:
            directions.append((simulation.far, simulation.near))
        for sender, receiver in directions:
            since, refused = len(receiver.received), len(sender.refusals)
            for data in packets:
                sender.send(data)
            limit = (self.arrival_s + max(map(len, packets)) * BYTE_S) * len(packets)
            simulation.run(limit, partial(_all_arrived, sender, receiver, since + len(packets)))
            simulation.run(self.pause_s + 1)
            got = [packet.data for packet in receiver.received[since:]]
            if got != packets:
                broken(
                    rule,
                    f"{len(got)} packets at the {receiver.name} station: {shown(got)}; refused: "
                    f"{shown(sender.refusals[refused:])}",
                    f"{len(packets)} packets: {shown(packets)}",
                )

    # --- one packet -------------------------------------------------------------------------------

    def _pair(self, **fields: int) -> Simulation:
        return Simulation(self, pair=not self._echoes(), **fields)

    def _passes_or_is_refused(self, simulation: Simulation, data: bytes, rule: str) -> None:
        if self.fits(data):
            self._arrives(simulation, data, rule)
        else:
            self._is_refused(simulation, data, rule)

    def _arrives(
        self,
        simulation: Simulation,
        data: bytes,
        rule: str,
        channel: int | None = None,
        *,
        back: bool = False,
    ) -> Packet:
        sender = simulation.far if back else simulation.near
        refused = len(sender.refusals)
        got = simulation.pass_on(data, channel, back=back)
        if [packet.data for packet in got] != [data]:
            refusals = sender.refusals[refused:]
            text = f"received {shown([packet.data for packet in got])}"
            broken(
                rule,
                f"{text}; refused: {shown(refusals)}" if refusals else text,
                f"{len(data)} B received by the other station, unchanged",
                bytes_line(data),
            )
        return got[0]

    def _is_refused(
        self, simulation: Simulation, data: bytes, rule: str, channel: int | None = None
    ) -> CannotSend:
        simulation.near.session.answer = None
        written = len(simulation.near.port.written)
        got = simulation.pass_on(data, channel)
        answer = simulation.near.session.answer
        more = (bytes_line(data), f"channel:  {channel}" if channel is not None else "")
        expected = "CannotSend, with its reason"
        if not isinstance(answer, CannotSend):
            broken(rule, f"send() returned {shown(answer)}", expected, *filter(None, more))
        require(not got, rule, f"received {shown([p.data for p in got])}", expected, *more)
        require(
            len(simulation.near.port.written) == written,
            rule,
            f"bytes for the hardware: {shown(bytes(simulation.near.port.written[written:]))}",
            "none for a packet that cannot be sent",
        )
        return answer


def _all_arrived(sender: SimulatedStation, receiver: SimulatedStation, count: int) -> bool:
    return sender.station.queued == 0 and len(receiver.received) >= count


FRAMES = 10_000
SETTLED_FRAMES = 2_000  # by then every bounded buffer is full
SLACK = 16 * 1024  # bytes; growth with each frame exceeds this many times
GAP_NS = 2_000_000  # between frames
TRIES = 5  # packets after a disturbance, until one arrives
BREAK_S = 1.0
_NOT_COUNTED = (type, ModuleType, BuiltinFunctionType, CodeType)


class TroubleRules(CodecRules, PayloadRules):
    """After a disturbance the next packets arrive; memory does not grow."""

    def test_reset_in_mid_frame(self) -> None:
        """Reset the hardware while it sends, and while it receives."""
        self._recovers("reset in mid-frame", self._reset_while_it_sends)
        self._recovers("reset in mid-frame", self._reset_while_it_receives)

    def test_port_lost_in_mid_frame(self) -> None:
        """Unplug the device, or reopen the port, in the middle of frames."""
        self._recovers("port lost in mid-frame", self._unplug)
        self._recovers("port lost in mid-frame", self._reopen)

    def _reset_while_it_sends(self, simulation: Simulation) -> None:
        near, clock = simulation.near, simulation.clock
        resets: list[int] = []
        half = False

        def reset() -> None:
            resets.append(clock.time)
            simulation.host.reset(near.mock)

        def cut(data: bytes) -> bytes:
            nonlocal half
            if half or len(data) < 2:
                return data if resets or not half else b""
            half = True
            clock.call_at(clock.time, reset)
            return data[: len(data) // 2]

        near.port.cut = cut
        self._traffic(simulation)
        simulation.run(self.arrival_s, lambda: resets)

    def _reset_while_it_receives(self, simulation: Simulation) -> None:
        near = simulation.near
        written = len(near.port.written)
        self._traffic(simulation)
        simulation.run(self.arrival_s, lambda: len(near.port.written) > written)
        near.port.clear()  # only some bytes of the frame on the line have arrived
        some = bytes(near.port.written[written : written + 3])
        guarded(lambda: near.mock.receive(some, simulation.clock.time))
        guarded(lambda: simulation.host.reset(near.mock))

    def _unplug(self, simulation: Simulation) -> None:
        self._traffic(simulation)
        simulation.run(self._some_bytes_s())
        simulation.host.unplug(simulation.near.mock)
        simulation.run(BREAK_S)
        simulation.host.plug(simulation.near.mock)

    def _reopen(self, simulation: Simulation) -> None:
        self._traffic(simulation)
        simulation.run(self._some_bytes_s())
        simulation.near.open()

    def _some_bytes_s(self) -> float:
        return 10 * self._usual_size() / 2 / self.station_settings().baudRate

    def _traffic(self, simulation: Simulation) -> None:
        for data in self._numbered(4):
            simulation.near.send(data)
            if simulation.far is not simulation.near:
                simulation.far.send(data)

    def _recovers(self, rule: str, trouble: Callable[[Simulation], None]) -> None:
        simulation = self._pair()
        trouble(simulation)
        simulation.near.port.cut = None
        where = trouble.__name__.strip("_").replace("_", " ")
        at_rest = simulation.run(
            max(self.ready_s, self.arrival_s) * 2,
            lambda: simulation.near.station.ready and simulation.near.station.queued == 0,
        )
        require(
            at_rest,
            rule,
            f"the station is {'' if simulation.near.station.ready else 'not '}ready, with "
            f"{simulation.near.station.queued} packets queued",
            "ready again, with each packet delivered or refused",
            f"after:    {where}",
        )
        simulation.run(1)
        got: list[bytes] = []
        for data in self._numbered(TRIES):
            got = [packet.data for packet in simulation.pass_on(data)]
            if got == [data]:
                break
        else:
            require(False, rule, f"received {shown(got)}", shown([data]), f"after:    {where}")
        short = simulation.near.station.statistics.count.violations()
        require(not short, rule, f"ledger: {short}", "each packet counted", f"after:    {where}")

    # --- memory -----------------------------------------------------------------------------------

    def test_buffers_are_bounded(self) -> None:
        """Check that memory does not grow with frames or noise.

        There are 10,000 valid, truncated or unanswered frames, or as much noise.
        """
        frames = [wire for wire, _ in self._incoming()]
        noise = random.Random(1)
        streams: dict[str, Iterator[bytes]] = {
            "valid frames": cycle(frames),
            "truncated frames": cycle([frame[: len(frame) * 2 // 3] for frame in frames]),
            "noise": iter(lambda: noise.randbytes(32), b""),
            "packets to send": cycle([b""]),
        }
        for name, stream in streams.items():
            self._stays_small(name, stream)

    def _stays_small(self, name: str, stream: Iterator[bytes]) -> None:
        watched, now = self._ready_session()
        session = watched.inner  # the watched session would use more memory than the session
        packets = [self._packet(Vector(data=data)) for data in self._numbered(16)]
        settled = in_flight = 0
        for number in range(FRAMES):
            events: list[Event] = []
            data = next(stream)
            if data:
                events += session.receive(data, now)
            elif in_flight < watched.window:
                answer = session.send(packets[number % len(packets)], now)
                in_flight += isinstance(answer, Transmission) and answer.token is not None
            now += GAP_NS
            due = session.next_deadline()
            if due is not None and due <= now:
                events += session.expire(now)
            in_flight -= sum(isinstance(event, Delivered | Refused) for event in events)
            if number == SETTLED_FRAMES:
                settled = size_of(session)
        grown = size_of(session) - settled
        require(
            grown <= SLACK,
            "buffers are bounded",
            f"the session grew by {grown} B in {FRAMES - SETTLED_FRAMES} frames ({name})",
            f"no growth after {SETTLED_FRAMES} frames (tolerance {SLACK} B)",
        )


def size_of(root: Any) -> int:
    """Count the bytes of `root` and of what it reaches, but for classes, modules and code."""
    seen: set[int] = set()
    waiting = [root]
    total = 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _NOT_COUNTED):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, FunctionType):
            waiting += item.__closure__ or ()
        else:
            waiting += gc.get_referents(item)
    return total
