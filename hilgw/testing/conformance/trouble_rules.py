"""Rules for resets, lost ports and endless traffic, in simulated time."""

import gc
import random
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from hilgw.adapters.base import Delivered, Event, Refused, Transmission
from hilgw.testing.conformance.broken_rule import require, shown
from hilgw.testing.conformance.codec_rules import CodecRules
from hilgw.testing.conformance.payload_rules import PayloadRules
from hilgw.testing.conformance.simulation import Simulation, guarded
from hilgw.testing.conformance.subject import Vector

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
